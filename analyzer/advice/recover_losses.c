/* SPDX-License-Identifier: BSD-2-Clause */
/* recover_losses.c: what is lost in the window, by cause and by kind of exposed work; proven, and likely. */
#include "recover_parts.h"

#include <string.h>

#include "timeline/facts.h"
#include "tools/ns.h"

/* No copy takes longer than so: slow pageable memory, a start that is late. What was not measured is placed by its share of a stretch, and short
 * copies among long kernels get far too much. */
#define COPY_SLOWEST_NS 20000
#define COPY_BYTES_PER_NS 1

/* Of the whole span it is known already. */
static bool set_parts(struct recovery *r, const struct device_timeline *d)
{
	if (r->n_steps)
		return partition_of(&r->parts, d, r->begin_ns, r->end_ns);
	r->parts = (struct partition){ d->compute_ns, d->comm_ns, d->memset_ns, { 0 } };
	memcpy(r->parts.copy_ns, d->copy_ns, sizeof(r->parts.copy_ns));
	return true;
}

/* ---- losses ------------------------------------------------------------------------------------------------------------- */

static void add_piece(struct recovery *r, const struct gap_cause *c)
{
	struct recoverable *x = &r->of[recover_of_cause(c->cause)];
	int64_t ns = recovery_part(r, c->begin_ns, c->end_ns);

	x->lost_ns += ns;
	if (c->confidence == CONFIDENCE_OBSERVED)
		x->observed_ns += ns;
	if (c->cause == CAUSE_input_wait || cause_is_elsewhere(c))
		r->elsewhere_ns[c->cause] += ns;
}

static void add_gaps(struct recovery *r, const struct attribution *a)
{
	for (size_t i = 0; i < a->n_gaps; i++) {
		const struct gap_story *g = &a->gaps[i];
		bool met[CAUSE_COUNT] = { false };

		for (size_t k = 0; k < g->n_causes; k++) {
			const struct gap_cause *c = &g->causes[k];

			add_piece(r, c);
			r->gaps[c->cause] += !met[c->cause] && recovery_part(r, c->begin_ns, c->end_ns) > 0;
			met[c->cause] |= recovery_part(r, c->begin_ns, c->end_ns) > 0;
		}
	}
}

static void add_exposed(struct recovery *r, enum recover_id id, int64_t ns)
{
	r->of[id].lost_ns += ns;
	r->of[id].observed_ns += ns;
}

static enum recover_id of_copy(uint8_t kind)
{
	switch (kind) {
	case GST_COPY_H2D_PAGEABLE:
		return RECOVER_copy_h2d_pageable;
	case GST_COPY_H2D_PINNED:
		return RECOVER_copy_h2d_pinned;
	case GST_COPY_D2H_PAGEABLE:
	case GST_COPY_D2H_PINNED:
		return RECOVER_copy_d2h;
	case GST_COPY_PEER:
		return RECOVER_copy_peer;
	default:
		return RECOVER_copy_d2d;
	}
}

/* What the copies and memsets of each kind can have taken at most. */
static void add_slowest(struct recovery *r, const struct device_timeline *d)
{
	for (size_t i = timeline_other(d, 0); i < d->n_ops; i = timeline_other(d, i + 1)) {
		const struct op *op = &d->ops[i];
		enum recover_id id;
		uint64_t bytes;
		int64_t ns;

		if (op->of->class != OP_COPY && op->of->class != OP_MEMSET)
			continue;
		ns = recovery_part(r, op->begin_ns, op->end_ns);
		if (ns <= 0)
			continue;
		id = op->of->class == OP_MEMSET ? RECOVER_memset : of_copy(op->of->copy);
		bytes = op_bytes(op) / COPY_BYTES_PER_NS;
		if (!op->of->exact && bytes < (uint64_t)INT64_MAX / 2)
			ns = min64(ns, (int64_t)bytes + (int64_t)COPY_SLOWEST_NS * op->of->count);
		r->slowest_ns[id] = sum64(r->slowest_ns[id], ns);
	}
}

static int64_t within(const struct recovery *r, const struct intervals *stretches)
{
	size_t from = 0;

	return intervals_within(stretches, &from, r->begin_ns, r->end_ns);
}

/* Where the ranks tell, waiting for the last of them is apart from the transfer. */
static void add_comm(struct recovery *r, const struct rank_device *ranks)
{
	int64_t wait = within(r, &ranks->wait), transfer = within(r, &ranks->transfer);

	add_exposed(r, RECOVER_comm_wait, wait);
	add_exposed(r, RECOVER_comm_transfer, transfer);
	add_exposed(r, RECOVER_comm_unsplit, r->parts.comm_ns - wait - transfer);
}

static void add_work(struct recovery *r, const struct rank_device *ranks)
{
	const struct partition *p = &r->parts;

	for (int i = 0; i < 8; i++)
		add_exposed(r, of_copy((uint8_t)i), p->copy_ns[i]);
	add_exposed(r, RECOVER_memset, p->memset_ns);
	add_comm(r, ranks);
}

/* ---- by bursts ---------------------------------------------------------------------------------------------------------- */

struct modelled { /* idle time of the model in the window, and how much of it would be left in a graph: NODE_NS of each piece */
	int64_t all_ns, left_ns;
};

static struct modelled modelled(const struct recovery *r, const struct idle_pieces *pieces)
{
	struct modelled m = { 0 };

	for (size_t i = 0; i < pieces->n; i++) {
		int64_t ns = recovery_part(r, pieces->at[i].begin_ns, pieces->at[i].end_ns);

		m.all_ns = sum64(m.all_ns, ns);
		m.left_ns = sum64(m.left_ns, min64(ns, NODE_NS));
	}
	return m;
}

/* Of what is likely; inside_ns of it is between a graph's nodes already. */
static int64_t left_in_a_graph(const struct modelled *m, int64_t likely_ns, int64_t inside_ns)
{
	double rest = (double)(likely_ns - min64(inside_ns, likely_ns));

	rest = m->all_ns > 0 ? rest * (double)m->left_ns / (double)m->all_ns : 0;
	return clamp64(min64(inside_ns, likely_ns) + (int64_t)rest, 0, likely_ns);
}

/* What bursts say of the time that is counted as compute and cannot be told: as much of it as lies in the steps. */
static void add_likely(struct recovery *r, const struct summary_device *d)
{
	const struct device_timeline *t = d->timeline;
	const struct modelled model = modelled(r, &t->estimate.pieces);
	int64_t here = 0, inside;
	double share;

	if (!t->estimate.measured || t->unresolved_ns <= 0)
		return;
	for (size_t i = 0; i < t->n_unresolved; i++)
		here += recovery_part(r, t->unresolved[i].begin_ns, t->unresolved[i].end_ns);
	share = (double)min64(here, t->unresolved_ns) / (double)t->unresolved_ns;
	inside = (int64_t)((double)t->estimate.inside_ns * share);
	for (int i = 0; i < CAUSE_COUNT; i++) {
		int64_t ns = min64((int64_t)((double)d->unresolved_causes[i] * share),
				   r->parts.compute_ns - r->likely_idle_ns);

		r->of[recover_of_cause((enum cause_id)i)].likely_ns = ns;
		r->likely_nodes_ns[i] = left_in_a_graph(&model, ns, i == CAUSE_device_latency ? inside : 0);
		r->likely_idle_ns += ns;
	}
}

bool recover_add_losses(struct recovery *r, const struct summary *s, const struct summary_device *d)
{
	if (!set_parts(r, d->timeline))
		return false;
	add_gaps(r, &d->attribution);
	add_work(r, &s->ranks.devices[d - s->devices]);
	add_slowest(r, d->timeline);
	add_likely(r, d);
	return true;
}
