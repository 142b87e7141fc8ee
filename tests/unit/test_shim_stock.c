/* SPDX-License-Identifier: BSD-2-Clause */
/* The first change of segments needs nobody: the helper has seen it come, and one is ready. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "shim/edge.h"
#include "shim/helper.c" /* its looks are taken here, */
#include "shim/stock.c"  /* and what came of them is seen */
#include "shim_driver.h"

#define WAIT_TRIES 20000 /* of 100 us */

static unsigned claimed; /* by a thread that needed one */

int __real_segment_claim(struct segment *out, uint32_t *own);
int __wrap_segment_claim(struct segment *out, uint32_t *own);
int __wrap_segment_claim(struct segment *out, uint32_t *own)
{
	claimed++;
	return __real_segment_claim(out, own);
}

static void launch(void)
{
	struct call c;

	call_enter(&c, HOOK_cuLaunchKernel, GST_FAMILY_LAUNCH);
	launch_kernel(&c, STREAM_A, NULL, 1, 1, 1, 1);
	call_exit(&c, CUDA_SUCCESS);
}

static void launch_until(uint32_t at)
{
	while (me->ring.at < at)
		launch();
}

static uint32_t in_stock(void)
{
	return __atomic_load_n(&ready, __ATOMIC_RELAXED);
}

/* Where none was to be had (the limit, a full disk), who needs one finds that out, and no look tries again. */
static void one_that_cannot_be_had_is_tried_once(void **state)
{
	(void)state;
	stock_begin();
	assert_int_equal(wanted, 1);
	wanted = 0; /* as stock_work() leaves it */
	stock_begin();
	assert_int_equal(wanted, 0);
	stock_forget();
}

static void a_segment_that_is_nearly_full_has_a_successor(void **state)
{
	uint32_t first = me->ring.thread_seq;

	(void)state;
	launch_until(GST_SEGMENT_BYTES / 2);
	keep_stock();
	assert_int_equal(wanted, 0); /* a program of a few calls has none that it does not use */
	launch_until(GST_SEGMENT_BYTES / 4 * 3 + 512);
	assert_int_equal(me->ring.thread_seq, first);
	keep_stock();
	for (int i = 0; !in_stock(); i++) {
		assert_true(i < WAIT_TRIES);
		usleep(100);
	}
	claimed = 0;
	while (me->ring.thread_seq == first)
		launch();
	assert_int_equal(me->ring.thread_seq, first + 1);
	assert_int_equal(claimed, 0);
	assert_int_equal(in_stock(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_that_cannot_be_had_is_tried_once, set_up),
		cmocka_unit_test_setup(a_segment_that_is_nearly_full_has_a_successor, set_up),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
