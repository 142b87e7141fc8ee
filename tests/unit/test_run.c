/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes are one run; and every allocation on the way from files to a timeline may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"
#include "tests/support/gst_text.h"
#include "timeline.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long fail_at; /* the n-th allocation from now on fails; 0 none */

static bool fails(void)
{
	return fail_at > 0 && --fail_at == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

/* ---- a directory of traces -------------------------------------------------------------------------- */

static char dir[64];

static void write_all(const char *text)
{
	struct gst_text t;
	char error[256], path[512];

	strcpy(dir, "/tmp/gpushim-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	if (!gst_text_parse(&t, text, error))
		fail_msg("%s", error);
	for (size_t i = 0; i < t.n; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", dir, t.files[i].name);
		f = fopen(path, "w");
		assert_non_null(f);
		assert_int_equal(fwrite(t.files[i].image.bytes, 1, t.files[i].image.len, f), t.files[i].image.len);
		fclose(f);
	}
	gst_text_free(&t);
}

static void remove_all(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
}

static enum err_kind open_dir(struct run *r, int which, struct error *e)
{
	char *paths[] = { dir };

	return run_open(r, paths, 1, which, e);
}

#define WORK(pid, from, to, more)                                                                 \
	"process " #pid " start=" #from " end=" #to " " more "\nthread " #pid " main\nstream 1\n" \
	"launch t=" #from ".." #from " stream=1 seq=1 kernel=k\n"

static void overlapping_lifetimes_are_one_run_and_the_last_is_taken(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "") WORK(2, 4ms, 9ms, "") WORK(3, 8ms, 12ms, "") WORK(4, 20ms, 30ms, ""));
	assert_int_equal(open_dir(&r, RUN_LAST, &e), ERR_NONE);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.index, 1);
	assert_int_equal(r.n_traces, 1);
	assert_int_equal(r.traces[0]->header.pid, 4);
	run_close(&r);
	assert_int_equal(open_dir(&r, 0, &e), ERR_NONE);
	assert_int_equal(r.n_traces, 3); /* 1 and 3 do not overlap, but both do with 2 */
	run_close(&r);
	assert_int_equal(open_dir(&r, RUN_ALL, &e), ERR_NONE);
	assert_int_equal(r.n_traces, 4);
	run_close(&r);
	assert_int_equal(open_dir(&r, 2, &e), ERR_USAGE);
	remove_all();
}

static void a_run_id_holds_processes_together_and_apart(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "run=a") WORK(2, 4ms, 9ms, "run=b") WORK(3, 20ms, 30ms, "run=a"));
	assert_int_equal(open_dir(&r, 0, &e), ERR_NONE);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.n_traces, 2);
	assert_int_equal(r.traces[0]->header.pid, 1);
	assert_int_equal(r.traces[1]->header.pid, 3);
	run_close(&r);
	remove_all();
}

/* The same clock readings after a reboot are another time of day; and the later day's run is the last, whatever its clock says. */
static void runs_before_and_after_a_reboot_stay_apart(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 10ms, 15ms, "host=a real=90000s") WORK(2, 12ms, 20ms, "host=a real=1000s")
			  WORK(3, 14ms, 20ms, "host=a real=90000s"));
	assert_int_equal(open_dir(&r, RUN_LAST, &e), ERR_NONE);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.n_traces, 2);
	assert_int_equal(r.traces[0]->header.pid, 1);
	assert_int_equal(r.traces[1]->header.pid, 3);
	run_close(&r);
	assert_int_equal(open_dir(&r, 0, &e), ERR_NONE);
	assert_int_equal(r.n_traces, 1);
	assert_int_equal(r.traces[0]->header.pid, 2);
	run_close(&r);
	remove_all();
}

static void every_run_is_listed_whichever_is_taken(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "run=a real=100s") WORK(2, 4ms, 9ms, "run=b real=101s")
			  WORK(3, 20ms, 30ms, "run=a real=101s"));
	assert_int_equal(open_dir(&r, 1, &e), ERR_NONE);
	assert_int_equal(r.index, 1);
	assert_int_equal(r.n_traces, 1);
	assert_int_equal(r.count, 2);
	assert_string_equal(r.listed[0].id, "a");
	assert_int_equal(r.listed[0].processes, 2);
	assert_int_equal(r.listed[0].begin_real_ns, 100000000000);
	assert_string_equal(r.listed[1].id, "b");
	assert_int_equal(r.listed[1].processes, 1);
	run_close(&r);
	remove_all();
}

static void a_run_is_found_by_its_id(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "run=a") WORK(2, 4ms, 9ms, "") WORK(3, 20ms, 30ms, "run=a"));
	assert_int_equal(run_open_id(&r, dir, "a", &e), ERR_NONE);
	assert_int_equal(r.n_traces, 2);
	assert_int_equal(r.traces[1]->header.pid, 3);
	run_close(&r);
	assert_int_equal(run_open_id(&r, dir, "c", &e), ERR_NONE);
	assert_int_equal(r.n_traces, 0);
	run_close(&r);
	remove_all();
	assert_int_equal(run_open_id(&r, dir, "a", &e), ERR_NONE);
	assert_int_equal(r.n_traces, 0);
	run_close(&r);
}

static void nothing_to_read_is_an_error(void **state)
{
	struct run r;
	struct error e;
	char *paths[] = { "/nonexistent/gpushim" };

	(void)state;
	write_all("");
	assert_int_equal(open_dir(&r, RUN_LAST, &e), ERR_FORMAT);
	assert_int_equal(run_open(&r, paths, 1, RUN_LAST, &e), ERR_FORMAT);
	assert_string_equal(e.text, "cannot open: No such file or directory");
	assert_int_equal(run_open(&r, paths, 0, RUN_LAST, &e), ERR_USAGE);
	remove_all();
}

/* ---- memory ----------------------------------------------------------------------------------------- */

static void any_allocation_may_fail(void **state)
{
	long n = 0;
	bool whole = false;

	(void)state;
	write_all(
		WORK(1, 0ms, 5ms,
		     "") "device 0\nthread 9\nedge 1 t=1ms..2ms stream=1 covers=1 fired=2ms done=3ms\n"
			 "sync-stream t=2ms..3ms stream=1 seq=1\nrecord t=3ms..3ms stream=1 seq=1 event=5\n"
			 "sync-event t=3ms..4ms event=5\nwait t=4ms..4ms stream=1 seq=1 event=5\n"
			 "hostfn t=4ms..4ms stream=1 seq=2\npoll t=4ms..4ms stream=1 covers=2 ready=0\n"
			 "sample t=4ms syscall=0 file=/x fd=file\nusage t=4ms cpu=1ms\n"
			 "node 1 handle=1 kernel=a\nnode 1 handle=2 type=record event=5\ndepends 1 from=1 to=2\n"
			 "structure 1 t=4ms\nstructure 2 t=4ms base=1 flags=same\nstream 2\n"
			 "graph t=4ms..4ms stream=1 seq=3 structure=1\nchange t=4ms..4ms structure=1 node=1 flags=off\n"
			 "graph t=4ms..4ms stream=2 seq=1 structure=1\ngraph t=5ms..5ms stream=1 seq=4 structure=2\n"
			 "launch t=5ms..5ms stream=1 seq=5\nsync-context t=5ms..6ms context=7\n" WORK(2, 1ms, 6ms, ""));
	while (!whole) {
		struct run r;
		struct timeline t;
		struct error e = { 0 };
		enum err_kind kind;

		fail_at = ++n;
		kind = open_dir(&r, RUN_LAST, &e);
		if (!kind) {
			kind = timeline_build(&t, &r, &e);
			whole = !kind && fail_at > 0;
			if (!kind)
				timeline_free(&t);
			run_close(&r);
		}
		fail_at = 0;
		if (kind && kind != ERR_SYSTEM)
			fail_msg("allocation %ld: kind %d, %s", n, kind, e.text);
		assert_true(!kind == !e.kind || kind);
	}
	assert_true(n > 40);
	remove_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlapping_lifetimes_are_one_run_and_the_last_is_taken),
		cmocka_unit_test(a_run_id_holds_processes_together_and_apart),
		cmocka_unit_test(runs_before_and_after_a_reboot_stay_apart),
		cmocka_unit_test(every_run_is_listed_whichever_is_taken),
		cmocka_unit_test(a_run_is_found_by_its_id),
		cmocka_unit_test(nothing_to_read_is_an_error),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
