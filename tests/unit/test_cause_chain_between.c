/* SPDX-License-Identifier: BSD-2-Clause */
/* A little computing between two waits belongs to what was waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/chain_asked.h"

/* Faults, 50 us of computing, faults; and what is saved, with more computing in between than waiting. */
static void test_what_lies_between_two_waits_for_one_thing(void **state)
{
	struct host_wait wait = { .what = { .syscall = -2, .offset = UINT64_MAX, .inode = 7, .file = "/out/x" } };
	struct chain_step leaves[4];
	struct chain_segment at[4];
	struct chain whole = { .at = at, .n = 4 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	for (int i = 0; i < 4; i++) {
		leaves[i] = (struct chain_step){ .task = &tasks[MAIN], .state = CHAIN_SWAP };
		at[i] = (struct chain_segment){
			.begin_ns = i * 50000, .end_ns = (i + 1) * 50000, .steps = &leaves[i], .n_steps = 1
		};
	}
	leaves[1].state = CHAIN_ON_CPU;
	leaves[2].state = CHAIN_QUEUED; /* is passed over */
	assert_int_equal(between_in(&at[1], &about), CAUSE_memory_stall);
	at[1].end_ns = at[1].begin_ns + 200001;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	at[1].end_ns = at[1].begin_ns + 100000;
	leaves[0].state = CHAIN_FILE_READ;
	leaves[0].wait = &wait;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	leaves[3].state = CHAIN_FILE_READ; /* decoding between two reads is decoding */
	leaves[3].wait = &wait;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	leaves[3].state = CHAIN_FLUSH;
	leaves[0].state = CHAIN_FILE_WRITE;
	assert_int_equal(between_in(&at[1], &about), CAUSE_checkpoint);
	at[1].end_ns++;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	at[1].end_ns--;
	leaves[3].task = &tasks[PIN];
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	assert_int_equal(between_in(&at[0], &about), CAUSE_unexplained); /* the first, and the last */
	assert_int_equal(between_in(&at[3], &about), CAUSE_unexplained);
}

/* 50 us of computing between two writes into a pipe: before the first of them went on it had a reader to wait for, 20 us of that at its end. */
static void test_what_lies_between_two_waits_for_a_reader(void **state)
{
	struct chain_step first[2] = {
		{ .task = &tasks[MAIN], .state = CHAIN_PIPE_WRITE, .begin_ns = 10000, .end_ns = 50000 },
		{ .task = &tasks[PIN], .state = CHAIN_ON_CPU, .begin_ns = 30000, .end_ns = 50000 }
	};
	struct chain_step computes = { .task = &tasks[MAIN], .state = CHAIN_ON_CPU },
			  last = { .task = &tasks[MAIN], .state = CHAIN_PIPE_WRITE };
	struct chain_segment at[] = { { .begin_ns = 30000, .end_ns = 50000, .steps = first, .n_steps = 2 },
				      { .begin_ns = 50000, .end_ns = 100000, .steps = &computes, .n_steps = 1 },
				      { .begin_ns = 100000, .end_ns = 110000, .steps = &last, .n_steps = 1 } };
	struct chain whole = { .at = at, .n = 3 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	assert_int_equal(between_in(&at[1], &about), CAUSE_output_io);
	at[1].end_ns++;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	at[1].end_ns--;
	first[0].task = &tasks[PIN]; /* another thread's wait */
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	first[0].task = &tasks[MAIN];
	first[0].state = CHAIN_PIPE_READ;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
}

/* 0.1 ms of computing, and 0.2 ms in a flush of file 7, which writes so many bytes; 0: no request is on record. */
static enum cause_id before_a_flush(uint32_t bytes, int64_t copied_out_ns)
{
	struct host_wait flush = { .what = { .syscall = 74, .offset = UINT64_MAX, .inode = 7 } };
	struct host_request request = { .done_ns = 250000, .inode = 7, .task = HOST_NOBODY, .bytes = bytes };
	struct host_trace disk = host;
	struct chain_step leaves[2] = { { .task = &tasks[MAIN], .state = CHAIN_ON_CPU },
					{ .task = &tasks[MAIN], .state = CHAIN_FLUSH, .wait = &flush } };
	struct chain_segment at[2] = { { .end_ns = 100000, .steps = &leaves[0], .n_steps = 1 },
				       { .begin_ns = 100000, .end_ns = 300000, .steps = &leaves[1], .n_steps = 1 } };
	struct chain whole = { .at = at, .n = 2 };
	struct chain_about about = { .host = &disk, .whole = &whole, .copied_out_ns = copied_out_ns };

	disk.requests = &request;
	disk.n_requests = bytes > 0;
	return between_in(&at[0], &about);
}

static void test_what_is_computed_before_a_flush_is_writing_as_far_as_that_was_much(void **state)
{
	(void)state;
	assert_int_equal(before_a_flush(1 << 20, INT64_MAX), CAUSE_checkpoint);
	assert_int_equal(before_a_flush(50000, INT64_MAX), CAUSE_checkpoint); /* 2 ns for a byte */
	assert_int_equal(before_a_flush(49999, INT64_MAX), CAUSE_unexplained);
	assert_int_equal(before_a_flush(4096, 0), CAUSE_unexplained); /* a line of a log, whatever was copied */
	assert_int_equal(before_a_flush(0, INT64_MAX), CAUSE_unexplained);
	assert_int_equal(before_a_flush(0, 0), CAUSE_checkpoint); /* nobody knows how much: it had something to save */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_lies_between_two_waits_for_one_thing),
		cmocka_unit_test(test_what_lies_between_two_waits_for_a_reader),
		cmocka_unit_test(test_what_is_computed_before_a_flush_is_writing_as_far_as_that_was_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
