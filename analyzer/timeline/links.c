/* SPDX-License-Identifier: BSD-2-Clause */
#include "links.h"

#include "tools/alloc.h"
#include "tools/ns.h"
#include "timeline.h"
#include "waits.h"
#include "trace/trace_rare.h"

#include <stdlib.h>
#include <string.h>

/* How far back what is waited for is looked for through streams that wait themselves: more only tightens. */
#define DEPTH 3
#define LOOK_BACK 3

struct place { /* of a stream's work among all devices' */
	const struct trace *trace;
	struct stream_work *work;
	uint32_t stream;
	size_t near; /* the op that was looked for last: waits are gone through in the order of time */
};

struct link { /* one wait of a stream that has work */
	struct stream_work *work;
	const struct wait *wait;
	struct stream_work *producer; /* NULL: not known, or it never had work */
	size_t covers;                /* the first so many of the producer's ops, at least … */
	size_t may_cover;             /* … and at most */
	size_t behind; /* the first op of the work's that certainly stands behind the wait; their number: none */
};

struct links {
	struct place *places; /* by trace and stream */
	struct link *at;      /* by time */
	size_t n_places, n, cap;
	size_t first_of_trace; /* among places: of the trace at hand */
};

static int by_trace_and_stream(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->trace != y->trace)
		return (uintptr_t)x->trace < (uintptr_t)y->trace ? -1 : 1;
	return (x->stream > y->stream) - (x->stream < y->stream);
}

static bool place_before(const void *element, const void *key)
{
	return by_trace_and_stream(element, key) < 0;
}

static int by_wait_time(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	return (x->wait->at_ns > y->wait->at_ns) - (x->wait->at_ns < y->wait->at_ns);
}

static struct stream_work *work_of(const struct links *l, const struct trace *t, uint32_t stream)
{
	const struct place key = { .trace = t, .stream = stream };
	const struct place *found = bsearch(&key, l->places, l->n_places, sizeof(key), by_trace_and_stream);

	return found ? found->work : NULL;
}

static bool work_up_to(const void *element, const void *key)
{
	return ((const struct work *)element)->call->seq <= *(const uint64_t *)key;
}

static bool work_called_before(const void *element, const void *key)
{
	return ((const struct work *)element)->call->begin_ns < *(const int64_t *)key;
}

static bool link_wait(struct links *l, struct stream_work *w, const struct wait *wait)
{
	const struct link *last = l->n ? &l->at[l->n - 1] : NULL; /* what this one is about is mostly not far behind */
	struct link link = { .work = w, .wait = wait };

	link.behind = array_first_near(w->ops, w->n, sizeof(*w->ops), work_called_before, &wait->end_ns,
				       last && last->work == w ? last->behind : 0);
	if (wait->producer != GST_NONE)
		link.producer = work_of(l, w->trace, wait->producer);
	if (link.producer) {
		const struct stream_work *p = link.producer;

		link.covers = array_first_near(p->ops, p->n, sizeof(*p->ops), work_up_to, &wait->seq,
					       last && last->producer == p ? last->covers : p->n / 2);
		/* another thread may have put more before the event than the one that recorded it knew of */
		link.may_cover = array_first_near(p->ops, p->n, sizeof(*p->ops), work_called_before, &wait->recorded_ns,
						  link.covers);
		if (link.may_cover < link.covers)
			link.may_cover = link.covers;
	}
	if (!array_room(l->at, l->n, l->cap))
		return false;
	l->at[l->n++] = link;
	return true;
}

/* The stream's device among the run's; n if its process put no work there. */
static size_t device_of(const struct device_work *devices, size_t n, const struct trace *t, uint32_t stream)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < devices[i].n; k++)
			if (devices[i].streams[k].trace == t && devices[i].streams[k].stream != GST_NONE &&
			    t->streams[devices[i].streams[k].stream].device == t->streams[stream].device)
				return i;
	return n;
}

static bool has_memory_waits(const struct trace *t)
{
	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1))
		if (t->calls[i].family == GST_FAMILY_MEMOP)
			return true;
	return false;
}

/* Streams of this process that wait for events and have no work. */
static bool add_relays(struct links *l, struct device_work *devices, size_t n, const struct stream_work *of)
{
	const struct facts *f = of->facts;
	bool opaque = has_memory_waits(of->trace);
	size_t cap = devices[0].n_relays;

	for (size_t k = 0; k < f->n_waits; k++) {
		uint32_t stream = f->waits[k].stream;

		if ((k && f->waits[k - 1].stream == stream) || work_of(l, of->trace, stream))
			continue;
		if (!array_room(devices[0].relays, devices[0].n_relays, cap))
			return false;
		devices[0].relays[devices[0].n_relays++] =
			(struct stream_work){ .trace = of->trace,
					      .facts = f,
					      .stream = stream,
					      .device = (uint32_t)device_of(devices, n, of->trace, stream),
					      .opaque = opaque };
	}
	return true;
}

static bool add_all_relays(struct links *l, struct device_work *devices, size_t n)
{
	const struct trace *seen = NULL;
	size_t with_work = l->n_places;

	for (size_t i = 0; i < with_work; i++) {
		if (l->places[i].trace != seen && !add_relays(l, devices, n, l->places[i].work))
			return false;
		seen = l->places[i].trace;
	}
	return true;
}

static bool list_places(struct links *l, struct device_work *devices, size_t n)
{
	size_t streams = 0;

	for (size_t i = 0; i < n; i++)
		streams += devices[i].n;
	free(l->places);
	l->n_places = 0;
	l->places = array_new(streams + (n ? devices[0].n_relays : 0), sizeof(*l->places));
	if (!l->places)
		return false;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < devices[i].n; k++) {
			struct stream_work *w = &devices[i].streams[k];

			w->device = (uint32_t)i;
			if (w->stream != GST_NONE)
				l->places[l->n_places++] = (struct place){ w->trace, w, w->stream, 0 };
		}
	for (size_t i = 0; n && i < devices[0].n_relays; i++) {
		struct stream_work *w = &devices[0].relays[i];

		l->places[l->n_places++] = (struct place){ w->trace, w, w->stream, 0 };
	}
	array_sort(l->places, l->n_places, sizeof(*l->places), by_trace_and_stream);
	return true;
}

static bool link_waits(struct links *l, struct device_work *devices, size_t n)
{
	if (!list_places(l, devices, n) || !add_all_relays(l, devices, n) || !list_places(l, devices, n))
		return false;
	for (size_t i = 0; i < l->n_places; i++) {
		struct stream_work *w = l->places[i].work;
		const struct facts *f = w->facts;

		for (size_t k = facts_first_wait(f, w->stream); k < f->n_waits && f->waits[k].stream == w->stream; k++)
			if (!link_wait(l, w, &f->waits[k]))
				return false;
	}
	array_sort(l->at, l->n, sizeof(*l->at), by_wait_time);
	return true;
}

/* ---- what was waited for is over when work behind the wait is ---------------------------------------- */

/* A stream that is never waited for by the host is known by these alone, and each wait says something of all its earlier work: so what they say
 * is kept (stream_work.bounds), of those that say less nothing, and applied in one pass. The first `covers` ops were over by by_ns: both fall
 * from one bound to the next. */
static size_t bounds_from(const struct stream_work *w, size_t covers)
{
	size_t low = 0, high = w->n_bounds;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->bounds[middle].covers > covers)
			low = middle + 1;
		else
			high = middle;
	}
	return low; /* the first about so many or fewer */
}

static bool add_bound(struct stream_work *w, struct bound bound)
{
	size_t at = bounds_from(w, bound.covers), behind;

	/* one that says as much of as many */
	if ((at && w->bounds[at - 1].by_ns <= bound.by_ns) ||
	    (at < w->n_bounds && w->bounds[at].covers == bound.covers && w->bounds[at].by_ns <= bound.by_ns))
		return true;
	for (behind = at; behind < w->n_bounds && w->bounds[behind].by_ns >= bound.by_ns; behind++)
		;
	if (behind == at) {
		if (!array_room(w->bounds, w->n_bounds, w->cap_bounds))
			return false;
		w->n_bounds++;
		memmove(&w->bounds[at + 1], &w->bounds[at], (w->n_bounds - 1 - at) * sizeof(bound));
	} else {
		memmove(&w->bounds[at + 1], &w->bounds[behind], (w->n_bounds - behind) * sizeof(bound));
		w->n_bounds -= behind - at - 1;
	}
	w->bounds[at] = bound;
	return true;
}

/* Records that contradict each other must not turn an op around. */
static bool lower(const struct stream_work *w, struct work *op, const struct bound *bound)
{
	int64_t by_ns = max64(bound->by_ns, op->earliest_start_ns);

	if (op->latest_end_ns <= by_ns || work_measured(w, op))
		return false;
	op->latest_end_ns = by_ns;
	op->known_by = bound->known_by;
	return true;
}

/* The op as the bounds so far have it. */
static struct work bounded(const struct stream_work *w, size_t i)
{
	struct work op = w->ops[i];
	size_t at = bounds_from(w, i);

	if (at)
		lower(w, &op, &w->bounds[at - 1]);
	return op;
}

/* What was measured is known better, and what stands before it. */
static void apply_bounds(struct stream_work *w)
{
	const struct bound *bound = NULL;
	size_t next = 0, most = w->n_bounds ? w->bounds[0].covers : 0;

	for (size_t i = most; i-- > 0;) {
		for (; next < w->n_bounds && w->bounds[next].covers > i; next++)
			bound = &w->bounds[next];
		if (bound && !lower(w, &w->ops[i], bound))
			bound = NULL;
	}
	/* nor must the stream's order be broken, which only what was changed can have done */
	for (size_t i = 1; i < w->n && most; i++) {
		if (w->ops[i].latest_end_ns < w->ops[i - 1].latest_end_ns && !work_measured(w, &w->ops[i]))
			w->ops[i].latest_end_ns = w->ops[i - 1].latest_end_ns;
		else if (i >= most)
			break;
	}
	free(w->bounds);
	w->bounds = NULL;
	w->n_bounds = w->cap_bounds = 0;
}

static bool tighten(struct link *link)
{
	struct work later;

	if (!link->producer || link->behind == link->work->n || !link->covers)
		return true;
	later = bounded(link->work, link->behind);
	return later.known_by == BOUNDARY_NONE ||
	       add_bound(link->producer, (struct bound){ link->covers, later.latest_end_ns, later.known_by });
}

/* From the last wait to the first: what is behind a wait may be known by later ones. */
static bool tighten_all(struct links *l)
{
	bool ok = true;

	for (size_t i = l->n; i-- > 0 && ok;)
		ok = tighten(&l->at[i]);
	for (size_t i = 0; i < l->n_places; i++)
		apply_bounds(l->places[i].work);
	return ok;
}

/* When the producer's first `covers` ops had finished at the latest. */
static int64_t finished_by(const struct stream_work *w, size_t covers)
{
	if (covers == 0)
		return INT64_MIN;
	return w->ops[covers - 1].known_by == BOUNDARY_NONE ? INT64_MAX : w->ops[covers - 1].latest_end_ns;
}

/* An event in a stream that blocks with the legacy default stream stands behind that stream's work, and one in the legacy stream behind
 * the work of all that do: by then that was over too. */
static int64_t legacy_over(struct links *l, const struct link *link)
{
	const struct trace *t = link->work->trace;
	const struct stream *own = &t->streams[link->wait->producer];
	int64_t until_ns = INT64_MIN;

	for (size_t i = own->flags & 1 ? l->n_places : l->first_of_trace; i < l->n_places && l->places[i].trace == t;
	     i++) {
		const struct stream_work *w = l->places[i].work;
		const struct stream *other = &t->streams[w->stream];
		size_t n;

		/* its own earlier work stands before the wait anyway */
		if (w == link->work || w->stream == link->wait->producer || (other->flags & 1) ||
		    other->context != own->context ||
		    (own->kind == GST_STREAM_LEGACY) == (other->kind == GST_STREAM_LEGACY))
			continue;
		n = l->places[i].near = array_first_near(w->ops, w->n, sizeof(*w->ops), work_called_before,
							 &link->wait->recorded_ns, l->places[i].near);
		until_ns = max64(until_ns, finished_by(w, n));
		n = waits_before(w, link->wait->recorded_ns);
		if (n)
			until_ns = max64(until_ns, w->held[n - 1].max_until_ns);
	}
	return until_ns;
}

/* When a wait is over at the latest: the event stands behind the producer's work and behind what the producer waits for itself. Those
 * waits came first, so they are known already. While it waits for work of its own device, that is busy, unless that work waits for
 * something else in turn. several: there is more than one device, so that what is not known may be another's. */
static struct held resolve(struct links *l, const struct link *link, bool several)
{
	const struct wait *wait = link->wait;
	const struct stream_work *w = link->work, *p = link->producer;
	struct held held = { .wait = wait,
			     .at_ns = wait->at_ns,
			     .until_ns = INT64_MIN,
			     .away_ns = INT64_MIN,
			     .producer = p,
			     .covers = link->covers,
			     .behind = link->behind };
	size_t behind = link->behind, n = 0;

	if (!p) { /* a stream that never had work, nor waited: its event is over at once */
		held.until_ns = wait->producer != GST_NONE && wait->seq == 0 ? INT64_MIN : wait->over_ns;
		held.away_ns = several || wait->carried ? held.until_ns : INT64_MIN;
	} else {
		held.until_ns = finished_by(p, link->may_cover);
		n = waits_before(p, wait->recorded_ns);
		if (n)
			held.until_ns = max64(held.until_ns, p->held[n - 1].max_until_ns);
		held.away_ns = p->device != w->device ? held.until_ns : n ? p->held[n - 1].max_away_ns : INT64_MIN;
	}
	if (wait->producer != GST_NONE) {
		int64_t until_ns = legacy_over(l, link);

		held.until_ns = max64(held.until_ns, until_ns);
		if (!p || p->device != w->device)
			held.away_ns = max64(held.away_ns, several ? until_ns : INT64_MIN);
	}
	/* over when work behind it is */
	if (behind < w->n && w->ops[behind].known_by != BOUNDARY_NONE) {
		held.until_ns = min64(held.until_ns, w->ops[behind].latest_end_ns);
		held.away_ns = min64(held.away_ns, w->ops[behind].latest_end_ns);
	}
	return held;
}

static bool find_waits(struct links *l, struct device_work *devices, size_t n)
{
	for (size_t i = 0; i < l->n; i++) {
		struct stream_work *w = l->at[i].work;
		const struct held *last = w->n_held ? &w->held[w->n_held - 1] : NULL;
		const struct place of_trace = { .trace = w->trace };
		struct held held;

		l->first_of_trace = array_first(l->places, l->n_places, sizeof(*l->places), place_before, &of_trace);
		held = resolve(l, &l->at[i], n > 1);

		held.max_until_ns = last ? max64(last->max_until_ns, held.until_ns) : held.until_ns;
		held.max_away_ns = last ? max64(last->max_away_ns, held.away_ns) : held.away_ns;
		if (!array_room(w->held, w->n_held, w->cap_held))
			return false;
		w->held[w->n_held++] = held;
		if (w->device < n)
			devices[w->device].away |= held.away_ns != INT64_MIN;
	}
	return true;
}

/* Is something that this stream may wait for opaque? */
static bool waits_for_opaque(const struct device_work *d, const struct stream_work *w)
{
	for (size_t i = 0; i < w->n_held; i++)
		if (w->held[i].producer && w->held[i].producer->opaque)
			return true;
	for (size_t i = 0; w->blocks_with_legacy && i < d->n; i++)
		if (d->streams[i].trace == w->trace && d->streams[i].opaque && d->streams[i].blocks_with_legacy)
			return true;
	return false;
}

static void spread_opaque(struct device_work *devices, size_t n)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < devices[i].n; k++) {
				struct stream_work *w = &devices[i].streams[k];

				if (!w->opaque && w->stream != GST_NONE && waits_for_opaque(&devices[i], w))
					w->opaque = more = true;
			}
	}
}

bool links_find(struct device_work *devices, size_t n)
{
	struct links l = { 0 };
	bool ok = link_waits(&l, devices, n) && tighten_all(&l);

	for (size_t i = 0; i < n && ok; i++)
		ok = waits_note_hostfns(&devices[i]);
	ok = ok && find_waits(&l, devices, n);
	free(l.places);
	free(l.at);
	if (ok)
		spread_opaque(devices, n);
	return ok;
}

/* What the wait was for had not ended before this, as far as it is looked for. */
static int64_t not_over_before(const struct held *held, int depth)
{
	const struct stream_work *p = held->producer;
	int64_t from_ns = p && held->covers ? p->ops[held->covers - 1].earliest_end_ns : INT64_MIN;
	size_t n = p && depth ? waits_before(p, held->wait->recorded_ns) : 0;

	for (size_t back = 0; back < LOOK_BACK && n-- > 0; back++)
		from_ns = max64(from_ns, not_over_before(&p->held[n], depth - 1));
	return from_ns;
}

/* Raises the earliest starts behind a wait. */
static bool order_behind(struct stream_work *w, const struct held *held)
{
	int64_t from_ns = not_over_before(held, DEPTH);
	bool changed = false;

	for (size_t i = held->behind; i < w->n && w->ops[i].earliest_start_ns < from_ns; i++) {
		int64_t start_ns = min64(from_ns, w->ops[i].latest_end_ns);

		if (work_measured(w, &w->ops[i]))
			continue;
		changed |= start_ns > w->ops[i].earliest_start_ns;
		w->ops[i].earliest_start_ns = max64(w->ops[i].earliest_start_ns, start_ns);
	}
	return changed;
}

bool links_order(struct device_work *devices, size_t n)
{
	bool changed = false;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < devices[i].n; k++) {
			struct stream_work *w = &devices[i].streams[k];

			for (size_t h = 0; h < w->n_held; h++)
				changed |= order_behind(w, &w->held[h]);
		}
	return changed;
}
