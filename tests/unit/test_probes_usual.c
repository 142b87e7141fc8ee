/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said of a wait that nobody looked at: only what the thread was found at in waits of that length, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "shim/probes/perf_usual.h"

#define MS 1000000u
#define S 1000000000ull

static struct gst_wait_for waits_for(int32_t call, uint32_t file, uint8_t kind)
{
	return (struct gst_wait_for){ .syscall = call, .file = file, .fd_kind = kind, .offset = 4096 };
}

static void test_once_is_no_habit(void **unused)
{
	struct gst_wait_for a = waits_for(45, 7, GST_FD_SOCKET), what;
	struct perf_usual u = { 0 };

	(void)unused;
	assert_false(usual_guess(&u, 10 * S + 90 * MS, 8 * MS, &what));
	usual_learn(&u, &a, 10 * S, 8 * MS);
	assert_false(usual_guess(&u, 10 * S + 20 * MS, 8 * MS, &what));
	usual_learn(&u, &a, 10 * S + 20 * MS, 9 * MS);
	assert_true(usual_guess(&u, 10 * S + 40 * MS, 8 * MS, &what));
	assert_int_equal(what.syscall, 45);
	assert_int_equal(what.file, 7);
	assert_true(what.offset == UINT64_MAX); /* where in the file it was then says nothing of now */
}

static void test_another_length_is_another_wait(void **unused)
{
	struct gst_wait_for a = waits_for(45, 7, GST_FD_SOCKET), what;
	struct perf_usual u = { 0 };

	(void)unused;
	for (unsigned i = 0; i < 5; i++)
		usual_learn(&u, &a, 10 * S + i * MS, 8 * MS);
	assert_true(usual_guess(&u, 10 * S + 90 * MS, 4 * MS, &what));
	assert_true(usual_guess(&u, 10 * S + 90 * MS, 24 * MS, &what));
	assert_false(usual_guess(&u, 10 * S + 90 * MS, 4 * MS - 1, &what));
	assert_false(usual_guess(&u, 10 * S + 90 * MS, 24 * MS + 1, &what));
}

static void test_it_may_be_either(void **unused)
{
	struct gst_wait_for a = waits_for(45, 7, GST_FD_SOCKET), b = waits_for(202, 0, GST_FD_NONE), what;
	struct perf_usual u = { 0 };

	(void)unused;
	for (unsigned i = 0; i < 4; i++)
		usual_learn(&u, &a, 10 * S + i * MS, 8 * MS);
	usual_learn(&u, &b, 10 * S, 2 * MS);
	/* By its length the one, or the other … */
	assert_true(usual_guess(&u, 10 * S + 90 * MS, 20 * MS, &what) && what.syscall == 45);
	assert_false(usual_guess(&u, 10 * S + 90 * MS, MS, &what)); /* the other was seen once only */
	/* … or both: one in four may be wrong, not more. */
	assert_true(usual_guess(&u, 10 * S + 90 * MS, 5 * MS, &what) && what.syscall == 45);
	usual_learn(&u, &b, 10 * S, 2 * MS);
	assert_false(usual_guess(&u, 10 * S + 90 * MS, 5 * MS, &what));
	assert_true(usual_guess(&u, 10 * S + 90 * MS, MS, &what) && what.syscall == 202);
}

static void test_it_does_not_hold_for_long(void **unused)
{
	struct gst_wait_for a = waits_for(45, 7, GST_FD_SOCKET), what;
	struct perf_usual u = { 0 };

	(void)unused;
	for (unsigned i = 0; i < 9; i++)
		usual_learn(&u, &a, 10 * S, 8 * MS);
	assert_true(usual_is_plain(&u, 11 * S) && usual_guess(&u, 11 * S, 8 * MS, &what));
	assert_false(usual_is_plain(&u, 11 * S + 1) || usual_guess(&u, 11 * S + 1, 8 * MS, &what));
	usual_learn(&u, &a, 12 * S, 100 * MS); /* anew */
	usual_learn(&u, &a, 12 * S, 100 * MS);
	assert_false(usual_guess(&u, 12 * S, 8 * MS, &what));
}

static void test_many_kinds_push_the_oldest_out(void **unused)
{
	struct perf_usual u = { 0 };
	struct gst_wait_for what;

	(void)unused;
	for (uint32_t file = 1; file <= USUAL_KINDS + 1; file++)
		for (unsigned i = 0; i < 2; i++) {
			struct gst_wait_for a = waits_for(0, file, GST_FD_PIPE);
			usual_learn(&u, &a, 10 * S + file, (uint64_t)MS << (2 * file));
		}
	assert_false(usual_guess(&u, 10 * S + 100, 2 * MS, &what)); /* only the first was as short */
	assert_true(usual_guess(&u, 10 * S + 100, (uint64_t)MS << (2 * USUAL_KINDS + 2), &what));
	assert_int_equal(what.file, USUAL_KINDS + 1);
}

/* A thread that reads files is looked at each time, as the place in the file is another each time. */
static void test_a_file_is_not_plain(void **unused)
{
	struct gst_wait_for a = waits_for(17, 7, GST_FD_FILE);
	struct perf_usual u = { 0 };

	(void)unused;
	for (unsigned i = 0; i < 20; i++)
		usual_learn(&u, &a, 10 * S, 8 * MS);
	assert_false(usual_is_plain(&u, 10 * S));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once_is_no_habit),
		cmocka_unit_test(test_another_length_is_another_wait),
		cmocka_unit_test(test_it_may_be_either),
		cmocka_unit_test(test_it_does_not_hold_for_long),
		cmocka_unit_test(test_many_kinds_push_the_oldest_out),
		cmocka_unit_test(test_a_file_is_not_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
