/* SPDX-License-Identifier: BSD-2-Clause */
/* Which task is which recorded thread: numbers are used again, name spaces have their own, clocks are a machine's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/host_match.h"
#include "tests/support/gst_text.h"

/* Times of the text begin a second after the clock's zero; a text's process began 10 ms before its file does. */
#define US(t) (1000000000 + (int64_t)((t)*1000))
#define HOSTS 5

struct watched {
	struct gst_text text;
	struct trace *trace; /* the only process */
	struct host_trace *hosts[HOSTS];
	size_t n;
};

static struct watched watch(const char *lines)
{
	struct watched w = { 0 };
	char error[256];
	struct error e;

	if (!gst_text_parse(&w.text, lines, error))
		fail_msg("%s", error);
	for (size_t i = 0; i < w.text.n; i++) {
		struct gst_image *image = &w.text.files[i].image;

		if (gst_image_header(image)->kind == GST_FILE_HOST)
			assert_int_equal(host_trace_open_mem(&w.hosts[w.n++], image->bytes, image->len, "h", &e),
					 ERR_NONE);
		else
			assert_int_equal(trace_open_mem(&w.trace, image->bytes, image->len, "p", &e), ERR_NONE);
	}
	return w;
}

static void done(struct watched *w)
{
	trace_free(w->trace);
	for (size_t i = 0; i < w->n; i++)
		host_trace_free(w->hosts[i]);
	gst_text_free(&w->text);
}

static struct host_match match(const struct watched *w, uint32_t tid, double at_us)
{
	return host_match_find(w->hosts, w->n, w->trace, tid, US(at_us));
}

#define PROCESS "process 100 end=9ms exited=1\nthread 100\nother t=0us..9ms\n"

static void test_a_thread_by_its_numbers(void **state)
{
	struct watched w = watch(PROCESS "host 100 end=9ms\ntask 100 t=0us flags=root,there name=main start=0us\n"
					 "task 101 pid=100 t=1ms name=pin start=0us\ntask-end 101 t=3ms\n"
					 "task 200 t=1ms name=other start=0us\n");

	(void)state;
	assert_string_equal(match(&w, 100, 5000).task->name, "main");
	assert_string_equal(match(&w, 100, -500).task->name, "main"); /* there before it was seen */
	assert_string_equal(match(&w, 101, 2000).task->name, "pin");
	assert_ptr_equal(match(&w, 101, 2000).host, w.hosts[0]);
	assert_string_equal(match(&w, 101, 500).task->name, "pin"); /* within what its birth may be late */
	assert_null(match(&w, 101, -500).task);
	assert_null(match(&w, 101, 5000).task);                  /* it had ended */
	assert_ptr_equal(match(&w, 101, 5000).host, w.hosts[0]); /* … but its process was watched */
	assert_null(match(&w, 200, 2000).task);                  /* another process's */
	assert_null(match(&w, 0, 2000).task);
	assert_ptr_equal(host_match_process(w.hosts, w.n, w.trace), w.hosts[0]);
	done(&w);
}

/* A collector outside sees other numbers than the process does. */
static void test_a_name_space_of_its_own(void **state)
{
	struct watched w = watch(
		PROCESS
		"host 5000 end=9ms\ntask 5000 t=0us own=100 own-pid=100 ns=7 flags=root,there name=main start=0us\n"
		"task 100 t=0us own=100 own-pid=100 ns=1 start=500ms name=namesake\n"
		"task 5001 pid=5000 own=101 own-pid=100 t=1ms ns=7 name=pin start=0us\n");

	(void)state;
	assert_string_equal(match(&w, 100, 5000).task->name, "main");
	assert_string_equal(match(&w, 101, 5000).task->name, "pin");
	assert_null(match(&w, 5001, 5000).task);
	done(&w);
}

/* Two containers of the same image start at the same time: both have a process 100. */
static void test_what_fits_twice_is_none(void **state)
{
	struct watched w = watch(
		PROCESS "host 5000 end=9ms\ntask 5000 t=0us own=100 own-pid=100 ns=7 flags=there name=one start=0us\n"
			"task 6000 t=0us own=100 own-pid=100 ns=8 flags=there name=two start=3ms\n"
			"host 7000 end=9ms\ntask 5000 t=0us own=100 own-pid=100 ns=7 flags=there name=one start=0us\n"
			"task 6000 t=0us own=100 own-pid=100 ns=8 flags=there name=two start=9.9ms\n"
			"task 8000 t=0us own=200 own-pid=200 ns=8 flags=there name=x start=0us\n"
			"host 8000 end=9ms\ntask 5000 t=0us own=100 own-pid=100 ns=7 flags=there name=one start=0us\n"
			"task 6000 t=0us own=100 own-pid=100 ns=8 flags=there name=two start=10ms\n");

	(void)state;
	/* the process began 10 ms before, in steps of 10 ms: the starts are 10 and 13 ms, 10 and 19.9 ms, 10 and 20 ms off */
	assert_null(host_match_find(&w.hosts[0], 1, w.trace, 100, US(5000)).task);
	assert_null(host_match_process(&w.hosts[0], 1, w.trace));
	assert_null(host_match_find(&w.hosts[1], 1, w.trace, 100, US(5000)).task);
	assert_string_equal(host_match_find(&w.hosts[2], 1, w.trace, 100, US(5000)).task->name, "one");
	done(&w);
}

#define IN_NS_7 "process 100 pid-ns=7 end=9ms exited=1\nthread 100\nother t=0us..9ms\n"
#define ONE "task 5000 t=0us own=100 own-pid=100 ns=7 flags=there name=one start=0us\n"
#define TWO "task 6000 t=0us own=100 own-pid=100 ns=8 flags=there name=two start=0us\n"

/* … and where the process says in which name space it was, that settles it, whatever /proc says of its start. */
static void test_the_name_space_settles_it(void **state)
{
	struct watched w =
		watch(IN_NS_7 "host 5000 end=9ms\n" ONE TWO "host 7000 end=9ms\n" TWO
			      /* of one nothing is known: it is less than what is proven */
			      "host 8000 end=9ms\ntask 4000 t=0us own=100 own-pid=100 ns=0 flags=there name=zero\n" ONE
			      "host 9000 end=9ms pid-ns=7\ntask 100 t=0us own=0 own-pid=0 ns=0 flags=there name=near\n"
			      "host 9100 end=9ms pid-ns=8\ntask 100 t=0us own=0 own-pid=0 ns=0 flags=there name=far\n");

	(void)state;
	assert_string_equal(host_match_find(&w.hosts[0], 1, w.trace, 100, US(5000)).task->name, "one");
	assert_null(host_match_find(&w.hosts[1], 1, w.trace, 100, US(5000)).task);
	assert_null(host_match_process(&w.hosts[1], 1, w.trace));
	assert_string_equal(host_match_find(&w.hosts[2], 1, w.trace, 100, US(5000)).task->name, "one");
	assert_string_equal(host_match_find(&w.hosts[3], 1, w.trace, 100, US(5000)).task->name,
			    "near"); /* the collector's own */
	assert_null(host_match_find(&w.hosts[4], 1, w.trace, 100, US(5000)).task);
	done(&w);
}

/* Each container has a collector of its own: what one file says fits as well as what the other does. */
static void test_what_fits_in_two_files_is_none(void **state)
{
	struct watched w =
		watch(PROCESS "host 5000 end=9ms host=a real=1000s\n" ONE "host 6000 end=9ms host=b real=1000s\n" TWO
			      "host 5000 end=9ms host=a real=1000s how=proc\n" ONE);
	struct host_trace *same[] = { w.hosts[2], w.hosts[0] };

	(void)state;
	w.trace->header.start_real_ns = w.hosts[0]->header.start_real_ns; /* on that machine */
	assert_string_equal(host_match_find(w.hosts, 1, w.trace, 100, US(5000)).task->name, "one");
	assert_string_equal(host_match_find(w.hosts + 1, 1, w.trace, 100, US(5000)).task->name, "two");
	assert_null(host_match_find(w.hosts, 2, w.trace, 100, US(5000)).task);
	assert_null(host_match_find(w.hosts, 2, w.trace, 100, US(5000)).host);
	assert_null(host_match_process(w.hosts, 2, w.trace));
	assert_ptr_equal(host_match_find(same, 2, w.trace, 100, US(5000)).host,
			 w.hosts[0]); /* two files of one process */
	w.trace->header.pid_ns = 8;
	assert_string_equal(host_match_find(w.hosts, 3, w.trace, 100, US(5000)).task->name, "two");
	done(&w);
}

/* Old files do not know name spaces: two collectors on hosts of two names may have watched two processes. */
static void test_files_that_know_no_name_space(void **state)
{
#define NO_NS "task 100 t=0us ns=0 flags=there name=x start=0us\n"
	struct watched w =
		watch(PROCESS "host 100 end=9ms host=a real=1000s\n" NO_NS "host 100 end=9ms host=b real=1000s\n" NO_NS
			      "host 100 end=9ms host=a real=1000s how=proc\n" NO_NS);
	struct host_trace *same[] = { w.hosts[2], w.hosts[0] };

	(void)state;
	w.trace->header.start_real_ns = w.hosts[0]->header.start_real_ns;
	assert_null(host_match_find(w.hosts, 2, w.trace, 100, US(5000)).task);
	assert_ptr_equal(host_match_find(same, 2, w.trace, 100, US(5000)).host, w.hosts[0]);
	done(&w);
}

/* A run's host probes are not another run's, though they may have looked at the same numbers. */
static void test_another_run(void **state)
{
	struct watched w = watch("process 100 run=a end=9ms exited=1\nthread 100\nother t=0us..9ms\n"
				 "host 100 run=b end=9ms\ntask 100 t=0us flags=there start=0us\n"
				 "host 100 end=9ms\ntask 100 t=0us flags=there start=0us\n");

	(void)state;
	assert_null(host_match_find(w.hosts, 1, w.trace, 100, US(5000)).task);
	assert_null(host_match_process(w.hosts, 1, w.trace));
	assert_non_null(host_match_find(w.hosts + 1, 1, w.trace, 100, US(5000)).task);
	done(&w);
}

static void test_a_process_that_began_at_another_time_is_another(void **state)
{
	struct watched w = watch(PROCESS "host 100 end=9ms\ntask 100 t=0us flags=root,there start=11ms\n");

	(void)state;
	assert_null(match(&w, 100, 5000).task);
	assert_null(match(&w, 100, 5000).host);
	done(&w);
}

static void test_a_number_that_comes_again(void **state)
{
	struct watched w = watch(PROCESS "host 100 end=9ms\ntask 100 t=0us flags=root,there start=0us\n"
					 "task 101 pid=100 t=1ms name=first\ntask-end 101 t=2ms\n"
					 "task 101 pid=100 t=6ms name=second\n"
					 "task 102 pid=100 own=101 t=4ms name=third\ntask-end 102 t=5ms\n");

	(void)state;
	assert_string_equal(match(&w, 101, 1500).task->name, "first");
	assert_string_equal(match(&w, 101, 7000).task->name, "second");
	done(&w);
}

/* One collector by looks at /proc, one by eBPF that came later: exact times first, but what was not watched yet is the other's. */
static void test_the_one_that_knows_most(void **state)
{
	struct watched w =
		watch(PROCESS "host 100 end=9ms how=proc\ntask 100 t=0us flags=root,there name=looked start=0us\n"
			      "host 100 start=4ms end=9ms how=ebpf\ntask 100 t=4ms flags=root,there name=traced\n");

	(void)state;
	assert_string_equal(match(&w, 100, 2000).task->name, "looked");
	assert_string_equal(match(&w, 100, 5000).task->name, "traced");
	assert_int_equal(host_match_process(w.hosts, w.n, w.trace)->probes.how, GST_PROBES_EBPF);
	done(&w);
}

/* Numbers and times of another machine mean nothing here; containers have other names, but their machine's clocks. */
static void test_another_machine(void **state)
{
#define HERE "process 100 host=here end=9ms exited=1 real=1000s\nthread 100\nother t=0us..9ms\n"
#define TASK "task 100 t=0us flags=root,there start=0us\n"
	static const struct {
		const char *host;
		bool same;
	} cases[] = {
		{ HERE "host 100 host=here end=9ms real=1000s\n" TASK, true },
		{ HERE "host 100 host=here end=9ms real=1000.5s\n" TASK, true },
		{ HERE "host 100 host=here end=9ms real=2000s\n" TASK, false },
		{ HERE "host 100 host=there end=9ms real=1000.5s\n" TASK, false },
		{ HERE "host 100 host=there end=9ms real=1000.004s\n" TASK, true },
		{ HERE "host 100 host=there end=9ms real=1000.006s\n" TASK, false },
		{ HERE "host 100 host=there end=9ms\n" TASK, false },
		{ HERE "host 100 host=here end=9ms\n" TASK, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct watched w = watch(cases[i].host);

		assert_int_equal(match(&w, 100, 5000).task != NULL, cases[i].same);
		assert_int_equal(match(&w, 100, 5000).host != NULL, cases[i].same);
		done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thread_by_its_numbers),
		cmocka_unit_test(test_a_name_space_of_its_own),
		cmocka_unit_test(test_what_fits_twice_is_none),
		cmocka_unit_test(test_the_name_space_settles_it),
		cmocka_unit_test(test_what_fits_in_two_files_is_none),
		cmocka_unit_test(test_files_that_know_no_name_space),
		cmocka_unit_test(test_another_run),
		cmocka_unit_test(test_a_process_that_began_at_another_time_is_another),
		cmocka_unit_test(test_a_number_that_comes_again),
		cmocka_unit_test(test_the_one_that_knows_most),
		cmocka_unit_test(test_another_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
