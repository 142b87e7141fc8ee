/* SPDX-License-Identifier: BSD-2-Clause */
#include "busy.h"

#include "elsewhere.h"
#include "legacy.h"
#include "timeline.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "waits.h"

/* INT64_MAX and INT64_MIN, "not known" and "never", stay what they are. */
static int64_t later(int64_t time_ns, int64_t by_ns)
{
	return time_ns == INT64_MAX || time_ns == INT64_MIN ? time_ns : time_ns + by_ns;
}

/* What it may be held up until is there for few. False: no memory. */
static bool set_held_until(struct stream_work *w, struct work *op, int64_t until_ns)
{
	struct work_more *own;

	if (work_more(w, op)->held_until_ns == until_ns)
		return true;
	own = work_own(w, op);
	if (own)
		own->held_until_ns = until_ns;
	return own != NULL;
}

/* One piece of work after the other. *host_done: when what may stand still before it is over, from INT64_MIN. False: no memory. */
static bool set_latest_start(const struct device_work *d, struct stream_work *w, struct work *op, int64_t *host_done)
{
	int64_t entry = op->call->begin_ns, until_ns, held_until_ns;

	if (work_measured(w, op)) {
		op->latest_start_ns = op->earliest_start_ns;
		op->earliest_end_ns = op->latest_end_ns;
		*host_done = op->stalls ? max64(*host_done, op->latest_end_ns) : *host_done;
		return true;
	}
	held_until_ns = d->away ? max64(*host_done, waits_away(d, w, op->call->end_ns)) : *host_done;
	if (held_until_ns <= entry)
		held_until_ns = INT64_MIN;
	if (d->holding.n) {
		until_ns = waits_until(d, w, op, max64(entry, *host_done));
		if (until_ns > max64(entry, *host_done))
			held_until_ns = max64(held_until_ns, until_ns);
	}
	if (!set_held_until(w, op, held_until_ns))
		return false;
	op->latest_start_ns = clamp64(later(max64(op->call->end_ns, held_until_ns), w->facts->latency_ns),
				      op->earliest_start_ns, op->latest_end_ns);
	if (work_more(w, op)->usual_ns)
		op->latest_start_ns = op->latest_end_ns;
	op->earliest_end_ns = op->earliest_start_ns;
	if (op->hostfn || op->stalls)
		*host_done = max64(*host_done, op->latest_end_ns);
	return true;
}

static bool set_latest_starts(const struct device_work *d, struct stream_work *w)
{
	int64_t host_done = INT64_MIN;
	bool ok = true;

	for (size_t i = 0; i < w->n && ok; i++)
		ok = set_latest_start(d, w, &w->ops[i], &host_done);
	return ok;
}

/* Adds [begin, end) to the surely busy time, without what may be the time of `less` (NULL none). */
static bool add_busy(struct device_work *d, const struct stream_work *w, int64_t begin_ns, int64_t end_ns,
		     const struct intervals *less)
{
	if (w->opaque || end_ns <= begin_ns)
		return true;
	for (size_t i = less ? intervals_after(less, begin_ns) : 0;
	     less && i < less->n && less->at[i].begin_ns < end_ns; i++) {
		if (less->at[i].begin_ns > begin_ns && !intervals_add(&d->busy, begin_ns, less->at[i].begin_ns))
			return false;
		begin_ns = less->at[i].end_ns;
	}
	return end_ns <= begin_ns || intervals_add(&d->busy, begin_ns, end_ns);
}

static bool is_legacy(const struct stream_work *w)
{
	return w->trace->streams[w->stream].kind == GST_STREAM_LEGACY;
}

/* Whatever was put into the stream from then on has no part in what this fact says. */
static int64_t about_until(const struct stream_work *w, const struct pending *p)
{
	if (p->known_by == PENDING_EDGE || p->known_by == PENDING_WAKE)
		return p->asked_ns - w->facts->latency_ns; /* the edge was recorded, the call entered */
	return p->at_ns + EVENT_NS;
}

/* Pending work is no busy device where it may stand still; nor where what else ran was measured, and this was not: what is measured shows
 * idle time between pieces of work, as short as a microsecond, that a stream with work may have. */
static bool proves_nothing(const struct work *op)
{
	return op->hostfn || op->stalls || op->lost;
}

/* A blocking call that found all done may itself take this long: the first of its kind, a lock; and an edge on an idle stream may fire this
 * late, where the device sleeps. So a short one proves no long time before it busy, in which nobody looked. */
static bool is_too_short(const struct stream_work *w, const struct work *op, const struct pending *p)
{
	int64_t entered_ns = p->asked_ns - w->facts->latency_ns;

	int64_t seen_ns = max64(op->call->end_ns, op->earliest_end_ns);

	if (p->known_by == PENDING_WAKE)
		seen_ns = max64(seen_ns, work_more(w, op)->held_until_ns);

	return (p->at_ns - entered_ns) * WAIT_PROVES < entered_ns - seen_ns;
}

/* Applies one fact to the op it is about. */
static bool use_pending(struct device_work *d, struct stream_work *w, struct work *op, const struct pending *p)
{
	const struct work_more *more = work_more(w, op);
	int64_t at = min64(p->at_ns, op->latest_end_ns);

	if (more->measured || more->usual_ns)
		return true; /* known; or another process may have had the device */
	if ((p->known_by == PENDING_WAKE || p->known_by == PENDING_EDGE) && is_too_short(w, op, p))
		return true;
	if (p->known_by == PENDING_WAKE && (op->known_by == BOUNDARY_EDGE || p->at_ns > op->latest_end_ns))
		return true; /* known better; or known to be over before the call returned: it did not wait, it had no CPU */
	if (p->known_by == PENDING_ASKED &&
	    (facts_edge_near(w->facts, w->stream, p->at_ns) || p->at_ns > op->latest_end_ns ||
	     (is_legacy(w) && !legacy_others_done(d, w, p->at_ns + EVENT_NS))))
		return true;
	if (p->known_by == PENDING_OWN) {
		op->earliest_start_ns = clamp64(p->entered_ns, op->earliest_start_ns, op->latest_end_ns);
		op->latest_start_ns =
			clamp64(max64(p->asked_ns, later(max64(more->held_until_ns, 0), w->facts->latency_ns)),
				op->earliest_start_ns, max64(op->latest_start_ns, op->earliest_start_ns));
		op->earliest_end_ns = max64(op->earliest_end_ns, op->earliest_start_ns);
	}
	if (waits_between(w, op->call->begin_ns, about_until(w, p), p->at_ns) ||
	    ((p->known_by == PENDING_EDGE || p->known_by == PENDING_WAKE) &&
	     legacy_met(w, op->call->begin_ns, p->asked_ns)))
		return proves_nothing(op) ||
		       add_busy(d, w,
				max64(max64(p->asked_ns, op->latest_start_ns),
				      later(waits_away(d, w, about_until(w, p)), w->facts->latency_ns)),
				p->at_ns, waits_hosts(d, w, op, p->at_ns));
	op->earliest_end_ns = max64(op->earliest_end_ns, at);
	return proves_nothing(op) || add_busy(d, w, op->latest_start_ns, at, waits_hosts(d, w, op, at));
}

/* What was measured, and where what was lost may have run. */
static bool add_measured(struct device_work *d, const struct stream_work *w)
{
	bool ok = true;

	for (size_t i = 0; i < w->n && ok; i++) {
		const struct work *op = &w->ops[i];

		if (work_measured(w, op) && !op->stalls)
			ok = intervals_add(&d->busy, op->earliest_start_ns, op->latest_end_ns);
		else if (op->lost)
			ok = intervals_add(&d->stalled, op->earliest_start_ns, op->latest_end_ns);
	}
	return ok;
}

static bool covered(const void *element, const void *key)
{
	return ((const struct work *)element)->call->seq <= *(const uint64_t *)key;
}

/* Of w->ops[from..n), the first that is not covered; mostly near. */
static size_t first_behind(const struct stream_work *w, size_t from, uint64_t covers)
{
	size_t step = 1;

	if (from >= w->n)
		return from;
	while (from < w->n && step < w->n - from && covered(&w->ops[from + step - 1], &covers)) {
		from += step;
		step *= 2;
	}
	return from +
	       array_first(w->ops + from, step < w->n - from ? step : w->n - from, sizeof(*w->ops), covered, &covers);
}

/* None can have ended before the one before it. */
static void set_earliest_end(struct work *op)
{
	op->earliest_end_ns = clamp64(op[-1].earliest_end_ns, op->earliest_end_ns, op->latest_end_ns);
}

struct along {                 /* a stream's work, in one pass, as there may be more of it than any cache holds */
	size_t started, ended; /* so many have their latest start; … their earliest end */
	int64_t host_done_ns;
};

/* The first n get their latest starts, and those before the last of them, of which no fact is to come, their earliest ends. False: no memory. */
static bool go_on(struct along *a, const struct device_work *d, struct stream_work *w, size_t n)
{
	while (a->started < n) {
		for (; a->ended + 1 < a->started; a->ended++)
			set_earliest_end(&w->ops[a->ended + 1]);
		if (!set_latest_start(d, w, &w->ops[a->started++], &a->host_done_ns))
			return false;
	}
	for (; a->ended + 2 < n; a->ended++)
		set_earliest_end(&w->ops[a->ended + 1]);
	return true;
}

static bool use_facts(struct device_work *d, struct stream_work *w)
{
	const struct facts *f = w->facts;
	struct along a = { .host_done_ns = INT64_MIN };
	size_t op = 0;

	for (size_t at = facts_first_pending(f, w->stream); at < f->n_pending && f->pending[at].stream == w->stream;
	     at++) {
		op = first_behind(w, op, f->pending[at].covers);
		if (!go_on(&a, d, w, op) || (op && !use_pending(d, w, &w->ops[op - 1], &f->pending[at])))
			return false;
	}
	if (!go_on(&a, d, w, w->n))
		return false;
	for (; a.ended + 1 < w->n; a.ended++)
		set_earliest_end(&w->ops[a.ended + 1]);
	return true;
}

bool busy_find(struct device_work *d, struct stream_work *w)
{
	bool ok = !w->special || add_measured(d, w);

	if (ok && (w->elsewhere || w->stream == GST_NONE))
		ok = set_latest_starts(d, w);
	if (ok && w->elsewhere)
		return elsewhere_stall(d, w);
	if (w->stream == GST_NONE)
		return ok;
	ok = ok && use_facts(d, w);
	for (size_t i = 0; w->special && i < w->n && ok; i++)
		if (w->ops[i].stalls && w->ops[i].latest_start_ns < w->ops[i].latest_end_ns)
			ok = intervals_add(&d->stalled, w->ops[i].latest_start_ns, w->ops[i].latest_end_ns);
	return ok;
}

/* From when on a wait for the whole context proves the device busy: the work of each of its streams that may be waiting for something
 * else must be done with that. INT64_MAX: never, or none of the streams is on this device. */
static int64_t context_from(const struct device_work *d, const struct trace *t, const struct pending *p)
{
	int64_t from_ns = INT64_MAX;

	for (size_t i = 0; i < d->n; i++) {
		const struct stream_work *w = &d->streams[i];

		if (w->trace != t || w->stream == GST_NONE || t->streams[w->stream].context != p->context)
			continue;
		if (w->opaque)
			return INT64_MAX;
		if (from_ns == INT64_MAX)
			from_ns = p->asked_ns;
		from_ns = max64(from_ns, later(waits_away(d, w, p->at_ns), w->facts->latency_ns));
	}
	return from_ns;
}

bool busy_find_context(struct device_work *d, const struct stream_work *w)
{
	const struct facts *f = w->facts;

	if (w->trace->header.device_level != GST_LEVEL_HOST || d->host.n)
		return true;
	for (size_t i = facts_first_pending(f, GST_NONE); i < f->n_pending; i++) {
		int64_t from_ns = context_from(d, w->trace, &f->pending[i]);

		if (from_ns < f->pending[i].at_ns && !intervals_add(&d->busy, from_ns, f->pending[i].at_ns))
			return false;
	}
	return true;
}
