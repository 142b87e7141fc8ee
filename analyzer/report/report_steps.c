/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report_phases.h"
#include "report_words.h"
#include "tools/text.h"

#define NAME 20
#define OUTLIERS 3 /* that are told of; */
#define FEW 1      /* … of one screen */
#define BECAUSE 3  /* causes of one of them … */
#define LEAST 10   /* … that have at least a part in so many of the excess */

/* ---- JSON ---------------------------------------------------------------------------------------------------------------- */

static void figures(struct json *j, const char *key, const struct step_figures *f)
{
	json_key_map(j, key);
	json_key_int(j, "length_ns", f->length_ns);
	json_key_int(j, "idle_ns", f->idle_ns);
	json_key_map(j, "causes");
	for (int i = 0; i < CAUSE_COUNT; i++)
		json_key_int(j, cause_name(i), f->causes_ns[i]);
	json_map_end(j);
	json_map_end(j);
}

static void outlier_json(struct json *j, const struct device_phases *of, const struct outlier *o)
{
	char name[160];

	json_map(j);
	json_key_int(j, "index", (int64_t)o->index);
	json_key_text(j, "name", step_name(name, sizeof(name), of->steps[o->index].step));
	json_key_int(j, "excess_ns", o->excess_ns);
	json_key_int(j, "busy_excess_ns", o->busy_ns);
	json_key_map(j, "causes_excess_ns");
	for (int i = 0; i < CAUSE_COUNT; i++)
		json_key_int(j, cause_name(i), o->causes_ns[i]);
	json_map_end(j);
	json_map_end(j);
}

static void usual_json(struct json *j, const struct summary_device *d, const struct report_scope *scope)
{
	const struct steps_usual *u = &d->phases.usual;

	json_map(j);
	json_key_int(j, "device", d->number);
	json_key_text(j, "by", d->phases.of->like ? "ranges" : "launches");
	json_key_int(j, "steps", (int64_t)u->n);
	json_key_int(j, "between", (int64_t)(d->phases.n_steps - u->n));
	figures(j, "median", &u->median);
	figures(j, "mean", &u->mean);
	json_key_array(j, "outliers");
	for (size_t i = 0; i < report_rows(scope, u->n_outliers); i++)
		outlier_json(j, &d->phases, &u->outliers[i]);
	json_array_end(j);
	json_map_end(j);
}

void report_steps_usual_json(struct json *j, const struct summary *s, const struct report_scope *scope)
{
	json_key_array(j, "steps_usual");
	for (size_t i = 0; i < s->n_devices; i++)
		if (s->devices[i].phases.n_steps)
			usual_json(j, &s->devices[i], scope);
	json_array_end(j);
}

/* ---- outliers ------------------------------------------------------------------------------------------------------------ */

/* "checkpoint 4.0 ms, device at work 1.0 ms": what there is more of than usual, the most first. */
static void because(char *buf, size_t size, const struct outlier *o)
{
	bool said[CAUSE_COUNT + 1] = { false };
	size_t used = 0;

	buf[0] = 0;
	for (int row = 0; row < BECAUSE; row++) {
		int64_t most = o->excess_ns / LEAST;
		int best = -1;
		char time[TEXT_SHORT];

		for (int i = 0; i <= CAUSE_COUNT; i++) {
			int64_t ns = i < CAUSE_COUNT ? o->causes_ns[i] : o->busy_ns;

			if (!said[i] && ns > most) {
				most = ns;
				best = i;
			}
		}
		if (best < 0 || used >= size)
			return;
		said[best] = true;
		used += (size_t)snprintf(buf + used, size - used, "%s%s %s", used ? ", " : "",
					 best < CAUSE_COUNT ? cause_name(best) : "device at work",
					 text_duration(time, most));
	}
}

static int by_excess(const void *a, const void *b)
{
	const struct outlier *x = *(const struct outlier *const *)a, *y = *(const struct outlier *const *)b;

	if (x->excess_ns != y->excess_ns)
		return x->excess_ns > y->excess_ns ? -1 : 1;
	return (x > y) - (x < y);
}

/* The longest, OUTLIERS at most. */
static size_t longest(const struct outlier *out[OUTLIERS + 1], const struct steps_usual *u)
{
	size_t n = 0;

	for (size_t i = 0; i < u->n_outliers; i++) {
		out[n++] = &u->outliers[i];
		qsort(out, n, sizeof(out[0]), by_excess);
		n = n > OUTLIERS ? OUTLIERS : n;
	}
	return n;
}

void report_outliers(const struct page *p, const struct summary_device *d)
{
	const struct steps_usual *u = &d->phases.usual;
	const struct outlier *worst[OUTLIERS + 1];
	size_t n = longest(worst, u);

	n = !p->style->full && n > FEW ? FEW : n;
	for (size_t i = 0; i < n; i++) {
		char line[512], name[96], excess[TEXT_SHORT], why[256];

		because(why, sizeof(why), worst[i]);
		snprintf(line, sizeof(line), "%s took %s longer than half of them: %s",
			 step_name(name, sizeof(name), d->phases.steps[worst[i]->index].step),
			 text_duration(excess, worst[i]->excess_ns), why[0] ? why : "a little of everything");
		fputs("  ", p->out);
		page_wrap(p, INK_PLAIN, 2, 4, line);
	}
	if (u->n_outliers > n)
		page_ink(p, INK_DIM, "  and %zu more that took long: %s\n", u->n_outliers - n,
			 p->style->full ? "--json has them" : "--steps");
}

/* ---- every step ---------------------------------------------------------------------------------------------------------- */

static void row(const struct page *p, const char *name, const char *at, const struct step_figures *f)
{
	char length[TEXT_SHORT], idle[TEXT_SHORT], share[TEXT_SHORT], why[128];

	causes_mainly(why, sizeof(why), f->idle_ns, f->causes_ns);
	fprintf(p->out, "  %-20s %9s %9s %9s %7s  ", name, at, text_duration(length, f->length_ns),
		text_duration(idle, f->idle_ns), text_percent(share, f->idle_ns, f->length_ns));
	page_wrap(p, INK_DIM, 62, 62, why);
}

static void step_row(const struct page *p, const struct summary_device *d, const struct step_idle *s)
{
	struct step_figures f = { .length_ns = s->step->end_ns - s->step->begin_ns, .idle_ns = s->idle_ns };
	char name[NAME + 4], at[TEXT_SHORT];

	memcpy(f.causes_ns, s->causes_ns, sizeof(f.causes_ns));
	row(p, step_name(name, NAME + 1, s->step), text_duration(at, s->step->begin_ns - d->timeline->begin_ns), &f);
}

/* Medians of causes are no parts of the median idle time: each is of another step. */
static void usual_rows(const struct page *p, const struct steps_usual *u)
{
	page_ink(p, INK_DIM, "\n  %-20s %9s %9s  %s\n", "in a step", "median", "mean", "of its length");
	for (int i = -1; i < CAUSE_COUNT; i++) {
		int64_t median = i < 0 ? u->median.idle_ns : u->median.causes_ns[i];
		int64_t mean = i < 0 ? u->mean.idle_ns : u->mean.causes_ns[i];
		char first[TEXT_SHORT], second[TEXT_SHORT], share[TEXT_SHORT];

		if (!mean)
			continue;
		fprintf(p->out, "  %-20s %9s %9s  %s\n", i < 0 ? "idle" : cause_name(i), text_duration(first, median),
			text_duration(second, mean), text_percent(share, mean, u->mean.length_ns));
	}
}

void report_steps(FILE *out, const struct summary *s, const struct report_style *style)
{
	const struct page p = { out, style };
	bool any = false;

	for (size_t i = 0; i < s->n_devices; i++) {
		const struct summary_device *d = &s->devices[i];

		if (!d->phases.n_steps)
			continue;
		page_ink(&p, INK_TITLE, "%sdevice %" PRIu32, any ? "\n" : "", d->number);
		page_ink(&p, INK_DIM, "  steps by %s\n",
			 d->phases.of->like ? words_ranges(d->phases.of->trace) : "what repeats in the launches");
		page_ink(&p, INK_DIM, "  %-20s %9s %9s %9s %7s  %s\n", "step", "at", "length", "idle", "", "mainly");
		for (size_t k = 0; k < d->phases.n_steps; k++)
			step_row(&p, d, &d->phases.steps[k]);
		usual_rows(&p, &d->phases.usual);
		report_outliers(&p, d);
		any = true;
	}
	if (!any)
		fprintf(out, "no steps: neither %s nor launches repeat (gpushim info)\n",
			s->run->n_traces ? words_ranges(s->run->traces[0]) : "NVTX ranges");
}
