/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are no Nsight exports, hostile ones and damaged ones; and no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>

#include "tests/support/failing_alloc.h"
#include "tests/unit/fewer.h"
#include "tests/unit/nsys_made.h"

/* ---- files that are something else ----------------------------------------------------------------------------------------- */

static void expect_error(enum err_kind kind, const char *text)
{
	assert_int_equal(import(), kind);
	assert_int_equal(err.kind, kind);
	if (!strstr(err.text, text))
		fail_msg("error is '%s', not '%s'", err.text, text);
	assert_int_equal(seen.facts, 0);
}

static void test_files_of_another_kind(void **state)
{
	(void)state;
	unlink(path);
	expect_error(ERR_SYSTEM, "cannot read: No such file or directory");
	assert_string_equal(err.file, path);
	spit("", 0);
	expect_error(ERR_FORMAT, "no SQLite database");
	spit("{\"traceEvents\": []}", 19);
	expect_error(ERR_FORMAT, "no SQLite database");
	make("CREATE TABLE t (a); INSERT INTO t VALUES (1);");
	expect_error(ERR_FORMAT, "this is no export of Nsight Systems: it has no table StringIds");
	make("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT);"); /* nvprof's */
	expect_error(ERR_FORMAT, "it has no table StringIds");
	make(STRINGS);
	expect_error(
		ERR_FORMAT,
		"it has none of the tables CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME and NVTX_EVENTS");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	expect_error(ERR_FORMAT, "no SQLite database");
	rmdir(path);
}

static void test_a_journal_beside_it(void **state)
{
	static const struct {
		const char *kind, *hot;
	} kinds[] = { { "-wal", "x" }, { "-journal", "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" } };
	char beside[600];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int fd;

		make(current);
		snprintf(beside, sizeof(beside), "%s%s", path, kinds[i].kind);
		fd = open(beside, O_WRONLY | O_CREAT, 0600);
		assert_int_equal(import(), ERR_NONE); /* empty ones hold nothing */
		assert_int_equal(write(fd, kinds[i].hot, strlen(kinds[i].hot)), strlen(kinds[i].hot));
		close(fd);
		snprintf(err.text, sizeof(err.text), "the %s file beside it", kinds[i].kind);
		expect_error(ERR_FORMAT, kinds[i].kind);
		unlink(beside);
	}
}

/* SQLite leaves one behind (journal_mode = PERSIST), with zeroes where it began. */
static void test_a_journal_of_what_is_done(void **state)
{
	static const uint8_t done[28];
	char beside[600];
	int fd;

	(void)state;
	make(current);
	snprintf(beside, sizeof(beside), "%s-journal", path);
	fd = open(beside, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, done, sizeof(done)), sizeof(done));
	assert_int_equal(import(), ERR_NONE);
	expect(current_said);
	assert_int_equal(pwrite(fd, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd6", 8, 0), 8);
	assert_int_equal(import(), ERR_NONE);
	assert_int_equal(ftruncate(fd, 7), 0);
	assert_int_equal(import(), ERR_NONE);
	close(fd);
	unlink(beside);
}

/* What is beside the file counts, not what is beside a link to it. */
static void test_a_log_behind_a_link(void **state)
{
	char beside[640], other[600], link_s[600];
	int fd;

	(void)state;
	make(current);
	snprintf(other, sizeof(other), "%s/there.sqlite", folder);
	snprintf(beside, sizeof(beside), "%s-wal", other);
	snprintf(link_s, sizeof(link_s), "%s-wal", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink("there.sqlite", path), 0);
	fd = open(link_s, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	assert_int_equal(import(), ERR_NONE);
	expect(current_said);
	assert_int_equal(rename(link_s, beside), 0);
	expect_error(ERR_FORMAT, "the -wal file beside it may hold changes");
	assert_string_equal(err.file, path);
	unlink(beside);
	unlink(other);
	unlink(path);
}

/* Its header says that there is a write-ahead log, which SQLite would make. */
static void test_nothing_is_written(void **state)
{
	uint8_t *before, *after;
	size_t n, files = 0;
	DIR *dir;

	(void)state;
	make(current);
	n = slurp(&before);
	before[18] = before[19] = 2;
	spit(before, n);
	assert_int_equal(chmod(path, 0400), 0);
	assert_int_equal(import(), ERR_NONE);
	expect(current_said);
	assert_int_equal(slurp(&after), n);
	assert_memory_equal(before, after, n);
	dir = opendir(folder);
	for (struct dirent *entry; (entry = readdir(dir));)
		files += entry->d_name[0] != '.';
	closedir(dir);
	assert_int_equal(files, 1);
	free(before);
	free(after);
}

/* ---- hostile ones ---------------------------------------------------------------------------------------------------------- */

static void test_what_runs_is_not_read(void **state)
{
	(void)state;
	make(STRINGS
	     "CREATE TABLE hidden (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);"
	     "INSERT INTO hidden VALUES (1,2," GTID ",3);"
	     "CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS SELECT * FROM hidden;"
	     "CREATE VIRTUAL TABLE OSRT_API USING fts5(start, end, globalTid, nameId);"
	     "CREATE TRIGGER t AFTER INSERT ON hidden BEGIN DELETE FROM StringIds; END;"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, stop INTEGER, end INTEGER GENERATED ALWAYS AS (start + 1000) VIRTUAL, streamId INTEGER GENERATED ALWAYS AS (7) STORED, globalPid INTEGER, demangledName INTEGER);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5,6," GPID ",1);"
	     "CREATE TABLE NVTX_EVENTS (start INTEGER PRIMARY KEY, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER) WITHOUT ROWID;"
	     "INSERT INTO NVTX_EVENTS VALUES (1,2,59,'step'," GTID ");");
	assert_int_equal(import(), ERR_NONE);
	expect("work 100 kind=1 5..-9223372036854775808 void gemm<float>(float*) device=- stream=- context=0 corr=0 bytes=0 copy=0 node=0 @9:1\n"
	       "warn no CUDA call is in it: why a device was idle is hardly known; record with --trace=cuda (there is no table "
	       "CUPTI_ACTIVITY_KIND_RUNTIME)\n");
	expect_damage("NVTX_EVENTS cannot be read", IMPORT_ROW(18, 0));
}

/* Values of any type and size where a number is expected. */
static void test_values_of_any_kind(void **state)
{
	(void)state;
	make("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value); INSERT INTO StringIds VALUES (1, x'00ff61'), (2, 12.5), (3, NULL), (4, 'a' || char(0) || 'b');"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, globalPid, deviceId, contextId, streamId, correlationId, demangledName);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('12', '34x', " GPID
	     ", 4294967296, -1, 9223372036854775807, 1e300, 2), (x'31', NULL, 'nobody', -5, NULL, -5, NULL, 3),"
	     "(1, 2, -1, zeroblob(1000000), 0, 0, 0, 1);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start);");
	assert_int_equal(import(), ERR_NONE);
	expect("work 100 kind=1 12..34 12.5 device=- stream=9223372036854775807 context=0 corr=9223372036854775807 bytes=0 copy=0 node=0 @9:1\n"
	       "work 0 kind=1 1..-9223372036854775808  device=- stream=- context=0 corr=0 bytes=0 copy=0 node=0 @9:2\n"
	       "work 16777215 kind=1 1..2  device=0 stream=0 context=0 corr=0 bytes=0 copy=0 node=0 @9:3\n");
}

static void test_too_many_processes(void **state)
{
	(void)state;
	make(STRINGS
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);"
	     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i, i + 1, i << 24, 3 FROM n;");
	import();
	assert_true(seen.failed);
	assert_int_equal(seen.facts, IMPORT_PROCESSES_MAX);
}

/* ---- damaged ones ---------------------------------------------------------------------------------------------------------- */

#define KERNELS "2000"

/* Two tables of many pages of 512 bytes, between small ones. */
static size_t make_long(uint8_t **bytes)
{
	make("PRAGMA page_size = 512;" STRINGS
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, globalPid INTEGER, deviceId INTEGER, streamId INTEGER, demangledName INTEGER);"
	     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " KERNELS ")"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1000 * i, 1000 * i + 500, " GPID ", 0, 7, 1 FROM n;"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start - 1000, start - 800, " GTID
	     ", start / 1000, 3 FROM CUPTI_ACTIVITY_KIND_KERNEL;");
	return slurp(bytes);
}

static size_t lines_like(const char *what)
{
	size_t n = 0;

	for (const char *at = seen.lines; at && (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void test_a_file_that_ends_too_early(void **state)
{
	uint8_t *bytes;
	size_t n = make_long(&bytes), last = 0;

	(void)state;
	for (size_t kept = 512; kept < n; kept += 512 * 7) {
		enum err_kind kind;

		spit(bytes, kept);
		kind = import();
		assert_true(kind == ERR_NONE || kind == ERR_FORMAT);
		if (kind)
			continue; /* the tables' names are gone */
		expect_damage("the file ends here: ", kept);
		assert_true(seen.facts >= last);
		last = seen.facts;
	}
	assert_true(last > 3000);
	spit(bytes, n - 1); /* not at a page's end */
	assert_int_equal(import(), ERR_NONE);
	expect_damage("1 of its", n - 1);
	free(bytes);
}

/* Of each page in turn nothing is left: what precedes it in its table is there, and the other table. */
static void test_a_page_of_zeros(void **state)
{
	uint8_t *bytes, *whole, zero[512] = { 0 };
	size_t n = make_long(&bytes), damaged = 0;

	(void)state;
	whole = malloc(n);
	for (size_t page = 1; page < n / 512; page += 3 * FEWER_BY) {
		size_t kernels, calls;

		memcpy(whole, bytes, n);
		memcpy(whole + 512 * page, zero, 512);
		spit(whole, n);
		if (import() != ERR_NONE)
			continue;
		kernels = lines_like("work 100 kind=1 ");
		calls = lines_like("call 100/100 ");
		assert_true(kernels == 2000 || calls == 2000);
		if (damage.kind && IMPORT_IS_ROW(damage.byte)) {
			unsigned table = IMPORT_TABLE(damage.byte);
			size_t rows = table == NSYS_KERNEL ? kernels : calls;

			assert_true(table == NSYS_KERNEL || table == NSYS_RUNTIME || table == NSYS_STRINGS);
			assert_true(table == NSYS_STRINGS || IMPORT_ROW_OF(damage.byte) == rows);
			assert_non_null(strstr(damage.text, import_nsys_table(table)));
			/* Of the device nothing is known from there on: it was idle or not. */
			assert_int_equal(lines_like("cut "), table == NSYS_KERNEL);
			if (table == NSYS_KERNEL && rows) {
				char cut[64];

				snprintf(cut, sizeof(cut), "cut %zu\n", 1000 * rows + 500);
				assert_int_equal(lines_like(cut), 1);
			}
			damaged++;
		}
	}
	assert_true(damaged > FEWER(30));
	free(bytes);
	free(whole);
}

/* Each of a table's pages is said to be the first one: its rows come again. */
static void test_pages_in_a_circle(void **state)
{
	uint8_t *bytes;
	size_t n = make_long(&bytes), turned = 0;

	(void)state;
	for (size_t page = 1; page < n / 512; page++) {
		uint8_t *p = bytes + 512 * page;
		size_t cells = (size_t)p[3] << 8 | p[4];

		if (p[0] != 5) /* an inner page */
			continue;
		for (size_t i = 1; i < cells; i++) {
			size_t first = (size_t)p[12] << 8 | p[13], cell = (size_t)p[12 + 2 * i] << 8 | p[13 + 2 * i];

			memcpy(p + cell, p + first, 4);
		}
		memcpy(p + 8, p + ((size_t)p[12] << 8 | p[13]), 4);
		turned++;
	}
	assert_true(turned > 2);
	spit(bytes, n);
	assert_int_equal(import(), ERR_NONE);
	assert_int_equal(damage.kind, ERR_FORMAT);
	assert_true(IMPORT_IS_ROW(damage.byte));
	assert_true(seen.facts < 200);
	free(bytes);
}

static void test_any_byte_may_be_any_other(void **state)
{
	uint8_t *bytes, *whole;
	size_t n;
	uint64_t seed = 7;

	(void)state;
	make(current);
	n = slurp(&bytes);
	whole = malloc(n);
	for (int round = 0; round < 300; round++) {
		memcpy(whole, bytes, n);
		for (int i = 0; i < 1 + round % 5; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			whole[(round % 2 ? 100 : 0) + (seed >> 33) % (n - 100)] = (uint8_t)(seed >> 25);
		}
		spit(whole, n);
		import();
	}
	free(bytes);
	free(whole);
}

/* ---- no memory ------------------------------------------------------------------------------------------------------------- */

/* Ours; the recorder's own are none of the importer's. */
static void test_every_allocation_may_fail(void **state)
{
	enum err_kind kind;
	long n = 1;

	(void)state;
	make(current);
	import();
	do {
		damage = (struct error){ .kind = ERR_NONE };
		seen.bytes = seen.facts = 0;
		fail_at = n++;
		kind = import_nsys(&seen, path, &damage, &err);
		if (fail_at <= 0) {
			assert_int_equal(kind, ERR_SYSTEM);
			assert_string_equal(err.text, "out of memory");
		}
	} while (fail_at <= 0);
	fail_at = 0;
	assert_int_equal(kind, ERR_NONE);
	assert_true(n > 5);
}

static void test_sqlite_may_have_no_memory(void **state)
{
	size_t failed = 0, step = 4096;

	(void)state;
	make(current);
	for (sqlite3_int64 limit = (sqlite3_int64)step;; limit += (sqlite3_int64)step) {
		sqlite3_int64 before = sqlite3_hard_heap_limit64(limit);
		enum err_kind kind = import();

		sqlite3_hard_heap_limit64(before);
		if (kind == ERR_NONE)
			break;
		failed++;
		assert_int_equal(kind, ERR_SYSTEM);
		assert_string_equal(err.text, "out of memory");
		assert_true(failed < 1000);
	}
	assert_true(failed > 3);
	expect(current_said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_of_another_kind),      cmocka_unit_test(test_a_journal_beside_it),
		cmocka_unit_test(test_a_journal_of_what_is_done),  cmocka_unit_test(test_a_log_behind_a_link),
		cmocka_unit_test(test_nothing_is_written),         cmocka_unit_test(test_what_runs_is_not_read),
		cmocka_unit_test(test_values_of_any_kind),         cmocka_unit_test(test_too_many_processes),
		cmocka_unit_test(test_a_file_that_ends_too_early), cmocka_unit_test(test_a_page_of_zeros),
		cmocka_unit_test(test_pages_in_a_circle),          cmocka_unit_test(test_any_byte_may_be_any_other),
		cmocka_unit_test(test_every_allocation_may_fail),  cmocka_unit_test(test_sqlite_may_have_no_memory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
