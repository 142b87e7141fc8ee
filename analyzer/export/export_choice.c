/* SPDX-License-Identifier: BSD-2-Clause */
#include "export_choice.h"

#include <stdlib.h>

#include "tools/ns.h"

#define TOP_GAPS 50
#define TOP_STEPS 4
#define AROUND_NS 2000000 /* what is shown on either side */

/* Times are kept as they are drawn: hosts' own clocks tell nothing of each other. */
static bool add(struct choice *c, uint32_t clock, int64_t begin_ns, int64_t end_ns)
{
	const struct ranks *r = &c->s->ranks;

	return intervals_add(&c->around, sum64(ranks_drawn_ns(r, clock, begin_ns), -AROUND_NS),
			     sum64(ranks_drawn_ns(r, clock, end_ns), AROUND_NS));
}

static bool add_gaps(struct choice *c)
{
	size_t n = TOP_GAPS;
	size_t *longest = summary_longest(c->s, &n);
	bool ok = longest != NULL;

	for (size_t i = 0; ok && i < n; i++) {
		const struct summary_device *d;
		const struct gap *g = summary_gap(c->s, longest[i], &d)->gap;

		ok = add(c, ranks_device_clock(&c->s->ranks, (size_t)(d - c->s->devices)), g->begin_ns, g->end_ns);
	}
	free(longest);
	return ok;
}

static bool add_step(struct choice *c, const struct device_phases *p, size_t index)
{
	const struct step *step = p->steps[index].step;
	size_t process = 0;

	while (c->s->run->traces[process] != p->of->trace)
		process++;
	return add(c, c->s->ranks.clock_of[process], step->begin_ns, step->end_ns);
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

static bool add_steps(struct choice *c)
{
	struct worst list[TOP_STEPS];
	const struct device_phases *usual = NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->s->n_devices; i++) {
		const struct device_phases *p = &c->s->devices[i].phases;

		if (!usual && p->of && p->usual.n)
			usual = p;
		for (size_t k = 0; k < p->usual.n_outliers; k++)
			rank_step(list, &n, (struct worst){ p, &p->usual.outliers[k] });
	}
	for (size_t i = 0; i < n; i++)
		if (!add_step(c, list[i].of, list[i].step->index))
			return false;
	usual = n ? list[0].of : usual;
	return !usual || add_step(c, usual, usual_step(usual));
}

bool choice_make(struct choice *c, const struct summary *s, bool all)
{
	*c = (struct choice){ .s = s, .all = all };
	if (all)
		return true;
	if (!add_gaps(c) || !add_steps(c))
		return false;
	intervals_merge(&c->around);
	return true;
}

void choice_free(struct choice *c)
{
	intervals_free(&c->around);
}

bool choice_wants(const struct choice *c, uint32_t clock, int64_t begin_ns, int64_t end_ns)
{
	int64_t begin, end;
	size_t low = 0, high = c->around.n;

	if (c->all)
		return true;
	begin = ranks_drawn_ns(&c->s->ranks, clock, begin_ns);
	end = ranks_drawn_ns(&c->s->ranks, clock, end_ns);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->around.at[middle].end_ns < begin)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->around.n && c->around.at[low].begin_ns <= end;
}
