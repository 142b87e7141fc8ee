/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_usual.h"

#include <stdlib.h>

#include "phases.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#define NORMAL 1.4826 /* of normally distributed lengths the standard deviation, in median distances from the median */
#define PART 10
#define LEAST_NS 100000

#define FIGURES (2 + CAUSE_COUNT)

static int64_t *figure(struct step_figures *f, size_t i)
{
	return i == 0 ? &f->length_ns : i == 1 ? &f->idle_ns : &f->causes_ns[i - 2];
}

static int64_t figure_of(const struct step_idle *s, size_t i)
{
	return i == 0 ? s->step->end_ns - s->step->begin_ns : i == 1 ? s->idle_ns : s->causes_ns[i - 2];
}

static void add_figures(struct steps_usual *out, const struct step_idle *steps, size_t n, int64_t *values)
{
	for (size_t i = 0; i < FIGURES; i++) {
		int64_t sum = 0;
		size_t k = 0;

		for (size_t at = 0; at < n; at++) {
			if (steps[at].step->kind != STEP)
				continue;
			values[k] = figure_of(&steps[at], i);
			sum = sum64(sum, values[k++]);
		}
		*figure(&out->mean, i) = sum / (int64_t)k;
		*figure(&out->median, i) = array_median_low(values, k);
	}
}

static int64_t limit(const struct steps_usual *u, const struct step_idle *steps, size_t n, int64_t *values)
{
	int64_t median = u->median.length_ns, apart;
	size_t k = 0;

	if (u->n < LEAST_USUAL)
		return INT64_MAX;
	for (size_t i = 0; i < n; i++)
		if (steps[i].step->kind == STEP) {
			int64_t length = steps[i].step->end_ns - steps[i].step->begin_ns;

			values[k++] = length > median ? length - median : median - length;
		}
	apart = array_median_low(values, k);
	apart = apart > INT64_MAX / 16 ? INT64_MAX / 2 : (int64_t)(OUTLIER_DEVIATIONS * NORMAL * (double)apart);
	return sum64(median, max64(max64(apart, median / PART), LEAST_NS));
}

static void explain(struct outlier *o, const struct step_idle *s, const struct step_figures *median)
{
	o->excess_ns = o->busy_ns = figure_of(s, 0) - median->length_ns;
	for (int i = 0; i < CAUSE_COUNT; i++) {
		o->causes_ns[i] = s->causes_ns[i] - median->causes_ns[i];
		o->busy_ns -= o->causes_ns[i];
	}
}

static bool add_outliers(struct steps_usual *out, const struct step_idle *steps, size_t n)
{
	size_t cap = 0;

	for (size_t i = 0; i < n; i++) {
		if (steps[i].step->kind != STEP || figure_of(&steps[i], 0) <= out->limit_ns)
			continue;
		if (!array_room(out->outliers, out->n_outliers, cap))
			return false;
		out->outliers[out->n_outliers] = (struct outlier){ .index = i };
		explain(&out->outliers[out->n_outliers++], &steps[i], &out->median);
	}
	return true;
}

bool steps_usual_build(struct steps_usual *out, const struct step_idle *steps, size_t n)
{
	int64_t *values = array_new(n, sizeof(*values));
	bool ok = values != NULL;

	*out = (struct steps_usual){ .limit_ns = INT64_MAX };
	for (size_t i = 0; i < n; i++)
		out->n += steps[i].step->kind == STEP;
	if (ok && out->n) {
		add_figures(out, steps, n, values);
		out->limit_ns = limit(out, steps, n, values);
		ok = add_outliers(out, steps, n);
	}
	free(values);
	if (!ok)
		steps_usual_free(out);
	return ok;
}

void steps_usual_free(struct steps_usual *u)
{
	free(u->outliers);
	*u = (struct steps_usual){ 0 };
}
