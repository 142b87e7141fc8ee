/* SPDX-License-Identifier: BSD-2-Clause */
/* Other tools' traces as a run: several files, directories of them, what may not be mixed; and any allocation may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run/run.h"
#include "run/run_files.h"
#include "tests/support/failing_alloc.h"
#include "tests/unit/import_files.h"
#include "timeline/timeline.h"

static struct run run;
static struct error err;

/* Paths by their names, NULL at the end; NULL alone: the folder. */
static enum err_kind open_named(const char *const names[], int which)
{
	char *paths[4];
	size_t n = 0;

	for (; names && names[n]; n++)
		paths[n] = in_folder(names[n]);
	if (!names)
		paths[n++] = folder;
	err = (struct error){ 0 };
	return run_open(&run, paths, n, which, &err);
}

#define OPEN(...) open_named((const char *const[]){ __VA_ARGS__, NULL }, RUN_LAST)
#define OPEN_FOLDER() open_named(NULL, RUN_LAST)

static void expect_run(enum err_kind kind, size_t n, const uint32_t *pids)
{
	if (kind)
		fail_msg("%s", err.text);
	assert_int_equal(run.count, 1);
	assert_int_equal(run.n_traces, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(run.traces[i]->header.pid, pids[i]);
		assert_non_null(run.traces[i]->imported);
	}
}

#define EXPECT(kind, ...) \
	expect_run(kind, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), (const uint32_t[]){ __VA_ARGS__ })

static int forget(void **state)
{
	fail_at = 0;
	run_close(&run);
	run = (struct run){ 0 };
	return folder_empty(state);
}

static void test_named_together_they_are_one_run(void **state)
{
	(void)state;
	put_json("rank0", KINETO_RANK(0, 9, 1));
	put_packed("rank1", KINETO_RANK(1, 4, 5000000)); /* 5 s later: long after the other one's end */
	EXPECT(OPEN("rank1", "rank0"), 9, 4);
	assert_int_equal(run.listed[0].processes, 2);
	forget(state);
	put_json("kineto", KINETO(9, 1));
	put_sql("nsys", NSYS);
	assert_int_equal(OPEN("kineto", "nsys"), ERR_NONE); /* of different tools, too */
	assert_int_equal(run.count, 1);
	assert_int_equal(run.n_traces, 3);
}

static void test_a_file_named_twice_is_taken_once(void **state)
{
	(void)state;
	put_json("a", KINETO(9, 1));
	assert_int_equal(symlink("a", in_folder("b")), 0);
	assert_int_equal(link(in_folder("a"), in_folder("c")), 0);
	EXPECT(OPEN("a", "b", "c"), 9);
	run_close(&run);
	EXPECT(OPEN_FOLDER(), 9);
}

/* What else lies there, and lies below, is none of ours. */
/* People unpack beside; a rank that merely has the other's name, and other content, is one of its own. */
static void test_packed_and_unpacked_it_is_one(void **state)
{
	(void)state;
	put_json("t.json", KINETO(9, 1));
	put_packed("t.json.gz", KINETO(9, 1));
	EXPECT(OPEN_FOLDER(), 9);
	assert_int_equal(run.traces[0]->imported->n_warnings, 1);
	assert_non_null(
		strstr(run.traces[0]->imported->warnings[0], "t.json.gz holds the same trace, which is taken once"));
	forget(state);
	put_json("t.json", KINETO(9, 1));
	put_packed("t.json.gz", KINETO(9, 1));
	EXPECT(OPEN("t.json.gz", "t.json"), 9);
	assert_non_null(strstr(run.traces[0]->imported->warnings[0], "t.json holds the same trace"));
	forget(state);
	put_json("t.json", KINETO(9, 1));
	put_packed("t.json.gz", KINETO(9, 2));
	EXPECT(OPEN_FOLDER(), 9, 9);
	forget(state);
	put_json("t.json", KINETO(9, 1));
	put_json("u.json", KINETO(9, 1));
	EXPECT(OPEN_FOLDER(), 9, 9);
}

static void test_a_folder_stands_for_the_traces_in_it(void **state)
{
	(void)state;
	put_json("a.pt.trace.json", KINETO(9, 1));
	put_packed("b.pt.trace.json.gz", KINETO(4, 2));
	put_json("without.suffix", "[" KINETO_EVENTS(7, 3) "]");
	put_json("package.json", "{'name':'a','version':2}");
	put_json("metrics.jsonl", "{'loss':1}\n{'loss':2}\n");
	put_json(".hidden.json", KINETO(11, 1));
	put_sql("other.sqlite", "CREATE TABLE words (word TEXT);");
	put_bytes("events.out.tfevents", "\x18\0\0\0", 4);
	put_bytes("empty", "", 0);
	assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
	assert_int_equal(mkdir(in_folder("below"), 0700), 0);
	put_json("below/c.json", KINETO(12, 1));
	EXPECT(OPEN_FOLDER(), 9, 4, 7);
	assert_int_equal(run.n_missing, 0);
}

/* A recording of ours in a folder stands for it, whatever lies beside it. */
static void test_recordings_come_first(void **state)
{
	(void)state;
	put_json("trace.json", KINETO(9, 1));
	put_gst("a.gst", GST);
	assert_int_equal(OPEN_FOLDER(), ERR_NONE);
	assert_int_equal(run.n_traces, 1);
	assert_int_equal(run.traces[0]->header.pid, 5);
	assert_null(run.traces[0]->imported);
}

/* What it holds says what it is, not its name. */
static void test_another_tools_trace_of_our_name(void **state)
{
	(void)state;
	put_json("t.gst", KINETO(9, 1));
	EXPECT(OPEN("t.gst"), 9);
	run_close(&run);
	EXPECT(OPEN_FOLDER(), 9);
	run_close(&run);
	put_gst("a.gst", GST);
	assert_int_equal(OPEN_FOLDER(), ERR_NONE);
	assert_int_equal(run.n_traces, 1);
	assert_int_equal(run.n_missing, 0);
	assert_int_equal(run.traces[0]->header.pid, 5);
	run_close(&run);
	put_bytes("t.gst", "words", 5);
	assert_int_equal(OPEN("t.gst"), ERR_FORMAT);
	assert_string_equal(err.text, "not a gpushim trace");
}

static void test_kinds_do_not_mix(void **state)
{
	(void)state;
	put_json("trace.json", KINETO(9, 1));
	put_gst("a.gst", GST);
	assert_int_equal(OPEN("trace.json", "a.gst"), ERR_USAGE);
	assert_string_equal(
		err.text,
		"recordings of gpushim and traces of other tools cannot be analysed together: their times are on different clocks");
	assert_int_equal(OPEN("a.gst", "trace.json"), ERR_USAGE);
	assert_int_equal(run.n_traces, 0);
}

static void test_a_folder_of_nothing(void **state)
{
	(void)state;
	put_json("package.json", "{'name':'a'}");
	assert_int_equal(OPEN_FOLDER(), ERR_FORMAT);
	assert_string_equal(err.text,
			    "no list of events (\"traceEvents\") is in it"); /* of the one that might have been one */
	folder_empty(state);
	put_bytes("words", "words", 5);
	assert_int_equal(OPEN_FOLDER(), ERR_FORMAT);
	assert_string_equal(err.text, "no .gst file in this directory, and no trace of another tool");
}

/* A database of which nothing can be read is told of; the others are reported. */
static void test_a_damaged_one_among_others(void **state)
{
	char want[256];

	(void)state;
	put_json("a.json", KINETO(9, 1));
	put_sql("b.sqlite", NSYS);
	cut_file("b.sqlite", 4096);
	EXPECT(OPEN_FOLDER(), 9);
	assert_int_equal(run.n_missing, 1);
	snprintf(want, sizeof(want), "%s: byte 4096: the file ends here: 12288 of its 16384 bytes are missing",
		 in_folder("b.sqlite"));
	assert_string_equal(run.missing[0].text, want);
	forget(state);
	put_json("a.json", "[" KINETO_EVENTS(9, 1) ",{'ph':}");
	put_json("b.json", KINETO(4, 2));
	EXPECT(OPEN_FOLDER(), 9, 4);
	assert_int_equal(run.traces[0]->damage.kind, ERR_FORMAT);
	assert_int_equal(run.traces[1]->damage.kind, ERR_NONE);
}

/* There is one run, and no other. */
static void test_which_run(void **state)
{
	(void)state;
	put_json("a", KINETO(9, 1));
	assert_int_equal(open_named((const char *const[]){ "a", NULL }, 0), ERR_NONE);
	run_close(&run);
	assert_int_equal(open_named((const char *const[]){ "a", NULL }, RUN_ALL), ERR_NONE);
	run_close(&run);
	assert_int_equal(open_named((const char *const[]){ "a", NULL }, 1), ERR_USAGE);
}

static void test_any_allocation_may_fail(void **state)
{
	bool whole = false;
	long n = 0;

	put_json("a.json", KINETO_RANK(0, 9, 1));
	put_packed("b.json.gz", "[" KINETO_EVENTS(4, 2) "," KINETO_EVENTS(6, 3) "]");
	put_sql("c.sqlite", NSYS);
	put_sql("d.sqlite", NSYS);
	cut_file("d.sqlite", 4096);
	put_json("package.json", "{'name':'a'}");
	while (!whole) {
		struct timeline t;
		enum err_kind kind;

		fail_at = ++n;
		kind = OPEN_FOLDER();
		if (!kind) {
			kind = timeline_build(&t, &run, &err);
			whole = !kind && fail_at > 0;
			if (!kind)
				timeline_free(&t);
			run_close(&run);
		}
		fail_at = 0;
		if (kind && kind != ERR_SYSTEM)
			fail_msg("allocation %ld: kind %d, %s", n, kind, err.text);
	}
	assert_in_range(n, 100, 10000);
	run = (struct run){ 0 };
	forget(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_named_together_they_are_one_run, forget),
		cmocka_unit_test_teardown(test_a_file_named_twice_is_taken_once, forget),
		cmocka_unit_test_teardown(test_packed_and_unpacked_it_is_one, forget),
		cmocka_unit_test_teardown(test_a_folder_stands_for_the_traces_in_it, forget),
		cmocka_unit_test_teardown(test_recordings_come_first, forget),
		cmocka_unit_test_teardown(test_another_tools_trace_of_our_name, forget),
		cmocka_unit_test_teardown(test_kinds_do_not_mix, forget),
		cmocka_unit_test_teardown(test_a_folder_of_nothing, forget),
		cmocka_unit_test_teardown(test_a_damaged_one_among_others, forget),
		cmocka_unit_test_teardown(test_which_run, forget),
		cmocka_unit_test_teardown(test_any_allocation_may_fail, forget),
	};

	return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
