/* SPDX-License-Identifier: BSD-2-Clause */
/* Records by the thread they are about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "chain/threads.h"

#define CALLERS 100
#define SEEN 300 /* threads that looks found: the callers among them */

/* Threads that only looks know stand between those that made calls, however many there are. */
static void threads_of_calls_and_of_looks(void **state)
{
	static struct call calls[CALLERS];
	static struct sample samples[SEEN];
	static const char *kernels[] = { "" };
	struct trace trace = { .calls = calls,
			       .n_calls = CALLERS,
			       .samples = samples,
			       .n_samples = SEEN,
			       .kernels = kernels,
			       .n_kernels = 1 };
	struct trace *traces[] = { &trace };
	struct run run = { .traces = traces, .n_traces = 1 };
	struct threads threads;
	const struct process_records *p;
	struct error e;

	(void)state;
	for (uint32_t i = 0; i < CALLERS; i++)
		calls[i] = (struct call){ .begin_ns = i, .end_ns = i + 1, .tid = 3 * i + 2, .family = GST_FAMILY_IPC };
	for (uint32_t i = 0; i < SEEN; i++)
		samples[i] = (struct sample){ .time_ns = i, .tid = SEEN - i };
	assert_int_equal(threads_build(&threads, &run, &e), ERR_NONE);
	assert_int_equal(threads.n_processes, 1);
	p = &threads.processes[0];
	assert_int_equal(p->n_threads, SEEN);
	for (uint32_t i = 0; i < SEEN; i++) {
		const struct thread_records *r = &p->threads[i];
		bool calls_too = r->tid % 3 == 2;

		assert_int_equal(r->tid, i + 1);
		assert_int_equal(r->n_samples, 1);
		assert_ptr_equal(r->samples[0], &samples[SEEN - 1 - i]);
		assert_int_equal(r->n_calls, calls_too);
		assert_int_equal(r->n_rare, calls_too);
		if (calls_too)
			assert_ptr_equal(r->calls[0], &calls[i / 3]);
	}
	threads_free(&threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_calls_and_of_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
