/* SPDX-License-Identifier: BSD-2-Clause */
#include "bounds.h"

#include "alloc.h"
#include "legacy.h"
#include "timeline.h"

#include <stdlib.h>

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t clamp64(int64_t x, int64_t low, int64_t high)
{
	return max64(low, min64(x, high));
}

/* First of n elements, by stream, that belongs to `stream` or a later one. */
#define FIRST_OF(name, type)                                                \
	static size_t name(const struct type *a, size_t n, uint32_t stream) \
	{                                                                   \
		size_t low = 0;                                             \
		while (low < n) {                                           \
			size_t middle = low + (n - low) / 2;                \
			if (a[middle].stream < stream)                      \
				low = middle + 1;                           \
			else                                                \
				n = middle;                                 \
		}                                                           \
		return low;                                                 \
	}
FIRST_OF(first_finished, finished)
FIRST_OF(first_pending, pending)
FIRST_OF(first_wait, wait)

/* ---- what each stream's facts say about each submission --------------------------------------------- */

static int by_seq(const void *a, const void *b)
{
	const struct work *x = a, *y = b;

	if (x->call->seq != y->call->seq)
		return x->call->seq < y->call->seq ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

/* An op has ended when anything at or behind it in the stream had. */
static void set_latest_ends(struct stream_work *w, const struct facts *f)
{
	size_t first = first_finished(f->finished, f->n_finished, w->stream);
	size_t at = first_finished(f->finished, f->n_finished, w->stream + 1);
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

/* An op starts after its call began, and after every edge recorded before that had fired. */
static void set_earliest_starts(struct stream_work *w, const struct facts *f)
{
	size_t at = facts_first_order(f, w->stream);
	size_t end = facts_first_order(f, w->stream + 1);
	int64_t from = INT64_MIN;

	for (size_t i = 0; i < w->n; i++) {
		struct work *op = &w->ops[i];
		int64_t entry = op->call->begin_ns;

		/* entries rise along a stream but for races of threads; there a bound is used a little late */
		for (; at < end && f->order[at].after_ns <= entry; at++)
			from = max64(from, f->order[at].from_ns);
		op->earliest_start_ns = clamp64(max64(entry, from), entry, max64(entry, op->latest_end_ns));
		op->latest_end_ns = max64(op->latest_end_ns, op->earliest_start_ns);
		if (i)
			op->latest_end_ns = max64(op->latest_end_ns, w->ops[i - 1].latest_end_ns);
	}
}

/* Work of no known stream: it runs between its call and the next synchronise of everything. */
static void set_unlinked(struct stream_work *w)
{
	const struct trace *t = w->trace;
	int64_t by = t->end_ns;
	size_t at = t->n_calls;

	for (size_t i = w->n; i-- > 0;) {
		struct work *op = &w->ops[i];

		for (; at > 0 && t->calls[at - 1].begin_ns >= op->call->end_ns; at--)
			if (t->calls[at - 1].family == GST_FAMILY_SYNC_CONTEXT && t->calls[at - 1].result == 0)
				by = min64(by, t->calls[at - 1].end_ns);
		op->earliest_start_ns = op->call->begin_ns;
		op->latest_end_ns = max64(by, op->call->begin_ns);
		if (op->call->flags & GST_BLOCKING)
			op->latest_end_ns = op->call->end_ns;
	}
}

/* ---- collecting ------------------------------------------------------------------------------------- */

/* `at` tells where a stream's work goes: position + 1 in d->streams, 0 not yet there. */
static struct stream_work *work_of(struct device_work *d, const struct trace *t, uint32_t stream, size_t *at)
{
	if (*at == 0) {
		if (!array_room(d->streams, d->n, d->cap))
			return NULL;
		d->streams[d->n++] = (struct stream_work){ .trace = t, .stream = stream };
		*at = d->n;
	}
	return &d->streams[*at - 1];
}

static bool on_device(const struct trace *t, const struct call *c, uint32_t device)
{
	return (c->stream != GST_NONE ? t->streams[c->stream].device : c->device) == device;
}

static bool collect(struct device_work *d, const struct trace *t, uint32_t device, size_t *at)
{
	for (size_t i = 0; i < t->n_calls; i++) {
		const struct call *c = &t->calls[i];
		size_t slot = c->stream != GST_NONE ? c->stream : t->n_streams;
		struct stream_work *w;

		if (!is_submission(c) || !on_device(t, c, device))
			continue;
		w = work_of(d, t, c->stream, &at[slot]);
		if (!w || !array_room(w->ops, w->n, w->cap))
			return false;
		w->ops[w->n++] = (struct work){ .call = c, .hostfn = c->family == GST_FAMILY_HOSTFN };
	}
	return true;
}

/* Which streams may stand still because of something that is not the device's work. */
static void mark_waits(struct device_work *d, const struct trace *t, const size_t *at)
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

enum err_kind bounds_add(struct device_work *d, const struct trace *t, uint32_t device, const struct facts *facts,
			 struct error *e)
{
	size_t *at = array_new(t->n_streams + 1, sizeof(*at));
	size_t first = d->n;
	bool ok = at && collect(d, t, device, at);

	if (ok)
		mark_waits(d, t, at);
	free(at);
	if (!ok)
		return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
	for (size_t i = first; i < d->n; i++) {
		struct stream_work *w = &d->streams[i];

		w->facts = facts;
		if (w->stream == GST_NONE) {
			set_unlinked(w);
		} else {
			array_sort(w->ops, w->n, sizeof(*w->ops), by_seq);
			set_latest_ends(w, facts);
			set_earliest_starts(w, facts);
		}
	}
	d->worst_edge_error_ns = max64(d->worst_edge_error_ns, facts->worst_edge_error_ns);
	return ERR_NONE;
}

/* ---- latest starts, earliest ends, busy ------------------------------------------------------------- */

/* How many of the stream's waits were put in before time_ns. */
static size_t held_before(const struct stream_work *w, int64_t time_ns)
{
	size_t low = 0, high = w->n_held;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->held[middle].at_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* May this op stand still for a host function of another stream? */
static bool may_wait(const struct stream_work *w, const struct work *op)
{
	size_t n = held_before(w, op->call->begin_ns);

	return w->blocks_with_legacy || (n && w->held[n - 1].max_until_ns > op->call->begin_ns);
}

/* The first interval that ends after time_ns. */
static size_t first_after(const struct intervals *s, int64_t time_ns)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->at[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* time_ns, or the end of the host function that is queued or running then. */
static int64_t after_host(const struct device_work *d, int64_t time_ns)
{
	size_t i = first_after(&d->holding, time_ns);

	return i < d->holding.n && d->holding.at[i].begin_ns <= time_ns ? d->holding.at[i].end_ns : time_ns;
}

static void set_latest_starts(const struct device_work *d, struct stream_work *w)
{
	int64_t host_done = INT64_MIN;

	for (size_t i = 0; i < w->n; i++) {
		struct work *op = &w->ops[i];
		int64_t entry = op->call->begin_ns;

		op->held_until_ns = host_done > entry ? host_done : INT64_MIN;
		if (may_wait(w, op) && after_host(d, max64(entry, host_done)) > max64(entry, host_done))
			op->held_until_ns = after_host(d, max64(entry, host_done));
		op->latest_start_ns = clamp64(max64(op->call->end_ns, op->held_until_ns) + LATENCY_NS,
					      op->earliest_start_ns, op->latest_end_ns);
		op->earliest_end_ns = op->earliest_start_ns;
		if (op->hostfn)
			host_done = max64(host_done, op->latest_end_ns);
	}
}

/* The host functions that this work, still pending at time_ns, may be standing still for; NULL none. A stream that blocks with the
 * legacy stream stands behind the others that do, and behind no other stream unless one of them waits for an event. */
static const struct intervals *held_by(const struct device_work *d, const struct stream_work *w, const struct work *op,
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

/* Adds [begin, end) to the surely busy time, without what may be the time of `less` (NULL none). */
static bool add_busy(struct device_work *d, const struct stream_work *w, int64_t begin_ns, int64_t end_ns,
		     const struct intervals *less)
{
	if (w->opaque || end_ns <= begin_ns)
		return true;
	for (size_t i = less ? first_after(less, begin_ns) : 0; less && i < less->n && less->at[i].begin_ns < end_ns;
	     i++) {
		if (less->at[i].begin_ns > begin_ns && !intervals_add(&d->busy, begin_ns, less->at[i].begin_ns))
			return false;
		begin_ns = less->at[i].end_ns;
	}
	return end_ns <= begin_ns || intervals_add(&d->busy, begin_ns, end_ns);
}

/* Did the stream get a wait between begin_ns and end_ns that may still have held it at at_ns? Then the work before the wait may have
 * ended long before. */
static bool waited_between(const struct stream_work *w, int64_t begin_ns, int64_t end_ns, int64_t at_ns)
{
	for (size_t i = held_before(w, end_ns); i-- > 0 && w->held[i].at_ns >= begin_ns;)
		if (w->held[i].until_ns > at_ns - EVENT_NS - LATENCY_NS)
			return true;
	return false;
}

static bool is_legacy(const struct stream_work *w)
{
	return w->trace->streams[w->stream].kind == GST_STREAM_LEGACY;
}

/* Applies one fact to the op it is about. */
static bool use_pending(struct device_work *d, struct stream_work *w, struct work *op, const struct pending *p)
{
	int64_t at = min64(p->at_ns, op->latest_end_ns);

	if (p->known_by == PENDING_WAKE && op->known_by == BOUNDARY_EDGE)
		return true;
	if (p->known_by == PENDING_ASKED &&
	    (facts_edge_near(w->facts, w->stream, p->at_ns) || p->at_ns > op->latest_end_ns ||
	     (is_legacy(w) && !legacy_others_done(d, w, p->at_ns))))
		return true;
	if (p->known_by == PENDING_OWN) {
		op->earliest_start_ns = clamp64(p->entered_ns, op->earliest_start_ns, op->latest_end_ns);
		op->latest_start_ns = clamp64(max64(p->asked_ns, max64(op->held_until_ns, 0) + LATENCY_NS),
					      op->earliest_start_ns, max64(op->latest_start_ns, op->earliest_start_ns));
		op->earliest_end_ns = max64(op->earliest_end_ns, op->earliest_start_ns);
	}
	if (waited_between(w, op->call->begin_ns, p->at_ns + EVENT_NS, p->at_ns) ||
	    ((p->known_by == PENDING_EDGE || p->known_by == PENDING_WAKE) &&
	     legacy_met(d, w, op->call->begin_ns, p->asked_ns)))
		return op->hostfn ||
		       add_busy(d, w, max64(p->asked_ns, op->latest_start_ns), p->at_ns, held_by(d, w, op, p->at_ns));
	op->earliest_end_ns = max64(op->earliest_end_ns, at);
	return op->hostfn || add_busy(d, w, op->latest_start_ns, at, held_by(d, w, op, at));
}

/* The work of a stream of the same process on this device; NULL on another device, or without any. */
static const struct stream_work *producer_of(const struct device_work *d, const struct stream_work *w, uint32_t stream)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->streams[i].trace == w->trace && d->streams[i].stream == stream)
			return &d->streams[i];
	return NULL;
}

/* When the submissions up to seq had finished at the latest. */
static int64_t finished_by(const struct stream_work *w, uint64_t seq)
{
	size_t low = 0, high = w->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->ops[middle].call->seq <= seq)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return INT64_MIN;
	return w->ops[low - 1].known_by == BOUNDARY_NONE ? INT64_MAX : w->ops[low - 1].latest_end_ns;
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
	size_t i = first_wait(f->waits, f->n_waits, stream);

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
		for (size_t k = first_wait(f->waits, f->n_waits, w->stream);
		     k < f->n_waits && f->waits[k].stream == w->stream; k++) {
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

	for (size_t i = first_wait(f->waits, f->n_waits, w->stream); i < f->n_waits && f->waits[i].stream == w->stream;
	     i++) {
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

static bool use_all_pending(struct device_work *d, struct stream_work *w, const struct facts *f)
{
	size_t at = first_pending(f->pending, f->n_pending, w->stream), op = 0;
	bool ok = true;

	for (; ok && at < f->n_pending && f->pending[at].stream == w->stream; at++) {
		while (op < w->n && w->ops[op].call->seq <= f->pending[at].covers)
			op++;
		if (op)
			ok = use_pending(d, w, &w->ops[op - 1], &f->pending[at]);
	}
	for (size_t i = 1; i < w->n; i++)
		w->ops[i].earliest_end_ns =
			clamp64(w->ops[i - 1].earliest_end_ns, w->ops[i].earliest_end_ns, w->ops[i].latest_end_ns);
	return ok;
}

/* ---- stretches -------------------------------------------------------------------------------------- */

static bool begin_stretch(struct device_work *d, const struct work *op)
{
	if (!array_room(d->stretches, d->n_stretches, d->cap_stretches))
		return false;
	d->stretches[d->n_stretches++] = (struct stretch){
		.begin_ns = op->earliest_start_ns,
		.latest_begin_ns = op->latest_start_ns,
		.last_latest_start_ns = op->latest_start_ns,
		.earliest_end_ns = op->earliest_end_ns,
		.end_ns = op->latest_end_ns,
		.first_entry_ns = op->call->begin_ns,
		.last_entry_ns = op->call->begin_ns,
		.end_known_by = op->known_by,
	};
	return true;
}

static void extend_stretch(struct stretch *s, const struct work *op)
{
	s->begin_ns = min64(s->begin_ns, op->earliest_start_ns);
	s->latest_begin_ns = min64(s->latest_begin_ns, op->latest_start_ns);
	s->last_latest_start_ns = max64(s->last_latest_start_ns, op->latest_start_ns);
	s->earliest_end_ns = max64(s->earliest_end_ns, op->earliest_end_ns);
	if (op->latest_end_ns >= s->end_ns) {
		s->end_ns = op->latest_end_ns;
		s->end_known_by = op->known_by;
	}
	s->last_entry_ns = max64(s->last_entry_ns, op->call->begin_ns);
	s->first_entry_ns = min64(s->first_entry_ns, op->call->begin_ns);
}

static bool make_stretches(struct device_work *d, const struct stream_work *w)
{
	bool open = false;

	for (size_t i = 0; i < w->n; i++) {
		const struct work *op = &w->ops[i];

		if (op->hostfn) {
			open = false;
		} else if (open && op->earliest_start_ns <= d->stretches[d->n_stretches - 1].end_ns) {
			extend_stretch(&d->stretches[d->n_stretches - 1], op);
		} else {
			if (!begin_stretch(d, op))
				return false;
			open = true;
		}
	}
	return true;
}

/* Whole-context waits, where nothing finer is recorded: something of the context was pending. */
static bool use_context_waits(struct device_work *d, const struct stream_work *w, const struct facts *f)
{
	if (w->trace->header.device_level != GST_LEVEL_HOST || w->stream == GST_NONE)
		return true;
	for (size_t i = first_pending(f->pending, f->n_pending, GST_NONE); i < f->n_pending; i++)
		if (f->pending[i].context == w->trace->streams[w->stream].context && d->host.n == 0 &&
		    !add_busy(d, w, f->pending[i].asked_ns, f->pending[i].at_ns, &d->host))
			return false;
	return true;
}

enum err_kind bounds_finish(struct device_work *d, struct error *e)
{
	const struct trace *seen = NULL;

	legacy_tighten(d);
	for (size_t i = 0; i < d->n; i++)
		if (!note_hostfns(d, &d->streams[i]))
			return err_set(e, ERR_SYSTEM, d->streams[i].trace->path, ERR_NO_BYTE, "out of memory");
	intervals_merge(&d->host);
	intervals_merge(&d->host_blocking);
	intervals_merge(&d->holding);
	if (!find_waits(d))
		return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
	spread_opaque(d);
	for (size_t i = 0; i < d->n; i++) {
		struct stream_work *w = &d->streams[i];
		const struct facts *f = w->facts;

		set_latest_starts(d, w);
		if ((w->stream != GST_NONE && !use_all_pending(d, w, f)) ||
		    (w->trace != seen && !use_context_waits(d, w, f)) || !make_stretches(d, w))
			return err_set(e, ERR_SYSTEM, w->trace->path, ERR_NO_BYTE, "out of memory");
		seen = w->trace;
	}
	intervals_merge(&d->busy);
	return ERR_NONE;
}

void bounds_free(struct device_work *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->streams[i].ops);
		free(d->streams[i].held);
	}
	free(d->streams);
	free(d->stretches);
	intervals_free(&d->busy);
	intervals_free(&d->host);
	intervals_free(&d->host_blocking);
	intervals_free(&d->holding);
	*d = (struct device_work){ 0 };
}
