/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_copies.c: copies, memsets and communication that nothing else ran beside. */
#include "advice_parts.h"

#include "tools/ns.h"

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
	figure_per_step(a, out, "per_step", use.in_steps);
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
	uint64_t n;

	if (!copies(a, out, to_host))
		return false;
	n = seen_calls(a, into_pageable).n;
	if (n)
		figure_count(out, "pageable", n);
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

/* Kernels of it, and those in steps. */
static struct call_use operations(const struct advisor *a)
{
	const struct device_timeline *d = a->device->timeline;
	const struct recovery *r = a->recovery;
	struct call_use use = { 0 };

	for (size_t i = timeline_other(d, 0); i < d->n_ops; i = timeline_other(d, i + 1)) {
		const struct op *op = &d->ops[i];

		if (op->of->class != OP_COMM || op->begin_ns < r->begin_ns || op->begin_ns >= r->end_ns)
			continue;
		use.n += op->of->count;
		use.in_steps += recovery_is_in_step(r, op->begin_ns) ? op->of->count : 0;
	}
	return use;
}

/* Transfer, and what cannot be told from waiting for others. */
bool advise_comm(struct advisor *a, struct advice *out)
{
	const struct recovery *r = a->recovery;
	const struct recoverable *transfer = &r->of[RECOVER_comm_transfer], *unsplit = &r->of[RECOVER_comm_unsplit];
	struct recover_next next;
	struct call_use use;

	if (unsplit->lost_ns > transfer->lost_ns)
		out->about = RECOVER_comm_unsplit;
	out->lost_ns += unsplit->lost_ns;
	out->observed_ns = out->lost_ns;
	out->recoverable_ns = clamp64(r->parts.compute_ns - r->likely_idle_ns, 0, out->lost_ns);
	out->covers = (uint64_t)(transfer->lost_ns > 0) << RECOVER_comm_transfer | (uint64_t)(unsplit->lost_ns > 0)
											   << RECOVER_comm_unsplit;
	next = recover_next(r, out->covers, recover_name(out->about), out->lost_ns - out->recoverable_ns);
	out->next = next.name;
	out->next_ns = next.ns;
	if (!advice_matters(a, out))
		return false;
	use = operations(a);
	figure_count(out, "operations", use.n);
	figure_ns(out, "exposed_ns", out->lost_ns);
	figure_per_step(a, out, "per_step", use.in_steps);
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
