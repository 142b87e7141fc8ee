/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_copies.c: copies, memsets and communication that nothing else ran beside. */
#include "advice_parts.h"

#include "ns.h"

static bool is_copy(const struct call *c, enum gst_copy_kind kind)
{
	return c->family == GST_FAMILY_COPY && c->detail == (uint16_t)kind && is_submission(c);
}

static bool pageable(const struct trace *t, const struct call *c)
{
	(void)t;
	return is_copy(c, GST_COPY_H2D_PAGEABLE);
}

static bool pinned(const struct trace *t, const struct call *c)
{
	(void)t;
	return is_copy(c, GST_COPY_H2D_PINNED);
}

static bool into_pageable(const struct trace *t, const struct call *c)
{
	(void)t;
	return is_copy(c, GST_COPY_D2H_PAGEABLE);
}

static bool to_host(const struct trace *t, const struct call *c)
{
	return into_pageable(t, c) || is_copy(c, GST_COPY_D2H_PINNED);
}

static bool on_device(const struct trace *t, const struct call *c)
{
	(void)t;
	return is_copy(c, GST_COPY_D2D) || is_copy(c, GST_COPY_UNKNOWN) || is_copy(c, GST_COPY_H2H);
}

static bool to_peer(const struct trace *t, const struct call *c)
{
	(void)t;
	return is_copy(c, GST_COPY_PEER);
}

static bool clears(const struct trace *t, const struct call *c)
{
	(void)t;
	return c->family == GST_FAMILY_MEMSET && is_submission(c);
}

/* Operations of a graph have no calls of their own: of these nothing but the time is told. */
static bool copies(struct advisor *a, struct advice *out, call_wanted *wanted)
{
	struct call_use use;

	if (!advice_matters(a, out))
		return false;
	use = seen_calls(a, wanted);
	if (!use.n)
		return false;
	figure_count(out, "copies", use.n);
	figure_bytes(out, "bytes", use.bytes);
	figure_ns(out, "exposed_ns", out->lost_ns);
	figure_ns(out, "calls_ns", use.ns);
	figure_per_step(a, out, "per_step", use.n);
	seen_sites(a, out, wanted);
	return true;
}

bool advise_pinned(struct advisor *a, struct advice *out)
{
	return copies(a, out, pageable);
}

bool advise_overlap(struct advisor *a, struct advice *out)
{
	return copies(a, out, pinned);
}

bool advise_to_host(struct advisor *a, struct advice *out)
{
	if (!copies(a, out, to_host))
		return false;
	figure_count(out, "pageable", seen_calls(a, into_pageable).n);
	return true;
}

bool advise_device_copies(struct advisor *a, struct advice *out)
{
	return copies(a, out, on_device);
}

bool advise_peer(struct advisor *a, struct advice *out)
{
	return copies(a, out, to_peer);
}

bool advise_clears(struct advisor *a, struct advice *out)
{
	return copies(a, out, clears);
}

/* Transfer, and what cannot be told from waiting for others. */
bool advise_comm(struct advisor *a, struct advice *out)
{
	const struct device_timeline *d = a->device->timeline;
	const struct recovery *r = a->recovery;
	const struct recoverable *unsplit = &r->of[RECOVER_comm_unsplit];
	uint64_t n = 0;

	out->lost_ns += unsplit->lost_ns;
	out->observed_ns = out->lost_ns;
	out->recoverable_ns = clamp64(r->parts.compute_ns - r->likely_idle_ns, 0, out->lost_ns);
	out->covers |= (uint64_t)1 << RECOVER_comm_unsplit;
	if (!advice_matters(a, out))
		return false;
	if (unsplit->lost_ns > r->of[RECOVER_comm_transfer].lost_ns) {
		out->about = RECOVER_comm_unsplit;
		out->next = unsplit->next;
		out->next_ns = unsplit->next_ns;
	}
	for (size_t i = 0; i < d->n_ops; i++)
		if (d->ops[i].class == OP_COMM && d->ops[i].begin_ns >= r->begin_ns && d->ops[i].begin_ns < r->end_ns)
			n += d->ops[i].count;
	figure_count(out, "operations", n);
	figure_ns(out, "exposed_ns", out->lost_ns);
	figure_per_step(a, out, "per_step", n);
	return true;
}

/* The rank that costs the others most, if it is not this device's own. */
bool advise_straggler(struct advisor *a, struct advice *out)
{
	const struct ranks *ranks = &a->summary->ranks;
	const struct straggler *worst = ranks->n_stragglers ? &ranks->stragglers[0] : NULL;
	const struct rank_member *m = worst ? &ranks->members[worst->member] : NULL;

	if (!advice_matters(a, out))
		return false;
	figure_ns(out, "exposed_ns", out->lost_ns);
	if (!m || m->device == a->index || m->rank == GST_NONE)
		return true;
	figure_count(out, "rank", m->rank);
	figure_count(out, "last", m->last);
	figure_count(out, "timed", m->timed);
	figure_ns(out, "cost_ns", m->cost_ns);
	if (worst->excess_ns > 0) {
		figure_ns(out, "excess_ns", worst->excess_ns);
		figure_text(a, out, "doing", rank_doing_name(worst->doing));
	}
	return true;
}
