/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_reference.h: the partition of a device's time as anybody would write it down, slow and obvious: between every two instants at which
 * something begins or ends, look at all operations, and the first kind that runs owns that time. Where none runs, the device is idle. */
#pragma once

#include "summary_machine.h"

struct partition_of_all {
	int64_t begin, end;
	int64_t part[PARTS], idle;
	uint64_t operations;
	struct {
		int64_t begin, end;
	} gaps[OPS];
	size_t n_gaps;
};

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Who owns [begin, end)? PARTS: nobody. */
static enum part owner_of_all(const struct machine *m, uint32_t device, int64_t begin, int64_t end)
{
	enum part owner = PARTS;

	for (size_t i = 0; i < m->n_ops; i++)
		if (m->ops[i].device == device && m->ops[i].begin <= begin && m->ops[i].end >= end &&
		    m->ops[i].part < owner)
			owner = m->ops[i].part;
	return owner;
}

static void reference(struct partition_of_all *out, const struct machine *m, uint32_t device)
{
	static int64_t times[2 * OPS];
	size_t n = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < m->n_ops; i++) {
		if (m->ops[i].device != device)
			continue;
		times[n++] = m->ops[i].begin;
		times[n++] = m->ops[i].end;
		out->operations++;
	}
	if (!n)
		return;
	qsort(times, n, sizeof(times[0]), by_time);
	out->begin = times[0];
	out->end = times[n - 1];
	for (size_t i = 1; i < n; i++) {
		enum part owner = owner_of_all(m, device, times[i - 1], times[i]);

		if (times[i - 1] == times[i])
			continue;
		if (owner < PARTS) {
			out->part[owner] += times[i] - times[i - 1];
			continue;
		}
		out->idle += times[i] - times[i - 1];
		out->gaps[out->n_gaps].begin = times[i - 1];
		out->gaps[out->n_gaps++].end = times[i];
	}
}

/* What of [begin, end) is idle. */
static int64_t reference_idle(const struct partition_of_all *p, int64_t begin, int64_t end)
{
	int64_t idle = 0;

	for (size_t i = 0; i < p->n_gaps; i++)
		idle += max64(0, min64(p->gaps[i].end, end) - max64(p->gaps[i].begin, begin));
	return idle;
}

/* … and what of it is not. */
static int64_t reference_busy(const struct partition_of_all *p, int64_t begin, int64_t end)
{
	return max64(0, min64(p->end, end) - max64(p->begin, begin)) - reference_idle(p, begin, end);
}
