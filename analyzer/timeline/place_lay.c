/* SPDX-License-Identifier: BSD-2-Clause */
#include "place_lay.h"

#include "tools/alloc.h"
#include "tools/ns.h"

/* Relative weights of work that shares a stretch: only their ratios matter. */
#define KERNEL_WEIGHT 20000.0 /* ns, a common kernel */
#define COPY_WEIGHT 5000.0    /* ns, a copy's fixed part */
#define COPY_BYTES_PER_NS 16.0

#define GAPS_NEAR 8 /* beyond so many the next one is looked for */

static double weight_of(const struct op *op, uint32_t count)
{
	if (op->of->class == OP_COPY || op->of->class == OP_MEMSET)
		return COPY_WEIGHT * count + (double)op_bytes(op) / COPY_BYTES_PER_NS;
	return KERNEL_WEIGHT * count;
}

struct place_laying place_lay_begin(const struct op *ops, size_t n, int64_t begin_ns, int64_t end_ns)
{
	struct place_laying l = {
		.length = (double)(end_ns - begin_ns), .begin_ns = begin_ns, .end_ns = end_ns, .at_ns = begin_ns
	};

	for (size_t i = 0; i < n; i++)
		l.total += weight_of(&ops[i], ops[i].of->count);
	return l;
}

int64_t place_lay_next(struct place_laying *l, int64_t called_ns, const struct op *op, uint32_t count)
{
	int64_t share = l->begin_ns + (int64_t)(l->length * (l->before / l->total));

	l->at_ns = min64(l->end_ns, max64(l->at_ns, max64(share, called_ns)));
	l->before += weight_of(op, count);
	return l->at_ns;
}

void place_lay(struct op *ops, size_t n, int64_t begin_ns, int64_t end_ns)
{
	struct place_laying l = place_lay_begin(ops, n, begin_ns, end_ns);

	for (size_t i = 0; i < n; i++) {
		ops[i].begin_ns = place_lay_next(&l, ops[i].call->begin_ns, &ops[i], ops[i].of->count);
		if (i)
			ops[i - 1].end_ns = ops[i].begin_ns;
	}
	if (n)
		ops[n - 1].end_ns = end_ns;
}

static bool gap_over(const void *element, const void *key)
{
	return ((const struct gap *)element)->end_ns <= *(const int64_t *)key;
}

/* The first gap that is not over at that instant; it is near the last one asked for, as work comes in the order of its streams. */
static size_t next_gap(const struct device_timeline *out, int64_t at, size_t *near)
{
	size_t i = *near;

	if (i && out->gaps[i - 1].end_ns > at)
		i = array_first(out->gaps, i, sizeof(*out->gaps), gap_over, &at);
	else if (i + GAPS_NEAR < out->n_gaps && out->gaps[i + GAPS_NEAR].end_ns <= at)
		i += array_first(out->gaps + i, out->n_gaps - i, sizeof(*out->gaps), gap_over, &at);
	else
		while (i < out->n_gaps && out->gaps[i].end_ns <= at)
			i++;
	return *near = i;
}

void place_leave_gaps(struct op *op, const struct device_timeline *out, size_t *near)
{
	int64_t at = max64(op->begin_ns, out->begin_ns), end = min64(op->end_ns, out->end_ns);
	int64_t best_begin = -1, best_end = -1;
	size_t i = next_gap(out, at, near);

	at = min64(at, out->end_ns);
	end = max64(end, at);
	for (; i < out->n_gaps && out->gaps[i].begin_ns < end; i++) {
		int64_t before = out->gaps[i].begin_ns;

		if (before >= at && (best_begin < 0 || before - at > best_end - best_begin)) {
			best_begin = at;
			best_end = before;
		}
		if (best_begin < 0) { /* begins inside this gap */
			bool left = at - before < out->gaps[i].end_ns - end;

			best_begin = best_end = left ? before : min64(out->gaps[i].end_ns, out->end_ns);
		}
		at = out->gaps[i].end_ns;
	}
	if (best_begin < 0 || end - at > best_end - best_begin) {
		best_begin = at;
		best_end = max64(at, end);
	}
	op->begin_ns = best_begin;
	op->end_ns = best_end;
}

bool place_is_free(const struct device_timeline *out, int64_t begin_ns, int64_t end_ns, size_t *near)
{
	size_t i = next_gap(out, begin_ns, near);

	return begin_ns >= out->begin_ns && end_ns <= out->end_ns &&
	       (i == out->n_gaps || out->gaps[i].begin_ns >= end_ns);
}
