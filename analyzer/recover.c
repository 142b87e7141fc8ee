/* SPDX-License-Identifier: BSD-2-Clause */
#include "recover.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "facts.h"
#include "gap_view.h"
#include "ns.h"

#define STEPS_MIN 3 /* fewer are no steady state */
#define WARM_UP 3   /* first steps so many times as long as most are none of it */

/* No copy takes longer than so: slow pageable memory, a start that is late. What was not measured is placed by its share of a stretch, and short
 * copies among long kernels get far too much. */
#define COPY_SLOWEST_NS 20000
#define COPY_BYTES_PER_NS 1

static const char *const names[RECOVER_COUNT] = {
#define CAUSE(name, id, title, advice) id,
#define CAUSE_RULE CAUSE
#include "causes.def"
#define LIMIT(cause, rule)
#define EXPOSED(name, id, rule) id,
#include "recover.def"
#undef LIMIT
#undef EXPOSED
};

static const enum recover_rule rules[RECOVER_COUNT] = {
#define LIMIT(cause, rule) [RECOVER_##cause] = (rule),
#define EXPOSED(name, id, rule) [RECOVER_##name] = (rule),
#include "recover.def"
#undef LIMIT
#undef EXPOSED
};

const char *recover_name(enum recover_id id)
{
	return names[id];
}

double recover_ceiling(int64_t span_ns, int64_t recoverable_ns)
{
	int64_t left = max64(1, span_ns - recoverable_ns);

	return span_ns > 0 ? (double)span_ns / (double)left - 1 : 0;
}

/* ---- what it is about --------------------------------------------------------------------------------------------------- */

static void set_calls(struct recovery *r, const struct device_timeline *d)
{
	r->calls_from_ns = r->begin_ns;
	if (r->begin_ns > d->begin_ns)
		return;
	for (size_t i = 0; i < d->n_ops && d->ops[i].begin_ns <= r->begin_ns; i++)
		if (!d->ops[i].unlinked && d->ops[i].end_ns > r->begin_ns)
			r->calls_from_ns = min64(r->calls_from_ns, d->ops[i].call->begin_ns);
}

/* Is that what the program is about: much of the time, or most of the work? */
static bool is_most(const struct recovery *r, const struct summary_device *d)
{
	const struct device_timeline *t = d->timeline;
	size_t n = 0;

	for (size_t i = 0; i < t->n_ops; i++)
		n += t->ops[i].begin_ns >= r->begin_ns && t->ops[i].begin_ns < r->end_ns;
	return recovery_span(r) > 0 && (recovery_span(r) >= d->span_ns / 4 || n > t->n_ops / 2);
}

static int64_t length_of(const struct step_idle *s)
{
	return s->step->end_ns - s->step->begin_ns;
}

/* How many of the first steps are warm-up: in a row, each far longer than most. False: no memory. */
static bool find_warm_up(const struct device_phases *p, size_t *first)
{
	int64_t *lengths = array_new(p->n_steps, sizeof(*lengths)), median;

	*first = 0;
	if (!lengths)
		return false;
	for (size_t i = 0; i < p->n_steps; i++)
		lengths[i] = length_of(&p->steps[i]);
	array_sort(lengths, p->n_steps, sizeof(*lengths), array_by_int64);
	median = lengths[p->n_steps / 2];
	free(lengths);
	while (*first < p->n_steps / 2 && length_of(&p->steps[*first]) / WARM_UP > median)
		++*first;
	return true;
}

/* The steps behind the warm-up, as far as the device's span goes; where there are hardly any, or they are not what it is about, the span. */
static bool set_window(struct recovery *r, const struct summary_device *d)
{
	const struct device_timeline *t = d->timeline;
	const struct device_phases *p = &d->phases;
	size_t first;

	r->begin_ns = t->begin_ns;
	r->end_ns = t->end_ns;
	if (p->n_steps < STEPS_MIN)
		return true;
	if (!find_warm_up(p, &first))
		return false;
	for (size_t i = first; i < p->n_steps; i++)
		r->n_steps += p->steps[i].step->kind == STEP;
	r->begin_ns = clamp64(p->steps[first].step->begin_ns, t->begin_ns, t->end_ns);
	r->end_ns = clamp64(p->steps[p->n_steps - 1].step->end_ns, r->begin_ns, t->end_ns);
	if (r->n_steps < STEPS_MIN || !is_most(r, d)) {
		r->begin_ns = t->begin_ns;
		r->end_ns = t->end_ns;
		r->n_steps = 0;
	}
	return true;
}

static int64_t part(const struct recovery *r, int64_t begin_ns, int64_t end_ns)
{
	return max64(0, min64(end_ns, r->end_ns) - max64(begin_ns, r->begin_ns));
}

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
	int64_t ns = part(r, c->begin_ns, c->end_ns);

	x->lost_ns += ns;
	if (c->confidence == CONFIDENCE_OBSERVED)
		x->observed_ns += ns;
	if (c->cause == CAUSE_input_wait || (c->n_chain > 1 && c->chain[c->n_chain - 1].pid != c->chain[0].pid))
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
			r->gaps[c->cause] += !met[c->cause] && part(r, c->begin_ns, c->end_ns) > 0;
			met[c->cause] |= part(r, c->begin_ns, c->end_ns) > 0;
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
	for (size_t i = 0; i < d->n_ops; i++) {
		const struct op *op = &d->ops[i];
		int64_t ns = part(r, op->begin_ns, op->end_ns);
		enum recover_id id = op->class == OP_MEMSET ? RECOVER_memset : of_copy(op->copy);
		uint64_t bytes;

		if ((op->class != OP_COPY && op->class != OP_MEMSET) || ns <= 0)
			continue;
		bytes = op_bytes(op) / COPY_BYTES_PER_NS;
		if (!op->exact && bytes < (uint64_t)INT64_MAX / 2)
			ns = min64(ns, (int64_t)bytes + (int64_t)COPY_SLOWEST_NS * op->count);
		r->slowest_ns[id] = sum64(r->slowest_ns[id], ns);
	}
}

/* Where the ranks tell, waiting for the last of them is apart from the transfer; in the steps as in the whole. */
static void add_comm(struct recovery *r, const struct summary_device *d)
{
	int64_t all = r->parts.comm_ns, whole = d->timeline->comm_ns;
	double share = whole > 0 ? (double)all / (double)whole : 0;
	int64_t wait = min64(all, (int64_t)((double)d->comm_wait_ns * share));
	int64_t transfer = min64(all - wait, (int64_t)((double)d->comm_transfer_ns * share));

	if (!r->n_steps) {
		wait = d->comm_wait_ns;
		transfer = d->comm_transfer_ns;
	}
	add_exposed(r, RECOVER_comm_wait, wait);
	add_exposed(r, RECOVER_comm_transfer, transfer);
	add_exposed(r, RECOVER_comm_unsplit, all - wait - transfer);
}

static void add_work(struct recovery *r, const struct summary_device *d)
{
	const struct partition *p = &r->parts;

	for (int i = 0; i < 8; i++)
		add_exposed(r, of_copy((uint8_t)i), p->copy_ns[i]);
	add_exposed(r, RECOVER_memset, p->memset_ns);
	add_comm(r, d);
}

/* What bursts say of the time that is counted as compute and cannot be told: as much of it as lies in the steps. */
static void add_likely(struct recovery *r, const struct summary_device *d)
{
	const struct device_timeline *t = d->timeline;
	int64_t here = 0;
	double share;

	if (!t->estimate.measured || t->unresolved_ns <= 0)
		return;
	for (size_t i = 0; i < t->n_unresolved; i++)
		here += part(r, t->unresolved[i].begin_ns, t->unresolved[i].end_ns);
	share = (double)min64(here, t->unresolved_ns) / (double)t->unresolved_ns;
	for (int i = 0; i < CAUSE_COUNT; i++) {
		int64_t ns = min64((int64_t)((double)d->unresolved_causes[i] * share),
				   r->parts.compute_ns - r->likely_idle_ns);

		r->of[recover_of_cause((enum cause_id)i)].likely_ns = ns;
		r->likely_idle_ns += ns;
	}
}

/* ---- the host ----------------------------------------------------------------------------------------------------------- */

static int64_t blocked(const struct recovery *r, const struct thread_records *t)
{
	int64_t ns = 0;

	for (size_t i = 0; i < t->n_calls; i++)
		if (call_blocks(t->calls[i]))
			ns = sum64(ns, part(r, t->calls[i]->begin_ns, t->calls[i]->end_ns));
	return ns;
}

uint32_t recover_ordinal(const struct summary_device *d, const struct trace *t)
{
	static const uint8_t none[16];
	const struct device *device = &d->timeline->device;

	if (!memcmp(device->uuid, none, sizeof(none)))
		return device->device;
	for (size_t i = 0; i < t->n_devices; i++)
		if (!memcmp(t->devices[i].uuid, device->uuid, sizeof(device->uuid)))
			return t->devices[i].device;
	return GST_NONE;
}

/* Of the thread with most submissions in the steps. */
static void add_host(struct recovery *r, const struct summary *s, const struct summary_device *d)
{
	const struct thread_records *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < s->threads.n_processes; i++) {
		const struct process_records *p = &s->threads.processes[i];
		uint32_t ordinal = recover_ordinal(d, p->trace);

		for (size_t k = 0; k < p->n_threads; k++) {
			size_t n = 0;

			for (size_t j = 0; j < p->threads[k].n_calls; j++) {
				const struct call *c = p->threads[k].calls[j];

				n += is_submission(c) && c->begin_ns < r->end_ns && c->end_ns > r->begin_ns &&
				     recover_is_of(p->trace, c, ordinal);
			}
			if (n > most) {
				most = n;
				best = &p->threads[k];
			}
		}
	}
	r->blocked_ns = best ? min64(blocked(r, best), recovery_span(r)) : 0;
}

/* ---- what can be won ---------------------------------------------------------------------------------------------------- */

/* The work that has to be done whatever is changed. */
static int64_t work_of(const struct recovery *r, enum recover_id id)
{
	/* of those who do it beside the run already there may be more */
	return r->of[id].lost_ns - (recover_is_cause(id) ? r->elsewhere_ns[id] : 0);
}

static int64_t can_be_won(const struct recovery *r, enum recover_id id)
{
	const struct recoverable *x = &r->of[id];
	int64_t all = x->lost_ns + x->likely_ns, left = all, gaps = 0;

	switch (rules[id]) {
	case RECOVER_BESIDE:
		left = recovery_span(r) - work_of(r, id);
		break;
	case RECOVER_AHEAD:
		left = r->blocked_ns;
		break;
	case RECOVER_OVERLAP:
		left = r->parts.compute_ns - r->likely_idle_ns;
		if (id != RECOVER_comm_transfer && id != RECOVER_comm_unsplit)
			left = min64(left, r->slowest_ns[id]);
		break;
	case RECOVER_NODES:
		gaps = recover_is_cause(id) ? (int64_t)r->gaps[id] : 0;
		left = all - min64(all, gaps * NODE_NS);
		break;
	case RECOVER_WHOLE:
		break;
	}
	return clamp64(left, 0, all);
}

static void consider(struct recoverable *x, const char *name, int64_t ns)
{
	if (ns > x->next_ns) {
		x->next = name;
		x->next_ns = ns;
	}
}

/* The longest part of the run that is left, or the floor that kept the rest from being won. */
static void set_next(struct recovery *r, enum recover_id id)
{
	struct recoverable *x = &r->of[id];
	int64_t rest = x->lost_ns + x->likely_ns - x->recoverable_ns;

	consider(x, "compute", r->parts.compute_ns - r->likely_idle_ns);
	for (int i = 0; i < RECOVER_COUNT; i++)
		if (i != (int)id)
			consider(x, names[i], r->of[i].lost_ns + r->of[i].likely_ns);
	if (rest <= 0)
		return;
	if (rules[id] == RECOVER_AHEAD)
		consider(x, "host", recovery_span(r) - r->blocked_ns);
	else
		consider(x, names[id], rules[id] == RECOVER_BESIDE ? work_of(r, id) : rest);
}

static void rank(struct recovery *r, enum recover_id id)
{
	size_t at = r->n++;

	for (; at > 0 && r->of[r->order[at - 1]].recoverable_ns < r->of[id].recoverable_ns; at--)
		r->order[at] = r->order[at - 1];
	r->order[at] = id;
}

enum err_kind recovery_build(struct recovery *r, const struct summary *s, const struct summary_device *d,
			     struct error *e)
{
	memset(r, 0, sizeof(*r));
	if (!set_window(r, d) || !set_parts(r, d->timeline))
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	set_calls(r, d->timeline);
	add_gaps(r, &d->attribution);
	add_work(r, d);
	add_slowest(r, d->timeline);
	add_likely(r, d);
	if (r->of[RECOVER_sync_bubble].lost_ns || r->of[RECOVER_sync_bubble].likely_ns)
		add_host(r, s, d);
	for (int i = 0; i < RECOVER_COUNT; i++) {
		struct recoverable *x = &r->of[i];

		x->id = (enum recover_id)i;
		x->next = "compute";
		if (!x->lost_ns && !x->likely_ns)
			continue;
		x->recoverable_ns = can_be_won(r, x->id);
		x->ceiling = recover_ceiling(recovery_span(r), x->recoverable_ns);
		set_next(r, x->id);
		rank(r, x->id);
	}
	return ERR_NONE;
}
