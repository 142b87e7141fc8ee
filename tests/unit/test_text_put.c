/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts without printf: numbers and durations as printf writes them, what has no room is cut, clean text is the same by either way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/text.h"
#include "tools/text_put.h"

static uint64_t seed = 1;

static uint64_t draw(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 11;
}

static void assert_duration(int64_t ns)
{
	double abs = (double)ns;
	char expected[TEXT_SHORT], got[TEXT_SHORT];

	if (abs < 1000)
		snprintf(expected, sizeof(expected), "%.0f ns", abs);
	else if (abs < 999.95e3)
		snprintf(expected, sizeof(expected), "%.1f us", abs / 1e3);
	else if (abs < 999.95e6)
		snprintf(expected, sizeof(expected), "%.1f ms", abs / 1e6);
	else if (abs < 1000e9)
		snprintf(expected, sizeof(expected), "%.2f s", abs / 1e9);
	else
		snprintf(expected, sizeof(expected), "%.0f s", abs / 1e9);
	assert_string_equal(text_duration(got, ns), expected);
}

static void durations_as_printf_has_them(void **state)
{
	(void)state;
	for (int64_t ns = 0; ns < 1100000; ns++)
		assert_duration(ns);
	for (int64_t ns = 50000; ns < 1100000000; ns += 50000) /* halfway between two tenths, and on them */
		for (int64_t by = -1; by <= 1; by++)
			assert_duration(ns + by);
	for (int i = 0; i < 200000; i++)
		assert_duration((int64_t)(draw() >> draw() % 50));
}

static void digits_of_all_lengths(void **state)
{
	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t n = i ? (draw() << 11 | draw() >> 40) >> draw() % 64 : UINT64_MAX;
		char got[TEXT_DIGITS + 1], expected[TEXT_DIGITS + 1];

		*text_digits(got, n) = 0;
		snprintf(expected, sizeof(expected), "%" PRIu64, n);
		assert_string_equal(got, expected);
	}
}

static void what_has_no_room_is_cut(void **state)
{
	static const char whole[] = "in train.py 1234567 25.9 us ?";

	(void)state;
	for (size_t size = 1; size < sizeof(whole) + 5; size++) {
		char buf[64], expected[64];
		struct text_put p = text_put_begin(buf, size);

		assert_string_equal(buf, "");
		put_text(&p, "in ");
		put_bytes(&p, "train.python", 8);
		put_text(&p, " ");
		put_uint(&p, 1234567);
		put_text(&p, " ");
		put_duration(&p, 25900);
		put_text(&p, " ");
		put_clean(&p, "\033", 16, 10);
		snprintf(expected, size, "%s", whole);
		assert_string_equal(buf, expected);
		assert_ptr_equal(p.at, buf + strlen(expected));
	}
}

static void ascii_ends_where_it_ends(void **state)
{
	(void)state;
	for (unsigned c = 1; c < 256; c++)
		for (size_t place = 0; place < 20; place++) {
			char text[21] = "abcdefghijklmnopqrst";

			text[place] = (char)c;
			assert_int_equal(text_ascii(text, 20), c >= ' ' && c < 0x7f ? 20 : place);
		}
}

static void clean_text_is_cut_at_columns_and_room(void **state)
{
	char buf[16];

	(void)state;
	assert_string_equal(text_clean(buf, sizeof(buf), "fifteen letters", 15), "fifteen letters");
	assert_string_equal(text_clean(buf, sizeof(buf), "fifteen letters", 14), "fifteen let...");
	assert_string_equal(text_clean(buf, 15, "fifteen letters", 15), "fifteen let...");
	assert_string_equal(text_clean(buf, sizeof(buf), "a\tb", 15), "a?b");
	assert_string_equal(text_clean(buf, sizeof(buf), "", 15), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_as_printf_has_them),
		cmocka_unit_test(digits_of_all_lengths),
		cmocka_unit_test(what_has_no_room_is_cut),
		cmocka_unit_test(ascii_ends_where_it_ends),
		cmocka_unit_test(clean_text_is_cut_at_columns_and_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
