/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_us.h"

#define NS_DECIMALS 3
#define REST_DECIMALS 9
#define EXPONENT_MAX 1000 /* beyond it every number is out of range, or nothing */

struct digits {
	int64_t ns;
	uint32_t rest;
	int next; /* the next digit counts 10^next ns */
};

static bool add_digit(struct digits *d, unsigned digit)
{
	if (d->next >= 0) {
		if (d->ns > (IMPORT_US_MAX - 9) / 10)
			return false;
		d->ns = 10 * d->ns + digit;
	} else if (d->next >= -REST_DECIMALS) {
		d->rest = 10 * d->rest + digit;
	}
	d->next--;
	return true;
}

/* Zeros up to the last place that counts. */
static bool fill_up(struct digits *d)
{
	for (; d->next >= 0; d->next--) {
		if (!d->ns)
			d->next = 0;
		if (d->ns > IMPORT_US_MAX / 10)
			return false;
		d->ns *= 10;
	}
	for (; d->next >= -REST_DECIMALS; d->next--)
		d->rest *= 10;
	return true;
}

static size_t whole_digits(const char *at, size_t bytes)
{
	size_t n = 0;

	while (n < bytes && at[n] >= '0' && at[n] <= '9')
		n++;
	return n;
}

static bool read_exponent(int *out, const char *at, size_t bytes)
{
	bool minus = bytes && *at == '-';
	size_t sign = bytes && (*at == '-' || *at == '+');
	int value = 0;

	if (bytes == sign || whole_digits(at + sign, bytes - sign) != bytes - sign)
		return false;
	for (size_t i = sign; i < bytes; i++)
		if (value < EXPONENT_MAX)
			value = 10 * value + (at[i] - '0');
	*out = minus ? -value : value;
	return true;
}

/* Both parts of digits; the text's form is known. Leading zeros count no place, so that none of them is too large. */
static bool read_digits(struct digits *d, const char *at, size_t whole, const char *decimals, size_t n_decimals,
			int exponent)
{
	if (whole > EXPONENT_MAX)
		return false;
	d->next = (int)whole - 1 + NS_DECIMALS + exponent;
	for (size_t i = 0; i < whole; i++)
		if (!add_digit(d, (unsigned)(at[i] - '0')))
			return false;
	for (size_t i = 0; i < n_decimals && d->next >= -REST_DECIMALS; i++)
		if (!add_digit(d, (unsigned)(decimals[i] - '0')))
			return false;
	return fill_up(d);
}

#define FEW_DIGITS 16 /* before the point: microseconds of any time of day, and 64 bits hold them as nanoseconds */

/* As nearly all are written: some digits, and up to three behind a point. */
static bool read_usual(struct import_us *out, const char *at, size_t bytes)
{
	size_t point = bytes, n = bytes <= FEW_DIGITS + 1 + NS_DECIMALS ? bytes : 0;
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned digit = (unsigned char)at[i] - (unsigned)'0';

		if (digit <= 9)
			ns = 10 * ns + digit;
		else if (at[i] == '.' && point == bytes && i)
			point = i;
		else
			return false;
	}
	if (!n || point > FEW_DIGITS || bytes - point > 1 + NS_DECIMALS)
		return false;
	for (size_t decimals = bytes - point - (point < bytes); decimals < NS_DECIMALS; decimals++)
		ns *= 10;
	if (ns >= IMPORT_US_MAX - 9) /* what is near the limit is looked at more closely */
		return false;
	*out = (struct import_us){ (int64_t)ns, 0 };
	return true;
}

bool import_us_read(struct import_us *out, const char *at, size_t bytes)
{
	bool minus = bytes && *at == '-';
	size_t i = minus, whole, n_decimals = 0;
	const char *digits = at + i, *decimals = digits;
	struct digits d = { 0 };
	int exponent = 0;

	if (read_usual(out, at, bytes))
		return true;
	whole = whole_digits(digits, bytes - i);
	i += whole;
	if (i < bytes && at[i] == '.') {
		decimals = at + ++i;
		n_decimals = whole_digits(decimals, bytes - i);
		i += n_decimals;
	}
	if (whole + n_decimals == 0)
		return false;
	if (i < bytes && (at[i] == 'e' || at[i] == 'E')) {
		if (!read_exponent(&exponent, at + i + 1, bytes - i - 1))
			return false;
		i = bytes;
	}
	if (i != bytes || !read_digits(&d, digits, whole, decimals, n_decimals, exponent))
		return false;
	*out = (struct import_us){ d.ns, d.rest };
	if (minus)
		*out = d.rest ? (struct import_us){ -d.ns - 1, IMPORT_US_REST - d.rest }
			      : (struct import_us){ -d.ns, 0 };
	return true;
}
