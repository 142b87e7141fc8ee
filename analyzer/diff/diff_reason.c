/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_reason.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_keep.h"
#include "diff_shown.h"
#include "tools/text.h"

#define REASON 480

static int standing(size_t row)
{
	return row >= ROW_LEAVES ? 2 : row == ROW_IDLE ? 1 : 0;
}

bool diff_reason_row(const struct diff *d, enum diff_change change, size_t *pair, size_t *row)
{
	const struct diff_compared *best = NULL;

	for (size_t i = 0; i < d->n_pairs; i++)
		for (size_t k = 0; k < DIFF_ROWS; k++) {
			const struct diff_compared *r = &d->pairs[i].compared.row[k];

			if (r->change != change || !diff_row_is_alike(&d->pairs[i].compared, k))
				continue;
			if (best && (standing(k) < standing(*row) ||
				     (standing(k) == standing(*row) && llabs(r->delta_ns) <= llabs(best->delta_ns))))
				continue;
			best = r;
			*pair = i;
			*row = k;
		}
	return best != NULL;
}

/* "idle", "input-wait"; "a step" */
static const char *row_words(size_t row)
{
	return row == ROW_STEP ? "a step" : row == ROW_IDLE ? "idle time" : diff_row_name(row);
}

static void where(char buf[64], const struct diff *d, size_t pair)
{
	const struct diff_run_device *base = d->pairs[pair].base;

	buf[0] = 0;
	if (d->n_pairs > 1)
		snprintf(buf, 64, " on device %u", base->number);
	if (d->n_pairs > 1 && base->rank != GST_NONE && base->rank != base->number)
		snprintf(buf, 64, " on device %u, rank %u", base->number, base->rank);
}

/* "input-storage takes 5.1 ms more of a step (+4.2 %)" */
static void say_change(char *buf, size_t size, const struct diff *d, size_t pair, size_t row)
{
	const struct diff_compared *r = &d->pairs[pair].compared.row[row];
	const struct diff_compared *step = &d->pairs[pair].compared.row[ROW_STEP];
	char time[TEXT_SHORT], part[DIFF_WORDS], place[64];
	size_t used;

	where(place, d, pair);
	used = (size_t)snprintf(buf, size, "%s takes %s %s%s%s (%s)", row_words(row),
				text_duration(time, llabs(r->delta_ns)), r->delta_ns > 0 ? "more" : "less",
				row == ROW_STEP ? "" : " of a step", place,
				diff_percent(part, r->delta_ns, step->base_ns));
	if (row == ROW_STEP || used >= size)
		return;
	if (step->change == DIFF_REGRESSED || step->change == DIFF_IMPROVED)
		snprintf(buf + used, size - used, ", and the step %s %s (%s)",
			 text_duration(time, llabs(step->delta_ns)), step->delta_ns > 0 ? "more" : "less",
			 diff_percent(part, step->delta_ns, step->base_ns));
	else if (step->change == DIFF_UNCHANGED)
		snprintf(buf + used, size - used, "; the step takes as long as before");
	else
		snprintf(buf + used, size - used, "; whether the step takes longer is not sure");
}

/* Nothing but what long steps add has changed. */
static void say_tail(char *buf, size_t size, const struct diff *d)
{
	for (size_t i = 0; i < d->n_pairs; i++) {
		const struct diff_device *c = &d->pairs[i].compared;
		char time[TEXT_SHORT], part[DIFF_WORDS], place[64];

		if (c->tail.change != d->verdict)
			continue;
		where(place, d, i);
		snprintf(buf, size,
			 "steps that take long add %s %s to the mean step%s (%s); the typical step is as before",
			 text_duration(time, llabs(c->tail.delta_ns)), c->tail.delta_ns > 0 ? "more" : "less", place,
			 diff_percent(part, c->tail.delta_ns, c->row[ROW_STEP].base_ns));
		return;
	}
}

/* The widest interval of a step or its idle time decides. */
static void say_unsure(char *buf, size_t size, const struct diff *d)
{
	const struct diff_compared *widest = NULL;
	char low[DIFF_WORDS], high[DIFF_WORDS], place[64] = "";
	size_t which = 0;

	for (size_t i = 0; i < d->n_pairs; i++)
		for (size_t row = 0; row < ROW_LEAVES; row++) {
			const struct diff_compared *r = &d->pairs[i].compared.row[row];

			if (r->change != DIFF_INCONCLUSIVE ||
			    (widest && r->high_ns - r->low_ns <= widest->high_ns - widest->low_ns))
				continue;
			widest = r;
			which = row;
			where(place, d, i);
		}
	snprintf(buf, size, "%s%s may have changed by %s to %s: too much to tell; more steps or more runs would",
		 row_words(which), place, diff_delta(low, widest ? widest->low_ns : 0),
		 diff_delta(high, widest ? widest->high_ns : 0));
}

/* The device with the widest band stands for all. */
static void say_unchanged(char *buf, size_t size, const struct diff *d)
{
	const struct diff_device *c = &d->pairs[0].compared;
	char time[TEXT_SHORT];
	double part;

	for (size_t i = 1; i < d->n_pairs; i++)
		if (diff_band(&d->pairs[i].compared, ROW_IDLE) > diff_band(c, ROW_IDLE))
			c = &d->pairs[i].compared;
	part = c->row[ROW_STEP].base_ns > 0 ? 100 * (double)c->band_ns / (double)c->row[ROW_STEP].base_ns : 0;
	snprintf(buf, size, "nothing changed, for sure, by more than %.1f %% of a step (%s)%s", part,
		 text_duration(time, c->band_ns),
		 c->blurred_ns > c->band_ns / 4 ? ", nor idle time by more than it is known to" : "");
}

static void say_other(char *buf, size_t size, const struct diff *d)
{
	char place[64];

	for (size_t i = 0; i < d->n_pairs; i++) {
		if (!d->pairs[i].reason ||
		    (d->pairs[i].compared.comparable && d->pairs[i].compared.alike != DIFF_STEP_ALONE))
			continue;
		where(place, d, i);
		snprintf(buf, size, "%s%s%s", d->pairs[i].reason, place[0] ? ":" : "", place);
		return;
	}
	snprintf(buf, size, "there is nothing to compare");
}

const char *diff_reason(struct diff *d)
{
	size_t pair, row;
	char text[REASON] = "";

	switch (d->verdict) {
	case DIFF_REGRESSED:
	case DIFF_IMPROVED:
		if (diff_reason_row(d, d->verdict, &pair, &row))
			say_change(text, sizeof(text), d, pair, row);
		else
			say_tail(text, sizeof(text), d);
		break;
	case DIFF_UNCHANGED:
		say_unchanged(text, sizeof(text), d);
		break;
	case DIFF_INCONCLUSIVE:
		say_unsure(text, sizeof(text), d);
		break;
	default:
		say_other(text, sizeof(text), d);
	}
	return diff_keep_text(&d->texts, text);
}
