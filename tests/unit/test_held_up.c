/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernels alone on their device, 10 ms apart, of 50 us each; some of their starts are late, and one seems to take 3 ms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "built.h"
#include "timeline/held_up.h"

#define ROUNDS 12
#define MANY 48
#define SLOW 8 /* the round of the slow one */
#define ROUND_US 10000
#define LATE_US 2000
#define USUAL_US 50
#define SLOW_US 3050

struct world {
	int n_late;       /* the first so many behind the first one */
	const char *also; /* with what, on the slow one's device in its time */
	int grow_us;      /* each takes so much longer than the one before */
	int more_slow;    /* so many behind that one, of MANY */
	bool late_return; /* what it was late for is the launch's return */
	bool last_slow;   /* the last one */
	bool copies;      /* of 8 bytes behind each kernel */
};

static int rounds_of(const struct world *w)
{
	return w->more_slow > 0 ? MANY : ROUNDS;
}

static bool is_slow(const struct world *w, int round)
{
	return w->last_slow ? round == rounds_of(w) - 1 : round >= SLOW && round <= SLOW + w->more_slow;
}

/* A copy that blocks, of which nothing but its return says when it was over. */
static void write_copy(char *out, size_t size, int round, int from, int ready)
{
	snprintf(out, size, "copy t=%dus..%dus stream=1 seq=%d kind=d2h-pageable bytes=8 flags=blocking\n", from,
		 ready + 8, 2 * round + 2);
}

static void write_round(char *out, size_t size, const struct world *w, int round)
{
	int at = 1000 + round * ROUND_US, fired = at + 8 + (round && round <= w->n_late ? LATE_US : 0);
	int end = fired + w->grow_us * round + (is_slow(w, round) ? SLOW_US : USUAL_US);
	int returned = w->late_return && is_slow(w, round) ? end - USUAL_US : at + 4;
	int seq = w->copies ? 2 * round + 1 : round + 1, n;

	n = snprintf(out, size,
		     "edge %d t=%dus..%dus stream=1 covers=%d fired=%dus done=%dus kind=start\n"
		     "launch t=%dus..%dus stream=1 seq=%d kernel=usual\n"
		     "edge %d t=%dus..%dus stream=1 covers=%d fired=%dus done=%dus\n",
		     2 * round + 1, at, at + 1, seq - 1, fired, end + 5, at + 2, returned, seq, 2 * round + 2,
		     returned + 1, returned + 2, seq, end, end + 5);
	if (w->copies)
		write_copy(out + n, size - (size_t)n, round, returned + 3, end);
	else
		snprintf(out + n, size - (size_t)n, "sync-stream t=%dus..%dus stream=1 seq=%d\n%s", returned + 3,
			 end + 4, seq, round == SLOW && w->also ? w->also : "");
}

static struct built *build_world(const struct world *w)
{
	static char text[MANY * 512];

	strcpy(text, "process 100 end=600ms\nthread 10 main\ndevice 0\nstream 1\nstream 2\n");
	for (int round = 0; round < rounds_of(w); round++)
		write_round(text + strlen(text), sizeof(text) - strlen(text), w, round);
	return build(text);
}

/* The gap that ends with the slow one, or begins behind it; its other end is none of ours. */
static const struct gap *gap_near(const struct built *b, int64_t us)
{
	const struct device_timeline *d = &b->timeline.devices[0];

	for (size_t i = 0; i < d->n_gaps; i++)
		if (d->gaps[i].begin_ns <= EPOCH + us * US && d->gaps[i].end_ns > EPOCH + us * US)
			return &d->gaps[i];
	fail();
	return NULL;
}

#define SLOW_BEGIN_US (1000 + SLOW * ROUND_US + 8)
#define SLOW_END_US (SLOW_BEGIN_US + SLOW_US)

/* Each end within 20 us, and its error. */
static void assert_slow(const struct world *w, int64_t begin_us, int64_t end_us, int64_t error_us)
{
	struct built *b = build_world(w);
	const struct gap *before = gap_near(b, SLOW_BEGIN_US - 1000), *after = gap_near(b, SLOW_END_US + 1000);

	assert_in_range(before->end_ns - EPOCH, (begin_us - 20) * US, (begin_us + 20) * US);
	assert_in_range(before->end_error_ns, error_us * US, (error_us + (error_us ? 100 : 30)) * US);
	assert_in_range(after->begin_ns - EPOCH, (end_us - 20) * US, (end_us + 20) * US);
	assert_in_range(after->begin_error_ns, error_us * US, (error_us + (error_us ? 100 : 30)) * US);
	assert_true(before->after && (op_usual_ns(before->after) != 0) == (error_us != 0));
	finish(b);
}

static void where_starts_are_late_it_was_held_up(void **state)
{
	(void)state;
	assert_slow(&(struct world){ .n_late = 2 }, SLOW_END_US - USUAL_US, SLOW_END_US, SLOW_US - USUAL_US - 20);
	assert_slow(&(struct world){ .n_late = 6 }, SLOW_END_US - USUAL_US, SLOW_END_US, SLOW_US - USUAL_US - 20);
}

/* What a kernel takes may depend on its arguments, though it hardly ever does. */
static void slow_kernels_alone_are_no_sign(void **state)
{
	(void)state;
	assert_slow(&(struct world){ .more_slow = 9 }, SLOW_BEGIN_US, SLOW_END_US, 0);
}

/* A kernel and the copy behind it: when that ran is known, as the edge between stands before it. */
static void a_copy_behind_it(void **state)
{
	struct built *b = build_world(&(struct world){ .n_late = 2, .copies = true });
	const struct gap *gap = gap_near(b, SLOW_BEGIN_US - 1000);

	(void)state;
	assert_in_range(gap->end_ns - EPOCH, (SLOW_END_US - USUAL_US - 20) * US, (SLOW_END_US - USUAL_US + 20) * US);
	assert_true(gap->end_error_ns > (SLOW_US - 2 * USUAL_US) * US);
	assert_true(gap->after && op_usual_ns(gap->after));
	finish(b);
}

/* The device's time ends where the last gap does, and begins there. */
static void at_the_end_of_all(void **state)
{
	struct built *b = build_world(&(struct world){ .n_late = 2, .last_slow = true });
	const struct device_timeline *d = &b->timeline.devices[0];
	const struct gap *last = &d->gaps[d->n_gaps - 1];

	(void)state;
	assert_int_equal(d->n_gaps, ROUNDS - 1);
	assert_true(last->end_ns <= d->end_ns && d->idle_ns < d->end_ns - d->begin_ns);
	assert_true(last->after && op_usual_ns(last->after));
	finish(b);
}

static void elsewhere_it_is_a_slow_kernel(void **state)
{
	(void)state;
	assert_slow(&(struct world){ .n_late = 1 }, SLOW_BEGIN_US, SLOW_END_US, 0);
	assert_slow(&(struct world){ .n_late = 0 }, SLOW_BEGIN_US, SLOW_END_US, 0);
}

static void work_on_record_may_be_why(void **state)
{
	static const char also[] =
		"edge 90 t=81100us..81101us stream=2 covers=0 fired=81103us done=84000us kind=start\n"
		"launch t=81102us..81104us stream=2 seq=1 kernel=other\n"
		"edge 91 t=81105us..81106us stream=2 covers=1 fired=81900us done=84000us\n";

	(void)state;
	assert_slow(&(struct world){ .n_late = 3, .also = also }, SLOW_BEGIN_US, SLOW_END_US, 0);
}

static void assert_none(const struct world *w)
{
	struct built *b = build_world(w);
	const struct device_timeline *d = &b->timeline.devices[0];

	assert_int_equal(d->n_ops, ROUNDS);
	for (size_t i = 0; i < d->n_ops; i++)
		assert_int_equal(op_usual_ns(&d->ops[i]), 0);
	finish(b);
}

static void the_host_may_be_late(void **state)
{
	(void)state;
	assert_none(&(struct world){ .n_late = 3, .late_return = true });
}

/* Of a kind that takes now this, now that, nothing is usual. */
static void some_kernels_vary(void **state)
{
	(void)state;
	assert_none(&(struct world){ .n_late = 3, .grow_us = 40 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_starts_are_late_it_was_held_up),
		cmocka_unit_test(slow_kernels_alone_are_no_sign),
		cmocka_unit_test(a_copy_behind_it),
		cmocka_unit_test(at_the_end_of_all),
		cmocka_unit_test(elsewhere_it_is_a_slow_kernel),
		cmocka_unit_test(work_on_record_may_be_why),
		cmocka_unit_test(the_host_may_be_late),
		cmocka_unit_test(some_kernels_vary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
