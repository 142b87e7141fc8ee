/* SPDX-License-Identifier: BSD-2-Clause */
/* Several imported traces of one rank: which are windows of one process, what is compared, whose clock it is, and what is said of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"
#include "run/run_windows.h"
#include "tests/support/failing_alloc.h"
#include "trace/same_clock.h"

#define MAX 8
#define EPOCH 1700000000000000000u
#define UNSAID GST_NONE

#define TAKEN "taken for windows of one process, each is shown by itself"
#define EACH_TAKEN "those of each are " TAKEN
#define APART                                                                                                                                 \
	"a rank has several traces of one time, as of several jobs, or several within one of another rank: collectives of that time are not " \
	"compared between ranks"

static struct trace traces[MAX];
static struct imported imported[MAX];
static struct measured work;
static struct trace *list[MAX];
static char paths[MAX][16];
static struct run run;

/* Each in a file of its own, with a clock of its own. Times from `base`, in ms. */
static struct trace *add(uint32_t rank, uint32_t pid, const char *host, uint64_t base, int64_t begin_ms, int64_t end_ms)
{
	size_t i = run.n_traces++;
	struct trace *t = &traces[i];

	imported[i] = (struct imported){ .rank = rank, .ranks = rank == UNSAID ? GST_NONE : 8 };
	*t = (struct trace){ .begin_ns = begin_ms * 1000000, .end_ns = end_ms * 1000000, .imported = &imported[i] };
	snprintf(paths[i], sizeof(paths[i]), "%zu.json", i);
	t->path = paths[i];
	t->measured = &work;
	t->n_measured = 1;
	t->header.pid = pid;
	t->header.clock = CLOCK_OF_IMPORT;
	t->header.pid_ns = 100 + i;
	t->header.start_mono_ns = (uint64_t)t->begin_ns;
	t->header.start_real_ns = base ? base + (uint64_t)t->begin_ns : 0;
	snprintf(t->header.host, sizeof(t->header.host), "%s", host);
	list[i] = t;
	run.traces = list;
	return t;
}

static int forget(void **state)
{
	(void)state;
	fail_at = 0;
	for (size_t i = 0; i < run.n_traces; i++) {
		for (size_t k = 0; k < imported[i].n_warnings; k++)
			free(imported[i].warnings[k]);
		free(imported[i].warnings);
	}
	run = (struct run){ 0 };
	return 0;
}

/* Of all traces, in their order. */
static void expect_windows(const uint32_t *want)
{
	assert_true(run_windows_find(&run));
	for (size_t i = 0; i < run.n_traces; i++)
		assert_int_equal(traces[i].imported->window, want[i]);
}

#define EXPECT_WINDOWS(...) expect_windows((const uint32_t[]){ __VA_ARGS__ })

static void expect_said(size_t trace, const char *want)
{
	size_t n = 0;

	for (size_t i = 0; i < run.n_traces; i++)
		n += imported[i].n_warnings;
	assert_int_equal(n, want ? 1 : 0);
	if (want)
		assert_string_equal(imported[trace].warnings[0], want);
}

static void expect_clocks(size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < run.n_traces; i++) {
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= same_clock(&traces[i].header, &traces[k].header);
		found += !again;
	}
	assert_int_equal(found, n);
}

/* Whatever their times: nothing is changed, and nothing said. */
static void one_trace_for_each_rank(void **state)
{
	(void)state;
	add(0, 100, "", EPOCH, 0, 10);
	add(1, 100, "", EPOCH, 5, 15);
	add(2, 100, "", EPOCH, 5000, 5010);
	add(UNSAID, 100, "", EPOCH, 0, 10);
	EXPECT_WINDOWS(0, 0, 0, 0);
	assert_int_equal(run.windowed, 0);
	assert_int_equal(run.windows_more, 0);
	expect_said(0, NULL);
	expect_clocks(4);
}

static void windows_of_a_rank(void **state)
{
	(void)state;
	add(3, 100, "", EPOCH, 0, 10);
	add(3, 100, "", EPOCH, 5000, 5010);
	add(3, 100, "", EPOCH, 9000, 9010);
	EXPECT_WINDOWS(0, 1, 2);
	assert_int_equal(run.windowed, 1);
	assert_int_equal(run.windows_more, 2);
	assert_false(run.windows_uneven);
	expect_said(0, "rank 3 has 3 traces, one after the other: " TAKEN);
	expect_clocks(1);
}

/* Where no rank is said. A host without a name may be the same. */
static void windows_of_a_process(void **state)
{
	(void)state;
	add(UNSAID, 25738, "", 0, 0, 10);
	add(UNSAID, 25738, "", 0, 20, 30);
	EXPECT_WINDOWS(0, 1);
	expect_said(0, "process 25738 has 2 traces, one after the other: " TAKEN);
	expect_clocks(2); /* nothing says what they are counted from */
	forget(state);
	add(UNSAID, 100, "a", EPOCH, 0, 10);
	add(UNSAID, 100, "b", EPOCH, 20, 30);
	EXPECT_WINDOWS(0, 0);
	expect_said(0, NULL);
	forget(state);
	add(UNSAID, 1, "", EPOCH, 0, 10); /* containers: no process is twice at one time */
	add(UNSAID, 1, "", EPOCH, 9, 30);
	EXPECT_WINDOWS(0, 0);
	expect_said(0, NULL);
	expect_clocks(2);
}

/* Those of a time are compared, by the time of day. */
static void windows_of_several_ranks(void **state)
{
	(void)state;
	add(0, 100, "", EPOCH, 0, 10);
	add(1, 100, "", EPOCH + 50, 2, 12);
	add(0, 100, "", EPOCH, 5000, 5010);
	add(1, 100, "", EPOCH + 50, 5002, 5012);
	EXPECT_WINDOWS(0, 0, 1, 1);
	assert_int_equal(run.windowed, 2);
	assert_false(run.windows_uneven);
	assert_int_equal(run.windows_more, 2);
	expect_said(0, "2 ranks have several traces each, one after the other: " EACH_TAKEN);
	expect_clocks(2);
}

static void not_all_ranks_in_each(void **state)
{
	(void)state;
	add(0, 100, "", EPOCH, 0, 10);
	add(0, 100, "", EPOCH, 5000, 5010);
	add(1, 100, "", EPOCH, 5002, 5012);
	EXPECT_WINDOWS(0, 1, 1);
	assert_true(run.windows_uneven);
	assert_int_equal(run.windowed, 1);
	expect_said(0, "rank 0 has 2 traces, one after the other: " TAKEN);
}

/* Then it is of several jobs, or copied. */
static void one_rank_twice_at_one_time(void **state)
{
	(void)state;
	add(0, 100, "a", EPOCH, 0, 10);
	add(0, 200, "a", EPOCH, 5, 15);
	add(1, 101, "a", EPOCH, 0, 10);
	add(1, 101, "a", EPOCH, 50, 60);
	assert_true(run_windows_find(&run));
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(imported[i].window, imported[k].window);
	assert_true(run.windows_uneven);
	assert_int_equal(run.windowed, 1);
	assert_string_equal(imported[0].warnings[0], APART);
	assert_string_equal(imported[2].warnings[0], "rank 1 has 2 traces, one after the other: " TAKEN);
}

static void two_within_one_of_another_rank(void **state)
{
	(void)state;
	add(0, 100, "", EPOCH, 0, 10);
	add(1, 100, "", EPOCH, 0, 100);
	add(0, 100, "", EPOCH, 50, 60);
	assert_true(run_windows_find(&run));
	assert_int_not_equal(imported[0].window, imported[1].window);
	assert_int_not_equal(imported[0].window, imported[2].window);
	assert_int_not_equal(imported[1].window, imported[2].window);
	assert_int_equal(imported[0].n_warnings, 2);
	assert_string_equal(imported[0].warnings[1], APART);
}

/* A rank that was begun again, elsewhere or with other times, is on a clock of its own. */
static void another_process_of_the_rank(void **state)
{
	(void)state;
	add(0, 100, "", EPOCH, 0, 10);
	add(0, 101, "", EPOCH, 20, 30);
	EXPECT_WINDOWS(0, 1);
	expect_said(0, "rank 0 has 2 traces, one after the other: each is shown by itself");
	assert_int_equal(run.windows_more, 0);
	expect_clocks(2);
	forget(state);
	add(0, 100, "", EPOCH, 0, 10);
	add(0, 100, "", EPOCH + 1, 20, 30);
	EXPECT_WINDOWS(0, 1);
	expect_clocks(2);
}

/* A file may hold several processes; those go with it. */
static void processes_of_one_file(void **state)
{
	(void)state;
	add(0, 100, "", EPOCH, 0, 10);
	add(0, 101, "", EPOCH, 1, 9)->path = paths[0];
	EXPECT_WINDOWS(0, 0);
	expect_said(0, NULL);
	traces[1].header.pid_ns = traces[0].header.pid_ns;
	add(0, 100, "", EPOCH, 50, 60);
	add(0, 101, "", EPOCH, 51, 59)->path = paths[2];
	traces[3].header.pid_ns = traces[2].header.pid_ns;
	EXPECT_WINDOWS(0, 0, 1, 1);
	assert_int_equal(run.windows_more, 2);
	assert_int_equal(imported[0].n_warnings, 1);
	expect_clocks(1);
}

/* Whatever the times of each: they are of one GPU, and on one clock. */
static void processes_of_one_file_are_one_window(void **state)
{
	(void)state;
	add(UNSAID, 100, "", EPOCH, 0, 0);
	add(UNSAID, 101, "", EPOCH, 20, 30)->path = paths[0];
	add(UNSAID, 100, "", EPOCH, 50, 60);
	EXPECT_WINDOWS(0, 0, 1);
	expect_said(0, "process 100 has 2 traces, one after the other: " TAKEN);
	forget(state);
	add(UNSAID, 100, "", EPOCH, 0, 0);
	add(UNSAID, 101, "", EPOCH, 0, 0)->path = paths[0];
	add(UNSAID, 100, "", EPOCH, 50, 60);
	EXPECT_WINDOWS(0, 0, 1);
}

/* A process of the one file is still there in the other's time. */
static void files_that_overlap_are_apart_by_file(void **state)
{
	(void)state;
	add(UNSAID, 100, "", EPOCH, 0, 10);
	add(UNSAID, 101, "", EPOCH, 0, 500)->path = paths[0];
	add(UNSAID, 100, "", EPOCH + 1, 50, 60);
	add(UNSAID, 102, "", EPOCH + 1, 51, 61)->path = paths[2];
	EXPECT_WINDOWS(0, 0, 1, 1);
	assert_int_equal(imported[0].n_warnings, 2);
	assert_string_equal(imported[0].warnings[1], APART);
}

static void ranks_only_where_all_are(void **state)
{
	(void)state;
	add(UNSAID, 100, "", EPOCH, 0, 10);
	add(3, 101, "", EPOCH, 1, 11);
	add(3, 101, "", EPOCH, 50, 60);
	assert_true(run_windows_find(&run));
	assert_true(run.windowed_ranks); /* the first of all traces is none of them */
	expect_said(1, "rank 3 has 2 traces, one after the other: " TAKEN);
	forget(state);
	add(3, 101, "", EPOCH, 0, 10);
	add(3, 101, "", EPOCH, 50, 60);
	add(UNSAID, 100, "", EPOCH, 0, 10);
	add(UNSAID, 100, "", EPOCH, 50, 60);
	assert_true(run_windows_find(&run));
	assert_false(run.windowed_ranks);
	expect_said(0, "2 processes have several traces each, one after the other: " EACH_TAKEN);
}

static void recordings_of_our_own(void **state)
{
	(void)state;
	add(0, 100, "a", EPOCH, 0, 10)->imported = NULL;
	add(0, 100, "a", EPOCH, 50, 60)->imported = NULL;
	assert_true(run_windows_find(&run));
	assert_int_equal(run.windowed, 0);
	assert_int_equal(trace_window(&traces[1]), 0);
}

static void no_memory(void **state)
{
	bool ok = false;
	long n = 0;

	while (!ok) {
		forget(state);
		add(0, 100, "", EPOCH, 0, 10);
		add(1, 100, "", EPOCH, 0, 100);
		add(0, 100, "", EPOCH, 50, 60);
		fail_at = ++n;
		ok = run_windows_find(&run) && fail_at > 0;
		fail_at = 0;
		assert_true(n < 100);
	}
	assert_true(n > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(one_trace_for_each_rank, forget),
		cmocka_unit_test_teardown(windows_of_a_rank, forget),
		cmocka_unit_test_teardown(windows_of_a_process, forget),
		cmocka_unit_test_teardown(windows_of_several_ranks, forget),
		cmocka_unit_test_teardown(not_all_ranks_in_each, forget),
		cmocka_unit_test_teardown(one_rank_twice_at_one_time, forget),
		cmocka_unit_test_teardown(two_within_one_of_another_rank, forget),
		cmocka_unit_test_teardown(another_process_of_the_rank, forget),
		cmocka_unit_test_teardown(processes_of_one_file, forget),
		cmocka_unit_test_teardown(processes_of_one_file_are_one_window, forget),
		cmocka_unit_test_teardown(files_that_overlap_are_apart_by_file, forget),
		cmocka_unit_test_teardown(ranks_only_where_all_are, forget),
		cmocka_unit_test_teardown(recordings_of_our_own, forget),
		cmocka_unit_test_teardown(no_memory, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
