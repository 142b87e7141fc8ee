/* SPDX-License-Identifier: BSD-2-Clause */
#include "text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

char *text_digits(char digits[TEXT_DIGITS], uint64_t n)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
		"49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
		"9899";
	char all[TEXT_DIGITS];
	size_t first = sizeof(all);

	for (; n >= 100; n /= 100) {
		first -= 2;
		memcpy(all + first, pairs + 2 * (n % 100), 2);
	}
	first -= 2;
	memcpy(all + first, pairs + 2 * n, 2);
	first += n < 10;
	memcpy(digits, all + first, sizeof(all) - first);
	return digits + sizeof(all) - first;
}

/* "25.9 us" of whole numbers, where printf cannot say otherwise: what is halfway between two tenths it rounds as the nearest double happens to
 * lie. False: it may be so, or it is seconds. */
static bool duration_in_tenths(char buf[TEXT_SHORT], uint64_t ns)
{
	uint64_t tenth = ns < 999950 ? 100 : 100000, tenths = ns / tenth, rest = ns % tenth;

	if (ns < 1000 || ns >= 999950000 || rest == tenth / 2)
		return false;
	tenths += rest > tenth / 2;
	buf = text_digits(buf, tenths / 10);
	buf[0] = '.';
	buf[1] = (char)('0' + tenths % 10);
	memcpy(buf + 2, tenth == 100 ? " us" : " ms", 4);
	return true;
}

const char *text_duration(char buf[TEXT_SHORT], int64_t ns)
{
	double abs = ns < 0 ? -(double)ns : (double)ns;
	const char *sign = ns < 0 ? "-" : "";

	if (ns > 0 && duration_in_tenths(buf, (uint64_t)ns))
		return buf;
	if (abs < 1000)
		snprintf(buf, TEXT_SHORT, "%s%.0f ns", sign, abs);
	else if (abs < 999.95e3)
		snprintf(buf, TEXT_SHORT, "%s%.1f us", sign, abs / 1e3);
	else if (abs < 999.95e6)
		snprintf(buf, TEXT_SHORT, "%s%.1f ms", sign, abs / 1e6);
	else if (abs < 1000e9)
		snprintf(buf, TEXT_SHORT, "%s%.2f s", sign, abs / 1e9);
	else
		snprintf(buf, TEXT_SHORT, "%s%.0f s", sign, abs / 1e9);
	return buf;
}

const char *text_long(char buf[TEXT_SHORT], int64_t ns)
{
	int64_t s = ns / 1000000000 + (ns % 1000000000 >= 500000000);

	if (s < 100)
		return text_duration(buf, ns);
	if (s < 3600)
		snprintf(buf, TEXT_SHORT, "%d min %d s", (int)(s / 60), (int)(s % 60));
	else if (s < 172800)
		snprintf(buf, TEXT_SHORT, "%d h %d min", (int)(s / 3600), (int)(s % 3600 / 60));
	else
		snprintf(buf, TEXT_SHORT, "%" PRId64 " d %d h", s / 86400, (int)(s % 86400 / 3600));
	return buf;
}

const char *text_bytes(char buf[TEXT_SHORT], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1023.95 && unit < 6) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, TEXT_SHORT, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}

const char *text_count(char buf[TEXT_SHORT], uint64_t n)
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), out = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			buf[out++] = ',';
		buf[out++] = digits[i];
	}
	buf[out] = 0;
	return buf;
}

const char *text_offset(char buf[TEXT_SHORT], int64_t ns)
{
	uint64_t tenths = ((ns < 0 ? -(uint64_t)ns : (uint64_t)ns) + 50) / 100;
	char whole[TEXT_SHORT];

	snprintf(buf, TEXT_SHORT, "%c%.24s.%d us", ns < 0 && tenths ? '-' : '+', text_count(whole, tenths / 10),
		 (int)(tenths % 10));
	return buf;
}

const char *text_percent(char buf[TEXT_SHORT], int64_t part, int64_t whole)
{
	snprintf(buf, TEXT_SHORT, "%.1f %%", whole > 0 ? (double)part * 100 / (double)whole : 0.0);
	return buf;
}

#define EACH(byte) ((uint64_t)(byte)*0x0101010101010101u)

/* Eight at a time: from ' ' on, and below DEL. */
size_t text_ascii(const char *s, size_t n)
{
	size_t i = 0;

	for (uint64_t bytes; i + sizeof(bytes) <= n; i += sizeof(bytes)) {
		memcpy(&bytes, s + i, sizeof(bytes));
		if ((bytes | (bytes - EACH(' ')) | (bytes + EACH(1))) & EACH(0x80))
			break;
	}
	while (i < n && s[i] >= ' ' && s[i] <= '~')
		i++;
	return i;
}

static bool continues(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

unsigned text_utf8(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	if (p[0] < 0x80)
		return p[0] ? 1 : 0;
	if (p[0] >= 0xc2 && p[0] < 0xe0)
		return continues(p[1]) ? 2 : 0;
	if (p[0] >= 0xe0 && p[0] < 0xf0) {
		if (!continues(p[1]) || !continues(p[2]))
			return 0;
		if (p[0] == 0xe0 && p[1] < 0xa0) /* longer than need be */
			return 0;
		return p[0] == 0xed && p[1] >= 0xa0 ? 0 : 3; /* half a surrogate pair */
	}
	if (p[0] >= 0xf0 && p[0] < 0xf5) {
		if (!continues(p[1]) || !continues(p[2]) || !continues(p[3]))
			return 0;
		if (p[0] == 0xf0 && p[1] < 0x90)
			return 0;
		return p[0] == 0xf4 && p[1] >= 0x90 ? 0 : 4;
	}
	return 0;
}

const char *text_utf8_only(char *buf, size_t size, const char *s)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t out = 0;

	while (*s && out + 5 <= size) {
		unsigned length = text_utf8(s);

		memcpy(buf + out, length ? s : replacement, length ? length : 3);
		out += length ? length : 3;
		s += length ? length : 1;
	}
	buf[out] = 0;
	return buf;
}

/* Control characters: C0, DEL, C1, and those that turn the direction of writing. */
static bool steers(const unsigned char *p, unsigned length)
{
	if (length == 1)
		return p[0] < 0x20 || p[0] == 0x7f;
	if (length == 2)
		return p[0] == 0xc2 && p[1] < 0xa0;
	if (length == 3 && p[0] == 0xe2)
		return (p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae))) ||
		       (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
	return false;
}

const char *text_clean(char *buf, size_t size, const char *s, size_t columns)
{
	size_t out = 0, seen = 0, cut = 0; /* cut: where "..." goes, if need be */
	size_t n = strlen(s);

	if (n < size && n <= columns && text_ascii(s, n) == n)
		return memcpy(buf, s, n + 1);
	while (*s) {
		unsigned length = text_utf8(s), bytes = length ? length : 1;
		bool plain = length && !steers((const unsigned char *)s, length);

		if (seen + 3 <= columns && out + 4 <= size)
			cut = out;
		if (seen == columns || out + (plain ? bytes : 1) + 1 > size) {
			out = cut;
			for (unsigned i = 0; i < 3 && out + 1 < size; i++)
				buf[out++] = '.';
			break;
		}
		if (plain)
			memcpy(buf + out, s, bytes);
		else
			buf[out] = '?';
		out += plain ? bytes : 1;
		s += bytes;
		seen++;
	}
	buf[out] = 0;
	return buf;
}

unsigned text_columns(const char *s)
{
	unsigned n = 0;

	for (; *s; n++)
		s += text_utf8(s) ? text_utf8(s) : 1;
	return n;
}

const char *text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *text_command(const char *command)
{
	size_t program = strcspn(command, " ");

	while (program > 0 && command[program - 1] != '/')
		program--;
	return command + program;
}
