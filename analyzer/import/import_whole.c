/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_whole.h"

#define DIGITS_MOST 19 /* they fit whatever they are */

static unsigned digit_of(char c, unsigned base)
{
	unsigned decimal = (unsigned char)c - (unsigned)'0', letter = ((unsigned char)c | 32u) - (unsigned)'a';

	return decimal < 10 ? decimal : base == 16 && letter < 6 ? 10 + letter : 99;
}

/* Nothing but decimal digits, and few of them, as nearly all numbers are. */
static bool few_digits(uint64_t *out, const char *at, size_t bytes)
{
	uint64_t value = 0;

	if (!bytes || bytes > DIGITS_MOST)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		unsigned digit = (unsigned char)at[i] - (unsigned)'0';

		if (digit > 9)
			return false;
		value = 10 * value + digit;
	}
	*out = value;
	return true;
}

bool import_whole(uint64_t *out, const char *at, size_t bytes)
{
	bool minus = bytes && *at == '-';
	size_t i = minus, first;
	unsigned base = bytes - i > 2 && at[i] == '0' && at[i + 1] == 'x' ? 16 : 10;
	uint64_t value = 0;

	if (few_digits(out, at, bytes))
		return true;
	first = i += base == 16 ? 2 : 0;
	for (; i < bytes && digit_of(at[i], base) < base; i++) {
		unsigned digit = digit_of(at[i], base);

		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (i == first)
		return false;
	if (i < bytes && at[i] == '.' && base == 10)
		for (i++; i < bytes && digit_of(at[i], 10) < 10; i++)
			;
	*out = minus ? -value : value;
	return i == bytes;
}
