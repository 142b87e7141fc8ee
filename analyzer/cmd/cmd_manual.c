/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_manual.c: walks a page, and writes it for man or for a terminal. */
#include "cmd_manual.h"

#include <stdio.h>
#include <string.h>

#include "report/report_page.h"

#define PAGE_DATE "2026-11-23" /* of the pages' words; man shows it */
#define PARAGRAPH 4096
#define INDENT 4
#define DEEP 12 /* columns before an item's text */

enum part { PART_TITLE, PART_TEXT, PART_ITEM };

/* What a page is made of, one after the other. */
struct writer {
	struct page page;
	enum part last;
	void (*gap)(const struct page *p, enum part next); /* but after a title, and between items */
	void (*section)(const struct page *p, const char *title);
	void (*paragraph)(const struct page *p, const char *text);
	void (*item)(const struct page *p, const char *term, const char *text);
	void (*literal)(const struct page *p,
			const char *line); /* NULL: before the first of several; "" after the last */
};

/* ---- for man ------------------------------------------------------------------------------------------ */

/* Text in which roff sees nothing but text; `bold` where quotes are. */
static void roff(FILE *out, const char *text, bool quotes)
{
	bool bold = false;

	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (const char *at = text; *at; at++) {
		const unsigned char *u = (const unsigned char *)at;

		if (*at == '\\') {
			fputs("\\e", out);
		} else if (*at == '-') {
			fputs("\\-", out);
		} else if (*at == '`' && quotes) {
			bold = !bold;
			fputs(bold ? "\\fB" : "\\fR", out);
		} else if (u[0] >= 0xe0 && u[1] && u[2]) { /* the dots of a list that goes on */
			fprintf(out, "\\[u%04X]", (u[0] & 0xfu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu));
			at += 2;
		} else {
			fputc(*at, out);
		}
	}
}

static void roff_section(const struct page *p, const char *title)
{
	fprintf(p->out, ".SH %s\n", title);
}

static void roff_gap(const struct page *p, enum part next)
{
	if (next == PART_TEXT) /* an item brings its own */
		fputs(".PP\n", p->out);
}

static void roff_paragraph(const struct page *p, const char *text)
{
	roff(p->out, text, true);
	fputc('\n', p->out);
}

static void roff_item(const struct page *p, const char *term, const char *text)
{
	fputs(".TP\n\\fB", p->out);
	roff(p->out, term, false);
	fputs("\\fR\n", p->out);
	roff(p->out, text, true);
	fputc('\n', p->out);
}

static void roff_literal(const struct page *p, const char *line)
{
	if (!line) {
		fputs(".nf\n.RS 4\n", p->out);
	} else if (!*line) {
		fputs(".RE\n.fi\n", p->out);
	} else {
		roff(p->out, line, false);
		fputc('\n', p->out);
	}
}

/* ---- for a terminal ----------------------------------------------------------------------------------- */

/* The quotes are for man: here a command is told by what it is. */
static const char *unquoted(char buf[PARAGRAPH], const char *text)
{
	size_t n = 0;

	for (; *text && n + 1 < PARAGRAPH; text++)
		if (*text != '`')
			buf[n++] = *text;
	buf[n] = 0;
	return buf;
}

static void plain_section(const struct page *p, const char *title)
{
	page_ink(p, INK_TITLE, "\n%s\n", title);
}

static void plain_gap(const struct page *p, enum part next)
{
	(void)next;
	fputc('\n', p->out);
}

static void plain_paragraph(const struct page *p, const char *text)
{
	char words[PARAGRAPH];

	fprintf(p->out, "%*s", INDENT, "");
	page_wrap(p, INK_PLAIN, INDENT, INDENT, unquoted(words, text));
}

static void plain_item(const struct page *p, const char *term, const char *text)
{
	size_t n = strlen(term);
	char words[PARAGRAPH];

	fprintf(p->out, "%*s", INDENT, "");
	page_ink(p, INK_TITLE, "%s", term);
	if (!*text) {
		fputc('\n', p->out);
		return;
	}
	if (n + 2 > DEEP - INDENT)
		fprintf(p->out, "\n%*s", DEEP, "");
	else
		fprintf(p->out, "%*s", (int)(DEEP - INDENT - n), "");
	page_wrap(p, INK_PLAIN, DEEP, DEEP, unquoted(words, text));
}

static void plain_literal(const struct page *p, const char *line)
{
	if (line && *line)
		fprintf(p->out, "%*s%s\n", 2 * INDENT, "", line);
}

/* ---- one after the other -------------------------------------------------------------------------------- */

static void section(struct writer *w, const char *title)
{
	w->section(&w->page, title);
	w->last = PART_TITLE;
}

static void gap(struct writer *w, enum part next)
{
	if (w->last != PART_TITLE && (w->last == PART_TEXT || next == PART_TEXT))
		w->gap(&w->page, next);
	w->last = next;
}

static void paragraph(struct writer *w, const char *text)
{
	gap(w, PART_TEXT);
	w->paragraph(&w->page, text);
}

/* The items of a list stand close together. */
static void item(struct writer *w, const char *term, const char *text)
{
	gap(w, PART_ITEM);
	w->item(&w->page, term, text);
}

/* ---- lists that stand elsewhere ------------------------------------------------------------------------- */

static void options(struct writer *w, const struct command *c)
{
	char left[OPTIONS_LEFT];

	for (size_t i = 0; i < c->options->n_rows; i++) {
		const char *text = options_left(left, &c->options->rows[i]);

		item(w, text + strspn(text, " "), c->options->rows[i].help);
	}
	item(w, "-h, --help", "the options in short");
}

static void all_commands(struct writer *w)
{
	for (size_t i = 0; i < n_commands; i++)
		if (!commands[i].hidden)
			item(w, commands[i].name, commands[i].what);
	item(w, "help [COMMAND]", "this list, or a command's page");
}

static void all_causes(struct writer *w)
{
	for (int i = 0; i < CAUSE_COUNT; i++)
		item(w, cause_name((enum cause_id)i), cause_title((enum cause_id)i));
}

static void see_also(struct writer *w, const struct command *c)
{
	char text[256] = "";
	size_t used = c ? (size_t)snprintf(text, sizeof(text), "gpushim(1)") : 0;

	for (size_t i = 0; i < n_commands && used < sizeof(text); i++)
		if (&commands[i] != c && !commands[i].hidden)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%sgpushim-%s(1)", used ? ", " : "",
						 commands[i].name);
	section(w, "SEE ALSO");
	paragraph(w, text);
}

static void list(struct writer *w, const struct command *c, const char *name)
{
	if (strcmp(name, "options") == 0 && c)
		options(w, c);
	else if (strcmp(name, "commands") == 0)
		all_commands(w);
	else if (strcmp(name, "causes") == 0)
		all_causes(w);
}

/* ---- a page ------------------------------------------------------------------------------------------- */

/* The next line, without its end, which lines of a page never lack. */
static const char *take(const char *at, char line[256])
{
	size_t n = strcspn(at, "\n");

	snprintf(line, 256, "%.*s", (int)n, at);
	return at + n + (at[n] == '\n');
}

/* The lines up to the next that is empty or something else, joined. */
static const char *join(const char *at, char text[PARAGRAPH])
{
	size_t used = strlen(text);
	char line[256];

	while (*at && !strchr("\n#=@ ", *at)) {
		at = take(at, line);
		if (used < PARAGRAPH)
			used += (size_t)snprintf(text + used, PARAGRAPH - used, "%s%s", used ? " " : "", line);
	}
	return at;
}

static const char *literal_lines(struct writer *w, const char *at)
{
	char line[256];

	gap(w, PART_TEXT);
	w->literal(&w->page, NULL);
	while (*at == ' ') {
		at = take(at, line);
		w->literal(&w->page, line + INDENT);
	}
	w->literal(&w->page, "");
	return at;
}

static void body(struct writer *w, const struct command *c)
{
	const char *at = manual_page(c);
	char line[256], text[PARAGRAPH];

	while (*at) {
		text[0] = 0;
		switch (*at) {
		case '\n':
			at++;
			break;
		case '#':
			at = take(at, line);
			section(w, line + 2);
			break;
		case '=':
			at = join(take(at, line), text);
			item(w, line + 2, text);
			break;
		case '@':
			at = take(at, line);
			list(w, c, line + 1);
			break;
		case ' ':
			at = literal_lines(w, at);
			break;
		default:
			at = join(at, text);
			paragraph(w, text);
		}
	}
	see_also(w, c);
}

/* "report PATH... [options]": the first line of what --help says. */
static void head(struct writer *w, const struct command *c, const char *name)
{
	char text[256];

	section(w, "NAME");
	snprintf(text, sizeof(text), "%s - %s", name, c ? c->what : "why is this GPU idle? It answers with proof");
	paragraph(w, text);
	section(w, "SYNOPSIS");
	if (c) {
		snprintf(text, sizeof(text), "`gpushim %s` %.*s", c->name, (int)strcspn(c->options->usage, "\n"),
			 c->options->usage);
		paragraph(w, text);
	} else {
		paragraph(w, "`gpushim run` [-o DIR] [--html FILE] -- PROGRAM [ARGUMENTS]");
		paragraph(w, "`gpushim` COMMAND PATH... [options]");
	}
}

static const char *page_name(char buf[64], const struct command *c)
{
	snprintf(buf, 64, "gpushim%s%s", c ? "-" : "", c ? c->name : "");
	return buf;
}

void manual_source(FILE *out, const struct command *c)
{
	static const struct report_style style = { .columns = 80 };
	struct writer w = {
		{ out, &style }, PART_TITLE, roff_gap, roff_section, roff_paragraph, roff_item, roff_literal
	};
	char name[64];

	page_name(name, c);
	fprintf(out, ".\\\" SPDX-License-Identifier: BSD-2-Clause\n.TH ");
	for (const char *at = name; *at; at++)
		fputc(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, out);
	fprintf(out, " 1 " PAGE_DATE " \"gpushim " GPUSHIM_VERSION "\"\n");
	head(&w, c, name);
	body(&w, c);
}

void manual_text(FILE *out, const struct command *c, const struct report_style *style)
{
	struct report_style narrow = *style;
	struct writer w = { { out, &narrow }, PART_TITLE, plain_gap,    plain_section,
			    plain_paragraph,  plain_item, plain_literal };
	char name[64];

	narrow.columns = style->columns > 100 ? 100 : style->columns;
	head(&w, c, page_name(name, c));
	body(&w, c);
}
