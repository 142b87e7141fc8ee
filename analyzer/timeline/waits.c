/* SPDX-License-Identifier: BSD-2-Clause */
#include "waits.h"

#include "timeline.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "trace/trace_rare.h"

static bool held_before_time(const void *element, const void *key)
{
	return ((const struct held *)element)->at_ns < *(const int64_t *)key;
}

size_t waits_before(const struct stream_work *w, int64_t time_ns)
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
	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1)) {
		const struct call *c = &t->calls[i];

		if (c->family != GST_FAMILY_MEMOP || (c->flags & GST_CAPTURED))
			continue;
		for (size_t k = 0; k < t->n_streams; k++) /* GST_NONE: the record does not say which stream; any */
			if (at[k] && (c->stream == GST_NONE || c->stream == k))
				d->streams[at[k] - 1].opaque = true;
	}
}

static bool note_hostfns(struct device_work *d, const struct stream_work *w)
{
	for (size_t k = 0; w->special && k < w->n; k++) {
		const struct work *op = &w->ops[k];
		int64_t begin_ns =
			op->earliest_start_ns - EVENT_NS; /* the edge before it fired up to EVENT_NS after its work */

		if ((op->hostfn || op->stalls) &&
		    (!intervals_add(&d->host, begin_ns, op->latest_end_ns) ||
		     (w->blocks_with_legacy && !intervals_add(&d->host_blocking, begin_ns, op->latest_end_ns)) ||
		     !intervals_add(&d->holding, op->call->begin_ns, op->latest_end_ns)))
			return false;
	}
	return true;
}

bool waits_note_hostfns(struct device_work *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (!note_hostfns(d, &d->streams[i]))
			return false;
	intervals_merge(&d->host);
	intervals_merge(&d->host_blocking);
	intervals_merge(&d->holding);
	return true;
}

/* A stream that blocks with the legacy stream, or waits for an event, may stand behind another's host function. */
int64_t waits_until(const struct device_work *d, const struct stream_work *w, const struct work *op, int64_t time_ns)
{
	size_t n, i;

	if (!d->holding.n)
		return time_ns;
	n = waits_before(w, op->call->begin_ns);
	if (!w->blocks_with_legacy && !(n && w->held[n - 1].max_until_ns > op->call->begin_ns))
		return time_ns;
	i = intervals_after(&d->holding, time_ns);
	return i < d->holding.n && d->holding.at[i].begin_ns <= time_ns ? d->holding.at[i].end_ns : time_ns;
}

/* A stream that blocks with the legacy stream stands behind the others that do, and behind no other stream unless one of them waits for an event. */
const struct intervals *waits_hosts(const struct device_work *d, const struct stream_work *w, const struct work *op,
				    int64_t time_ns)
{
	size_t n = waits_before(w, time_ns);

	if (n && w->held[n - 1].max_until_ns > op->call->begin_ns)
		return &d->host;
	if (!w->blocks_with_legacy)
		return NULL;
	for (size_t i = 0; i < d->n; i++) {
		const struct stream_work *other = &d->streams[i];

		n = waits_before(other, time_ns);
		if (other->blocks_with_legacy && n && other->held[n - 1].max_until_ns > op->call->begin_ns)
			return &d->host;
	}
	return &d->host_blocking;
}

/* ---- waits for events ------------------------------------------------------------------------------- */

bool waits_between(const struct stream_work *w, int64_t begin_ns, int64_t end_ns, int64_t at_ns)
{
	for (size_t i = waits_before(w, end_ns); i-- > 0 && w->held[i].at_ns >= begin_ns;)
		if (w->held[i].until_ns > at_ns - EVENT_NS - w->facts->latency_ns)
			return true;
	return false;
}

int64_t waits_away(const struct device_work *d, const struct stream_work *w, int64_t time_ns)
{
	int64_t away_ns;
	size_t n;

	if (!d->away)
		return INT64_MIN;
	n = waits_before(w, time_ns);
	away_ns = n ? w->held[n - 1].max_away_ns : INT64_MIN;
	for (size_t i = 0; w->blocks_with_legacy && i < d->n; i++) {
		const struct stream_work *other = &d->streams[i];

		n = other->trace == w->trace && other->blocks_with_legacy ? waits_before(other, time_ns) : 0;
		if (n)
			away_ns = max64(away_ns, other->held[n - 1].max_away_ns);
	}
	return away_ns;
}
