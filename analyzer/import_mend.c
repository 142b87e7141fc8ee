/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_mend.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool of_word(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '-';
}

size_t import_mend_word(char *at, size_t n, size_t stumbled)
{
	static const char *const words[] = { "nan", "inf", "infinity" };
	size_t begin = stumbled < n ? stumbled : n, end, sign;

	while (begin && of_word(at[begin - 1]))
		begin--;
	for (end = begin; end < n && of_word(at[end]);)
		end++;
	if (begin == stumbled) /* it is the next word */
		return IMPORT_MEND_NONE;
	sign = begin < end && (at[begin] == '+' || at[begin] == '-');
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == end - begin - sign &&
		    strncasecmp(at + begin + sign, words[i], end - begin - sign) == 0) {
			memset(at + begin, ' ', end - begin);
			memset(at + begin, '"', 2);
			return begin;
		}
	return IMPORT_MEND_NONE;
}

/* Bytes of what stands behind a backslash, if that escapes anything. */
static size_t escaped(const char *at, size_t n)
{
	size_t digits = 0;

	if (n && *at != 'u')
		return strchr("\"\\/bfnrt", *at) && *at;
	while (digits < 4 && 1 + digits < n && isxdigit((unsigned char)at[1 + digits]))
		digits++;
	return digits == 4 || 1 + digits == n ? 1 + digits : 0; /* the rest of it may come */
}

static bool is_escaped(const char *at, size_t i)
{
	size_t slashes = 0;

	while (slashes < i && at[i - 1 - slashes] == '\\')
		slashes++;
	return slashes % 2;
}

size_t import_mend_text(char *at, size_t n, size_t stumbled)
{
	size_t begin = stumbled < n ? stumbled : n;

	do
		if (begin-- == 0)
			return IMPORT_MEND_NONE;
	while (at[begin] != '"' || is_escaped(at, begin));
	for (size_t i = begin + 1; i < n && at[i] != '"'; i++)
		if ((unsigned char)at[i] < ' ') {
			at[i] = ' ';
		} else if (at[i] == '\\' && i + 1 < n) {
			size_t more = escaped(at + i + 1, n - i - 1);

			at[i] = more ? '\\' : '/';
			i += more;
		}
	return begin;
}

char import_mend_behind(const char *at, size_t begins)
{
	while (begins && strchr(" \t\r\n", at[begins - 1]) && at[begins - 1])
		begins--;
	return begins && strchr(":[{,", at[begins - 1]) ? at[begins - 1] : 0;
}
