/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_html.h"

#include <inttypes.h>

static void begin(FILE *out, const char *title, size_t n, const char *head)
{
	fprintf(out,
		"<details%s><summary>%s</summary><div class=\"scroll\" tabindex=\"0\"><table class=\"changes\"><thead><tr>%s</tr></thead><tbody>\n",
		n <= 8 ? " open" : "", title, head);
}

static void end(FILE *out)
{
	fputs("</tbody></table></div></details>\n", out);
}

static void kept(FILE *out, const void *base, const void *now)
{
	fprintf(out, "<td class=\"kept\">%s</td>", !base ? "only in new" : !now ? "only in base" : "");
}

#define NUMBER "<th class=\"number\">"

static void work(FILE *out, const char *title, const struct diff_work_change *all, size_t n_all)
{
	char words[DIFF_WORDS];

	if (!n_all)
		return;
	begin(out, title, n_all,
	      "<th>name</th><th></th>" NUMBER "times, base</th>" NUMBER "new</th>" NUMBER "time, base</th>" NUMBER
	      "new</th>" NUMBER "bytes</th>");
	for (size_t i = 0; i < n_all; i++) {
		const struct diff_kernel *b = all[i].base, *n = all[i].now;

		if (!b && !n)
			continue;
		fputs("<tr><td class=\"code\">", out);
		html_symbol(out, n ? n->name : b->name);
		fputs("</td>", out);
		kept(out, b, n);
		html_cell_times(out, b, b ? b->per_step : 0);
		html_cell_times(out, n, n ? n->per_step : 0);
		html_cell_ns(out, b && b->has_ns, b ? b->ns_per_step : 0);
		html_cell_ns(out, n && n->has_ns, n ? n->ns_per_step : 0);
		html_cell(out, diff_bytes(words, &all[i]));
		fputs("</tr>\n", out);
	}
	end(out);
}

static void sites(FILE *out, const struct diff_pair *p)
{
	if (!p->n_sites)
		return;
	begin(out, "Statements that held the host while the device was idle", p->n_sites,
	      "<th>where</th><th></th>" NUMBER "gaps, base</th>" NUMBER "new</th>" NUMBER "idle, base</th>" NUMBER
	      "new</th>");
	for (size_t i = 0; i < p->n_sites; i++) {
		const struct diff_site *b = p->sites[i].base, *n = p->sites[i].now;

		if (!b && !n)
			continue;
		fputs("<tr><td class=\"code\">", out);
		html_text(out, n ? n->where : b->where);
		fputs("</td>", out);
		kept(out, b, n);
		html_cell_times(out, b, b ? b->gaps : 0);
		html_cell_times(out, n, n ? n->gaps : 0);
		html_cell_ns(out, b, b ? b->idle_ns : 0);
		html_cell_ns(out, n, n ? n->idle_ns : 0);
		fputs("</tr>\n", out);
	}
	end(out);
}

static void classes(FILE *out, const struct diff_pair *p)
{
	char words[DIFF_WORDS];

	if (!p->by_class || p->n_classes < 2)
		return;
	begin(out, "Kinds of steps, each compared with its like", p->n_classes,
	      "<th>steps with</th>" NUMBER "of base's</th>" NUMBER "of new's</th>" NUMBER "step, base</th>" NUMBER
	      "new</th>" NUMBER "change</th>");
	for (size_t i = 0; i < p->n_classes; i++) {
		const struct diff_class_change *c = &p->classes[i];
		const struct diff_compared *step = &c->compared.row[ROW_STEP];
		bool both = c->base_share > 0 && c->new_share > 0;

		fputs("<tr><td>", out);
		html_text(out, c->words);
		fprintf(out, "</td><td class=\"number\">%.1f %%</td><td class=\"number\">%.1f %%</td>",
			100 * c->base_share, 100 * c->new_share);
		html_cell_ns(out, both, step->base_ns);
		html_cell_ns(out, both, step->new_ns);
		html_cell(out, both ? diff_delta(words, step->delta_ns) : "");
		fputs("</tr>\n", out);
	}
	end(out);
}

static void bytes(FILE *out, const char *what, uint64_t base, uint64_t now)
{
	char text[TEXT_SHORT], growth[DIFF_WORDS];

	fprintf(out, "<tr><td>%s</td>", what);
	html_cell(out, text_bytes(text, base));
	html_cell(out, text_bytes(text, now));
	html_cell(out, diff_growth(growth, base, now));
	fputs("</tr>\n", out);
}

static void memory(FILE *out, const struct diff_pair *p)
{
	const struct diff_memory *b = p->base_memory, *n = p->new_memory;

	if (!b || !n)
		return;
	begin(out, p->memory_changed ? "Device memory" : "Device memory: as it was", p->memory_changed ? 0 : 100,
	      "<th>at its peak</th>" NUMBER "base</th>" NUMBER "new</th>" NUMBER "change</th>");
	bytes(out, "allocated", b->peak_allocated, n->peak_allocated);
	bytes(out, "reserved", b->peak_reserved, n->peak_reserved);
	if (!b->told && !n->told)
		fprintf(out,
			"<tr><td>fragmentation</td><td class=\"number\">%.3f</td><td class=\"number\">%.3f</td><td class=\"number\">%+.3f</td></tr>\n",
			b->fragmentation, n->fragmentation, n->fragmentation - b->fragmentation);
	fprintf(out,
		"<tr><td>out of memory, times</td><td class=\"number\">%" PRIu64 "</td><td class=\"number\">%" PRIu64
		"</td><td></td></tr>\n",
		b->out_of_memory, n->out_of_memory);
	end(out);
}

void html_changes(FILE *out, const struct diff_pair *p)
{
	sites(out, p);
	work(out, "Collectives and messages that changed", p->comms, p->n_comms);
	work(out, "Kernels and copies that changed", p->kernels, p->n_kernels);
	classes(out, p);
	memory(out, p);
}
