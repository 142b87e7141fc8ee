/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_run_steps.c: a device's steps as they are compared. Left out are those that begin before the device does or end behind it (nobody knows
 * all of them), pieces between steps, and the warm-up: the first ones, where they take much longer than the rest. */
#include "diff_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_contents.h"
#include "diff_keep.h"
#include "timeline/partition.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"

#define WARM_UP_PART 4 /* of the steps at most */
#define NORMAL 1.4826  /* of normally distributed lengths the standard deviation, in median distances from the median */
#define FAR 5          /* of these */
#define PART 10        /* … and by a part in so many of the median */

struct picked { /* steps */
	const struct step_idle **at;
	size_t n, warm_up; /* warm_up: left out before them */
	struct diff_series series;
};

static void picked_free(struct picked *p)
{
	free(p->at);
	diff_series_free(&p->series);
}

/* ---- which ---- */

static bool pick(struct picked *p, const struct summary_device *of)
{
	const struct device_timeline *d = of->timeline;

	p->at = array_new(of->phases.n_steps, sizeof(*p->at));
	for (size_t i = 0; p->at && i < of->phases.n_steps; i++) {
		const struct step_idle *s = &of->phases.steps[i];

		if (s->step->kind != STEP)
			continue;
		if (s->step->begin_ns >= d->begin_ns && s->step->end_ns <= d->end_ns &&
		    s->step->end_ns > s->step->begin_ns)
			p->at[p->n++] = s;
		else
			p->warm_up += p->n == 0;
	}
	return p->at != NULL;
}

static int64_t length(const struct step_idle *s)
{
	return s->step->end_ns - s->step->begin_ns;
}

/* Longer ones are outliers, by the steps behind those that may be warm-up. -1: no memory. */
static int64_t limit_of(const struct picked *p, size_t first)
{
	size_t n = p->n - first;
	int64_t *values = array_new(n, sizeof(*values)), median, apart;

	if (!values)
		return -1;
	for (size_t i = 0; i < n; i++)
		values[i] = length(p->at[first + i]);
	median = array_median(values, n);
	for (size_t i = 0; i < n; i++)
		values[i] = values[i] > median ? values[i] - median : median - values[i];
	apart = (int64_t)(FAR * NORMAL * (double)array_median(values, n));
	free(values);
	return sum64(median, max64(apart, median / PART));
}

/* The warm-up ends with an outlier, and most steps in it are: a few of its steps may be as short as any. False: no memory. */
static bool leave_out_warm_up(struct picked *p)
{
	size_t most = p->n / WARM_UP_PART, outliers = 0, warm_up = 0;
	int64_t limit = p->n ? limit_of(p, most) : 0;

	for (size_t i = 0; i < most && limit >= 0; i++) {
		bool is_long = length(p->at[i]) > limit;

		outliers += is_long;
		if (is_long && 2 * outliers > i + 1)
			warm_up = i + 1;
	}
	memmove(p->at, p->at + warm_up, (p->n - warm_up) * sizeof(*p->at));
	p->n -= warm_up;
	p->warm_up += warm_up;
	return limit >= 0;
}

/* ---- their values ---- */

static bool new_leaves(struct diff_series *s)
{
	for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++) {
		s->leaf[leaf] = array_new(s->n, sizeof(int64_t));
		if (!s->leaf[leaf])
			return false;
	}
	return true;
}

static int64_t copies_ns(const struct partition *p)
{
	int64_t ns = p->memset_ns;

	for (int i = 0; i < 8; i++)
		ns += p->copy_ns[i];
	return ns;
}

static void set_leaves(struct diff_series *s, size_t i, const struct partition *before, const struct partition *after,
		       const int64_t causes_ns[CAUSE_COUNT])
{
	s->leaf[LEAF_COMPUTE][i] = after->compute_ns - before->compute_ns;
	s->leaf[LEAF_COMM][i] = after->comm_ns - before->comm_ns;
	s->leaf[LEAF_COPY][i] = copies_ns(after) - copies_ns(before);
	for (int cause = 0; cause < CAUSE_COUNT; cause++)
		s->leaf[LEAF_CAUSES + cause][i] = causes_ns[cause];
}

/* What is 0 all through needs no list. */
static void drop_empty(struct diff_series *s)
{
	for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++) {
		bool any = false;

		for (size_t i = 0; i < s->n && !any; i++)
			any = s->leaf[leaf][i] != 0;
		if (!any) {
			free(s->leaf[leaf]);
			s->leaf[leaf] = NULL;
		}
	}
}

static bool series_of_steps(struct picked *p, const struct device_timeline *d)
{
	struct partition *before = array_new(2 * p->n, sizeof(*before));
	int64_t *instants = array_new(2 * p->n, sizeof(*instants));
	bool ok;

	p->series.n = p->n;
	for (size_t i = 0; instants && i < p->n; i++) {
		instants[2 * i] = p->at[i]->step->begin_ns;
		instants[2 * i + 1] = p->at[i]->step->end_ns;
	}
	ok = before && instants && partition_before(before, d, instants, 2 * p->n) && new_leaves(&p->series);
	for (size_t i = 0; ok && i < p->n; i++)
		set_leaves(&p->series, i, &before[2 * i], &before[2 * i + 1], p->at[i]->causes_ns);
	free(before);
	free(instants);
	return ok;
}

/* There are no steps: all of it, as one. */
static bool series_of_span(struct picked *p, const struct summary_device *of)
{
	static const struct partition none;
	struct partition all = { .compute_ns = of->timeline->compute_ns,
				 .comm_ns = of->timeline->comm_ns,
				 .memset_ns = of->timeline->memset_ns };

	memcpy(all.copy_ns, of->timeline->copy_ns, sizeof(all.copy_ns));
	p->series.n = 1;
	if (!new_leaves(&p->series))
		return false;
	set_leaves(&p->series, 0, &none, &all, of->attribution.causes_ns);
	return true;
}

/* ---- how sure idle time is ---- */

static void set_doubt(struct diff_run_device *d, const struct device_timeline *t, const struct diff_window *w)
{
	int64_t blurred = 0, unresolved = 0, n = w->n ? (int64_t)w->n : 1;

	for (size_t i = 0; i < t->n_gaps; i++) {
		const struct gap *g = &t->gaps[i];

		if (diff_window_part(w, g->begin_ns, g->end_ns))
			blurred = sum64(blurred, g->begin_error_ns + g->end_error_ns);
	}
	for (size_t i = 0; i < t->n_unresolved; i++)
		unresolved = sum64(unresolved, diff_window_part(w, t->unresolved[i].begin_ns, t->unresolved[i].end_ns));
	d->blurred_ns = blurred / n;
	d->unresolved_ns = unresolved / n;
}

/* ---- classes ---- */

struct of_class {
	uint64_t key;
	uint32_t step;
};

static int by_key(const void *a, const void *b)
{
	const struct of_class *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

struct class_run { /* of those that are sorted by key */
	size_t first, n;
	uint64_t key;
};

static int by_number(const void *a, const void *b)
{
	const struct class_run *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static const char *count_words(char buf[64], uint32_t n, const char *one, const char *many)
{
	char number[TEXT_SHORT];

	snprintf(buf, 64, "%s %s", text_count(number, n), n == 1 ? one : many);
	return buf;
}

static const char *class_words(struct arena *texts, const struct step_contents *c)
{
	char launches[64], copies[64], text[160];

	snprintf(text, sizeof(text), "%s%s%s", count_words(launches, c->launches, "launch", "launches"),
		 c->copies ? ", " : "", c->copies ? count_words(copies, c->copies, "copy", "copies") : "");
	return diff_keep_text(texts, text);
}

/* Of these steps alone, in their order. False: no memory. */
static bool typical_of_some(struct diff_typical *out, const struct diff_series *s, const struct of_class *steps,
			    size_t n, uint64_t seed)
{
	struct diff_series some = { .n = n };
	bool ok = true;

	for (size_t leaf = 0; leaf < DIFF_LEAVES && ok; leaf++) {
		if (!s->leaf[leaf])
			continue;
		some.leaf[leaf] = array_new(n, sizeof(int64_t));
		ok = some.leaf[leaf] != NULL;
		for (size_t i = 0; ok && i < n; i++)
			some.leaf[leaf][i] = s->leaf[leaf][steps[i].step];
	}
	ok = ok && diff_typical_of(out, &some, seed);
	diff_series_free(&some);
	return ok;
}

/* by: by key. The rare ones beyond DIFF_CLASSES become one, in the order of their steps. */
static size_t runs_of_classes(struct class_run *runs, struct of_class *by, size_t n)
{
	size_t n_runs = 0, kept;

	for (size_t i = 0; i < n; i++) {
		if (!n_runs || runs[n_runs - 1].key != by[i].key)
			runs[n_runs++] = (struct class_run){ .first = i, .key = by[i].key };
		runs[n_runs - 1].n++;
	}
	if (n_runs <= DIFF_CLASSES || !by[0].key)
		return n_runs;
	array_sort(runs, n_runs, sizeof(*runs), by_number);
	kept = DIFF_CLASSES;
	for (size_t k = kept; k < n_runs; k++)
		for (size_t i = 0; i < runs[k].n; i++)
			by[runs[k].first + i].key = 0;
	array_sort(by, n, sizeof(*by), by_key);
	return runs_of_classes(runs, by, n);
}

static bool add_class(struct diff_run *out, struct diff_run_device *d, const struct picked *p,
		      const struct step_contents *contents, const struct of_class *steps, size_t n, uint64_t seed)
{
	struct diff_class *c = &d->classes[d->n_classes++];

	*c = (struct diff_class){ .key = steps[0].key };
	c->words = c->key ? class_words(&out->texts, &contents[steps[0].step])
			  : diff_keep_text(&out->texts, "of many kinds");
	if (n == p->n) /* every step is of this class */
		c->typical = d->typical;
	return c->words && (n == p->n || typical_of_some(&c->typical, &p->series, steps, n, seed));
}

static bool add_classes(struct diff_run *out, struct diff_run_device *d, const struct picked *p,
			const struct step_contents *contents, uint64_t seed)
{
	struct of_class *by = array_new(p->n, sizeof(*by));
	struct class_run *runs = array_new(p->n + 1, sizeof(*runs));
	size_t n = 0;
	bool ok = by && runs;

	for (size_t i = 0; ok && i < p->n; i++)
		by[i] = (struct of_class){ contents[i].key, (uint32_t)i };
	if (ok) {
		array_sort(by, p->n, sizeof(*by), by_key);
		n = runs_of_classes(runs, by, p->n);
		array_sort(runs, n, sizeof(*runs), by_number);
		d->classes = arena_alloc(&out->texts, n * sizeof(*d->classes) + 1);
		ok = d->classes != NULL;
	}
	for (size_t i = 0; ok && i < n; i++)
		ok = add_class(out, d, p, contents, by + runs[i].first, runs[i].n, seed + 1 + i);
	free(by);
	free(runs);
	return ok;
}

static bool classify(struct diff_run *out, struct diff_run_device *d, const struct picked *p,
		     const struct summary_device *of, uint64_t seed)
{
	struct step_contents *contents = array_new(p->n, sizeof(*contents));
	const struct step **steps = array_new(p->n, sizeof(*steps));
	bool ok = contents && steps;

	for (size_t i = 0; ok && i < p->n; i++)
		steps[i] = p->at[i]->step;
	ok = ok && diff_contents_of(contents, of->phases.of->trace, steps, p->n) &&
	     add_classes(out, d, p, contents, seed);
	free(contents);
	free(steps);
	return ok;
}

/* ---- all of it ---- */

static struct diff_window window_of(const struct picked *p, const struct summary_device *of)
{
	const struct trace_steps *steps = of->phases.of;

	if (!p->n)
		return (struct diff_window){ of->timeline->begin_ns, of->timeline->end_ns, 0, NULL };
	return (struct diff_window){ p->at[0]->step->begin_ns, p->at[p->n - 1]->step->end_ns, p->n,
				     steps->n_steps < steps->n ? steps : NULL };
}

static bool add_parts(struct diff_run *out, struct diff_run_device *d, struct diff_window *w, struct picked *p,
		      const struct summary_device *of, uint64_t seed)
{
	const struct range *like = of->phases.of ? of->phases.of->like : NULL;

	d->step_name = diff_keep_text(&out->texts, like && like->name ? like->name : "");
	if (!d->step_name || !pick(p, of) || !leave_out_warm_up(p))
		return false;
	d->by_ranges = like != NULL;
	d->n_steps = p->n;
	d->n_warm_up = p->warm_up;
	*w = window_of(p, of);
	if (!(p->n ? series_of_steps(p, of->timeline) : series_of_span(p, of)))
		return false;
	drop_empty(&p->series);
	set_doubt(d, of->timeline, w);
	return diff_typical_of(&d->typical, &p->series, seed) && (!p->n || classify(out, d, p, of, seed));
}

enum err_kind diff_run_add_steps(struct diff_run *out, struct diff_run_device *d, struct diff_window *w,
				 const struct summary_device *of, uint64_t seed, struct error *e)
{
	struct picked p = { 0 };
	bool ok = add_parts(out, d, w, &p, of, seed);

	picked_free(&p);
	return ok ? ERR_NONE : err_no_memory(e, NULL);
}
