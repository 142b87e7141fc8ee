/* SPDX-License-Identifier: BSD-2-Clause */
/* Device memory over time: random allocations, blocks and frees of two processes on one device against a model that has a place for each
 * unit; and stories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "memory_model.h"

static void test_random(void **state)
{
	static struct memory_use truth[EVENTS];

	(void)state;
	for (uint32_t with = 1; with <= 5; with++) {
		struct memory m;
		struct error e;
		uint64_t peak_reserved = 0, peak_allocated = 0;

		setup(with);
		for (int64_t i = 0; i < EVENTS / 2; i++) {
			act(10 * i, (uint16_t)(i + 1));
			truth[i] = use_now();
			peak_reserved = truth[i].reserved > peak_reserved ? truth[i].reserved : peak_reserved;
			peak_allocated = truth[i].allocated > peak_allocated ? truth[i].allocated : peak_allocated;
		}
		assert_int_equal(memory_build(&m, &run, &e), ERR_NONE);
		assert_int_equal(m.n_devices, 1);
		for (int64_t i = 0; i < EVENTS / 2; i++) {
			struct memory_use use = memory_at(&m.devices[0], 10 * i + 5);

			assert_int_equal(use.reserved, truth[i].reserved);
			assert_int_equal(use.allocated, truth[i].allocated);
			assert_int_equal(use.largest_free, truth[i].largest_free);
		}
		assert_int_equal(m.devices[0].peak_reserved, peak_reserved);
		assert_int_equal(m.devices[0].peak_allocated, peak_allocated);
		assert_int_equal(m.devices[0].worst.use.reserved, peak_reserved);
		assert_int_equal(m.devices[0].framework.strays, 0);
		memory_free(&m);
		teardown();
	}
}

/* ---- stories ---- */

/* Whose a refusal is: the framework's, where the same thread hears from it before it goes on to something else. */
static void test_whose_story(void **state)
{
	struct memory m;
	struct error e;

	(void)state;
	setup(1);
	refused(100, 1, 500); /* thread 1: retried */
	refused(110, 2, 600); /* thread 2: its own, it goes on to a launch */
	call(0, HOOK_LAUNCH, 120, 0, 0)->tid = 2;
	processes[0].trace.calls[2].flags = GST_SUBMISSION;
	block(0, GST_BLOCK_TAKEN, 150, 5000, 500)->tid = 1;
	block(0, GST_BLOCK_TAKEN, 160, 6000, 10)->tid = 2;
	refused(200, 3, 700); /* thread 3: twice, then out of memory */
	refused(210, 3, 700);
	block(0, GST_BLOCK_REFUSED, 250, 0, 650)->tid = 3;
	block(0, GST_BLOCK_REFUSED, 300, 0, 40)->tid = 4; /* a limit of the framework's own: nobody asked the driver */
	assert_int_equal(memory_build(&m, &run, &e), ERR_NONE);
	assert_int_equal(m.stories.n, 4);
	assert_int_equal(m.stories.at[0].tid, 2); /* by their ends */
	assert_int_equal(m.stories.at[0].asked, 600);
	assert_null(m.stories.at[0].block);
	assert_int_equal(m.stories.at[1].outcome, MEMORY_RETRIED);
	assert_int_equal(m.stories.at[1].asked, 500);
	assert_int_equal(m.stories.at[2].refusals, 2);
	assert_int_equal(m.stories.at[2].asked, 650);
	assert_int_equal(m.stories.at[2].outcome, MEMORY_FAILED);
	assert_null(m.stories.at[3].first);
	assert_int_equal(m.devices[0].out_of_memory, 3);
	assert_int_equal(m.devices[0].retries, 1);
	assert_ptr_equal(memory_story_of(&m, run.traces[0], &run.traces[0]->calls[3]), &m.stories.at[2]);
	assert_null(memory_story_of(&m, run.traces[0], &run.traces[0]->calls[2]));
	memory_free(&m);
	teardown();
}

/* 200,000 times refused: seconds would mean that each looks at all of them. The last eight keep their map; of the others it is left out, and of
 * one on a device that nobody names there is none. */
static void test_many_refusals(void **state)
{
	enum { N = 200000, KEPT = 8 };
	struct memory m;
	struct error e;

	(void)state;
	setup(1);
	free(processes[0].trace.memory.blocks);
	processes[0].trace.memory.blocks = calloc(N + 1, sizeof(struct block_event));
	assert_non_null(processes[0].trace.memory.blocks);
	call(0, HOOK_ALLOC, 10, 5000, 100);
	for (int64_t i = 0; i < N; i++)
		block(0, GST_BLOCK_REFUSED, 100 + i, 0, 200);
	block(0, GST_BLOCK_REFUSED, 100 + N, 0, 200)->device = 0xffff;
	assert_int_equal(memory_build(&m, &run, &e), ERR_NONE);
	assert_int_equal(m.stories.n, N + 1);
	assert_int_equal(m.devices[0].out_of_memory, N);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(m.stories.at[i].device, 0);
		assert_int_equal(m.stories.at[i].n_pieces, i + KEPT >= N);
		assert_int_equal(m.stories.at[i].pieces_left_out, i + KEPT < N);
		assert_int_equal(m.stories.at[i].at.reserved, 100);
	}
	assert_int_equal(m.stories.at[N].device, MEMORY_NOWHERE);
	assert_int_equal(m.stories.at[N].at.reserved, 0);
	assert_null(m.stories.at[N].pieces);
	memory_free(&m);
	teardown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_whose_story),
		cmocka_unit_test(test_many_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
