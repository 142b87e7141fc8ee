/* SPDX-License-Identifier: BSD-2-Clause */
/* Decimal microseconds: cases by hand, and random ones against arithmetic of 128 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/import_us.h"

static bool reads(const char *text, int64_t *ns)
{
	struct import_us t;
	bool read = import_us_read(&t, text, strlen(text));

	*ns = read ? import_us_ns(t) : 0;
	return read;
}

static void test_by_hand(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{ "0", 0 },
		{ "1", 1000 },
		{ "1712195495519695.8", 1712195495519695800 },
		{ "4203669603438.301", 4203669603438301 },
		{ "1.712195495519689e15", 1712195495519689000 },
		{ "1.712195495519689E+15", 1712195495519689000 },
		{ "0.0004", 0 },
		{ "0.0005", 1 },
		{ "0.000499999999", 0 },
		{ "0.0004999999999999", 0 },
		{ "0.0014999", 1 },
		{ "0.0015", 2 },
		{ "-0.0005", 0 }, /* half up */
		{ "-0.0006", -1 },
		{ "-1.5", -1500 },
		{ "-0", 0 },
		{ "5e-3", 5 },
		{ "5e-4", 1 },
		{ "123456e-5", 1235 },
		{ "12e3", 12000000 },
		{ "0e999999999", 0 },
		{ "0.0e-999999999", 0 },
		{ "1e-999999999", 0 },
		{ "00012", 12000 },
		{ "7.", 7000 },
		{ ".5", 500 },
		{ "2305843009213693", 2305843009213693000 },
	};
	static const char *const none[] = { "",     "-",           ".",
					    "e5",   "1e",          "1e+",
					    "1x",   "1.2.3",       "1e5.0",
					    "+1",   " 1",          "0x10",
					    "NaN",  "Infinity",    "2305843009213694",
					    "1e17", "1e999999999", "99999999999999999999999999" };
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(reads(cases[i].text, &ns));
		assert_int_equal(ns, cases[i].ns);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(reads(none[i], &ns));
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 20;
}

/* A number of 1e-12 us, written in one of several ways. */
static void write_number(char *out, size_t size, uint64_t *seed, __int128 value)
{
	uint64_t whole = (uint64_t)(value / 1000000000000), rest = (uint64_t)(value % 1000000000000);
	char digits[64];
	int n;

	switch (next(seed) % 3) {
	case 0:
		snprintf(out, size, "%llu.%012llu", (unsigned long long)whole, (unsigned long long)rest);
		break;
	case 1:
		snprintf(out, size, "%llu%012llue-12", (unsigned long long)whole, (unsigned long long)rest);
		break;
	default:
		n = snprintf(digits, sizeof(digits), "%llu%012llu", (unsigned long long)whole,
			     (unsigned long long)rest);
		snprintf(out, size, "%c.%se%d", digits[0], digits + 1, n - 13);
	}
}

static __int128 rounded(__int128 value)
{
	return (value + 500000000) / 1000000000;
}

static void test_against_128_bits(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		unsigned few = 1 + (unsigned)(next(&seed) % 51);
		__int128 begin =
			(__int128)(next(&seed) & ((1ull << few) - 1)) * 1000000000000 + next(&seed) % 1000000000000;
		__int128 duration = (__int128)(next(&seed) % 1000) * 1000000000000 + next(&seed) % 1000000000000;
		struct import_us a, b;
		char text[2][80];

		if (i % 4 == 0) /* a half, or next to it */
			begin = begin / 1000000000 * 1000000000 + 499999999 + i / 4 % 3;
		if (rounded(begin) > IMPORT_US_MAX - 9000000)
			continue;
		write_number(text[0], sizeof(text[0]), &seed, begin);
		write_number(text[1], sizeof(text[1]), &seed, duration);
		assert_true(import_us_read(&a, text[0], strlen(text[0])));
		assert_true(import_us_read(&b, text[1], strlen(text[1])));
		assert_int_equal(import_us_ns(a), (int64_t)rounded(begin));
		assert_int_equal(import_us_ns(b), (int64_t)rounded(duration));
		assert_int_equal(import_us_ns(import_us_add(a, b)), (int64_t)rounded(begin + duration));
		if (begin % 1000000000) { /* below zero, half up is away from where it was above */
			memmove(text[0] + 1, text[0], strlen(text[0]) + 1);
			text[0][0] = '-';
			assert_true(import_us_read(&a, text[0], strlen(text[0])));
			assert_int_equal(import_us_ns(a), -(int64_t)((begin + 499999999) / 1000000000));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_against_128_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
