/* SPDX-License-Identifier: BSD-2-Clause */
#include "place_fill.h"

#include "tools/alloc.h"
#include "tools/ns.h"

#include <stdlib.h>

struct filling {
	struct device_timeline *out;
	size_t gap, cap;    /* the gap that is next; room in out->undrawn */
	int64_t covered_ns; /* up to here all is drawn, or idle */
	struct op *before;  /* that ended last, of those begun */
	bool failed;
};

/* Each of the two, if it is placed and not measured, is stretched as far as its own bounds go; what is left then is the first one's. None begins before its call. Returns
 * up to where nothing could be drawn. */
static int64_t stretch(struct op *before, struct op *next, int64_t from_ns, int64_t to_ns)
{
	bool left = before && !before->of->exact && before->end_ns == from_ns;
	bool right = next && !next->of->exact && next->begin_ns == to_ns;
	int64_t cut = to_ns;

	if (right)
		cut = left ? clamp64(max64(before->stretch_end_ns, next->stretch_begin_ns), from_ns, to_ns) : from_ns;
	if (right)
		cut = clamp64(next->call->begin_ns, cut, to_ns);
	if (left) {
		before->end_ns = cut;
		before->stretch_end_ns = max64(before->stretch_end_ns, cut);
	}
	if (right && cut < to_ns) {
		next->begin_ns = cut;
		next->stretch_begin_ns = min64(next->stretch_begin_ns, cut);
	}
	return left ? from_ns : cut;
}

/* [from, to) counts as busy, and no operation is drawn. */
static void fill(struct filling *f, struct op *next, int64_t from_ns, int64_t to_ns)
{
	struct device_timeline *out = f->out;

	to_ns = stretch(f->before, next, from_ns, to_ns);
	if (to_ns == from_ns)
		return;
	f->failed = f->failed || !array_room(out->undrawn, out->n_undrawn, f->cap);
	if (!f->failed)
		out->undrawn[out->n_undrawn++] = (struct interval){ from_ns, to_ns };
}

/* Up to the next operation, or the end, without the gaps in between. */
static void fill_until(struct filling *f, struct op *next, int64_t begin_ns)
{
	const struct device_timeline *out = f->out;

	while (f->covered_ns < begin_ns) {
		int64_t stop = begin_ns;

		while (f->gap < out->n_gaps && out->gaps[f->gap].end_ns <= f->covered_ns)
			f->gap++;
		if (f->gap < out->n_gaps && out->gaps[f->gap].begin_ns <= f->covered_ns) {
			f->covered_ns = min64(begin_ns, out->gaps[f->gap].end_ns);
			continue;
		}
		if (f->gap < out->n_gaps)
			stop = min64(stop, out->gaps[f->gap].begin_ns);
		fill(f, next, f->covered_ns, stop);
		f->covered_ns = stop;
	}
}

bool place_fill(struct device_timeline *out)
{
	struct filling f = { .out = out, .covered_ns = out->begin_ns };

	out->others = calloc(out->n_ops / 64 + 1, sizeof(*out->others));
	for (size_t i = 0; i < out->n_ops; i++) {
		struct op *op = &out->ops[i];

		if (op->of->class != OP_KERNEL && out->others)
			out->others[i / 64] |= 1ull << i % 64;
		if (op->of->class == OP_HOSTFN)
			continue;
		if (f.covered_ns < op->begin_ns)
			fill_until(&f, op, op->begin_ns);
		if (!f.before || op->end_ns >= f.before->end_ns)
			f.before = op;
		f.covered_ns = max64(f.covered_ns, op->end_ns);
	}
	fill_until(&f, NULL, out->end_ns);
	return !f.failed;
}
