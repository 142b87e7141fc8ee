/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_mend.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool of_word(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '-';
}

/* Of what begins there; nan may say more, in brackets. */
static size_t word_end(const char *at, size_t n, size_t begin)
{
	size_t end = begin, more;

	while (end < n && of_word(at[end]))
		end++;
	for (more = end + 1; more < n && (isalnum((unsigned char)at[more]) || at[more] == '_');)
		more++;
	return end < n && at[end] == '(' && more < n && at[more] == ')' ? more + 1 : end;
}

/* Of a word and its length. */
static bool is_no_number(const char *word, size_t n)
{
	const char *bracket = memchr(word, '(', n);

	return bracket ? bracket == word + 3 && strncasecmp(word, "nan", 3) == 0
		       : (n == 3 && (strncasecmp(word, "nan", n) == 0 || strncasecmp(word, "inf", n) == 0)) ||
				 (n == 8 && strncasecmp(word, "infinity", n) == 0);
}

size_t import_mend_word(char *at, size_t n, size_t stumbled)
{
	size_t begin = stumbled < n ? stumbled : n, end, sign;

	while (begin && of_word(at[begin - 1]))
		begin--;
	if (begin == stumbled) /* it is the next word */
		return IMPORT_MEND_NONE;
	end = word_end(at, n, begin);
	sign = begin < end && (at[begin] == '+' || at[begin] == '-');
	if (!is_no_number(at + begin + sign, end - begin - sign))
		return IMPORT_MEND_NONE;
	memset(at + begin, ' ', end - begin);
	memset(at + begin, '"', 2);
	return begin;
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
