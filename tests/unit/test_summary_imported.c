/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of other tools' traces, analysed as commands do it: whatever the number of threads, the same report comes out. Under ThreadSanitizer (ci-thread)
 * this is what looks for races on such traces, which fill a trace's fields in another way than recordings do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>

#include "report/report.h"
#include "run/run.h"
#include "summary/summary.h"
#include "tests/unit/import_files.h"
#include "tests/unit/summary_sound.h"

#define STEPS 60

/* ---- traces ---------------------------------------------------------------------------------------------------------------- */

static void event(FILE *out, const char *cat, const char *name, int pid, int tid, int64_t us, int us_long,
		  const char *args)
{
	fprintf(out, ",{'ph':'X','cat':'%s','name':'%s','pid':%d,'tid':%d,'ts':%" PRId64 ",'dur':%d,'args':{%s}}", cat,
		name, pid, tid, us, us_long, args);
}

/* A step of a training loop: a loader, operators, launches on two streams, a copy that is waited for. */
static void put_step(FILE *out, int pid, int device, int step)
{
	static const char *const kernels[] = { "gemm", "ncclDevKernel_AllReduce", "relu" };
	int64_t at = 1000 * (step + 1);
	char args[128];

	event(out, "user_annotation", "ProfilerStep#1", pid, pid, at, 980, "");
	event(out, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", pid, pid, at + 1,
	      300, "");
	event(out, "python_function", "train.py(12): step", pid, pid, at + 305, 600, "");
	event(out, "cpu_op", "aten::addmm", pid, pid, at + 310, 80, "");
	for (int i = 0; i < 3; i++) {
		snprintf(args, sizeof(args), "'correlation':%d", 10 * step + i + 1);
		event(out, "cuda_runtime", "cudaLaunchKernel", pid, pid, at + 312 + 20 * i, 5, args);
		snprintf(args, sizeof(args), "'correlation':%d,'device':%d,'context':1,'stream':%d", 10 * step + i + 1,
			 device, i == 1 ? 20 : 7);
		event(out, "kernel", kernels[i], device, i == 1 ? 20 : 7, at + 320 + 60 * i, 50, args);
	}
	snprintf(args, sizeof(args), "'correlation':%d", 10 * step + 9);
	event(out, "cuda_runtime", "cudaStreamSynchronize", pid, pid, at + 400, 100, args);
	event(out, "cpu_op", "aten::copy_", pid, pid + 1, at + 520, 90, "");
}

static void put_kineto(const char *name, int rank, int pid)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	fprintf(out,
		"{'schemaVersion':1,'distributedInfo':{'backend':'nccl','rank':%d,'world_size':2},'traceEvents':[{'ph':'M','name':'process_name','pid':%d,'tid':0,'ts':0,'args':{'name':'python'}}",
		rank, pid);
	for (int step = 0; step < STEPS; step++)
		put_step(out, pid, rank, step);
	fputs("]}", out);
	fclose(out);
	put_json(name, text);
	free(text);
}

#define MANY                                                                                                                          \
	"WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 300)"                                               \
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 10000 * i, 10000 * i + 2000, (100 + i % 2) << 24 | 100 + i % 2, i, 1 FROM n;" \
	"WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 300)"                                               \
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10000 * i + 3000, 10000 * i + 7000, i % 2, 7, i, (100 + i % 2) << 24, 2 FROM n;"

/* ---- reports --------------------------------------------------------------------------------------------------------------- */

/* What report --json says of the files; the caller frees it. */
static char *report_of(const char *threads, const char *first, const char *second)
{
	char *paths[] = { in_folder(first), second ? in_folder(second) : NULL }, *text = NULL;
	struct run run;
	struct timeline timeline;
	struct summary summary;
	struct error e;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	setenv("GPUSHIM_THREADS", threads, 1);
	assert_int_equal(run_open(&run, paths, second ? 2 : 1, RUN_LAST, &e), ERR_NONE);
	assert_int_equal(summary_of_run(&summary, &timeline, &run, &e), ERR_NONE);
	assert_null(summary_unsound(&summary));
	assert_int_equal(summary.n_devices, 2);
	assert_true(summary.devices[0].timeline->n_gaps > STEPS && summary.devices[1].timeline->n_gaps > STEPS);
	assert_int_equal(report_json(out, &summary, REPORT_ALL, &e), ERR_NONE);
	assert_int_equal(fclose(out), 0);
	summary_free(&summary);
	timeline_free(&timeline);
	run_close(&run);
	unsetenv("GPUSHIM_THREADS");
	return text;
}

static void expect_the_same(const char *first, const char *second)
{
	static const char *const threads[] = { "2", "4", "16" };
	char *alone = report_of("1", first, second);

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		char *together = report_of(threads[i], first, second);

		assert_string_equal(alone, together);
		free(together);
	}
	free(alone);
}

static void test_two_ranks_of_kineto(void **state)
{
	(void)state;
	put_kineto("rank0.json", 0, 100);
	put_kineto("rank1.json", 1, 200);
	expect_the_same("rank0.json", "rank1.json");
}

static void test_two_processes_of_nsys(void **state)
{
	(void)state;
	put_sql("a.sqlite", NSYS MANY);
	expect_the_same("a.sqlite", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_two_ranks_of_kineto, folder_empty),
		cmocka_unit_test_teardown(test_two_processes_of_nsys, folder_empty),
	};

	return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
