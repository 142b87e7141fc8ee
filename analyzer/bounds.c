/* SPDX-License-Identifier: BSD-2-Clause */
#include "bounds.h"

#include "alloc.h"
#include "busy.h"
#include "carried.h"
#include "elsewhere.h"
#include "exact_work.h"
#include "held_up.h"
#include "legacy.h"
#include "links.h"
#include "ns.h"
#include "sharing.h"
#include "slack.h"
#include "spill.h"
#include "stretches.h"
#include "timeline.h"
#include "waits.h"

#include <stdlib.h>

#define OWN_EDGES 64 /* in one call's time, of whichever threads: what is more is not looked at */
#define ROUNDS 6     /* of a chain of waits from device to device: longer ones are bounded less tightly */

/* ---- what each stream's facts say about each submission --------------------------------------------- */

/* Of one submission, what ended last stands last: it was over then, and not before. That is what was not measured, if anything. */
static int by_end(const struct measured *x, const struct measured *y)
{
	if (!x || !y)
		return !x - !y;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static int by_seq(const void *a, const void *b)
{
	const struct work *x = a, *y = b;

	if (x->call->seq != y->call->seq)
		return x->call->seq < y->call->seq ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return by_end(x->measured, y->measured);
}

/* An op has ended when anything at or behind it in the stream had. */
static void set_latest_ends(struct stream_work *w, const struct facts *f)
{
	size_t first = facts_first_finished(f, w->stream);
	size_t at = facts_first_finished(f, w->stream + 1);
	int64_t by = w->trace->end_ns;
	uint8_t known_by = BOUNDARY_NONE;

	for (size_t i = w->n; i-- > 0;) {
		for (; at > first && f->finished[at - 1].covers >= w->ops[i].call->seq; at--) {
			if (f->finished[at - 1].by_ns < by) {
				by = f->finished[at - 1].by_ns;
				known_by = f->finished[at - 1].known_by;
			}
		}
		w->ops[i].latest_end_ns = by;
		w->ops[i].known_by = known_by;
	}
}

/* What was over when the records begin, although its call returned later, is none of the device's time. */
static void leave_out_finished(struct stream_work *w)
{
	size_t n = 0;

	for (size_t i = 0; w->trace->from_ns && i < w->n; i++)
		if (w->ops[i].latest_end_ns > w->trace->from_ns || w->ops[i].measured)
			w->ops[n++] = w->ops[i];
	w->n = w->trace->from_ns ? n : w->n;
}

/* The recorder puts an edge into the stream in the program's own call, before it hands that to the driver: what the call submits stands
 * behind it. What it records behind, it records when the driver has returned: such an edge ends with the call at the earliest, and where
 * the counter is coarse at the same tick. */
static const struct order *own_edge(const struct facts *f, size_t at, size_t end, const struct call *c)
{
	const struct order *own = NULL;

	for (size_t last = at + OWN_EDGES; at < end && at < last && f->order[at].after_ns < c->end_ns; at++)
		if (f->order[at].tid && f->order[at].tid == c->tid && f->order[at].begin_ns >= c->begin_ns &&
		    (!own || f->order[at].from_ns >= own->from_ns))
			own = &f->order[at];
	return own;
}

/* An op starts after its call began, and after every edge recorded before that had fired. */
static void set_earliest_starts(struct stream_work *w, const struct facts *f)
{
	size_t at = facts_first_order(f, w->stream);
	size_t end = facts_first_order(f, w->stream + 1);
	int64_t from = INT64_MIN;

	for (size_t i = 0; i < w->n; i++) {
		struct work *op = &w->ops[i];
		int64_t entry = op->call->begin_ns;
		const struct order *own;

		/* entries rise along a stream but for races of threads; there a bound is used a little late. An edge of the same tick
		 * stood there before if the call took longer than that tick. */
		for (; at < end && f->order[at].after_ns <= entry && f->order[at].after_ns < op->call->end_ns; at++)
			from = max64(from, f->order[at].from_ns);
		own = own_edge(f, at, end, op->call);
		from = max64(from, own ? own->from_ns : INT64_MIN);
		op->behind_ns = own && own->from_ns > INT64_MIN ? own->until_ns : 0;
		op->earliest_start_ns = clamp64(max64(entry, from), entry, max64(entry, op->latest_end_ns));
		op->earliest_start_ns = max64(op->earliest_start_ns, w->trace->from_ns);
		op->latest_end_ns = max64(op->latest_end_ns, op->earliest_start_ns);
		if (i)
			op->latest_end_ns = max64(op->latest_end_ns, w->ops[i - 1].latest_end_ns);
	}
}

/* Is the context the only one with streams on this device? Then its synchronise is for all of the device's work. */
static bool only_context(const struct trace *t, uint64_t context, uint32_t device)
{
	bool seen = false;

	for (size_t i = 0; i < t->n_streams; i++) {
		if (t->streams[i].device == device && t->streams[i].context != context)
			return false;
		seen |= t->streams[i].device == device;
	}
	return seen;
}

/* Work of no known stream: it runs between its call and the next synchronise of everything on its device. */
static void set_unlinked(struct stream_work *w)
{
	const struct trace *t = w->trace;
	int64_t by = t->end_ns;
	size_t at = t->n_calls;

	for (size_t i = w->n; i-- > 0;) {
		struct work *op = &w->ops[i];

		for (; at > 0 && t->calls[at - 1].begin_ns >= op->call->end_ns; at--)
			if (t->calls[at - 1].family == GST_FAMILY_SYNC_CONTEXT && t->calls[at - 1].result == 0 &&
			    only_context(t, t->calls[at - 1].args[0], op->call->device))
				by = min64(by, t->calls[at - 1].end_ns);
		op->earliest_start_ns = max64(op->call->begin_ns, t->from_ns);
		op->latest_end_ns = max64(by, op->earliest_start_ns);
		if (op->call->flags & GST_BLOCKING)
			op->latest_end_ns = op->call->end_ns;
	}
}

/* ---- collecting ------------------------------------------------------------------------------------- */

/* `at` tells where a stream's work goes: position + 1 in d->streams, 0 not yet there. */
static struct stream_work *work_of(struct device_work *d, const struct trace *t, uint32_t device, uint32_t stream,
				   size_t *at)
{
	if (*at == 0) {
		if (!array_room(d->streams, d->n, d->cap))
			return NULL;
		d->streams[d->n++] = (struct stream_work){ .trace = t, .stream = stream, .ordinal = device };
		*at = d->n;
	}
	return &d->streams[*at - 1];
}

static bool on_device(const struct trace *t, const struct call *c, uint32_t device)
{
	return elsewhere_home(t, c) == device;
}

/* A graph that holds no work for this device is like a host function: it takes its time, and the device has no part in it. */
static struct work work_new(const struct trace *t, const struct call *c, uint32_t device, uint64_t used)
{
	const struct graph *g = c->family == GST_FAMILY_GRAPH_LAUNCH ? &t->graphs[c->graph] : NULL;
	bool stalls = (g && (g->stalls || elsewhere_reaches(g, (used | g->devices) & ~graph_device_bit(device)))) ||
		      c->begin_ns < t->from_ns; /* before or behind what is not known any more */

	return (struct work){ .call = c,
			      .hostfn = c->family == GST_FAMILY_HOSTFN ||
					(g && g->counted && !g->open && graph_work_on(g, device, device) == 0),
			      .stalls = stalls,
			      .slack_ns = g && !stalls ? (int64_t)g->levels * NODE_NS : 0 };
}

/* What waits in the legacy default stream holds up all that block with it, and what waits in one of those holds that stream up, whether
 * they have work or not. */
static bool waits_with_legacy(const struct trace *t, const struct call *c)
{
	return c->family == GST_FAMILY_STREAM_WAIT && c->result == 0 && !(c->flags & GST_CAPTURED) &&
	       c->stream != GST_NONE && !(t->streams[c->stream].flags & 1);
}

/* One submission's: what was measured of it, and what was not. */
static bool add_work(struct stream_work *w, struct work work, uint32_t device, const struct exact *exact)
{
	uint32_t missing;
	bool any;

	if (!exact_add(w, exact, work, device, &any, &missing))
		return false;
	if (any && !missing)
		return true;
	work.lost = missing && !work.hostfn;
	work.missing = any ? missing : 0;
	if (!spill_room(w->ops, w->n, w->cap))
		return false;
	w->ops[w->n++] = work;
	return true;
}

static bool collect(struct device_work *d, const struct trace *t, uint32_t device, size_t *at,
		    const struct exact *exact)
{
	uint64_t used = elsewhere_used(t);

	for (size_t i = 0; i < t->n_calls; i++) {
		const struct call *c = &t->calls[i];
		size_t slot = c->stream != GST_NONE ? c->stream : t->n_streams;
		struct stream_work *w;

		if ((!is_submission(c) && !waits_with_legacy(t, c)) || !on_device(t, c, device))
			continue;
		w = work_of(d, t, device, c->stream, &at[slot]);
		if (!w)
			return false;
		if (!is_submission(c))
			continue;
		if (!add_work(w, work_new(t, c, device, used), device, exact))
			return false;
	}
	return true;
}

enum err_kind bounds_add(struct device_work *d, const struct trace *t, uint32_t device, const struct facts *facts,
			 struct error *e)
{
	size_t *at = array_new(t->n_streams + 1, sizeof(*at));
	size_t first = d->n;
	bool ok = at && collect(d, t, device, at, facts->exact);

	if (ok)
		waits_mark(d, t, at);
	ok = ok && elsewhere_collect(d, t, device, facts->exact) && carried_collect(d, t, device) &&
	     exact_collect_loose(d, t, device, facts->exact);
	free(at);
	if (!ok)
		return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
	for (size_t i = first; i < d->n; i++) {
		struct stream_work *w = &d->streams[i];

		w->facts = facts;
		if (w->stream == GST_NONE && !w->loose) {
			set_unlinked(w);
		} else if (w->carried) {
			carried_bound(w, facts);
		} else if (!w->loose) {
			array_sort(w->ops, w->n, sizeof(*w->ops), by_seq);
			set_latest_ends(w, facts);
			leave_out_finished(w);
			set_earliest_starts(w, facts);
		}
		exact_bound(w);
		if (w->elsewhere)
			w->stream = GST_NONE; /* nothing of this device is ordered by it */
	}
	d->worst_edge_error_ns = max64(d->worst_edge_error_ns, facts->worst_edge_error_ns);
	return ERR_NONE;
}

/* Latest starts, earliest ends and busy time, until waits for each other change nothing any more; each round is sound by itself. */
static bool find_busy(struct device_work *devices, size_t n)
{
	bool changed = true;

	for (int round = 0; round < ROUNDS && changed; round++) {
		for (size_t i = 0; i < n; i++) {
			devices[i].busy.n = devices[i].stalled.n = 0;
			for (size_t k = 0; k < devices[i].n; k++)
				if (!busy_find(&devices[i], &devices[i].streams[k]))
					return false;
		}
		if (round + 1 == ROUNDS)
			break; /* what is raised must be looked at again */
		changed = links_order(devices, n);
		for (size_t i = 0; i < n; i++)
			changed |= legacy_order(&devices[i]);
	}
	return true;
}

static bool finish_device(struct device_work *d)
{
	const struct trace *seen = NULL;

	for (size_t i = 0; i < d->n; i++) {
		const struct stream_work *w = &d->streams[i];

		if ((w->trace != seen && !busy_find_context(d, w)) || !stretches_add(d, w))
			return false;
		seen = w->trace;
	}
	intervals_merge(&d->busy);
	intervals_merge(&d->stalled);
	return exact_merge(d) && sharing_find(d) && slack_take(d);
}

enum err_kind bounds_finish(struct device_work *devices, size_t n, struct error *e)
{
	bool ok = true;

	for (size_t i = 0; i < n; i++) {
		legacy_find(&devices[i]);
		legacy_tighten(&devices[i]);
	}
	for (size_t i = 0; i < n; i++) {
		elsewhere_widen(&devices[i]);
		carried_clip(&devices[i]);
	}
	for (size_t i = 0; i < n && ok; i++)
		ok = held_up_find(&devices[i]);
	ok = ok && links_find(devices, n) && find_busy(devices, n);
	for (size_t i = 0; i < n && ok; i++)
		ok = finish_device(&devices[i]);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
}

void bounds_free(struct device_work *d)
{
	for (size_t i = 0; i < d->n; i++) {
		spill_free(d->streams[i].ops);
		free(d->streams[i].held);
	}
	for (size_t i = 0; i < d->n_relays; i++)
		free(d->relays[i].held);
	free(d->relays);
	free(d->streams);
	spill_free(d->stretches);
	intervals_free(&d->busy);
	intervals_free(&d->measured);
	intervals_free(&d->inside);
	intervals_free(&d->stalled);
	intervals_free(&d->host);
	intervals_free(&d->host_blocking);
	intervals_free(&d->holding);
	*d = (struct device_work){ 0 };
}
