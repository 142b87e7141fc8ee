/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "html/html.h"
#include "tools/markup.h"
#include "tools/text_symbol.h"

#define WIDE 1000 /* units of a bar's width */
#define SHORT 72  /* columns of a kernel's name */

/* ---- text ---- */

void html_text(FILE *out, const char *s)
{
	if (s)
		markup_text(out, s);
}

void html_symbol(FILE *out, const char *name)
{
	char text[4 * SHORT + 4];

	text_symbol(text, sizeof(text), name, SHORT);
	fputs("<span class=\"code\"", out);
	if (strcmp(text, name) != 0) {
		fputs(" title=\"", out);
		markup_text(out, name);
		fputc('"', out);
	}
	fputc('>', out);
	markup_text(out, *text ? text : "(no name)");
	fputs("</span>", out);
}

void html_sign(FILE *out, enum diff_change change)
{
	const char *word = diff_change_word(change);
	char class[32];

	snprintf(class, sizeof(class), "%s", word);
	for (char *blank = strchr(class, ' '); blank; blank = strchr(blank, ' '))
		*blank = '-';
	fprintf(out, "<span class=\"sign sign-%s\" title=\"%s\">%c</span>", class, word, diff_sign(change));
}

void html_cell(FILE *out, const char *words)
{
	fputs("<td class=\"number\">", out);
	markup_text(out, words);
	fputs("</td>", out);
}

void html_cell_ns(FILE *out, bool known, int64_t ns)
{
	char text[TEXT_SHORT];

	html_cell(out, known ? text_duration(text, ns) : "");
}

void html_cell_times(FILE *out, bool known, double times)
{
	char text[DIFF_WORDS];

	html_cell(out, known ? diff_times(text, times) : "");
}

/* ---- what is drawn ---- */

struct look {
	const char *id, *light, *pattern;
};

static const struct look looks[HTML_CLASSES] = {
#define CLASS(name, id, title, kind, light, dark, pattern) [HTML_##name] = { id, light, pattern },
#define CAUSE_CLASS(cause, light, dark, pattern) [HTML_CAUSES + CAUSE_##cause] = { NULL, light, pattern },
#include "html/html_classes.def"
};

static struct look look_of(size_t leaf)
{
	static const enum html_class busy[LEAF_CAUSES] = { HTML_COMPUTE, HTML_COMM, HTML_COPY };
	struct look look = looks[leaf < LEAF_CAUSES ? busy[leaf] : html_cause((enum cause_id)(leaf - LEAF_CAUSES))];

	look.id = look.id ? look.id : cause_name((enum cause_id)(leaf - LEAF_CAUSES));
	return look;
}

/* Lines on a light colour are dark, and on a dark one light. */
static const char *ink_of(const char *colour)
{
	unsigned long rgb = strtoul(colour + 1, NULL, 16);
	double light = 0.299 * (double)(rgb >> 16) + 0.587 * (double)(rgb >> 8 & 255) + 0.114 * (double)(rgb & 255);

	return light > 0.55 * 255 ? "dark" : "light";
}

void html_patterns(FILE *out)
{
	static const struct {
		const char *name, *path;
	} all[] = { { "forward", "M-2 2 2 -2M0 8 8 0M6 10 10 6" },
		    { "back", "M-2 6 2 10M0 0 8 8M6 -2 10 2" },
		    { "cross", "M0 8 8 0M0 0 8 8" },
		    { "horizontal", "M0 4H8" },
		    { "vertical", "M4 0V8" },
		    { "dots", "M1 2H3M5 6H7" } };
	static const char *const inks[] = { "dark", "light" };

	fputs("<svg class=\"defs\" aria-hidden=\"true\"><defs>", out);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (size_t k = 0; k < 2; k++)
			fprintf(out,
				"<pattern id=\"%s-%s\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
				"<path class=\"ink-%s\" d=\"%s\"/></pattern>",
				all[i].name, inks[k], inks[k], all[i].path);
	fputs("</defs></svg>\n", out);
}

static void box(FILE *out, struct look look, double x, double width, int height, const char *title)
{
	fprintf(out, "<rect class=\"c-%s\" x=\"%.2f\" width=\"%.2f\" height=\"%d\">", look.id, x, width, height);
	if (title)
		fprintf(out, "<title>%s</title>", title);
	fputs("</rect>", out);
	if (strcmp(look.pattern, "solid") != 0)
		fprintf(out,
			"<rect fill=\"url(#%s-%s)\" x=\"%.2f\" width=\"%.2f\" height=\"%d\" pointer-events=\"none\"/>",
			look.pattern, ink_of(look.light), x, width, height);
}

void html_swatch(FILE *out, size_t leaf)
{
	fputs("<svg class=\"swatch\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">", out);
	box(out, look_of(leaf), 0, 12, 12, NULL);
	fputs("</svg>", out);
}

void html_stack(FILE *out, const int64_t leaf_ns[DIFF_LEAVES], int64_t whole, bool low, const char *words)
{
	int height = low ? 14 : 28;
	double at = 0, idle = -1;

	fprintf(out,
		"<svg class=\"stacked%s\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
		low ? " low" : "", WIDE, height);
	markup_text(out, words);
	fputs("\">", out);
	for (size_t leaf = 0; leaf < DIFF_LEAVES && whole > 0; leaf++) {
		double width = (double)leaf_ns[leaf] * WIDE / (double)whole;
		char title[96], ns[TEXT_SHORT];

		if (leaf_ns[leaf] <= 0)
			continue;
		if (leaf >= LEAF_CAUSES && idle < 0)
			idle = at;
		snprintf(title, sizeof(title), "%s%s: %s", leaf < LEAF_CAUSES ? "" : "idle, ", look_of(leaf).id,
			 text_duration(ns, leaf_ns[leaf]));
		box(out, look_of(leaf), at, width, height, title);
		at += width;
		if (width > 4)
			fprintf(out, "<rect class=\"cut\" x=\"%.2f\" width=\"1\" height=\"%d\"/>", at - 1, height);
	}
	if (idle >= 0 && !low) /* a line above all that is idle */
		fprintf(out, "<rect class=\"over\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"3\"/>", idle, height - 3,
			at - idle);
	fputs("</svg>", out);
}
