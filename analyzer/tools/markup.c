/* SPDX-License-Identifier: BSD-2-Clause */
#include "markup.h"

#include <string.h>

#include "text.h"

#define PIECE 256

/* Clean, and a character of XML: U+FFFE and U+FFFF are none. */
static void put_clean(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			fputs("&lt;", out);
		else if (*s == '>')
			fputs("&gt;", out);
		else if (*s == '&')
			fputs("&amp;", out);
		else if (*s == '"')
			fputs("&quot;", out);
		else if (*s == '\'')
			fputs("&#39;", out);
		else if (strncmp(s, "\xef\xbf\xbe", 3) == 0 || strncmp(s, "\xef\xbf\xbf", 3) == 0)
			fputc('?', out), s += 2;
		else
			fputc(*s, out);
	}
}

/* Piece by piece, none of which ends within a character. */
void markup_text(FILE *out, const char *s)
{
	while (*s) {
		char piece[PIECE + 1], clean[PIECE + 1];
		size_t n = 0;

		while (s[n] && n + 4 <= PIECE) {
			unsigned length = text_utf8(s + n);

			n += length ? length : 1;
		}
		memcpy(piece, s, n);
		piece[n] = 0;
		put_clean(out, text_clean(clean, sizeof(clean), piece, PIECE));
		s += n;
	}
}
