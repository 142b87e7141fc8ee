/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_measured.h"

#include "alloc.h"
#include "ns.h"

/* The recorder's clocks are that far apart at most, whatever a record says of its error: the device's work may seem to have begun before
 * the recording did. */
#define EARLY_NS 1000000

/* A killed process's last sign of life may be older than the last of what was measured, by the helper's longest pause. */
#define LATE_NS 10000000000

bool measured_is_sane(const struct gst_activity *r)
{
	return r->begin_ns <= r->end_ns && r->end_ns <= INT64_MAX / 2 && r->kind >= GST_ACTIVITY_KERNEL &&
	       r->kind <= GST_ACTIVITY_GRAPH;
}

void measured_promise(struct trace *t)
{
	bool all = t->header.device_level == GST_LEVEL_CUPTI;

	t->measured_from_ns = INT64_MIN;
	t->measured_until_ns = all ? INT64_MAX : INT64_MIN;
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
