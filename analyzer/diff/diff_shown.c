/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_shown.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/text_put.h"

const char *diff_change_word(enum diff_change change)
{
	static const char *const words[] = { "unchanged", "regressed", "improved", "inconclusive", "not comparable" };

	return words[change];
}

/* ---- figures ---- */

const char *diff_delta(char buf[DIFF_WORDS], int64_t ns)
{
	char duration[TEXT_SHORT];

	snprintf(buf, DIFF_WORDS, "%s%s", ns > 0 ? "+" : "", text_duration(duration, ns));
	return buf;
}

const char *diff_interval(char buf[DIFF_WORDS], const struct diff_compared *r)
{
	char low[DIFF_WORDS], high[DIFF_WORDS];

	snprintf(buf, DIFF_WORDS, "%.40s to %.40s", diff_delta(low, r->low_ns), diff_delta(high, r->high_ns));
	return buf;
}

const char *diff_percent(char buf[DIFF_WORDS], int64_t ns, int64_t whole)
{
	*buf = 0;
	if (whole > 0)
		snprintf(buf, DIFF_WORDS, "%+.1f %%", (double)ns * 100 / (double)whole);
	return buf;
}

const char *diff_times(char buf[DIFF_WORDS], double per_step)
{
	char count[TEXT_SHORT];
	double whole = round(per_step);

	if (fabs(per_step - whole) < 0.005 && per_step >= 0 && per_step < 1e15)
		snprintf(buf, DIFF_WORDS, "%s", text_count(count, (uint64_t)whole));
	else
		snprintf(buf, DIFF_WORDS, per_step < 0.1 ? "%.3f" : "%.2f", per_step);
	return buf;
}

const char *diff_growth(char buf[DIFF_WORDS], uint64_t base, uint64_t now)
{
	char bytes[TEXT_SHORT];

	snprintf(buf, DIFF_WORDS, "%s%s",
		 now < base   ? "-"
		 : now > base ? "+"
			      : "",
		 text_bytes(bytes, now < base ? base - now : now - base));
	return buf;
}

const char *diff_bytes(char buf[DIFF_WORDS], const struct diff_work_change *w)
{
	uint64_t base = w->base ? (uint64_t)w->base->bytes_per_step : 0;
	uint64_t now = w->now ? (uint64_t)w->now->bytes_per_step : 0;
	char from[TEXT_SHORT], to[TEXT_SHORT];

	*buf = 0;
	if (base != now && w->base && w->now)
		snprintf(buf, DIFF_WORDS, "%s to %s", text_bytes(from, base), text_bytes(to, now));
	else if (base != now)
		snprintf(buf, DIFF_WORDS, "%s", text_bytes(to, base ? base : now));
	return buf;
}

/* ---- rows ---- */

const struct diff_compared *diff_shown_row(const struct diff_pair *p, size_t row)
{
	return row == DIFF_TAIL ? &p->compared.tail : &p->compared.row[row];
}

const char *diff_shown_name(size_t row)
{
	return row == DIFF_TAIL ? "tail" : diff_row_name(row);
}

bool diff_row_is_shown(const struct diff_pair *p, size_t row)
{
	const struct diff_compared *r = diff_shown_row(p, row), *step = &p->compared.row[ROW_STEP];
	int64_t part = row == DIFF_TAIL ? 50 : 200;

	if (row == ROW_STEP || row == ROW_IDLE)
		return true;
	if (!r->present)
		return false;
	return r->change == DIFF_REGRESSED || r->change == DIFF_IMPROVED || llabs(r->base_ns) > step->base_ns / part ||
	       llabs(r->new_ns) > step->new_ns / part;
}

static int rank_of(const struct diff_compared *r)
{
	return r->change == DIFF_REGRESSED ? 0 : r->change == DIFF_IMPROVED ? 1 : 2;
}

static int64_t size_of(const struct diff_compared *r)
{
	return r->delta_ns < 0 ? -r->delta_ns : r->delta_ns;
}

static bool goes_before(const struct diff_compared *a, const struct diff_compared *b)
{
	if (rank_of(a) != rank_of(b))
		return rank_of(a) < rank_of(b);
	return size_of(a) != size_of(b) ? size_of(a) > size_of(b) : a->new_ns > b->new_ns;
}

void diff_row_order(size_t order[DIFF_ROWS], const struct diff_pair *p)
{
	size_t n = 0;

	order[n++] = ROW_STEP;
	for (size_t leaf = 0; leaf < LEAF_CAUSES; leaf++)
		order[n++] = ROW_LEAVES + leaf;
	order[n++] = ROW_IDLE;
	for (size_t first = n, row = ROW_LEAVES + LEAF_CAUSES; row < DIFF_ROWS; row++) {
		size_t at = n++;

		for (; at > first && goes_before(&p->compared.row[row], &p->compared.row[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = row;
	}
}

bool diff_row_fails(const struct diff *d, size_t pair, size_t row)
{
	if (diff_status(d) != DIFF_EXIT_WORSE)
		return false;
	for (size_t i = 0; i < d->n_fired; i++)
		if (d->fired[i].pair == pair && d->fired[i].row == row)
			return true;
	return d->n_rules == 0 && diff_shown_row(&d->pairs[pair], row)->change == DIFF_REGRESSED;
}

/* ---- devices ---- */

enum diff_change diff_pair_verdict(const struct diff_pair *p)
{
	return diff_overall(&p->compared, 1);
}

bool diff_walk_next(struct diff_walk *w)
{
	static const enum diff_change order[] = { DIFF_REGRESSED, DIFF_IMPROVED, DIFF_NOT_COMPARABLE, DIFF_INCONCLUSIVE,
						  DIFF_UNCHANGED };

	for (; w->change < sizeof(order) / sizeof(order[0]); w->change++, w->next = 0)
		while (w->next < w->d->n_pairs) {
			w->pair = w->next++;
			if (diff_pair_verdict(&w->d->pairs[w->pair]) == order[w->change])
				return true;
		}
	return false;
}

/* ---- sentences ---- */

static void runs_of(char buf[160], const struct diff_run *runs, size_t n, size_t device)
{
	char steps[TEXT_SHORT], times[TEXT_SHORT];
	size_t least = SIZE_MAX, most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t have = device < runs[i].n_devices ? runs[i].devices[device].n_steps : 0;

		least = have < least ? have : least;
		most = have > most ? have : most;
	}
	text_count(steps, n ? least : 0);
	if (!most) {
		snprintf(buf, 160, "%s whole run%s", text_count(times, n), n == 1 ? "" : "s");
		return;
	}
	if (least < most)
		snprintf(buf, 160, "%s to %s steps", steps, text_count(times, most));
	else
		snprintf(buf, 160, "%s step%s", steps, most == 1 ? "" : "s");
	if (n != 1)
		snprintf(buf + strlen(buf), 160 - strlen(buf), " in each of %s runs", text_count(times, n));
}

const char *diff_how_sure(char *buf, size_t size, const struct diff *d, const struct diff_pair *p)
{
	char base[160], now[160], band[TEXT_SHORT], share[DIFF_WORDS], blurred[TEXT_SHORT], unresolved[TEXT_SHORT];
	struct text_put t = text_put_begin(buf, size);
	int64_t step = p->compared.row[ROW_STEP].base_ns;

	runs_of(base, d->base, d->n_base, p->base_device);
	runs_of(now, d->now, d->n_now, p->new_device);
	put_text(&t, base);
	put_text(&t, " against ");
	put_text(&t, now);
	if (p->compared.band_ns > 0) {
		put_text(&t, "; a change of less than ");
		put_text(&t, text_duration(band, p->compared.band_ns));
		if (step > 0) {
			snprintf(share, sizeof(share), ", %.1f %% of the step,",
				 (double)p->compared.band_ns * 100 / (double)step);
			put_text(&t, share);
		}
		put_text(&t, " is none");
		if (p->compared.blurred_ns > 0) {
			put_text(&t, ", and in its parts one of less than ");
			put_text(&t, text_duration(band, diff_band(&p->compared, ROW_IDLE)));
		}
	}
	put_text(&t, p->compared.variance_known ? "" : "; how much runs vary is not known: one run a side");
	if (p->now && (p->now->blurred_ns > 0 || p->now->unresolved_ns > 0)) {
		put_text(&t, "; of new's step idle time is known to ");
		put_text(&t, text_duration(blurred, p->now->blurred_ns));
		put_text(&t, ", and ");
		put_text(&t, text_duration(unresolved, p->now->unresolved_ns));
		put_text(&t, " may be busy or idle");
	}
	return buf;
}

const char *diff_pair_title(char *buf, size_t size, const struct diff_pair *p)
{
	const struct diff_run_device *one = p->base ? p->base : p->now;
	struct text_put t = text_put_begin(buf, size);
	char digits[48], name[128];

	if (!one)
		return buf;
	snprintf(digits, sizeof(digits), "device %u", one->number);
	put_text(&t, digits);
	if (p->now && p->now->number != one->number) {
		snprintf(digits, sizeof(digits), " (%u in new)", p->now->number);
		put_text(&t, digits);
	}
	if (one->rank != GST_NONE) {
		snprintf(digits, sizeof(digits), ", rank %u", one->rank);
		put_text(&t, digits);
	}
	if (one->name && one->name[0]) {
		put_text(&t, ", ");
		put_text(&t, text_clean(name, sizeof(name), one->name, 64));
	}
	return buf;
}
