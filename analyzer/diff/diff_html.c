/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_html.h"

#include <string.h>

#include "html/html.h"

#define RUNS 16        /* a side that are named */
#define MANY_DEVICES 4 /* of more, those in which nothing changed are behind a summary */

/* ---- the answer ---- */

static void run(FILE *out, const struct diff_run *r)
{
	fputs("<div><span class=\"code\">", out);
	html_text(out, r->path);
	fputs("</span>", out);
	if (r->count > 1)
		fprintf(out, " <span class=\"dim\">run %d of %d</span>", r->index + 1, r->count);
	if (r->cut) {
		fputs("<div class=\"warn\">not whole: ", out);
		html_text(out, r->cut);
		fputs("</div>", out);
	}
	fputs("</div>", out);
}

static void side(FILE *out, const char *name, const struct diff_run *runs, size_t n)
{
	fprintf(out, "<div><b>%s</b>%s", name, n ? "" : " <span class=\"dim\">no run</span>");
	for (size_t i = 0; i < n && i < RUNS; i++)
		run(out, &runs[i]);
	if (n > RUNS)
		fprintf(out, "<div class=\"dim\">and %zu more runs</div>", n - RUNS);
	fputs("</div>", out);
}

static void places(FILE *out, const struct diff *d)
{
	char title[256];

	if (d->n_pairs < 2)
		return;
	fputs("<nav aria-label=\"devices\"><ul class=\"places\">", out);
	for (size_t i = 0; i < d->n_pairs; i++) {
		fprintf(out, "<li><a href=\"#device-%zu\">", i);
		html_text(out, diff_pair_title(title, sizeof(title), &d->pairs[i]));
		fputs("</a> ", out);
		html_sign(out, diff_pair_verdict(&d->pairs[i]));
		fputs("</li>", out);
	}
	fputs("</ul></nav>", out);
}

static void answer(FILE *out, const struct diff *d)
{
	char title[256];

	fputs("<header id=\"head\"><section id=\"answer\"><div class=\"verdict\">", out);
	html_sign(out, d->verdict);
	fprintf(out, "<h1>%s%s", diff_change_word(d->verdict), d->reason ? ": " : "");
	html_text(out, d->reason);
	fputs("</h1></div>\n", out);
	for (size_t i = 0; i < d->n_fired; i++) {
		fputs("<p class=\"first\"><span class=\"code\">", out);
		html_text(out, d->fired[i].rule);
		fprintf(out, "</span> is met by <b>%s</b> of ", diff_row_name(d->fired[i].row));
		html_text(out, diff_pair_title(title, sizeof(title), &d->pairs[d->fired[i].pair]));
		fputs("</p>\n", out);
	}
	fputs("<div class=\"sides\">", out);
	side(out, "base", d->base, d->n_base);
	side(out, "new", d->now, d->n_now);
	fputs("</div>", out);
	places(out, d);
	fputs("</section></header>\n", out);
}

/* ---- a device ---- */

static void causes(FILE *out, const char *what, const enum cause_id *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ", " : what, cause_name(ids[i]));
	if (n)
		fputs(". ", out);
}

static bool changed(const struct diff_pair *p)
{
	for (size_t row = 0; row < DIFF_SHOWN; row++)
		if (diff_shown_row(p, row)->change == DIFF_REGRESSED || diff_shown_row(p, row)->change == DIFF_IMPROVED)
			return true;
	return !p->compared.comparable;
}

static void device(FILE *out, const struct diff *d, size_t pair)
{
	const struct diff_pair *p = &d->pairs[pair];
	bool folded = d->n_pairs > MANY_DEVICES && !changed(p);
	char text[512];

	fprintf(out, "<section class=\"device\" id=\"device-%zu\"><h2>", pair);
	html_text(out, diff_pair_title(text, sizeof(text), p));
	fputs("</h2>", out);
	if (p->reason) {
		fputs("<p class=\"warn\">", out);
		html_sign(out, p->compared.comparable ? DIFF_INCONCLUSIVE : DIFF_NOT_COMPARABLE);
		fputc(' ', out);
		html_text(out, p->reason);
		fputs("</p>\n", out);
	}
	fputs("<p class=\"dim note\">", out);
	html_text(out, diff_how_sure(text, sizeof(text), d, p));
	fputs(". ", out);
	causes(out, "Appeared: ", p->appeared, p->n_appeared);
	causes(out, "Vanished: ", p->vanished, p->n_vanished);
	fputs("</p>\n", out);
	fputs(folded ? "<details><summary>nothing changed for sure</summary>\n" : "", out);
	html_bars(out, p);
	html_rows(out, d, pair);
	html_gap_changes(out, p);
	html_changes(out, p);
	fputs(folded ? "</details>\n" : "", out);
	fputs("</section>\n", out);
}

/* ---- the environment ---- */

static void of_runs(FILE *out, const char *side, const struct diff_run *runs, size_t n)
{
	for (size_t i = 0; i < n && i < RUNS; i++) {
		fprintf(out, "<tr><td>%s</td><td class=\"code\">", side);
		html_text(out, runs[i].path);
		fputs("</td><td>", out);
		html_text(out, runs[i].kind);
		fputs("</td><td>", out);
		html_text(out, runs[i].timing);
		fputs("</td><td>", out);
		html_text(out, runs[i].probes);
		fputs("</td></tr>\n", out);
	}
}

static void environment(FILE *out, const struct diff *d)
{
	fputs("<section id=\"environment\"><h2>Runs and environment</h2><div class=\"scroll\" tabindex=\"0\"><table class=\"runs\"><thead><tr><th>side</th><th>run</th><th>recorded by</th>"
	      "<th>device timing</th><th>host probes</th></tr></thead><tbody>\n",
	      out);
	of_runs(out, "base", d->base, d->n_base);
	of_runs(out, "new", d->now, d->n_now);
	fputs("</tbody></table></div>\n", out);
	if (!d->n_facts) {
		fputs("<p class=\"dim\">Nothing else of the environment changed.</p></section>\n", out);
		return;
	}
	fputs("<h3>What changed</h3><div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>what</th><th>base</th><th>new</th></tr></thead><tbody>\n",
	      out);
	for (size_t i = 0; i < d->n_facts; i++) {
		const char *cells[] = { d->facts[i].name, d->facts[i].base, d->facts[i].now };

		fputs("<tr>", out);
		for (size_t k = 0; k < 3; k++) {
			fprintf(out, "<td%s>", k ? " class=\"code\"" : "");
			html_text(out, cells[k] ? cells[k] : "not known");
			fputs("</td>", out);
		}
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div></section>\n", out);
}

void diff_html(FILE *out, const struct diff *d)
{
	struct html_asset head = html_diff_head();

	fwrite(head.bytes, 1, head.n, out);
	fputs("<body>\n", out);
	html_patterns(out);
	answer(out, d);
	fputs("<main id=\"panels\">\n", out);
	for (size_t i = 0; i < d->n_pairs; i++)
		device(out, d, i);
	environment(out, d);
	fprintf(out,
		"</main>\n<footer id=\"foot\"><section class=\"dim\"><b>+</b> regressed, <b>-</b> improved, <b>~</b> unchanged, <b>?</b> inconclusive, "
		"<b>x</b> not comparable. Of a row's picture the grey ground is what counts as no change, and the line across the bar the 95 %% interval. "
		"Made by gpushim %s; this page asks nothing of any network, and runs nothing.</section></footer>\n</body>\n</html>\n",
		GPUSHIM_VERSION);
}
