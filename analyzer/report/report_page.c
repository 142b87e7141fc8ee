/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_page.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "tools/text.h"

static const char *const escapes[] = {
	[INK_PLAIN] = "",           [INK_TITLE] = "\033[1m",  [INK_DIM] = "\033[2m",
	[INK_COMPUTE] = "\033[32m", [INK_COMM] = "\033[35m",  [INK_COPY] = "\033[36m",
	[INK_IDLE] = "\033[33m",    [INK_CAUSE] = "\033[33m", [INK_WARN] = "\033[31m",
};

/* Of 256 colours: each has a contrast of 3.7 and more against white and against black, and those who see few colours can tell them apart. */
static const char *const rich[] = {
	[INK_PLAIN] = "",
	[INK_TITLE] = "\033[1m",
	[INK_DIM] = "\033[2m",
	[INK_COMPUTE] = "\033[38;5;29m",
	[INK_COMM] = "\033[38;5;133m",
	[INK_COPY] = "\033[38;5;31m",
	[INK_IDLE] = "\033[38;5;166m",
	[INK_CAUSE] = "\033[38;5;166m",
	[INK_WARN] = "\033[1;38;5;160m",
};

static bool begin(const struct page *p, enum ink ink)
{
	bool coloured = p->style->colour && ink != INK_PLAIN;

	if (coloured)
		fputs(p->style->many_colours ? rich[ink] : escapes[ink], p->out);
	return coloured;
}

static void end(const struct page *p, bool coloured)
{
	if (coloured)
		fputs("\033[0m", p->out);
}

void page_ink(const struct page *p, enum ink ink, const char *format, ...)
{
	bool coloured = begin(p, ink);
	va_list args;

	va_start(args, format);
	vfprintf(p->out, format, args);
	va_end(args);
	end(p, coloured);
}

static void repeat(const struct page *p, const char *glyph, unsigned n)
{
	while (n-- > 0)
		fputs(glyph, p->out);
}

void page_bar(const struct page *p, enum ink ink, int64_t part, int64_t whole, unsigned width)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	double share = whole > 0 && part > 0 ? (double)part / (double)whole : 0;
	unsigned n = (unsigned)((share > 1 ? 1 : share) * width * 8 + 0.5), whole_cells, used;
	bool coloured = begin(p, ink);

	if (part > 0 && !n)
		n = 1;
	if (p->style->utf8) {
		whole_cells = n / 8;
		repeat(p, "█", whole_cells);
		fputs(eighths[n % 8], p->out);
		used = whole_cells + (n % 8 != 0);
	} else {
		used = whole_cells = (n + 4) / 8 ? (n + 4) / 8 : n != 0;
		repeat(p, "#", whole_cells);
	}
	end(p, coloured);
	repeat(p, " ", width - used);
}

void page_stack(const struct page *p, const int64_t parts[4], const enum ink inks[4], unsigned width)
{
	static const char *const utf8[] = { "█", "▓", "▒", "░" }, *const ascii[] = { "#", "+", "=", "." };
	int64_t whole = 0, sum = 0;
	unsigned at = 0;

	for (int i = 0; i < 4; i++)
		whole += parts[i];
	for (int i = 0; i < 4 && whole > 0; i++) {
		unsigned until;
		bool coloured = begin(p, inks[i]);

		sum += parts[i];
		until = (unsigned)((double)sum / (double)whole * width + 0.5);
		repeat(p, p->style->utf8 ? utf8[i] : ascii[i], until - at);
		at = until;
		end(p, coloured);
	}
}

/* Columns of one word; a word is never broken. */
static size_t word_at(const char *s, unsigned *columns)
{
	size_t bytes = 0;

	*columns = 0;
	while (s[bytes] && s[bytes] != ' ') {
		bytes += text_utf8(s + bytes) ? text_utf8(s + bytes) : 1;
		(*columns)++;
	}
	return bytes;
}

/* Does all of it fit what is left of this line? */
static bool fits(const char *text, unsigned room)
{
	return text_columns(text) <= room;
}

void page_wrap_lines(const struct page *p, enum ink ink, unsigned at, unsigned indent, unsigned lines, const char *text)
{
	unsigned columns, column = at, line = 1;
	bool coloured = begin(p, ink), fresh = true;

	while (*text) {
		size_t bytes = word_at(text, &columns);
		unsigned room = p->style->columns > column ? p->style->columns - column : 0;

		if (line == lines && columns + !fresh + 4 > room && !fits(text, fresh ? room : room - (room > 0))) {
			char clean[256];

			if (fresh) /* one long word: a path */
				fputs(text_clean(clean, sizeof(clean), text, room > 4 ? room : 4), p->out);
			else
				fputs(" ...", p->out);
			break;
		}
		if (!fresh && columns + 1 > room) {
			end(p, coloured);
			fprintf(p->out, "\n%*s", (int)indent, "");
			begin(p, ink);
			column = indent;
			fresh = true;
			line++;
			continue;
		}
		fprintf(p->out, "%s%.*s", fresh ? "" : " ", (int)bytes, text);
		column += columns + !fresh;
		fresh = false;
		text += bytes;
		while (*text == ' ')
			text++;
	}
	end(p, coloured);
	fputc('\n', p->out);
}

void page_wrap(const struct page *p, enum ink ink, unsigned at, unsigned indent, const char *text)
{
	page_wrap_lines(p, ink, at, indent, UINT_MAX, text);
}
