/* SPDX-License-Identifier: BSD-2-Clause */
#include "exact_work.h"

#include "elsewhere.h"
#include "timeline.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"

#include <stdlib.h>

/* ---- collecting ------------------------------------------------------------------------------------- */

static bool add_measured(struct stream_work *w, struct work like, int64_t slack_ns, const struct measured *m)
{
	struct work_more more = work_common;

	more.measured = m;
	if (m->kind != GST_ACTIVITY_GRAPH)
		like.stalls = like.hostfn = false;
	else
		more.slack_ns = slack_ns;
	return work_add(w, like, &more);
}

bool exact_add(struct stream_work *w, const struct exact *x, struct work like, int64_t slack_ns, uint32_t device,
	       bool *any, uint32_t *missing)
{
	size_t n;
	const struct exact_op *ops = exact_of(x, like.call, &n);

	*any = n > 0;
	*missing = exact_missing(x, like.call, ops, n);
	for (size_t i = 0; i < n; i++) {
		if (ops[i].measured->device != device)
			continue;
		if (!add_measured(w, like, slack_ns, ops[i].measured))
			return false;
	}
	return true;
}

bool exact_collect_loose(struct device_work *d, const struct trace *t, uint32_t device, const struct exact *x)
{
	struct stream_work *w = NULL;

	for (size_t i = 0; i < x->n; i++) {
		const struct exact_op *op = &x->ops[i];

		if (op->measured->device != device || (i < x->n_linked && elsewhere_home(t, op->call) == device))
			continue;
		if (!w) {
			if (!array_room(d->streams, d->n, d->cap))
				return false;
			w = &d->streams[d->n++];
			*w = (struct stream_work){
				.trace = t, .stream = GST_NONE, .ordinal = device, .loose = true, .special = true
			};
		}
		if (!add_measured(w, (struct work){ .call = op->call }, 0, op->measured))
			return false;
	}
	return true;
}

/* By stream of the trace: it has work in its order. NULL: no memory. */
static bool *in_order(const struct device_work *d, const struct trace *t)
{
	bool *seen = array_new(t->n_streams, sizeof(*seen));

	for (size_t i = 0; seen && i < d->n; i++)
		if (d->streams[i].trace == t && d->streams[i].stream < t->n_streams && d->streams[i].n)
			seen[d->streams[i].stream] = true;
	return seen;
}

/* A graph's nodes may be in a stream of another device: it is none of this one's. */
static bool count_loose(const struct device_work *d, const struct stream_work *w, uint32_t *n)
{
	const struct trace *t = w->trace;
	bool *seen = in_order(d, t);

	for (size_t i = 0; seen && i < w->n; i++) {
		const struct measured *m = work_measured(w, &w->ops[i]);

		if (!m || m->stream >= t->n_streams || seen[m->stream] || t->streams[m->stream].device != w->ordinal)
			continue;
		seen[m->stream] = true;
		++*n;
	}
	free(seen);
	return seen != NULL;
}

bool exact_count_streams(const struct device_work *d, uint32_t *n)
{
	*n = 0;
	for (size_t i = 0; i < d->n; i++) {
		const struct stream_work *w = &d->streams[i];

		if (w->loose && !count_loose(d, w, n))
			return false;
		*n += w->n > 0 && !w->elsewhere && !w->loose;
	}
	return true;
}

/* ---- bounds ------------------------------------------------------------------------------------------ */

static void set_times(struct work *op, const struct measured *m, int64_t from_ns)
{
	op->earliest_start_ns = op->latest_start_ns = max64(m->begin_ns, from_ns);
	op->earliest_end_ns = op->latest_end_ns = max64(m->end_ns, from_ns);
	op->known_by = BOUNDARY_MEASURED;
}

static size_t same_call(const struct stream_work *w, size_t i)
{
	size_t end = i + 1;

	while (end < w->n && w->ops[end].call == w->ops[i].call)
		end++;
	return end;
}

/* What was not measured starts behind what was measured before it. */
static void raise_starts(struct stream_work *w)
{
	int64_t from_ns = INT64_MIN;

	for (size_t i = 0, next; i < w->n; i = next) {
		int64_t last_ns = from_ns;

		next = same_call(w, i);
		for (size_t k = i; k < next; k++) {
			struct work *op = &w->ops[k];

			if (work_measured(w, op))
				last_ns = max64(last_ns, op->latest_end_ns);
			else
				op->earliest_start_ns = max64(op->earliest_start_ns, min64(from_ns, op->latest_end_ns));
		}
		from_ns = last_ns;
	}
}

/* And ends before what was measured behind it does; a host function even before that begins. Other pieces of the same call are not
 * behind it. */
static void lower_ends(struct stream_work *w)
{
	int64_t by_ns = INT64_MAX, begin_ns = INT64_MAX;

	for (size_t end = w->n, first; end > 0; end = first) {
		int64_t own_by_ns = by_ns, own_begin_ns = begin_ns;

		for (first = end - 1; first > 0 && w->ops[first - 1].call == w->ops[end - 1].call;)
			first--;
		for (size_t i = first; i < end; i++) {
			struct work *op = &w->ops[i];
			int64_t limit_ns = op->hostfn ? begin_ns : by_ns;

			if (work_measured(w, op)) {
				own_by_ns = min64(own_by_ns, op->latest_end_ns);
				own_begin_ns = min64(own_begin_ns, op->earliest_start_ns);
			} else if (limit_ns < op->latest_end_ns) {
				op->latest_end_ns = max64(limit_ns, op->earliest_start_ns);
				op->known_by = BOUNDARY_MEASURED;
			}
		}
		by_ns = own_by_ns;
		begin_ns = own_begin_ns;
	}
}

void exact_bound(struct stream_work *w)
{
	bool any = false;

	for (size_t i = 0; i < w->n; i++) {
		const struct measured *m = work_measured(w, &w->ops[i]);

		if (m)
			set_times(&w->ops[i], m, w->trace->from_ns);
		any |= m != NULL;
	}
	if (!any || w->loose)
		return;
	lower_ends(w);
	raise_starts(w);
}

bool exact_merge(struct device_work *d)
{
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; d->streams[i].special && k < d->streams[i].n; k++) {
			const struct work *op = &d->streams[i].ops[k];

			if (work_is_solid(&d->streams[i], op) &&
			    !intervals_add(&d->measured, op->earliest_start_ns, op->latest_end_ns))
				return false;
		}
	intervals_merge(&d->measured);
	return true;
}
