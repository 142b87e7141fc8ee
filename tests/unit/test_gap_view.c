/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of a gap's silences and activities a stretch of time has to do with: no rule goes through all of them for each of the other. And what
 * the others' samples say of a futex. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gap/futex_looks.h"

#define FUTEX 202

static void test_what_reaches_into_a_stretch(void **state)
{
	struct activity activities[] = { { .begin_ns = 0, .end_ns = 10 },
					 { .begin_ns = 10, .end_ns = 20 },
					 { .begin_ns = 50, .end_ns = 60 },
					 { .begin_ns = 60, .end_ns = 70 } };
	struct silence silences[] = { { .begin_ns = 0, .end_ns = 20 }, { .begin_ns = 40, .end_ns = 70 } };
	struct gap_view v = { .activities = activities, .n_activities = 4, .silences = silences, .n_silences = 2 };
	size_t n;

	(void)state;
	assert_ptr_equal(gap_view_activities(&v, 5, 55, &n), &activities[0]);
	assert_int_equal(n, 3);
	assert_ptr_equal(gap_view_activities(&v, 10, 50, &n), &activities[1]); /* their ends are not of them */
	assert_int_equal(n, 1);
	assert_null(gap_view_activities(&v, 20, 50, &n));
	assert_int_equal(n, 0);
	assert_null(gap_view_activities(&v, 70, INT64_MAX, &n));
	assert_ptr_equal(gap_view_silences(&v, 19, 41, &n), &silences[0]);
	assert_int_equal(n, 2);
	assert_null(gap_view_silences(&v, 20, 40, &n));
	v.n_activities = 0;
	assert_null(gap_view_activities(&v, INT64_MIN, INT64_MAX, &n));
	assert_int_equal(n, 0);
}

/* Thread 1 in a futex, and two others of the same time. */
static struct activity look(struct sample a, struct sample b)
{
	struct sample at[] = { { .time_ns = 4, .tid = 9, .syscall = -1 }, /* of another time */
			       { .time_ns = 5, .tid = 1, .syscall = FUTEX },
			       a,
			       b,
			       { .time_ns = 6, .tid = 9, .syscall = -1 } };
	struct trace t = { .samples = at, .n_samples = 5, .header = { .machine = GST_MACHINE_X86_64 } };
	struct activity found = { .doing = DOING_LOCK, .n_samples = 1 };

	at[2].time_ns = at[3].time_ns = 5;
	futex_look(&t, &at[1], &found);
	return found;
}

static void test_who_has_a_lock(void **state)
{
	const struct sample runs = { .tid = 2, .syscall = -1 };
	const struct sample holds = { .tid = 3, .syscall = -1, .holds = true };
	const struct sample reads = { .tid = 4, .syscall = 0, .fd_kind = GST_FD_PIPE };
	const struct sample reads_with_it = { .tid = 5, .syscall = 0, .fd_kind = GST_FD_PIPE, .holds = true };
	const struct sample waits = { .tid = 6, .syscall = FUTEX, .holds = true };
	struct activity a;

	(void)state;
	a = look(runs, holds);
	assert_true(futex_is_held(&a) && !futex_is_fed(&a) && !futex_has_beside(&a));
	assert_int_equal(a.holder, 3);
	a = look(runs, reads); /* it may be either's doing */
	assert_true(!futex_is_held(&a) && !futex_is_fed(&a) && futex_has_beside(&a));
	assert_int_equal(a.beside, 2);
	a = look(runs, reads_with_it);
	assert_true(!futex_is_held(&a) && futex_is_fed(&a) && !futex_has_beside(&a));
	assert_int_equal(a.fed, 5);
	a = look(reads, waits);
	assert_true(!futex_is_held(&a) && !futex_is_fed(&a) && !futex_has_beside(&a));
	a = look(reads, reads);
	assert_true(futex_is_fed(&a));
	assert_int_equal(a.fed, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_reaches_into_a_stretch),
		cmocka_unit_test(test_who_has_a_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
