/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_text.c: the summary, then a row for each check: state, fact, what it means, and a command to copy. */
#include <string.h>

#include "doctor.h"
#include "report/report_page.h"
#include "tools/text.h"

#define LABEL 15  /* "  device times  " … */
#define INDENT 32 /* where facts begin: "  limited  perf paranoid        " */

static const struct {
	const char *id, *group;
} groups[] = {
#define DOCTOR_GROUP(title) { NULL, title },
#define CHECK(name, id, title) { id, NULL },
#include "doctor_checks.def"
#undef CHECK
#undef DOCTOR_GROUP
};

static const enum ink inks[] = { [DOCTOR_OK] = INK_COMPUTE, [DOCTOR_LIMITED] = INK_CAUSE, [DOCTOR_MISSING] = INK_WARN };

/* The group that begins with this row; NULL: none does. */
static const char *group_at(const char *id)
{
	for (size_t i = 1; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (groups[i].id && strcmp(groups[i].id, id) == 0)
			return groups[i - 1].group;
	return NULL;
}

/* A command for a shell, in lines of the page's width: each but the last ends in a backslash, so that it can be copied as it stands. Within
 * quotes, where that would be no line's end to the shell, a line is left as long as it is. */
static void command(const struct page *p, const char *text)
{
	unsigned column = 6;
	char quote = 0;

	page_ink(p, INK_DIM, "    $ ");
	while (*text) {
		size_t n = 0;

		for (; text[n] && (quote || text[n] != ' '); n++)
			if ((text[n] == '\'' || text[n] == '`') && (!quote || quote == text[n]))
				quote = quote ? 0 : text[n];
		if (column > 6 && column + 1 + n + 2 > p->style->columns) {
			fputs(" \\\n        ", p->out);
			column = 8;
		} else if (column > 6) {
			fputc(' ', p->out);
			column++;
		}
		page_ink(p, INK_TITLE, "%.*s", (int)n, text);
		column += (unsigned)n;
		text += n;
		text += *text == ' ';
	}
	fputc('\n', p->out);
}

static void row_text(const struct page *p, const struct doctor *d, size_t i)
{
	const struct doctor_row *row = &d->rows[i];
	char whole[sizeof(row->fact) + sizeof(row->means) + 4], clean[sizeof(whole)], to_copy[sizeof(row->command)];
	int used;

	fputs("  ", p->out);
	page_ink(p, inks[row->state], "%-8s", doctor_state_names[row->state]);
	used = fprintf(p->out, " %-19s ", row->title);
	snprintf(whole, sizeof(whole), "%s%s%s", row->fact, row->means[0] ? "; " : "", row->means);
	page_wrap(p, INK_PLAIN, 10 + (unsigned)(used > 0 ? used : 0), INDENT - 1,
		  text_clean(clean, sizeof(clean), whole, sizeof(clean)));
	if (row->command[0] && (i == 0 || strcmp(row->command, d->rows[i - 1].command) != 0))
		command(p, text_clean(to_copy, sizeof(to_copy), row->command, sizeof(to_copy)));
}

static void line(const struct page *p, const char *label, enum ink ink, const char *text)
{
	char clean[1024];

	fprintf(p->out, "  %-*s", LABEL, label);
	page_wrap(p, ink, 2 + LABEL, 2 + LABEL, text_clean(clean, sizeof(clean), text, sizeof(clean)));
}

static const char *level_words(const char *level)
{
	if (strcmp(level, "bursts") == 0)
		return "timing events where the host blocks and around a few launches";
	if (strcmp(level, "edges") == 0)
		return "timing events where the host blocks";
	if (strcmp(level, "cupti") == 0)
		return "every kernel's own times, by CUPTI";
	return strcmp(level, "host") == 0 ? "no timing events: where the program itself waits" : "nothing is recorded";
}

static const char *const probes_words[] = {
	[DOCTOR_PROBES_NONE] = "what the host waited for is not seen",
	[DOCTOR_PROBES_PROC] = "looks at /proc, 100 a second; causes are inferred",
	[DOCTOR_PROBES_PERF] = "the kernel tells of each switch, /proc what for; causes are inferred",
	[DOCTOR_PROBES_EBPF] = "each wait, what for, and who ended it",
};

static void summary(const struct page *p, const struct doctor *d)
{
	char text[1024];

	page_ink(p, INK_TITLE, "what a recording on this machine sees\n");
	if (d->can_record) {
		line(p, "recording", INK_COMPUTE, "every driver call, each thread that makes them");
	} else {
		line(p, "recording", INK_WARN, "something that it needs is missing:");
		for (size_t i = 0; i < d->n_rows; i++)
			if (d->rows[i].needed && d->rows[i].state == DOCTOR_MISSING)
				line(p, "", INK_PLAIN, d->rows[i].fact);
	}
	snprintf(text, sizeof(text), "%s: %s%s%s%s", d->level, level_words(d->level), d->level_why[0] ? " (" : "",
		 d->level_why, d->level_why[0] ? ")" : "");
	line(p, "device times", INK_PLAIN, text);
	snprintf(text, sizeof(text), "%s: %s", doctor_probes_names[d->probes], probes_words[d->probes]);
	line(p, "host probes", INK_PLAIN, text);
	if (d->probes_why[0]) {
		snprintf(text, sizeof(text), "no better, as %s", d->probes_why);
		line(p, "", INK_PLAIN, text);
	}
}

void doctor_text(FILE *out, const struct doctor *d, const struct report_style *style)
{
	const struct page p = { out, style };

	summary(&p, d);
	for (size_t i = 0; i < d->n_rows; i++) {
		const char *group = group_at(d->rows[i].id);

		if (group)
			page_ink(&p, INK_TITLE, "\n%s\n", group);
		row_text(&p, d, i);
	}
}
