/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_md.h"

#include <stdarg.h>
#include <string.h>

#include "tools/text_symbol.h"

static void put(struct md *m, const char *s, size_t n)
{
	if (n > sizeof(m->row) - m->n) {
		m->over = true;
		return;
	}
	memcpy(m->row + m->n, s, n);
	m->n += n;
}

void md_put(struct md *m, const char *markup)
{
	put(m, markup, strlen(markup));
}

void md_format(struct md *m, const char *format, ...)
{
	char text[1024];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text))
		m->over = true;
	else
		put(m, text, (size_t)n);
}

/* ---- names ---- */

static size_t longest_fence(const char *s, size_t n)
{
	size_t longest = 0, now = 0;

	for (size_t i = 0; i < n; i++) {
		now = s[i] == '`' ? now + 1 : 0;
		longest = now > longest ? now : longest;
	}
	return longest;
}

/* Without a '|'. What begins or ends with a backtick, or with blanks on both ends, has a blank more there, which is not shown. */
static void code(struct md *m, const char *s, size_t n)
{
	size_t fence = longest_fence(s, n) + 1;
	bool padded = n && (s[0] == '`' || s[n - 1] == '`' || (s[0] == ' ' && s[n - 1] == ' '));

	for (size_t i = 0; i < fence; i++)
		put(m, "`", 1);
	put(m, " ", padded);
	put(m, s, n);
	put(m, " ", padded);
	for (size_t i = 0; i < fence; i++)
		put(m, "`", 1);
}

void md_code(struct md *m, const char *name)
{
	if (!*name)
		md_put(m, "-");
	while (*name) {
		size_t n = strcspn(name, "|");

		if (n)
			code(m, name, n);
		name += n;
		if (*name == '|') {
			md_put(m, "&#124;");
			name++;
		}
	}
}

void md_clean_code(struct md *m, const char *name, size_t columns)
{
	char text[4 * MD_LINE + 4];

	md_code(m, text_clean(text, sizeof(text), name ? name : "", columns));
}

void md_symbol_code(struct md *m, const char *name)
{
	char text[4 * MD_COLUMNS + 4];

	md_code(m, text_symbol(text, sizeof(text), name, MD_COLUMNS));
}

/* How much of the text would be a link, a mention or a reference to an issue by itself: as code it is none. */
static size_t refers(const char *s)
{
	if (*s == '@' || *s == '#')
		return 1;
	if (strncmp(s, "://", 3) == 0)
		return 3;
	return strncmp(s, "www.", 4) == 0 ? 4 : 0;
}

void md_text(struct md *m, const char *sentence)
{
	char clean[2048];
	const char *text = text_clean(clean, sizeof(clean), sentence, sizeof(clean));

	while (*text) {
		size_t n = refers(text);

		if (n) {
			code(m, text, n);
		} else if (*text == '|') {
			md_put(m, "&#124;");
		} else if (strchr("\\`*_{}[]<>!~&", *text)) {
			put(m, "\\", 1);
			put(m, text, 1);
		} else {
			put(m, text, 1);
		}
		text += n ? n : 1;
	}
}

/* ---- rows ---- */

bool md_row_within(struct md *m, size_t most)
{
	bool fits = !m->over && m->used + m->n <= most;

	if (fits) {
		fwrite(m->row, 1, m->n, m->out);
		m->used += m->n;
	}
	m->n = 0;
	m->over = false;
	return fits;
}

bool md_row(struct md *m)
{
	bool fits = md_row_within(m, MD_BYTES - MD_SAVED);

	m->left_out += !fits;
	return fits;
}

void md_end(struct md *m)
{
	md_row_within(m, MD_BYTES);
}

/* ---- behind a click ---- */

bool md_details(struct md *m, const char *summary, const char *head)
{
	md_format(m, "\n<details><summary>%s</summary>\n\n%s", summary, head);
	return md_row(m);
}

void md_details_end(struct md *m)
{
	md_put(m, "\n</details>\n");
	md_end(m);
}
