/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory, counts, losses and our own cost, from traces written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "summary/summary.h"
#include "tests/support/gst_text.h"

struct built {
	struct gst_text text;
	struct trace *traces[4];
	struct run run;
	struct timeline timeline;
	struct summary summary;
};

static struct built b;

static const struct summary *build(const char *text)
{
	char error[256];
	struct error e;

	memset(&b, 0, sizeof(b));
	if (!gst_text_parse(&b.text, text, error))
		fail_msg("%s", error);
	for (size_t i = 0; i < b.text.n; i++)
		assert_int_equal(trace_open_mem(&b.traces[i], b.text.files[i].image.bytes, b.text.files[i].image.len,
						b.text.files[i].name, &e),
				 ERR_NONE);
	b.run = (struct run){ .traces = b.traces, .n_traces = b.text.n, .count = 1 };
	assert_int_equal(timeline_build(&b.timeline, &b.run, &e), ERR_NONE);
	assert_int_equal(summary_build(&b.summary, &b.timeline, &e), ERR_NONE);
	return &b.summary;
}

static int finish(void **state)
{
	(void)state;
	summary_free(&b.summary);
	timeline_free(&b.timeline);
	for (size_t i = 0; i < b.text.n; i++)
		trace_free(b.traces[i]);
	gst_text_free(&b.text);
	return 0;
}

#define PROCESS "process 100 exited=1 end=30ms\nthread 10 main\ndevice 0\nstream 1\n"
#define WORK "launch t=1ms..1010us stream=1 seq=1 kernel=k\nsync-stream t=1020us..2ms stream=1 seq=1\n"

static void test_peak_memory(void **state)
{
	const struct summary *s = build(PROCESS WORK "alloc t=3ms..4ms device=0 pointer=4096 bytes=1000\n"
						     "alloc t=5ms..6ms device=0 pointer=8192 bytes=500\n"
						     "free t=7ms..8ms device=0 pointer=4096\n"
						     "alloc t=9ms..10ms device=0 pointer=4096 bytes=200\n");

	(void)state;
	assert_int_equal(s->n_devices, 1);
	assert_int_equal(s->devices[0].memory->peak_allocated, 1500);
	assert_int_equal(s->devices[0].memory->peak_reserved, 1500);
	assert_int_equal(s->devices[0].memory->out_of_memory, 0);
}

static void test_memory_that_cannot_be(void **state)
{
	const struct summary *s =
		build(PROCESS WORK "alloc t=3ms..4ms device=0 pointer=4096 bytes=18446744073709551615\n"
				   "alloc t=4ms..5ms device=0 pointer=4096 bytes=10\n" /* twice the same */
				   "alloc t=5ms..6ms device=0 pointer=4096 bytes=20\n"
				   "free t=7ms..8ms device=0 pointer=77\n"
				   "alloc t=9ms..10ms device=0 pointer=0 bytes=50 result=2\n");

	(void)state;
	assert_int_equal(s->devices[0].memory->peak_allocated, 20);
	assert_int_equal(s->devices[0].memory->out_of_memory, 1);
}

static uint64_t calls_of(const struct summary *s, const char *name)
{
	for (size_t i = 0; i < s->n_calls; i++) {
		if (strcmp(s->calls[i].name, name) == 0)
			return s->calls[i].n;
	}
	return 0;
}

static void test_calls_are_counted_over_processes(void **state)
{
	const struct summary *s =
		build(PROCESS WORK "process 200 exited=1 end=30ms\nthread 10 main\ndevice 0\nstream 1\n" WORK);

	(void)state;
	assert_int_equal(calls_of(s, "cuLaunchKernel"), 2);
	assert_int_equal(calls_of(s, "cuStreamSynchronize"), 2);
	assert_int_equal(s->n_calls, 2);
	assert_int_equal(s->self.calls, 4);
	assert_int_equal(s->n_devices, 1);
	assert_string_equal(s->device_timing, "edges");
	assert_int_equal(s->running + s->cut + s->unknown, 0);
}

static void test_losses(void **state)
{
	const struct summary *s = build(PROCESS "drop 3\n" WORK);

	(void)state;
	assert_int_equal(s->records_dropped, 3);
}

static void test_the_coarsest_level_counts(void **state)
{
	const struct summary *s = build("process 100 level=host\nthread 10 main\ndevice 0\nstream 1\n" WORK
					"process 200\nthread 10 main\ndevice 0\nstream 1\n" WORK);

	(void)state;
	assert_string_equal(s->device_timing, "host");
	assert_int_equal(s->unknown, 2);
}

static void test_no_device_work(void **state)
{
	const struct summary *s = build("process 100 exited=1\nthread 10 main\nalloc t=1ms..2ms pointer=1 bytes=1\n");
	size_t n = 5;
	size_t *longest = summary_longest(s, &n);

	(void)state;
	assert_int_equal(s->n_devices, 0);
	assert_non_null(longest);
	assert_int_equal(n, 0);
	assert_null(summary_gap(s, 0, NULL));
	free(longest);
}

static void test_longest_gaps_first(void **state)
{
	const struct summary *s = build(PROCESS WORK "launch t=4ms..4010us stream=1 seq=2 kernel=k\n"
						     "sync-stream t=4020us..5ms stream=1 seq=2\n"
						     "launch t=15ms..15010us stream=1 seq=3 kernel=k\n"
						     "sync-stream t=15020us..16ms stream=1 seq=3\n");
	size_t n = 1;
	size_t *longest = summary_longest(s, &n);

	(void)state;
	assert_int_equal(s->n_gaps, 2);
	assert_int_equal(n, 1);
	assert_int_equal(longest[0], 1);
	free(longest);
}

#define TEST(name) cmocka_unit_test_teardown(name, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_peak_memory),
		TEST(test_memory_that_cannot_be),
		TEST(test_calls_are_counted_over_processes),
		TEST(test_losses),
		TEST(test_the_coarsest_level_counts),
		TEST(test_no_device_work),
		TEST(test_longest_gaps_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
