/* SPDX-License-Identifier: BSD-2-Clause */
#include "legacy.h"

#include "tools/alloc.h"
#include "waits.h"

void legacy_find(struct device_work *d)
{
	for (size_t i = 0; i < d->n; i++) {
		struct stream_work *w = &d->streams[i];
		const struct stream *own = w->stream == GST_NONE ? NULL : &w->trace->streams[w->stream];

		for (size_t k = 0; k < d->n && w->blocks_with_legacy && own && !w->legacy; k++) {
			struct stream_work *l = &d->streams[k];

			if (l->trace == w->trace && l->stream != GST_NONE &&
			    l->trace->streams[l->stream].kind == GST_STREAM_LEGACY &&
			    l->trace->streams[l->stream].context == own->context)
				w->legacy = l;
		}
	}
}

static bool called_before(const void *element, const void *key)
{
	return ((const struct work *)element)->call->begin_ns < *(const int64_t *)key;
}

/* First op whose call began at or after time_ns; calls rise along a stream but for races of threads. */
static size_t first_called(const struct stream_work *w, int64_t time_ns)
{
	return array_first(w->ops, w->n, sizeof(*w->ops), called_before, &time_ns);
}

/* Everything in `before` whose call had returned when something in `after` was called is over when that is. */
static void tighten(struct stream_work *before, const struct stream_work *after)
{
	for (size_t i = before->n; i-- > 0;) {
		struct work *op = &before->ops[i];
		size_t k = first_called(after, op->call->end_ns);

		if (work_measured(before, op))
			continue;
		if (i + 1 < before->n && before->ops[i + 1].latest_end_ns < op->latest_end_ns) {
			op->latest_end_ns = before->ops[i + 1].latest_end_ns;
			op->known_by = before->ops[i + 1].known_by;
		}
		if (k < after->n && after->ops[k].latest_end_ns < op->latest_end_ns &&
		    after->ops[k].latest_end_ns >= op->earliest_start_ns) {
			op->latest_end_ns = after->ops[k].latest_end_ns;
			op->known_by = after->ops[k].known_by;
		}
	}
	/* Records that contradict each other must not turn an op around, nor the stream's order. */
	for (size_t i = 0; i < before->n; i++) {
		struct work *op = &before->ops[i];
		int64_t least = i && before->ops[i - 1].latest_end_ns > op->earliest_start_ns
					? before->ops[i - 1].latest_end_ns
					: op->earliest_start_ns;

		if (op->latest_end_ns < least && !work_measured(before, op))
			op->latest_end_ns = least;
	}
}

void legacy_tighten(struct device_work *d)
{
	/* Twice: what one stream passes on to the legacy stream, that passes on to the others. */
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < d->n; i++) {
			struct stream_work *w = &d->streams[i], *legacy = w->legacy;

			if (!legacy || legacy == w)
				continue;
			tighten(legacy, w);
			tighten(w, legacy);
		}
	}
}

/* What was called after something in `before` had been submitted starts behind it. */
static bool order(const struct stream_work *before, struct stream_work *after)
{
	int64_t from_ns = INT64_MIN;
	bool changed = false;

	for (size_t i = 0, k = 0; i < after->n; i++) {
		struct work *op = &after->ops[i];

		for (; k < before->n && before->ops[k].call->end_ns <= op->call->begin_ns; k++)
			if (before->ops[k].earliest_end_ns > from_ns)
				from_ns = before->ops[k].earliest_end_ns;
		if (from_ns > op->earliest_start_ns && !work_measured(after, op) &&
		    op->latest_end_ns > op->earliest_start_ns) {
			op->earliest_start_ns = from_ns < op->latest_end_ns ? from_ns : op->latest_end_ns;
			changed = true;
		}
	}
	return changed;
}

bool legacy_order(struct device_work *d)
{
	bool changed = false;

	for (size_t i = 0; i < d->n; i++) {
		struct stream_work *w = &d->streams[i], *legacy = w->legacy;

		if (!legacy || legacy == w)
			continue;
		changed |= order(legacy, w);
		changed |= order(w, legacy);
	}
	return changed;
}

bool legacy_met(const struct stream_work *w, int64_t begin_ns, int64_t end_ns)
{
	const struct stream_work *legacy = w->legacy;
	size_t first;

	if (!legacy || legacy == w)
		return legacy == w;
	if (waits_before(legacy, end_ns) > waits_before(legacy, begin_ns))
		return true;
	first = first_called(legacy, begin_ns);
	return first < legacy->n && legacy->ops[first].call->begin_ns < end_ns;
}

bool legacy_others_done(const struct device_work *d, const struct stream_work *legacy, int64_t time_ns)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct stream_work *w = &d->streams[i];
		size_t called, waits;

		if (w == legacy || w->legacy != legacy)
			continue;
		called = first_called(w, time_ns);
		waits = waits_before(w, time_ns);
		if (waits && w->held[waits - 1].max_until_ns >= time_ns)
			return false;
		if (called && w->ops[called - 1].latest_end_ns >= time_ns)
			return false;
		if (facts_edge_near(w->facts, w->stream, time_ns))
			return false;
	}
	return true;
}
