/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose times are on one clock: by host name, and by when the clock began to count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "trace/same_clock.h"

#define MS 1000000
#define BOOT 1700000000000000000

static struct gst_file_header header(const char *host, int64_t boot_ns, uint64_t mono_ns)
{
	struct gst_file_header h = { .start_mono_ns = mono_ns, .start_real_ns = (uint64_t)boot_ns + mono_ns };

	strcpy(h.host, host);
	return h;
}

static bool same(const char *a, const char *b, int64_t apart_ns)
{
	struct gst_file_header x = header(a, BOOT, 5000 * (uint64_t)MS),
			       y = header(b, BOOT + apart_ns, 9000 * (uint64_t)MS);

	assert_int_equal(same_clock(&x, &y), same_clock(&y, &x));
	return same_clock(&x, &y);
}

static void one_name(void **state)
{
	(void)state;
	assert_true(same("a", "a", 0));
	assert_true(same("a", "a", 999 * MS)); /* the wall clock was set */
	assert_true(same("a", "a", -999 * MS));
	assert_false(same("a", "a", 1001 * MS)); /* another boot, or another time namespace */
	assert_false(same("a", "a", -1001 * MS));
}

static void containers(void **state)
{
	(void)state;
	assert_true(same("a", "b", 0));
	assert_true(same("a", "b", 4 * MS));
	assert_true(same("a", "b", -4 * MS));
	assert_false(same("a", "b", 6 * MS));
	assert_false(same("a", "b", -6 * MS));
	assert_false(same("a", "", 900 * MS));
}

/* Where one does not say when it began, there is the name alone. */
static void not_known(void **state)
{
	struct gst_file_header a = header("a", BOOT, 1), b = header("b", BOOT, 1), old = { .host = "a" };

	(void)state;
	assert_true(same_clock(&a, &old));
	assert_true(same_clock(&old, &old));
	assert_false(same_clock(&b, &old));
}

/* A file may claim anything. */
static void any_times(void **state)
{
	static const uint64_t any[] = { 1, INT64_MAX, (uint64_t)INT64_MAX + 1, (uint64_t)INT64_MAX + 2, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < 625; i++) {
		struct gst_file_header a = { .start_real_ns = any[i % 5], .start_mono_ns = any[i / 5 % 5] };
		struct gst_file_header b = { .start_real_ns = any[i / 25 % 5], .start_mono_ns = any[i / 125] };

		memset(a.host, 'x', sizeof(a.host)); /* and have no end */
		memset(b.host, 'x', sizeof(b.host));
		assert_int_equal(same_clock(&a, &b), same_clock(&b, &a));
		assert_true(same_clock(&a, &a));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_name),
		cmocka_unit_test(containers),
		cmocka_unit_test(not_known),
		cmocka_unit_test(any_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
