/* SPDX-License-Identifier: BSD-2-Clause */
/* Which writes of a walk are saving, by how much they write, when, and what flushes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/chain_asked.h"

static void test_a_write_that_is_flushed_later_is_part_of_saving(void **state)
{
	struct chain_step leaves[2];
	struct host_wait both[2];
	struct chain_segment two[2] = { { .begin_ns = 0, .end_ns = 1, .steps = &leaves[0], .n_steps = 1 },
					{ .begin_ns = 1, .end_ns = 2, .steps = &leaves[1], .n_steps = 1 } };
	struct chain whole = { .at = two, .n = 2 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	for (int i = 0; i < 2; i++) {
		both[i] = (struct host_wait){
			.what = { .syscall = -2, .file = "/out/x", .inode = 5, .dev = 1, .bytes = 100 }
		};
		leaves[i] = (struct chain_step){ .task = &tasks[MAIN],
						 .state = i ? CHAIN_FLUSH : CHAIN_FILE_WRITE,
						 .wait = &both[i] };
	}
	assert_int_equal(cause_in(&two[0], &about), CAUSE_checkpoint);
	both[1].what.inode = 6;
	assert_int_equal(cause_in(&two[0], &about), CAUSE_output_io);
}

/* Three writes; the second and the third are behind the copy. */
static void test_what_is_saved_of_a_copy(void **state)
{
	struct chain_step leaves[3];
	struct host_wait all[3];
	struct chain_segment three[3];
	struct chain whole = { .at = three, .n = 3 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = 1 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		all[i] = (struct host_wait){ .what = { .syscall = 1,
						       .file = "/out/x",
						       .inode = 5,
						       .bytes = 1 << 19,
						       .offset = (uint64_t)i << 19 } };
		leaves[i] = (struct chain_step){ .task = &tasks[MAIN], .state = CHAIN_FILE_WRITE, .wait = &all[i] };
		three[i] = (struct chain_segment){ .begin_ns = i, .end_ns = i + 1, .steps = &leaves[i], .n_steps = 1 };
	}
	assert_int_equal(cause_in(&three[0], &about), CAUSE_output_io);
	assert_int_equal(cause_in(&three[1], &about), CAUSE_checkpoint);
	assert_int_equal(cause_in(&three[2], &about), CAUSE_checkpoint);
	all[2].what.bytes--;
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
	all[2].what.bytes++;
	leaves[2].wait = &all[1]; /* one write in two segments counts once */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
	leaves[2].wait = &all[2];
	all[2].what.offset = all[1].what.offset; /* two waits of one write, too */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
	all[1].what.offset = all[2].what.offset = UINT64_MAX; /* where that is not known, they may be two */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_checkpoint);
	all[1].what.offset = 1 << 19;
	all[2].what.offset = 2 << 19;
	all[2].what.inode = 6; /* another file */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
	all[2].what.inode = 5;
	leaves[2].task = &tasks[PIN]; /* another thread */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_checkpoint);
	leaves[2].task = &tasks[WORKER]; /* another process */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
	about.copied_out_ns = INT64_MAX;
	leaves[2].task = &tasks[MAIN];
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
}

/* Five segments behind a copy at 10, of two sums of short waits in turn: each counts once, with what one call may have written. */
static void test_sums_of_what_is_saved_of_a_copy(void **state)
{
	struct host_stalls sums[2];
	struct chain_step leaves[5];
	struct chain_segment at[5];
	struct chain whole = { .at = at, .n = 5 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = 10 };

	(void)state;
	for (int i = 0; i < 2; i++)
		sums[i] = (struct host_stalls){
			.begin_ns = 10,
			.end_ns = 20,
			.count = 4,
			.last_offset = 3 << 17,
			.what = { .syscall = 1, .file = "/out/x", .inode = 5, .bytes = 1 << 19 }
		};
	for (int i = 0; i < 5; i++) {
		leaves[i] =
			(struct chain_step){ .task = &tasks[MAIN], .state = CHAIN_FILE_WRITE, .stalls = &sums[i % 2] };
		at[i] = (struct chain_segment){
			.begin_ns = 10 + i, .end_ns = 11 + i, .steps = &leaves[i], .n_steps = 1
		};
	}
	assert_int_equal(cause_in(&at[4], &about), CAUSE_checkpoint);
	sums[1].what.bytes--; /* 1 MiB is not reached, though A stands there three times */
	sums[1].last_offset--;
	assert_int_equal(cause_in(&at[4], &about), CAUSE_output_io);
	sums[1].what.bytes++;
	sums[1].last_offset++;
	sums[1].begin_ns = 9; /* how much of it came before the copy is not known */
	assert_int_equal(cause_in(&at[4], &about), CAUSE_output_io);
	sums[1].begin_ns = 10;
	sums[1].last_offset = 0; /* one call's four waits */
	assert_int_equal(cause_in(&at[4], &about), CAUSE_output_io);
}

/* On a CPU in write: saving, where it is much or is flushed; else computing. What comes before that is computing. */
static void test_filling_pages_of_a_file(void **state)
{
	struct host_written written = { .what = { .syscall = -2, .offset = UINT64_MAX, .inode = 7, .bytes = 1 << 20 } };
	struct host_wait flush = { .what = { .syscall = -2, .offset = UINT64_MAX, .inode = 7 } };
	struct chain_step leaves[3] = {
		{ .task = &tasks[MAIN], .state = CHAIN_ON_CPU },
		{ .task = &tasks[MAIN], .state = CHAIN_FILE_WRITE, .written = &written },
		{ .task = &tasks[MAIN], .state = CHAIN_ON_CPU },
	};
	struct chain_segment at[3];
	struct chain whole = { .at = at, .n = 3 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	for (int i = 0; i < 3; i++)
		at[i] = (struct chain_segment){
			.begin_ns = i * MS, .end_ns = (i + 1) * MS, .steps = &leaves[i], .n_steps = 1
		};
	assert_int_equal(cause_in(&at[1], &about), CAUSE_checkpoint);
	written.what.bytes--;
	assert_int_equal(cause_in(&at[1], &about), CAUSE_host_compute);
	leaves[2].state = CHAIN_FLUSH;
	leaves[2].wait = &flush;
	assert_int_equal(cause_in(&at[1], &about), CAUSE_checkpoint);
	assert_int_equal(between_in(&at[0], &about), CAUSE_unexplained);
	assert_int_equal(cause_in(&at[0], &about), CAUSE_host_compute);
	flush.what.inode = 8; /* another file's */
	assert_int_equal(cause_in(&at[1], &about), CAUSE_host_compute);
}

static void test_making_a_file_that_is_saved(void **state)
{
	struct host_wait waits_of[2] = { { .what = { .syscall = 257, .offset = UINT64_MAX } },
					 { .what = { .syscall = 74, .inode = 7 } } };
	struct chain_step leaves[2] = { { .task = &tasks[MAIN], .state = CHAIN_FILE_READ, .wait = &waits_of[0] },
					{ .task = &tasks[MAIN], .state = CHAIN_FLUSH, .wait = &waits_of[1] } };
	struct chain_segment at[2] = { { .end_ns = 1, .steps = &leaves[0], .n_steps = 1 },
				       { .begin_ns = 1, .end_ns = 2, .steps = &leaves[1], .n_steps = 1 } };
	struct chain whole = { .at = at, .n = 2 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	assert_int_equal(cause_in(&at[0], &about), CAUSE_checkpoint);
	leaves[1].task = &tasks[PIN];
	assert_int_equal(cause_in(&at[0], &about), CAUSE_input_storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_write_that_is_flushed_later_is_part_of_saving),
		cmocka_unit_test(test_what_is_saved_of_a_copy),
		cmocka_unit_test(test_sums_of_what_is_saved_of_a_copy),
		cmocka_unit_test(test_filling_pages_of_a_file),
		cmocka_unit_test(test_making_a_file_that_is_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
