/* SPDX-License-Identifier: BSD-2-Clause */
/* The SQLite export where there is no memory, ours or SQLite's, no file, and where names are no text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/gst_text.h"

static const char source[] =
	"process 100 end=40ms\nthread 10 main\ndevice 0 name=Bad\033[2JName\nstream 1\nstream 2\n"
	"launch t=1ms..1010us stream=1 seq=1 kernel=a\xff\xfe\xc3(b\n"
	"launch t=1011us..1020us stream=2 seq=1 kernel=k\n"
	"sync-context t=1021us..2ms context=7\n"
	"alloc t=3ms..4ms pointer=4096 bytes=100\n"
	"sample t=5ms syscall=7 fd=pipe file=pipe:\033[31m\n"
	"launch t=9ms..9010us stream=1 seq=2 kernel=k\nsync-stream t=9020us..10ms stream=1 seq=2\n";

static struct gst_text text;
static struct trace *trace;
static struct run run;
static struct timeline timeline;
static struct summary summary;
static struct error err;
static char path[] = "/tmp/test_export_sqlite.XXXXXX";

static int set_up(void **state)
{
	static struct trace *traces[1];
	char error[256];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	if (!gst_text_parse(&text, source, error))
		fail_msg("%s", error);
	assert_int_equal(
		trace_open_mem(&trace, text.files[0].image.bytes, text.files[0].image.len, text.files[0].name, &err),
		ERR_NONE);
	traces[0] = trace;
	run = (struct run){ .traces = traces, .n_traces = 1, .count = 1 };
	assert_int_equal(timeline_build(&timeline, &run, &err), ERR_NONE);
	assert_int_equal(summary_build(&summary, &timeline, &err), ERR_NONE);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	summary_free(&summary);
	timeline_free(&timeline);
	trace_free(trace);
	gst_text_free(&text);
	unlink(path);
	return 0;
}

static enum err_kind export(const char *to) {
	uint64_t left_out = 1; enum err_kind kind;

	if (to == path) assert_int_equal(truncate(path, 0), 0);
	kind = export_sqlite(to, "the file", &summary, false, &left_out, &err);
	assert_int_equal(left_out, 0);
	return kind;
}

/* The one value that the query gives; free it. */
static char *value(const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *query;
	char *out;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(query), SQLITE_ROW);
	out = strdup((const char *)sqlite3_column_text(query, 0));
	assert_int_equal(sqlite3_step(query), SQLITE_DONE);
	sqlite3_finalize(query);
	sqlite3_close(db);
	return out;
}

static void expect(const char *sql, const char *expected)
{
	char *found = value(sql);

	assert_string_equal(found, expected);
	free(found);
}

static void test_names_are_text(void **state)
{
	(void)state;
	assert_int_equal(export(path), ERR_NONE);
	expect("PRAGMA integrity_check", "ok");
	expect("SELECT text FROM strings WHERE text LIKE 'a%'",
	       "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd(b"); /* as in JSON */
	expect("SELECT name FROM devices", "Bad?[2JName");
	expect("SELECT count(*) FROM calls", "6");
	expect("SELECT count(*) FROM operations", "3");
	expect("SELECT times FROM kernels WHERE name = 'k'", "2");
	expect("SELECT sum(end_ns - begin_ns) = (SELECT idle_ns FROM devices) FROM gaps", "1");
}

static void test_every_allocation_may_fail(void **state)
{
	enum err_kind kind;
	long n = 1;

	(void)state;
	do {
		fail_at = n++;
		kind = export(path);
		if (fail_at <= 0) { /* it did fail */
			assert_int_equal(kind, ERR_SYSTEM);
			assert_string_equal(err.text, "out of memory");
		}
	} while (fail_at <= 0);
	fail_at = 0;
	assert_int_equal(kind, ERR_NONE);
	assert_true(n > 5);
}

/* Whatever SQLite may have: it is all there, or an error says why not. */
static void test_sqlite_may_have_no_memory(void **state)
{
	size_t failed = 0, step = 8192;

	(void)state;
	for (sqlite3_int64 limit = step;; limit += (sqlite3_int64)step) {
		sqlite3_int64 before = sqlite3_hard_heap_limit64(limit);
		enum err_kind kind = export(path);

		sqlite3_hard_heap_limit64(before);
		if (kind == ERR_NONE)
			break;
		failed++;
		assert_int_equal(kind, ERR_SYSTEM);
		assert_string_equal(err.text, "out of memory");
		assert_true(failed < 1000);
	}
	assert_true(failed > 3);
	expect("PRAGMA integrity_check", "ok");
	expect("SELECT count(*) FROM documentation WHERE item = 'gaps.gap'", "1");
}

static void test_a_file_that_is_not_there(void **state)
{
	(void)state;
	assert_int_equal(export("/nonexistent/file"), ERR_SYSTEM);
	assert_string_equal(err.file, "the file");
	assert_non_null(strstr(err.text, "cannot write: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_text),
		cmocka_unit_test(test_every_allocation_may_fail),
		cmocka_unit_test(test_sqlite_may_have_no_memory),
		cmocka_unit_test(test_a_file_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
