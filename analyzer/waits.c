/* SPDX-License-Identifier: BSD-2-Clause */
#include "waits.h"

#include "alloc.h"
#include "ns.h"
#include "timeline.h"

#include <stdlib.h>

static bool held_before_time(const void *element, const void *key)
{
	return ((const struct held *)element)->at_ns < *(const int64_t *)key;
}

/* How many of the stream's waits were put in before time_ns. */
static size_t held_before(const struct stream_work *w, int64_t time_ns)
{
	return array_first(w->held, w->n_held, sizeof(*w->held), held_before_time, &time_ns);
}

/* ---- host functions and memory waits ---------------------------------------------------------------- */

void waits_mark(struct device_work *d, const struct trace *t, const size_t *at)
{
	bool legacy = false;

	for (size_t s = 0; s < t->n_streams; s++)
		legacy |= at[s] && t->streams[s].kind == GST_STREAM_LEGACY;
	for (size_t s = 0; s < t->n_streams; s++)
		if (at[s] && legacy &&
		    !(t->streams[s].flags & 1)) /* not CU_STREAM_NON_BLOCKING: waits for the legacy stream */
			d->streams[at[s] - 1].blocks_with_legacy = true;
	for (size_t i = 0; i < t->n_calls; i++) {
		const struct call *c = &t->calls[i];

		if (c->family != GST_FAMILY_MEMOP)
			continue;
		for (size_t k = 0; k < t->n_streams; k++) /* GST_NONE: the record does not say which stream; any */
			if (at[k] && (c->stream == GST_NONE || c->stream == k))
				d->streams[at[k] - 1].opaque = true;
	}
}

static bool note_hostfns(struct device_work *d, const struct stream_work *w)
{
	for (size_t k = 0; k < w->n; k++) {
		const struct work *op = &w->ops[k];
		int64_t begin_ns =
			op->earliest_start_ns - EVENT_NS; /* the edge before it fired up to EVENT_NS after its work */

		if (op->hostfn &&
		    (!intervals_add(&d->host, begin_ns, op->latest_end_ns) ||
		     (w->blocks_with_legacy && !intervals_add(&d->host_blocking, begin_ns, op->latest_end_ns)) ||
		     !intervals_add(&d->holding, op->call->begin_ns, op->latest_end_ns)))
			return false;
	}
	return true;
}

/* A stream that blocks with the legacy stream, or waits for an event, may stand behind another's host function. */
int64_t waits_until(const struct device_work *d, const struct stream_work *w, const struct work *op, int64_t time_ns)
{
	size_t n = held_before(w, op->call->begin_ns), i;

	if (!w->blocks_with_legacy && !(n && w->held[n - 1].max_until_ns > op->call->begin_ns))
		return time_ns;
	i = intervals_after(&d->holding, time_ns);
	return i < d->holding.n && d->holding.at[i].begin_ns <= time_ns ? d->holding.at[i].end_ns : time_ns;
}

/* A stream that blocks with the legacy stream stands behind the others that do, and behind no other stream unless one of them waits for an event. */
const struct intervals *waits_hosts(const struct device_work *d, const struct stream_work *w, const struct work *op,
				    int64_t time_ns)
{
	size_t n = held_before(w, time_ns);

	if (n && w->held[n - 1].max_until_ns > op->call->begin_ns)
		return &d->host;
	if (!w->blocks_with_legacy)
		return NULL;
	for (size_t i = 0; i < d->n; i++) {
		const struct stream_work *other = &d->streams[i];

		n = held_before(other, time_ns);
		if (other->blocks_with_legacy && n && other->held[n - 1].max_until_ns > op->call->begin_ns)
			return &d->host;
	}
	return &d->host_blocking;
}

/* ---- waits for events ------------------------------------------------------------------------------- */

bool waits_between(const struct stream_work *w, int64_t begin_ns, int64_t end_ns, int64_t at_ns)
{
	for (size_t i = held_before(w, end_ns); i-- > 0 && w->held[i].at_ns >= begin_ns;)
		if (w->held[i].until_ns > at_ns - EVENT_NS - LATENCY_NS)
			return true;
	return false;
}

/* The work of a stream of the same process on this device; NULL on another device, or without any. */
static const struct stream_work *producer_of(const struct device_work *d, const struct stream_work *w, uint32_t stream)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->streams[i].trace == w->trace && d->streams[i].stream == stream)
			return &d->streams[i];
	return NULL;
}

static bool work_up_to(const void *element, const void *key)
{
	return ((const struct work *)element)->call->seq <= *(const uint64_t *)key;
}

/* When the submissions up to seq had finished at the latest. */
static int64_t finished_by(const struct stream_work *w, uint64_t seq)
{
	size_t done = array_first(w->ops, w->n, sizeof(*w->ops), work_up_to, &seq);

	if (done == 0)
		return INT64_MIN;
	return w->ops[done - 1].known_by == BOUNDARY_NONE ? INT64_MAX : w->ops[done - 1].latest_end_ns;
}

struct pending_wait {
	struct stream_work *work;
	const struct wait *wait;
};

static int by_wait_time(const void *a, const void *b)
{
	const struct pending_wait *x = a, *y = b;

	return (x->wait->at_ns > y->wait->at_ns) - (x->wait->at_ns < y->wait->at_ns);
}

/* Did the stream wait for something before time_ns that is not known to be over? It has no work of its own on this device to tell. */
static bool relays(const struct facts *f, uint32_t stream, int64_t time_ns)
{
	size_t i = facts_first_wait(f, stream);

	return i < f->n_waits && f->waits[i].stream == stream && f->waits[i].at_ns < time_ns;
}

/* When a wait is over at the latest: the event stands behind the producer's work and behind what the producer waits for itself. Those
 * waits came first, so they are known already. */
static int64_t over_by(const struct device_work *d, struct stream_work *w, const struct wait *wait)
{
	const struct stream_work *producer = wait->producer == GST_NONE ? NULL : producer_of(d, w, wait->producer);
	int64_t until = INT64_MIN;
	size_t n;

	if (wait->producer == GST_NONE)
		return INT64_MAX;
	if (!producer) {
		w->opaque |= wait->seq != 0; /* another device's work: this stream may stand still for it */
		return wait->seq == 0 && !relays(w->facts, wait->producer, wait->recorded_ns) ? INT64_MIN : INT64_MAX;
	}
	if (wait->seq != 0)
		until = finished_by(producer, wait->seq);
	n = held_before(producer, wait->recorded_ns);
	return n ? max64(until, producer->held[n - 1].max_until_ns) : until;
}

static bool list_waits(struct device_work *d, struct pending_wait **list, size_t *n)
{
	size_t cap = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct stream_work *w = &d->streams[i];
		const struct facts *f = w->facts;

		if (w->stream == GST_NONE)
			continue;
		for (size_t k = facts_first_wait(f, w->stream); k < f->n_waits && f->waits[k].stream == w->stream;
		     k++) {
			if (!array_room(*list, *n, cap))
				return false;
			(*list)[(*n)++] = (struct pending_wait){ w, &f->waits[k] };
		}
	}
	return true;
}

static bool find_waits(struct device_work *d)
{
	struct pending_wait *list = NULL;
	size_t n = 0;
	bool ok = list_waits(d, &list, &n);

	array_sort(list, n, sizeof(*list), by_wait_time);
	for (size_t i = 0; i < n && ok; i++) {
		struct stream_work *w = list[i].work;
		int64_t until = over_by(d, w, list[i].wait), max = until;

		if (w->n_held && w->held[w->n_held - 1].max_until_ns > max)
			max = w->held[w->n_held - 1].max_until_ns;
		ok = array_room(w->held, w->n_held, w->cap_held);
		if (ok)
			w->held[w->n_held++] = (struct held){ list[i].wait->at_ns, until, max };
	}
	free(list);
	return ok;
}

/* Is something that this stream may wait for opaque? */
static bool waits_for_opaque(const struct device_work *d, const struct stream_work *w)
{
	const struct facts *f = w->facts;

	for (size_t i = facts_first_wait(f, w->stream); i < f->n_waits && f->waits[i].stream == w->stream; i++) {
		const struct stream_work *producer = producer_of(d, w, f->waits[i].producer);

		if (producer ? producer->opaque : relays(f, f->waits[i].producer, f->waits[i].recorded_ns))
			return true;
	}
	for (size_t i = 0; w->blocks_with_legacy && i < d->n; i++)
		if (d->streams[i].trace == w->trace && d->streams[i].opaque && d->streams[i].blocks_with_legacy)
			return true;
	return false;
}

static void spread_opaque(struct device_work *d)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < d->n; i++) {
			struct stream_work *w = &d->streams[i];

			if (!w->opaque && w->stream != GST_NONE && waits_for_opaque(d, w))
				w->opaque = more = true;
		}
	}
}

bool waits_find(struct device_work *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (!note_hostfns(d, &d->streams[i]))
			return false;
	intervals_merge(&d->host);
	intervals_merge(&d->host_blocking);
	intervals_merge(&d->holding);
	if (!find_waits(d))
		return false;
	spread_opaque(d);
	return true;
}
