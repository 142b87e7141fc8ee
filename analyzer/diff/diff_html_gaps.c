/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_html.h"
#include "tools/ns.h"

#define FEW 6 /* that are open */

static void side(FILE *out, const char *name, const struct diff_gap *gap, int64_t whole)
{
	int64_t leaf_ns[DIFF_LEAVES] = { 0 };
	char ns[TEXT_SHORT], times[DIFF_WORDS], longest[TEXT_SHORT];

	fprintf(out, "<div><h4>%s", name);
	if (!gap) {
		fputs(" <span class=\"dim\">has none like it</span></h4></div>\n", out);
		return;
	}
	fprintf(out, " %s <span class=\"dim\">a step, %s times</span></h4>", text_duration(ns, gap->ns_per_step),
		diff_times(times, gap->per_step));
	for (size_t cause = 0; cause < CAUSE_COUNT; cause++)
		leaf_ns[LEAF_CAUSES + cause] = gap->causes[cause];
	html_stack(out, leaf_ns, whole, true, ns);
	fputs("<ul class=\"legend\">", out);
	for (size_t cause = 0; cause < CAUSE_COUNT; cause++)
		if (gap->causes[cause] > 0) {
			fputs("<li>", out);
			html_swatch(out, LEAF_CAUSES + cause);
			fprintf(out, "<b>%s</b> <span class=\"dim\">%s</span></li>", cause_name((enum cause_id)cause),
				text_duration(ns, gap->causes[cause]));
		}
	fprintf(out,
		"</ul><div class=\"evidence\">the longest, <span class=\"code\">report --why %zu</span>, took %s<ul class=\"lines\">",
		gap->number, text_duration(longest, gap->longest_ns));
	for (size_t i = 0; i < gap->n_lines; i++) {
		fputs("<li>", out);
		html_text(out, gap->lines[i]);
		fputs("</li>", out);
	}
	fputs("</ul></div></div>\n", out);
}

static void change(FILE *out, const struct diff_gap_change *g)
{
	const struct diff_gap *one = g->now ? g->now : g->base;
	int64_t whole = max64(g->base ? g->base->ns_per_step : 0, g->now ? g->now->ns_per_step : 0);
	char delta[DIFF_WORDS];

	if (!one)
		return;
	fprintf(out, "<article class=\"gap\"><h3>%s <span class=\"dim\">a step, between</span> ",
		diff_delta(delta, g->delta_ns));
	html_symbol(out, one->before);
	fputs(" <span class=\"dim\">and</span> ", out);
	html_symbol(out, one->after);
	fputs("</h3><div class=\"pair\">", out);
	side(out, "base", g->base, whole);
	side(out, "new", g->now, whole);
	fputs("</div></article>\n", out);
}

void html_gap_changes(FILE *out, const struct diff_pair *p)
{
	if (!p->n_gaps)
		return;
	fputs("<h3>Gaps that explain most of it</h3>\n", out);
	for (size_t i = 0; i < p->n_gaps && i < FEW; i++)
		change(out, &p->gaps[i]);
	if (p->n_gaps <= FEW)
		return;
	fprintf(out, "<details><summary>and %zu more</summary>\n", p->n_gaps - FEW);
	for (size_t i = FEW; i < p->n_gaps; i++)
		change(out, &p->gaps[i]);
	fputs("</details>\n", out);
}
