/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_measured.h"

#include "tools/alloc.h"
#include "tools/ns.h"

/* The recorder's clocks are that far apart at most, whatever a record says of its error: the device's work may seem to have begun before
 * the recording did. */
#define EARLY_NS 1000000

/* A killed process's last sign of life may be older than the last of what was measured, by the helper's longest pause. */
#define LATE_NS 10000000000

uint8_t measured_family(const struct measured *m)
{
	switch (m->kind) {
	case GST_ACTIVITY_COPY:
		return GST_FAMILY_COPY;
	case GST_ACTIVITY_MEMSET:
		return GST_FAMILY_MEMSET;
	case GST_ACTIVITY_GRAPH:
		return GST_FAMILY_GRAPH_LAUNCH;
	default:
		return GST_FAMILY_LAUNCH;
	}
}

bool measured_is_sane(const struct gst_activity *r)
{
	return r->begin_ns <= r->end_ns && r->end_ns <= INT64_MAX / 2 && r->kind >= GST_ACTIVITY_KERNEL &&
	       r->kind <= GST_ACTIVITY_GRAPH;
}

static int by_time(const void *a, const void *b)
{
	const struct level *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* From the beginning, as the recorder had CUPTI before it made the file, until it is given up. */
void measured_promise(struct trace *t)
{
	array_sort(t->levels, t->n_levels, sizeof(*t->levels), by_time);
	t->measured_from_ns = t->measured_until_ns = INT64_MIN;
	if (t->header.device_level == GST_LEVEL_CUPTI)
		t->measured_until_ns = INT64_MAX;
	for (size_t i = 0; i < t->n_levels; i++)
		if (t->levels[i].level != GST_LEVEL_CUPTI || t->levels[i].why != GST_LEVEL_AS_ASKED)
			t->measured_until_ns = min64(t->measured_until_ns, t->levels[i].time_ns);
}

uint32_t measured_level(const struct trace *t)
{
	uint32_t level = t->header.device_level;

	for (size_t i = 0; i < t->n_levels; i++)
		if (t->levels[i].why != GST_LEVEL_ENDS && t->levels[i].level < level)
			level = t->levels[i].level;
	return level;
}

const char *measured_why_not(const struct trace *t)
{
	static const char *const whys[] = {
		[GST_LEVEL_NO_LIBRARY] = "there is no libcupti",
		[GST_LEVEL_HELD] = "another tool has it, or is about to",
		[GST_LEVEL_REFUSED] = "it refused",
		[GST_LEVEL_YIELDED] = "given up to the program's own profiler",
		[GST_LEVEL_FORKED] = "the process was forked, and CUPTI was its parent's",
	};

	for (size_t i = 0; i < t->n_levels; i++)
		if (t->levels[i].why && t->levels[i].why < sizeof(whys) / sizeof(whys[0]))
			return whys[t->levels[i].why];
	return NULL;
}

static int by_begin(const void *a, const void *b)
{
	const struct measured *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

int64_t measured_settle(struct trace *t, int64_t end_ns)
{
	int64_t last_ns = end_ns;
	size_t n = 0;

	array_sort(t->measured, t->n_measured, sizeof(*t->measured), by_begin);
	for (size_t i = 0; i < t->n_measured; i++) {
		const struct measured *m = &t->measured[i];

		if (m->begin_ns < t->begin_ns - EARLY_NS || m->end_ns > end_ns + LATE_NS) {
			t->measured_bad++;
			continue;
		}
		if (m->end_ns > t->cut_ns)
			continue;
		last_ns = max64(last_ns, m->end_ns);
		t->measured[n++] = *m;
	}
	t->n_measured = n;
	return last_ns;
}
