/* SPDX-License-Identifier: BSD-2-Clause */
/* Causes in another tool's trace: operators, calls of the operating system and a profiler's own work, and no samples. One gap of 10 ms each; every rule
 * fires once, and once must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cause/cause.h"
#include "gap/gap_view.h"
#include "import/import.h"
#include "tests/support/failing_alloc.h"

#define MS 1000000
#define US 1000

#define NAMES(NAME)                                                                  \
	NAME(NOTHING, "")                                                            \
	NAME(INDEX, "aten::index")                                                   \
	NAME(ADD, "aten::add_")                                                      \
	NAME(STEP, "Optimizer.step#SGD.step")                                        \
	NAME(TRAIN, "train.py(12): step")                                            \
	NAME(SINGLE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")  \
	NAME(MULTI, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__") \
	NAME(EITHER, "dataloader")                                                   \
	NAME(READ, "read")                                                           \
	NAME(PREAD, "pread64")                                                       \
	NAME(RECV, "recv")                                                           \
	NAME(USLEEP, "usleep")                                                       \
	NAME(FSYNC, "fsync")                                                         \
	NAME(WRITE, "write")                                                         \
	NAME(POLL, "poll")                                                           \
	NAME(COND, "pthread_cond_wait")                                              \
	NAME(MMAP, "mmap")                                                           \
	NAME(PREEMPTED, "preempted")                                                 \
	NAME(BLOCKED, "blocked")                                                     \
	NAME(FLUSH, "Buffer Flush")                                                  \
	NAME(LAZY, "Lazy Function Loading")                                          \
	NAME(WINDOW, "ProfilerStep#7")                                               \
	NAME(FULL, "Command Buffer Full")

enum name {
#define NAME(id, text) id,
	NAMES(NAME)
#undef NAME
};

static const char *names[] = {
#define NAME(id, text) text,
	NAMES(NAME)
#undef NAME
};

static struct world { /* one process, one device, one gap */
	struct trace trace;
	struct trace *traces[1];
	struct run run;
	struct device_timeline device;
	struct imported imported;
	struct call calls[64];
	struct host_op host_ops[64];
	struct range ranges[4];
	struct op ops[2];
	struct op_of of;
	struct gap gap;
	const char *hooks[1], *kernels[1];
	struct threads threads;
	struct attribution got;
} w;

static void add_call(int64_t begin_ns, int64_t end_ns, uint8_t family)
{
	w.calls[w.trace.n_calls++] = (struct call){ .begin_ns = begin_ns,
						    .end_ns = end_ns,
						    .tid = 1,
						    .family = family,
						    .flags = family == GST_FAMILY_LAUNCH ? GST_SUBMISSION : 0 };
}

static void add_op_of(uint32_t tid, enum host_op_kind kind, enum name name, int64_t begin_ns, int64_t end_ns)
{
	w.host_ops[w.trace.host_ops.n++] = (struct host_op){
		.begin_ns = begin_ns, .end_ns = end_ns, .byte = 4176, .tid = tid, .name = name, .kind = (uint8_t)kind
	};
}

static void add_op(enum host_op_kind kind, enum name name, int64_t begin_ns, int64_t end_ns)
{
	add_op_of(1, kind, name, begin_ns, end_ns);
}

/* A gap from 10 to 20 ms. Ten launches of 5 us each before, 1 ms apart, the last one at 9 ms; whatever follows, and a launch that ends the gap. */
static void begin(void)
{
	memset(&w, 0, sizeof(w));
	w.hooks[0] = "cudaLaunchKernel";
	w.kernels[0] = "";
	w.trace = (struct trace){
		.path = "x.json",
		.calls = w.calls,
		.hooks = w.hooks,
		.n_hooks = 1,
		.kernels = w.kernels,
		.n_kernels = 1,
		.ranges = w.ranges,
		.cut_ns = INT64_MAX,
		.host_ops = { .at = w.host_ops, .names = names, .n_names = sizeof(names) / sizeof(names[0]) },
		.header.pid = 7
	};
	w.traces[0] = &w.trace;
	w.run = (struct run){ .traces = w.traces, .n_traces = 1, .count = 1 };
	w.device.gaps = &w.gap;
	w.device.n_gaps = 1;
	w.device.ops = w.ops;
	w.of.trace = &w.trace;
	w.device.n_ops = 2;
	w.device.latency_ns = 2 * US;
	w.gap = (struct gap){ .begin_ns = 10 * MS, .end_ns = 20 * MS, .before = &w.ops[0], .after = &w.ops[1] };
	for (int i = 0; i < 10; i++)
		add_call(i * MS, i * MS + 5 * US, GST_FAMILY_LAUNCH);
	w.ops[0] = (struct op){ .begin_ns = 9 * MS, .end_ns = 10 * MS, .of = &w.of, .call = &w.calls[9] };
}

static int by_place(const void *a, const void *b)
{
	const struct host_op *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->begin_ns != y->begin_ns ? (x->begin_ns < y->begin_ns ? -1 : 1)
					  : (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* The launch that ends the gap takes 10 us, and its work begins as it returns. */
static void explain(void)
{
	struct error e;
	int64_t at = w.gap.begin_ns;

	add_call(w.gap.end_ns - 10 * US, w.gap.end_ns, GST_FAMILY_LAUNCH);
	w.ops[1] = (struct op){ .begin_ns = w.gap.end_ns,
				.end_ns = w.gap.end_ns + MS,
				.of = &w.of,
				.call = &w.calls[w.trace.n_calls - 1] };
	qsort(w.host_ops, w.trace.host_ops.n, sizeof(w.host_ops[0]), by_place);
	assert_int_equal(threads_build(&w.threads, &w.run, &e), ERR_NONE);
	assert_int_equal(attribution_build(&w.got, &w.device, &w.threads, &e), ERR_NONE);
	for (size_t i = 0; i < w.got.gaps[0].n_causes; i++) {
		assert_int_equal(w.got.gaps[0].causes[i].begin_ns, at);
		at = w.got.gaps[0].causes[i].end_ns;
	}
	assert_int_equal(at, w.gap.end_ns);
}

static void end(void)
{
	attribution_free(&w.got);
	threads_free(&w.threads);
}

static const struct gap_cause *first_of(enum cause_id cause)
{
	for (size_t i = 0; i < w.got.gaps[0].n_causes; i++)
		if (w.got.gaps[0].causes[i].cause == cause)
			return &w.got.gaps[0].causes[i];
	return NULL;
}

static void assert_owns(enum cause_id cause, int64_t ns, const char *evidence)
{
	const struct gap_cause *c = first_of(cause);

	assert_int_equal(w.got.causes_ns[cause], ns);
	if (!ns || !*evidence)
		return;
	assert_non_null(c);
	assert_true(c->n_evidence >= 1);
	if (!strstr(c->evidence[0], evidence))
		fail_msg("\"%s\" does not say \"%s\"", c->evidence[0], evidence);
}

/* ---- loaders ---- */

static void test_the_thread_loads_itself(void **state)
{
	(void)state;
	begin();
	add_op(HOST_OP_OPERATOR, SINGLE, 9 * MS + 500 * US, 19 * MS);
	add_op(HOST_OP_OPERATOR, INDEX, 11 * MS, 14 * MS);
	add_op(HOST_OP_OS_CALL, READ, 15 * MS, 16 * MS);
	add_call(17 * MS, 17 * MS + US, GST_FAMILY_QUERY_EVENT); /* of pinned memory: the loader's, too */
	explain();
	assert_owns(
		CAUSE_input_preprocess, 9 * MS,
		"_SingleProcessDataLoaderIter.__next__ took 9.5 ms (byte 4176); longest in it: aten::index, 3.0 ms");
	assert_owns(CAUSE_input_wait, 0, NULL);
	assert_owns(CAUSE_host_compute, 0, NULL);
	assert_int_equal(w.got.observed_ns[CAUSE_input_preprocess],
			 0); /* nobody saw that the batch was what was missing */
	end();
}

static void test_the_thread_waits_for_its_workers(void **state)
{
	(void)state;
	begin();
	add_op(HOST_OP_OPERATOR, MULTI, 12 * MS, 19 * MS);
	add_op(HOST_OP_OPERATOR, ADD, 13 * MS, 14 * MS);
	add_op(HOST_OP_OS_CALL, COND, 14 * MS, 18 * MS);
	explain();
	assert_owns(CAUSE_input_wait, 7 * MS, "_MultiProcessingDataLoaderIter.__next__ took 7.0 ms");
	assert_owns(CAUSE_input_preprocess, 0, NULL);
	end();
}

static void test_what_it_does_in_a_loader_tells_which(void **state)
{
	(void)state;
	begin();
	w.ranges[0] = (struct range){
		.begin_ns = 11 * MS, .end_ns = 18 * MS, .name = "dataloader", .tid = 1, .kind = GST_RANGE_PUSHED
	};
	w.trace.n_ranges = 1;
	add_op(HOST_OP_OS_CALL, POLL, 12 * MS, 15 * MS);
	explain();
	assert_owns(CAUSE_input_wait, 3 * MS, "dataloader took 7.0 ms; longest in it: poll, 3.0 ms");
	assert_owns(CAUSE_input_preprocess, 4 * MS, "dataloader took 7.0 ms");
	end();
}

/* A short way from the loader to the submission is the loader's: had the batch been there, nobody would have seen it. Not a long one. */
static void test_the_way_from_the_loader(void **state)
{
	(void)state;
	begin();
	add_op(HOST_OP_OPERATOR, SINGLE, 11 * MS, 20 * MS - 150 * US);
	add_op(HOST_OP_OPERATOR, ADD, 20 * MS - 100 * US, 20 * MS - 20 * US);
	explain();
	assert_owns(CAUSE_input_preprocess, 9 * MS, "_SingleProcessDataLoaderIter.__next__ took 8.8 ms");
	assert_owns(CAUSE_launch_bound, 0, NULL);
	end();
	begin();
	add_op(HOST_OP_OPERATOR, SINGLE, 11 * MS, 19 * MS);
	add_op(HOST_OP_OPERATOR, INDEX, 19 * MS, 20 * MS - 20 * US);
	explain();
	assert_owns(CAUSE_input_preprocess, 8 * MS, "");
	assert_owns(CAUSE_host_compute, MS - 10 * US, "aten::index took 980.0 us");
	end();
}

/* A loader of another thread, or one that had ended, is none of this gap's. */
static void test_another_threads_loader(void **state)
{
	(void)state;
	begin();
	add_op_of(2, HOST_OP_OPERATOR, SINGLE, 9 * MS, 19 * MS);
	add_op(HOST_OP_OPERATOR, SINGLE, 8 * MS, 10 * MS);
	explain();
	assert_owns(CAUSE_input_preprocess, 0, NULL);
	assert_owns(CAUSE_input_wait, 0, NULL);
	end();
}

/* ---- code ---- */

static void test_code_between_launches(void **state)
{
	(void)state;
	begin();
	add_op(HOST_OP_PYTHON, TRAIN, 0, 30 * MS);
	add_op(HOST_OP_OPERATOR, STEP, 12 * MS, 16 * MS);
	add_op(HOST_OP_OPERATOR, INDEX, 12 * MS + 100 * US, 15 * MS);
	explain();
	assert_owns(CAUSE_host_compute, 10 * MS - 10 * US, "");
	assert_non_null(
		strstr(w.got.gaps[0].causes[0].evidence[0], "train.py(12): step, 4.0 ms of its 30.0 ms (byte 4176)"));
	end();
	begin();
	add_op(HOST_OP_OPERATOR, STEP, 12 * MS, 16 * MS);
	add_op(HOST_OP_OPERATOR, INDEX, 12 * MS + 100 * US, 15 * MS);
	add_op(HOST_OP_OS_CALL, MMAP, 15 * MS, 15 * MS + 50 * US); /* its own doing */
	explain();
	assert_owns(CAUSE_host_compute, 4 * MS, "aten::index took 2.9 ms (byte 4176) within Optimizer.step#SGD.step");
	assert_owns(CAUSE_unexplained, 6 * MS - 10 * US, "");
	end();
}

/* The profiler's window around a step is nobody's code. */
static void test_a_step_is_no_code(void **state)
{
	(void)state;
	begin();
	add_op(HOST_OP_OPERATOR, WINDOW, 0, 30 * MS);
	add_op(HOST_OP_OPERATOR, INDEX, 12 * MS, 13 * MS);
	explain();
	assert_owns(CAUSE_host_compute, MS, "aten::index took 1.0 ms (byte 4176)");
	assert_owns(CAUSE_unexplained, 9 * MS - 10 * US, "");
	end();
}

/* Brief times between two operators are an interpreter's; long ones are nobody's. */
static void test_between_operators(void **state)
{
	(void)state;
	begin();
	add_op(HOST_OP_OPERATOR, INDEX, 11 * MS, 12 * MS);
	add_op(HOST_OP_OPERATOR, INDEX, 12 * MS + BRIEF_NS, 13 * MS);
	add_op(HOST_OP_OPERATOR, INDEX, 14 * MS, 15 * MS);
	explain();
	assert_owns(CAUSE_host_compute, 3 * MS, "aten::index");
	assert_owns(CAUSE_launch_bound, 10 * US, "cudaLaunchKernel took 10.0 us");
	assert_owns(CAUSE_unexplained, 7 * MS - 10 * US, "");
	end();
}

static void begin_short(void)
{
	begin();
	w.gap.begin_ns = 20 * MS - 100 * US; /* the last launch returned 70 us before it ends */
	w.ops[0].end_ns = w.gap.begin_ns;
	add_call(w.gap.begin_ns + 25 * US, w.gap.begin_ns + 30 * US, GST_FAMILY_LAUNCH);
}

/* From launch to launch through operators, none of them for long: that is what launching costs in this framework. */
static void test_eager_launches(void **state)
{
	(void)state;
	begin_short();
	w.calls[9].begin_ns = w.gap.begin_ns - 15 * US;
	w.calls[9].end_ns = w.gap.begin_ns - 10 * US;
	add_op(HOST_OP_OPERATOR, ADD, w.gap.begin_ns + 35 * US, w.gap.begin_ns + 70 * US);
	explain();
	assert_owns(
		CAUSE_launch_bound, 100 * US,
		"60.0 us from one call of thread 1 to the next, in 3 steps of at most 35.0 us: aten::add_ took 35.0 us");
	end();
}

/* … but not where an operator held it for long, nor where it sat in a blocking call: the bubble is what let it come late. */
static void test_no_eager_launches(void **state)
{
	(void)state;
	begin_short();
	w.calls[9].begin_ns = w.gap.begin_ns - 15 * US;
	w.calls[9].end_ns = w.gap.begin_ns - 10 * US;
	add_op(HOST_OP_OPERATOR, INDEX, w.gap.begin_ns + 31 * US, w.gap.begin_ns + 89 * US);
	explain();
	assert_owns(CAUSE_host_compute, 60 * US, "aten::index took 58.0 us");
	assert_owns(CAUSE_launch_bound, 25 * US + 10 * US, "35.0 us from one call of thread 1");
	end();
	begin_short();
	w.trace.n_calls--;
	w.calls[9] = (struct call){
		.begin_ns = 15 * MS, .end_ns = 20 * MS - 60 * US, .tid = 1, .family = GST_FAMILY_SYNC_STREAM
	};
	w.ops[0].call = &w.calls[8];
	add_op(HOST_OP_OPERATOR, ADD, 20 * MS - 50 * US, 20 * MS - 20 * US);
	explain();
	assert_owns(CAUSE_launch_bound, 0, NULL);
	assert_owns(CAUSE_sync_bubble, 100 * US, "");
	end();
}

/* A trace without any op of the thread: a short silence between two short calls is the framework's all the same, a longer one is nobody's. */
static void test_launches_without_ops(void **state)
{
	(void)state;
	for (int64_t late = 0; late <= 1; late++) {
		begin_short();
		w.trace.imported = &w.imported;
		w.trace.n_calls--;
		w.calls[9].begin_ns = 20 * MS - (late ? 120 : 60) * US;
		w.calls[9].end_ns = w.calls[9].begin_ns + 5 * US;
		w.gap.begin_ns = w.calls[9].end_ns;
		explain();
		assert_owns(CAUSE_launch_bound, late ? 10 * US : 55 * US,
			    late ? "cudaLaunchKernel took 10.0 us" : "45.0 us from one call of thread 1");
		assert_owns(CAUSE_unexplained, late ? 105 * US : 0, "");
		end();
	}
}

/* ---- calls of the operating system ---- */

static void assert_call(enum name name, enum cause_id cause, const char *evidence)
{
	begin();
	add_op(HOST_OP_OS_CALL, name, 12 * MS, 15 * MS);
	explain();
	if (cause == CAUSE_unexplained) {
		assert_int_equal(w.got.causes_ns[cause], 10 * MS - 10 * US);
		assert_non_null(strstr(w.got.gaps[0].causes[1].evidence[0], evidence));
	} else {
		assert_owns(cause, 3 * MS, evidence);
	}
	end();
}

static void test_calls_of_the_operating_system(void **state)
{
	(void)state;
	assert_call(READ, CAUSE_input_wait, "read took 3.0 ms (byte 4176)");
	assert_call(RECV, CAUSE_input_wait, "recv took 3.0 ms");
	assert_call(PREAD, CAUSE_input_storage, "pread64 took 3.0 ms");
	assert_call(USLEEP, CAUSE_host_sleep, "usleep took 3.0 ms");
	assert_call(FSYNC, CAUSE_checkpoint, "fsync took 3.0 ms");
	assert_call(WRITE, CAUSE_output_io, "write took 3.0 ms");
	assert_call(POLL, CAUSE_unexplained, "poll took 3.0 ms");
	assert_call(COND, CAUSE_unexplained, "pthread_cond_wait took 3.0 ms");
}

/* An op of a table is named by its row. */
static void test_rows(void **state)
{
	char said[128];

	(void)state;
	begin();
	w.trace.imported = &w.imported;
	add_op(HOST_OP_OS_CALL, READ, 12 * MS, 15 * MS);
	w.host_ops[0].byte = IMPORT_ROW(0, 1716);
	explain();
	snprintf(said, sizeof(said), "read took 3.0 ms (row 1716 of %s)", import_nsys_table(0));
	assert_owns(CAUSE_input_wait, 3 * MS, said);
	end();
}

/* What was copied from the device just before is what is written. */
static void test_a_write_behind_a_copy(void **state)
{
	(void)state;
	begin();
	add_call(11 * MS, 11 * MS + 10 * US, GST_FAMILY_COPY);
	w.calls[w.trace.n_calls - 1].detail = GST_COPY_D2H_PAGEABLE;
	add_op(HOST_OP_OS_CALL, WRITE, 12 * MS, 15 * MS);
	explain();
	assert_owns(CAUSE_checkpoint, 3 * MS, "write took 3.0 ms");
	assert_owns(CAUSE_output_io, 0, NULL);
	end();
}

static void test_off_the_cpu(void **state)
{
	(void)state;
	begin();
	add_op(HOST_OP_OPERATOR, INDEX, 11 * MS, 19 * MS);
	add_op(HOST_OP_OFF_CPU, PREEMPTED, 12 * MS, 14 * MS);
	add_op(HOST_OP_OFF_CPU, BLOCKED, 15 * MS, 16 * MS);
	explain();
	assert_owns(CAUSE_cpu_contention, 2 * MS, "preempted took 2.0 ms");
	assert_int_equal(w.got.observed_ns[CAUSE_cpu_contention], 2 * MS);
	assert_owns(CAUSE_host_compute, 5 * MS, "aten::index");
	assert_int_equal(w.got.causes_ns[CAUSE_unexplained], 3 * MS - 10 * US);
	end();
}

/* ---- the profiler ---- */

static void test_the_profiler_itself(void **state)
{
	(void)state;
	begin();
	add_op(HOST_OP_OPERATOR, INDEX, 11 * MS, 19 * MS);
	add_op(HOST_OP_OVERHEAD, FLUSH, 12 * MS, 14 * MS);
	add_op_of(0, HOST_OP_OVERHEAD, FLUSH, 15 * MS, 16 * MS);
	explain();
	assert_owns(CAUSE_profiler, 3 * MS, "Buffer Flush took 2.0 ms (byte 4176)");
	assert_int_equal(w.got.observed_ns[CAUSE_profiler], 2 * MS); /* whose the other was is not known */
	assert_owns(CAUSE_host_compute, 5 * MS, "aten::index");
	end();
}

/* Another thread's holds up none; the driver's own is none of the profiler's. */
static void test_not_the_profiler(void **state)
{
	(void)state;
	begin();
	add_op_of(2, HOST_OP_OVERHEAD, FLUSH, 12 * MS, 14 * MS);
	add_op(HOST_OP_OVERHEAD, LAZY, 15 * MS, 17 * MS);
	add_op(HOST_OP_OVERHEAD, FULL, 17 * MS, 18 * MS);
	explain();
	assert_owns(CAUSE_profiler, 0, NULL);
	assert_owns(CAUSE_module_load, 2 * MS, "Lazy Function Loading took 2.0 ms");
	assert_int_equal(w.got.observed_ns[CAUSE_module_load], 2 * MS);
	end();
}

/* With the work queued, the host is innocent, whatever it did. */
static void test_the_host_is_innocent(void **state)
{
	struct error e;

	(void)state;
	begin();
	add_op(HOST_OP_OPERATOR, SINGLE, 9 * MS + 10 * US, 19 * MS);
	add_op(HOST_OP_OPERATOR, INDEX, 9 * MS + 10 * US, 19 * MS);
	add_op(HOST_OP_OVERHEAD, FLUSH, 12 * MS, 14 * MS);
	qsort(w.host_ops, w.trace.host_ops.n, sizeof(w.host_ops[0]), by_place);
	w.ops[1] = (struct op){ .begin_ns = 20 * MS, .end_ns = 21 * MS, .of = &w.of, .call = &w.calls[9] };
	assert_int_equal(threads_build(&w.threads, &w.run, &e), ERR_NONE);
	assert_int_equal(attribution_build(&w.got, &w.device, &w.threads, &e), ERR_NONE);
	assert_owns(CAUSE_profiler, 0, NULL);
	assert_owns(CAUSE_input_preprocess, 0, NULL);
	assert_owns(CAUSE_host_compute, 0, NULL);
	end();
}

/* Our own recordings know for what a stream waits; other tools' do not, so that late work proves no other user of the device. */
static void test_what_queued_work_waits_for(void **state)
{
	(void)state;
	for (int own = 0; own <= 1; own++) {
		struct error e;

		begin();
		w.trace.imported = own ? NULL : &w.imported;
		w.ops[1] = (struct op){ .begin_ns = 20 * MS, .end_ns = 21 * MS, .of = &w.of, .call = &w.calls[9] };
		assert_int_equal(threads_build(&w.threads, &w.run, &e), ERR_NONE);
		assert_int_equal(attribution_build(&w.got, &w.device, &w.threads, &e), ERR_NONE);
		assert_owns(CAUSE_device_contention, own ? 10 * MS : 0, "ready for 10.0 ms");
		assert_owns(CAUSE_unexplained, own ? 0 : 10 * MS,
			    "the next work had been submitted 995.0 us before the gap");
		end();
	}
}

/* Without one of its allocations it says so, and leaves nothing behind. */
static void test_no_memory(void **state)
{
	enum err_kind kind = ERR_SYSTEM;
	struct error e;
	long n = 0;

	(void)state;
	begin();
	add_op(HOST_OP_OPERATOR, SINGLE, 11 * MS, 12 * MS);
	add_op(HOST_OP_OPERATOR, INDEX, 13 * MS, 14 * MS);
	add_op(HOST_OP_PYTHON, TRAIN, 14 * MS, 15 * MS);
	add_op(HOST_OP_OS_CALL, READ, 15 * MS, 16 * MS);
	add_op(HOST_OP_OVERHEAD, FLUSH, 17 * MS, 18 * MS);
	explain();
	end();
	while (kind) {
		fail_at = ++n;
		kind = threads_build(&w.threads, &w.run, &e);
		if (!kind) {
			kind = attribution_build(&w.got, &w.device, &w.threads, &e);
			fail_at = 0;
			if (kind)
				threads_free(&w.threads);
		}
		fail_at = 0;
		assert_true(!kind || kind == ERR_SYSTEM);
	}
	assert_true(n > 20);
	assert_owns(CAUSE_input_preprocess, MS, "");
	assert_owns(CAUSE_profiler, MS, "");
	assert_owns(CAUSE_input_wait, MS, "");
	assert_owns(CAUSE_host_compute, 2 * MS, "");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_thread_loads_itself),
		cmocka_unit_test(test_the_thread_waits_for_its_workers),
		cmocka_unit_test(test_what_it_does_in_a_loader_tells_which),
		cmocka_unit_test(test_the_way_from_the_loader),
		cmocka_unit_test(test_another_threads_loader),
		cmocka_unit_test(test_code_between_launches),
		cmocka_unit_test(test_a_step_is_no_code),
		cmocka_unit_test(test_between_operators),
		cmocka_unit_test(test_eager_launches),
		cmocka_unit_test(test_no_eager_launches),
		cmocka_unit_test(test_launches_without_ops),
		cmocka_unit_test(test_calls_of_the_operating_system),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_a_write_behind_a_copy),
		cmocka_unit_test(test_off_the_cpu),
		cmocka_unit_test(test_the_profiler_itself),
		cmocka_unit_test(test_not_the_profiler),
		cmocka_unit_test(test_the_host_is_innocent),
		cmocka_unit_test(test_what_queued_work_waits_for),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
