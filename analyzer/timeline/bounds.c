/* SPDX-License-Identifier: BSD-2-Clause */
#include "bounds.h"

#include "busy.h"
#include "carried.h"
#include "elsewhere.h"
#include "exact_work.h"
#include "held_up.h"
#include "legacy.h"
#include "links.h"
#include "sharing.h"
#include "slack.h"
#include "stretches.h"
#include "timeline.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"
#include "trace/trace_rare.h"
#include "waits.h"

#include <stdlib.h>

#define OWN_EDGES 64 /* in one call's time, of whichever threads: what is more is not looked at */
#define ROUNDS 6     /* of a chain of waits from device to device: longer ones are bounded less tightly */

/* ---- what each stream's facts say about each submission --------------------------------------------- */

/* Pieces of one call stay in the order in which they were added: what ended last stands last, and behind it what was not measured (exact.h). */
static int by_seq(const void *a, const void *b)
{
	const struct work *x = a, *y = b;

	if (x->call->seq != y->call->seq)
		return x->call->seq < y->call->seq ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return (x->more > y->more) - (x->more < y->more);
}

/* An op has ended when anything at or behind it in the stream had. Of a stream's finished facts from each one on: which of them says the least.
 * NULL: no memory. */
static const struct finished **least_from(const struct facts *f, size_t first, size_t end)
{
	const struct finished **least = array_new(end - first, sizeof(*least));

	for (size_t i = end; least && i-- > first;)
		least[i - first] = i + 1 < end && least[i + 1 - first]->by_ns <= f->finished[i].by_ns
					   ? least[i + 1 - first]
					   : &f->finished[i];
	return least;
}

static void set_latest_end(struct work *op, const struct finished *least, int64_t end_ns)
{
	bool known = least && least->by_ns < end_ns;

	op->latest_end_ns = known ? least->by_ns : end_ns;
	op->known_by = known ? least->known_by : BOUNDARY_NONE;
}

/* What was over when the records begin, although its call returned later, is none of the device's time. */
static bool is_left_out(const struct stream_work *w, const struct work *op)
{
	return w->trace->from_ns && op->latest_end_ns <= w->trace->from_ns && !work_measured(w, op);
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

static bool set_behind(struct stream_work *w, struct work *op, int64_t behind_ns)
{
	struct work_more *own = work_own(w, op);

	if (own)
		own->behind_ns = behind_ns;
	return own != NULL;
}

/* An op starts after its call began, and after every edge recorded before that had fired. *at: of these, the first that was not looked at; *from_ns: when
 * they had. False: no memory. */
static bool set_earliest_start(struct work *op, struct stream_work *w, size_t *at, size_t end, int64_t *from_ns)
{
	const struct order *order = w->facts->order;
	int64_t entry = op->call->begin_ns;
	const struct order *own;

	/* entries rise along a stream but for races of threads; there a bound is used a little late. An edge of the same tick
	 * stood there before if the call took longer than that tick. */
	for (; *at < end && order[*at].after_ns <= entry && order[*at].after_ns < op->call->end_ns; ++*at)
		*from_ns = max64(*from_ns, order[*at].from_ns);
	if (op->more)
		w->more[op->more].behind_ns = 0; /* it may have had bounds before */
	own = own_edge(w->facts, *at, end, op->call);
	*from_ns = max64(*from_ns, own ? own->from_ns : INT64_MIN);
	op->earliest_start_ns = clamp64(max64(entry, *from_ns), entry, max64(entry, op->latest_end_ns));
	op->earliest_start_ns = max64(op->earliest_start_ns, w->trace->from_ns);
	op->latest_end_ns = max64(op->latest_end_ns, op->earliest_start_ns);
	return !own || own->from_ns == INT64_MIN || !own->until_ns || set_behind(w, op, own->until_ns);
}

/* How far a stream's facts have been gone through, along its work. */
struct bounding {
	const struct finished **least; /* NULL: not begun */
	size_t first, at, last, order, order_end;
	int64_t from_ns;
	size_t n; /* pieces of work that have their bounds */
};

/* False: no memory. */
static bool bounding_begin(struct bounding *b, const struct stream_work *w)
{
	const struct facts *f = w->facts;

	*b = (struct bounding){ .from_ns = INT64_MIN };
	b->first = b->at = facts_first_finished(f, w->stream);
	b->last = facts_first_finished(f, w->stream + 1);
	b->order = facts_first_order(f, w->stream);
	b->order_end = facts_first_order(f, w->stream + 1);
	b->least = least_from(f, b->first, b->last);
	return b->least != NULL;
}

/* The next piece, behind those that have their bounds, if it is not left out. False: no memory. */
static bool bound(struct bounding *b, struct stream_work *w)
{
	struct work *op = &w->ops[b->n];

	while (b->at < b->last && w->facts->finished[b->at].covers < op->call->seq)
		b->at++;
	set_latest_end(op, b->at < b->last ? b->least[b->at - b->first] : NULL, w->trace->end_ns);
	if (is_left_out(w, op))
		return true;
	if (!set_earliest_start(op, w, &b->order, b->order_end, &b->from_ns))
		return false;
	if (b->n)
		op->latest_end_ns = max64(op->latest_end_ns, op[-1].latest_end_ns);
	b->n++;
	return true;
}

/* In one pass, as there may be more work than any cache holds. False: no memory. */
static bool set_bounds(struct stream_work *w)
{
	struct bounding b;
	bool ok = bounding_begin(&b, w);

	for (size_t i = 0; ok && i < w->n; i++) {
		if (b.n < i)
			w->ops[b.n] = w->ops[i];
		ok = bound(&b, w);
	}
	if (ok)
		w->n = b.n;
	free(b.least);
	return ok;
}

/* The stream's last piece, as long as they come in its order: then none has to be gone through again. False: no memory. */
static bool bound_last(struct bounding *b, struct stream_work *w)
{
	if (b->n + 1 != w->n || w->unsorted)
		return true;
	return (b->least || bounding_begin(b, w)) && bound(b, w);
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

/* ---- one piece of work ---------------------------------------------------------------------------- */

const struct work_more work_common = { .held_until_ns = INT64_MIN };

struct work_more *work_own(struct stream_work *w, struct work *op)
{
	if (op->more)
		return &w->more[op->more];
	if (w->n_more == UINT32_MAX || !spill_room(w->more, w->n_more + 1, w->cap_more))
		return NULL;
	op->more = (uint32_t)++w->n_more;
	w->more[op->more] = work_common;
	return &w->more[op->more];
}

bool work_add(struct stream_work *w, struct work op, const struct work_more *more)
{
	struct work_more *own = more ? work_own(w, &op) : NULL;

	if ((more && !own) || !spill_room(w->ops, w->n, w->cap))
		return false;
	if (own)
		*own = *more;
	w->ops[w->n++] = op;
	return true;
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
static struct work work_new(const struct trace *t, const struct call *c, uint32_t device, uint64_t used,
			    int64_t *slack_ns)
{
	const struct graph *g = c->family == GST_FAMILY_GRAPH_LAUNCH ? &t->graphs[c->graph] : NULL;
	bool stalls = (g && (g->stalls || elsewhere_reaches(g, (used | g->devices) & ~graph_device_bit(device)))) ||
		      c->begin_ns < t->from_ns; /* before or behind what is not known any more */

	*slack_ns = g && !stalls ? (int64_t)g->levels * NODE_NS : 0;
	return (struct work){ .call = c,
			      .hostfn = c->family == GST_FAMILY_HOSTFN ||
					(g && g->counted && !g->open && graph_work_on(g, device, device) == 0),
			      .stalls = stalls };
}

/* What waits in the legacy default stream holds up all that block with it, and what waits in one of those holds that stream up, whether
 * they have work or not. */
static bool waits_with_legacy(const struct trace *t, const struct call *c)
{
	return c->family == GST_FAMILY_STREAM_WAIT && c->result == 0 && !(c->flags & GST_CAPTURED) &&
	       c->stream != GST_NONE && !(t->streams[c->stream].flags & 1);
}

/* One submission's: what was measured of it, and what was not. */
static bool add_work(struct stream_work *w, struct work work, int64_t slack_ns, uint32_t device,
		     const struct exact *exact)
{
	struct work_more more = work_common;
	uint32_t missing;
	bool any;

	if (!exact_add(w, exact, work, slack_ns, device, &any, &missing))
		return false;
	if (any && !missing)
		return true;
	work.lost = missing && !work.hostfn;
	more.missing = any ? missing : 0;
	more.slack_ns = slack_ns;
	return work_add(w, work, more.missing || slack_ns ? &more : NULL);
}

/* each: of each stream, as `at`. */
static bool collect(struct device_work *d, const struct trace *t, uint32_t device, size_t *at, struct bounding *each,
		    const struct facts *facts)
{
	const struct exact *exact = facts->exact;
	uint64_t used = elsewhere_used(t);
	/* nothing was measured, nor was anything to be: then a launch is itself */
	bool plain = !exact->n && t->measured_from_ns == t->measured_until_ns;

	for (size_t i = 0; i < t->n_calls; i++) {
		const struct call *c = &t->calls[i];
		size_t slot = c->stream != GST_NONE ? c->stream : t->n_streams;
		struct stream_work *w;

		if ((!is_submission(c) && !waits_with_legacy(t, c)) || !on_device(t, c, device))
			continue;
		w = work_of(d, t, device, c->stream, &at[slot]);
		if (!w)
			return false;
		w->facts = facts;
		if (!is_submission(c))
			continue;
		if (plain && is_plain_launch(c) && c->begin_ns >= t->from_ns) {
			if (!work_add(w, (struct work){ .call = c }, NULL))
				return false;
		} else {
			int64_t slack_ns;
			struct work work = work_new(t, c, device, used, &slack_ns);

			w->special |= !plain || work.hostfn || work.stalls || c->family == GST_FAMILY_GRAPH_LAUNCH;
			if (!add_work(w, work, slack_ns, device, exact))
				return false;
		}
		w->unsorted |= !plain || c->seq < w->last_seq;
		w->last_seq = c->seq;
		if (plain && !t->from_ns && c->stream != GST_NONE && !bound_last(&each[slot], w))
			return false;
	}
	return true;
}

/* Has all its work got its bounds while it was collected? */
static bool is_bounded(const struct stream_work *w, const struct bounding *each)
{
	return w->stream != GST_NONE && !w->elsewhere && !w->carried && !w->loose && !w->unsorted && w->n &&
	       each[w->stream].n == w->n;
}

enum err_kind bounds_add(struct device_work *d, const struct trace *t, uint32_t device, const struct facts *facts,
			 struct error *e)
{
	size_t *at = array_new(t->n_streams + 1, sizeof(*at));
	struct bounding *each = array_new(t->n_streams + 1, sizeof(*each));
	size_t first = d->n;
	bool ok = at && each && collect(d, t, device, at, each, facts);

	if (ok)
		waits_mark(d, t, at);
	ok = ok && elsewhere_collect(d, t, device, facts->exact) && carried_collect(d, t, device) &&
	     exact_collect_loose(d, t, device, facts->exact);
	for (size_t i = first; ok && i < d->n; i++)
		d->streams[i].bounded = is_bounded(&d->streams[i], each);
	for (size_t i = 0; each && i <= t->n_streams; i++)
		free(each[i].least);
	free(each);
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
			if (w->unsorted)
				array_sort(w->ops, w->n, sizeof(*w->ops), by_seq);
			if (!w->bounded && !set_bounds(w))
				return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
		}
		if (facts->exact->n)
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
		spill_free(d->streams[i].more);
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
