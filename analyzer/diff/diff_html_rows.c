/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_html.h"
#include "tools/ns.h"

#define WIDE 230 /* of a row's picture */
#define HIGH 20

/* ---- a change and its interval, on one scale for all rows ---- */

struct scale {
	double low, high; /* ns at the picture's ends */
};

static struct scale scale_of(const struct diff_pair *p)
{
	int64_t high = diff_band(&p->compared, ROW_IDLE), low = -high;
	double room;

	for (size_t row = 0; row < DIFF_SHOWN; row++)
		if (diff_row_is_shown(p, row)) {
			low = min64(low, diff_shown_row(p, row)->low_ns);
			high = max64(high, diff_shown_row(p, row)->high_ns);
		}
	room = ((double)high - (double)low) / 25 + 1;
	return (struct scale){ (double)low - room, (double)high + room };
}

static double place(const struct scale *s, int64_t ns)
{
	return ((double)ns - s->low) * WIDE / (s->high - s->low);
}

/* The tail's band may be wider than the picture. */
static double within(double x)
{
	return x < 0 ? 0 : x > WIDE ? WIDE : x;
}

static void picture(FILE *out, const struct scale *s, const struct diff_compared *r, int64_t band)
{
	static const char *const classes[] = {
		[DIFF_REGRESSED] = " change-regressed", [DIFF_IMPROVED] = " change-improved", [DIFF_NOT_COMPARABLE] = ""
	};
	double zero = place(s, 0), at = place(s, r->delta_ns), low = place(s, r->low_ns), high = place(s, r->high_ns);
	double ground = within(place(s, -band));

	fprintf(out, "<svg class=\"picture\" viewBox=\"0 0 %d %d\" aria-hidden=\"true\">", WIDE, HIGH);
	fprintf(out, "<rect class=\"band\" x=\"%.1f\" width=\"%.1f\" height=\"%d\"/>", ground,
		within(place(s, band)) - ground, HIGH);
	fprintf(out, "<line class=\"zero\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\"/>", zero, zero, HIGH);
	fprintf(out, "<rect class=\"change%s\" x=\"%.1f\" y=\"5\" width=\"%.1f\" height=\"10\"/>",
		classes[r->change] ? classes[r->change] : "", at < zero ? at : zero, at < zero ? zero - at : at - zero);
	fprintf(out, "<path class=\"whisker\" d=\"M%.1f 10H%.1fM%.1f 6V14M%.1f 6V14\"/></svg>", low, high, low, high);
}

/* ---- the table ---- */

static const char *about(size_t row)
{
	static const char *const words[] = {
		[ROW_STEP] = "all of it",
		[ROW_IDLE] = "the device did nothing",
		[ROW_LEAVES + LEAF_COMPUTE] = "kernels",
		[ROW_LEAVES + LEAF_COMM] = "communication, and nothing was computed meanwhile",
		[ROW_LEAVES + LEAF_COPY] = "copies, and nothing was computed meanwhile",
	};

	if (row == DIFF_TAIL)
		return "what long steps add to the mean: all other rows are of the middle half of the steps";
	return row < ROW_LEAVES + LEAF_CAUSES ? words[row]
					      : cause_title((enum cause_id)(row - ROW_LEAVES - LEAF_CAUSES));
}

static const char *class_of(size_t row)
{
	if (row < ROW_LEAVES || row == DIFF_TAIL)
		return "sum";
	return row >= ROW_LEAVES + LEAF_CAUSES ? "part" : "";
}

static void row(FILE *out, const struct diff *d, size_t pair, size_t row, const struct scale *s)
{
	const struct diff_pair *p = &d->pairs[pair];
	const struct diff_compared *r = diff_shown_row(p, row);
	char words[DIFF_WORDS];

	fprintf(out, "<tr class=\"%s%s\"><td>", class_of(row), diff_row_fails(d, pair, row) ? " fails" : "");
	html_sign(out, r->change);
	fprintf(out, "<span class=\"word\">%s</span></td><td class=\"name-place\"><span class=\"name\">",
		diff_change_word(r->change));
	if (row >= ROW_LEAVES && row != DIFF_TAIL)
		html_swatch(out, row - ROW_LEAVES);
	fprintf(out, "%s</span><div class=\"dim what\">", diff_shown_name(row));
	html_text(out, about(row));
	fputs("</div></td>", out);
	html_cell_ns(out, true, r->base_ns);
	html_cell_ns(out, true, r->new_ns);
	fprintf(out, "<td class=\"number delta\">%s</td>", diff_delta(words, r->delta_ns));
	html_cell(out, diff_percent(words, r->delta_ns, p->compared.row[ROW_STEP].base_ns));
	fputs("<td class=\"picture-place\">", out);
	picture(out, s, r, diff_band(&p->compared, row));
	fprintf(out, "</td><td class=\"interval\">%s</td></tr>\n", diff_interval(words, r));
}

static void table(FILE *out, const struct diff *d, size_t pair, bool shown)
{
	struct scale s = scale_of(&d->pairs[pair]);
	size_t order[DIFF_SHOWN] = { [DIFF_ROWS] = DIFF_TAIL };

	fputs("<div class=\"scroll\" tabindex=\"0\"><table class=\"rows\"><thead><tr><th>verdict</th><th>in a step</th><th class=\"number\">base</th><th "
	      "class=\"number\">new</th><th class=\"number\">change</th><th class=\"number\" title=\"of base's step\">of step</th>"
	      "<th title=\"grey: too small to be a change\">drawn</th><th>95 % interval</th></tr></thead><tbody>\n",
	      out);
	diff_row_order(order, &d->pairs[pair]);
	for (size_t i = 0; i < DIFF_SHOWN; i++)
		if (diff_row_is_shown(&d->pairs[pair], order[i]) == shown)
			row(out, d, pair, order[i], &s);
	fputs("</tbody></table></div>\n", out);
}

void html_rows(FILE *out, const struct diff *d, size_t pair)
{
	size_t hidden = 0;

	for (size_t i = 0; i < DIFF_SHOWN; i++)
		hidden += !diff_row_is_shown(&d->pairs[pair], i);
	table(out, d, pair, true);
	if (!hidden)
		return;
	fprintf(out, "<details><summary>and %zu more rows, each of them little of the step</summary>\n", hidden);
	table(out, d, pair, false);
	fputs("</details>\n", out);
}

/* ---- the step as two bars ---- */

static void bar(FILE *out, const struct diff_pair *p, bool now, int64_t whole)
{
	int64_t leaf_ns[DIFF_LEAVES], step = now ? p->compared.row[ROW_STEP].new_ns : p->compared.row[ROW_STEP].base_ns;
	int64_t idle = now ? p->compared.row[ROW_IDLE].new_ns : p->compared.row[ROW_IDLE].base_ns;
	char length[TEXT_SHORT], of_idle[TEXT_SHORT], words[128];

	for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++)
		leaf_ns[leaf] =
			now ? p->compared.row[ROW_LEAVES + leaf].new_ns : p->compared.row[ROW_LEAVES + leaf].base_ns;
	snprintf(words, sizeof(words), "%s: %s, of that %s idle", now ? "new" : "base", text_duration(length, step),
		 text_duration(of_idle, idle));
	fprintf(out, "<b>%s</b>", now ? "new" : "base");
	html_stack(out, leaf_ns, whole, false, words);
	fprintf(out, "<span class=\"number\">%s</span>", length);
}

static void legend(FILE *out, const struct diff_pair *p)
{
	size_t order[DIFF_ROWS];
	char base[TEXT_SHORT], now[TEXT_SHORT];

	diff_row_order(order, p);
	fputs("<ul class=\"legend\">", out);
	for (size_t i = 0; i < DIFF_ROWS; i++) {
		const struct diff_compared *r = &p->compared.row[order[i]];

		if (order[i] < ROW_LEAVES || !diff_row_is_shown(p, order[i]))
			continue;
		fputs("<li>", out);
		html_swatch(out, order[i] - ROW_LEAVES);
		fprintf(out, "<b>%s</b> <span class=\"dim number\">%s \xe2\x86\x92 %s</span></li>",
			diff_row_name(order[i]), text_duration(base, r->base_ns), text_duration(now, r->new_ns));
	}
	fputs("</ul>\n", out);
}

void html_bars(FILE *out, const struct diff_pair *p)
{
	int64_t whole = max64(p->compared.row[ROW_STEP].base_ns, p->compared.row[ROW_STEP].new_ns);

	if (whole <= 0)
		return;
	fputs("<div class=\"stack-rows\">", out);
	bar(out, p, false, whole);
	bar(out, p, true, whole);
	fputs("</div>\n", out);
	legend(out, p);
}
