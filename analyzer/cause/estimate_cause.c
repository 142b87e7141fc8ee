/* SPDX-License-Identifier: BSD-2-Clause */
#include "estimate_cause.h"

#include "tools/alloc.h"

#include <stdlib.h>
#include <string.h>

#define LOOKED_AT_NS 100000

struct pretence { /* a timeline whose gaps are the model's */
	struct device_timeline timeline;
	struct op *after; /* one for each gap */
	struct op_of *of; /* … of those */
};

/* The model starts work `latency` after its submission; in the gap that the rules see, the submission ends it: so they ask what the thread
 * did that should have made it. */
static bool pretend(struct pretence *p, const struct device_timeline *d)
{
	const struct estimate *e = &d->estimate;

	p->timeline = *d;
	p->timeline.n_gaps = 0;
	p->timeline.gaps = array_new(e->pieces.n, sizeof(*p->timeline.gaps));
	p->after = array_new(e->pieces.n, sizeof(*p->after));
	p->of = array_new(e->pieces.n, sizeof(*p->of));
	if (!p->timeline.gaps || !p->after || !p->of)
		return false;
	for (size_t i = 0; i < e->pieces.n; i++) {
		const struct idle_piece *piece = &e->pieces.at[i];
		struct gap *gap = &p->timeline.gaps[p->timeline.n_gaps++];

		*gap = (struct gap){ .begin_ns = piece->begin_ns - e->latency_ns,
				     .end_ns = piece->end_ns - e->latency_ns };
		if (!piece->next)
			continue;
		p->after[i] = (struct op){ .begin_ns = gap->end_ns,
					   .end_ns = gap->end_ns,
					   .stretch_begin_ns = gap->end_ns,
					   .stretch_end_ns = gap->end_ns,
					   .call = piece->next,
					   .of = &p->of[i] };
		p->of[i] = (struct op_of){ .trace = piece->trace };
		gap->after = &p->after[i];
	}
	return true;
}

/* Between two calls that follow so closely nobody looked at the thread (shim/FORMAT.md, GST_USAGE): it was on its way from one submission
 * to the next, whatever it did there. */
static void sum_up(int64_t seen_ns[CAUSE_COUNT], const struct attribution *a)
{
	memcpy(seen_ns, a->causes_ns, CAUSE_COUNT * sizeof(*seen_ns));
	for (size_t i = 0; i < a->n_gaps; i++) {
		const struct gap_story *story = &a->gaps[i];

		if (!story->gap->after || story->gap->end_ns - story->gap->begin_ns >= LOOKED_AT_NS ||
		    story->gap->after->call->end_ns <= story->gap->begin_ns)
			continue;
		for (size_t k = 0; k < story->n_causes; k++) {
			const struct gap_cause *c = &story->causes[k];

			if (c->cause != CAUSE_unexplained)
				continue;
			seen_ns[CAUSE_unexplained] -= c->end_ns - c->begin_ns;
			seen_ns[CAUSE_launch_bound] += c->end_ns - c->begin_ns;
		}
	}
}

/* In the proportions of what was looked at; what rounding leaves goes to the largest. */
static void share_out(int64_t out[CAUSE_COUNT], const int64_t seen_ns[CAUSE_COUNT], int64_t whole_ns)
{
	double sum = 0;
	int64_t left = whole_ns;
	int largest = CAUSE_unexplained;

	for (int i = 0; i < CAUSE_COUNT; i++) {
		sum += (double)seen_ns[i];
		if (seen_ns[i] > seen_ns[largest])
			largest = i;
	}
	for (int i = 0; i < CAUSE_COUNT && sum > 0; i++) {
		int64_t share_ns = (int64_t)((double)seen_ns[i] / sum * (double)whole_ns);

		share_ns = share_ns < left ? share_ns : left;
		out[i] += share_ns;
		left -= share_ns;
	}
	out[largest] += left;
}

enum err_kind estimate_causes(int64_t out[CAUSE_COUNT], const struct device_timeline *d, const struct threads *threads,
			      struct error *e)
{
	struct pretence p = { 0 };
	struct attribution a = { 0 };
	int64_t seen_ns[CAUSE_COUNT];
	enum err_kind kind;

	memset(out, 0, CAUSE_COUNT * sizeof(*out));
	if (!d->estimate.made)
		return ERR_NONE;
	kind = pretend(&p, d) ? attribution_build(&a, &p.timeline, threads, e)
			      : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	if (!kind) {
		out[CAUSE_device_latency] =
			d->estimate.inside_ns; /* between a graph's nodes the device starts the next itself */
		sum_up(seen_ns, &a);
		share_out(out, seen_ns, d->estimate.unresolved.ns - d->estimate.inside_ns);
		attribution_free(&a);
	}
	free(p.timeline.gaps);
	free(p.after);
	free(p.of);
	return kind;
}
