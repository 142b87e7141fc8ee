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
#include "held_up.h"

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
};

static void write_round(char *out, size_t size, const struct world *w, int round)
{
	bool slow = round >= SLOW && round <= SLOW + w->more_slow;
	int at = 1000 + round * ROUND_US, fired = at + 8 + (round && round <= w->n_late ? LATE_US : 0);
	int end = fired + w->grow_us * round + (slow ? SLOW_US : USUAL_US);
	int returned = w->late_return && slow ? end - USUAL_US : at + 4;

	snprintf(out, size,
		 "edge %d t=%dus..%dus stream=1 covers=%d fired=%dus done=%dus kind=start\n"
		 "launch t=%dus..%dus stream=1 seq=%d kernel=usual\n"
		 "edge %d t=%dus..%dus stream=1 covers=%d fired=%dus done=%dus\n"
		 "sync-stream t=%dus..%dus stream=1 seq=%d\n%s",
		 2 * round + 1, at, at + 1, round, fired, end + 5, at + 2, returned, round + 1, 2 * round + 2,
		 returned + 1, returned + 2, round + 1, end, end + 5, returned + 3, end + 4, round + 1,
		 round == SLOW && w->also ? w->also : "");
}

static struct built *build_world(const struct world *w)
{
	static char text[MANY * 512];

	strcpy(text, "process 100 end=600ms\nthread 10 main\ndevice 0\nstream 1\nstream 2\n");
	for (int round = 0; round < (w->more_slow ? MANY : ROUNDS); round++)
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
	assert_true(before->after && (before->after->usual_ns != 0) == (error_us != 0));
	finish(b);
}

static void where_starts_are_late_it_was_held_up(void **state)
{
	(void)state;
	assert_slow(&(struct world){ .n_late = 2 }, SLOW_END_US - USUAL_US, SLOW_END_US, SLOW_US - USUAL_US - 20);
	assert_slow(&(struct world){ .n_late = 6 }, SLOW_END_US - USUAL_US, SLOW_END_US, SLOW_US - USUAL_US - 20);
}

/* … as eight in a kind say that never varies. */
static void many_of_a_steady_kind(void **state)
{
	(void)state;
	assert_slow(&(struct world){ .more_slow = 7 }, SLOW_END_US - USUAL_US, SLOW_END_US, SLOW_US - USUAL_US - 20);
	assert_slow(&(struct world){ .more_slow = 6 }, SLOW_BEGIN_US, SLOW_END_US, 0);
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
		assert_int_equal(d->ops[i].usual_ns, 0);
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
		cmocka_unit_test(many_of_a_steady_kind),
		cmocka_unit_test(elsewhere_it_is_a_slow_kernel),
		cmocka_unit_test(work_on_record_may_be_why),
		cmocka_unit_test(the_host_may_be_late),
		cmocka_unit_test(some_kernels_vary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
