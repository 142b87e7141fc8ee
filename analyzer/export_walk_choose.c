/* SPDX-License-Identifier: BSD-2-Clause */
/* export_walk_choose.c: what of a long run is on its timeline: all idle time, and every event around the longest gaps and in the steps that
 * took longest beyond what is usual, with a usual one to compare them with. */
#include "export_walk.h"

#include <stdlib.h>

#include "ns.h"

#define FEW_EVENTS 200000 /* of so many all are written */
#define TOP_GAPS 50
#define TOP_STEPS 4
#define AROUND_NS 2000000 /* what is shown on either side */

/* Times are kept as they are drawn: hosts' own clocks tell nothing of each other. */
static bool add(struct walk *w, uint32_t clock, int64_t begin_ns, int64_t end_ns)
{
	const struct ranks *r = &w->s->ranks;

	return intervals_add(&w->around, sum64(ranks_drawn_ns(r, clock, begin_ns), -AROUND_NS),
			     sum64(ranks_drawn_ns(r, clock, end_ns), AROUND_NS));
}

static bool add_gaps(struct walk *w)
{
	size_t n = TOP_GAPS;
	size_t *longest = summary_longest(w->s, &n);
	bool ok = longest != NULL;

	for (size_t i = 0; ok && i < n; i++) {
		const struct summary_device *d;
		const struct gap *g = summary_gap(w->s, longest[i], &d)->gap;

		ok = add(w, walk_device_clock(w, (size_t)(d - w->s->devices)), g->begin_ns, g->end_ns);
	}
	free(longest);
	return ok;
}

static bool add_step(struct walk *w, const struct device_phases *p, size_t index)
{
	const struct step *step = p->steps[index].step;

	return add(w, w->s->ranks.clock_of[walk_process(w, p->of->trace)], step->begin_ns, step->end_ns);
}

/* The one whose length is nearest to the median. */
static size_t usual_step(const struct device_phases *p)
{
	size_t best = 0;
	int64_t off_by = INT64_MAX;

	for (size_t i = 0; i < p->n_steps; i++) {
		const struct step *step = p->steps[i].step;
		int64_t off = sum64(step->end_ns - step->begin_ns, -p->usual.median.length_ns);

		off = off < 0 ? -off : off;
		if (step->kind == STEP && off < off_by) {
			off_by = off;
			best = i;
		}
	}
	return best;
}

struct worst {
	const struct device_phases *of;
	const struct outlier *step;
};

/* Into a list that is in order, the worst first, and has room for TOP_STEPS. */
static void rank_step(struct worst *list, size_t *n, struct worst new)
{
	size_t at = *n;

	while (at && list[at - 1].step->excess_ns < new.step->excess_ns)
		at--;
	if (at == TOP_STEPS)
		return;
	*n += *n < TOP_STEPS;
	for (size_t i = *n - 1; i > at; i--)
		list[i] = list[i - 1];
	list[at] = new;
}

static bool add_steps(struct walk *w)
{
	struct worst list[TOP_STEPS];
	const struct device_phases *usual = NULL;
	size_t n = 0;

	for (size_t i = 0; i < w->s->n_devices; i++) {
		const struct device_phases *p = &w->s->devices[i].phases;

		if (!usual && p->of && p->usual.n)
			usual = p;
		for (size_t k = 0; k < p->usual.n_outliers; k++)
			rank_step(list, &n, (struct worst){ p, &p->usual.outliers[k] });
	}
	for (size_t i = 0; i < n; i++)
		if (!add_step(w, list[i].of, list[i].step->index))
			return false;
	usual = n ? list[0].of : usual;
	return !usual || add_step(w, usual, usual_step(usual));
}

bool walk_choose(struct walk *w)
{
	const struct summary *s = w->s;
	uint64_t events = 0;

	for (size_t i = 0; i < s->run->n_traces; i++)
		events += s->run->traces[i]->n_calls + s->run->traces[i]->n_nccl + s->run->traces[i]->n_ranges;
	for (size_t i = 0; i < s->n_devices; i++)
		events += 3 * s->devices[i].timeline->n_ops + s->devices[i].attribution.n_gaps; /* work and its arrow */
	if (events < FEW_EVENTS)
		w->all = true;
	if (w->all)
		return true;
	if (!add_gaps(w) || !add_steps(w))
		return false;
	intervals_merge(&w->around);
	return true;
}

bool wanted(const struct walk *w, int64_t begin_ns, int64_t end_ns)
{
	int64_t begin, end;
	size_t low = 0, high = w->around.n;

	if (w->all)
		return true;
	begin = ranks_drawn_ns(&w->s->ranks, w->clock, begin_ns);
	end = ranks_drawn_ns(&w->s->ranks, w->clock, end_ns);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->around.at[middle].end_ns < begin)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->around.n && w->around.at[low].begin_ns <= end;
}
