/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of Nsight's tables that repeat, come in another order than it happened, or are words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "import/import_nsys_parts.h"
#include "tests/unit/nsys_seen.h"
#include "tools/spill.h"

#define GTID2 "(100 << 24 | 101)"

#define CALLS                                                                   \
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"          \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER);" \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"

static void expect(const char *sql, const char *lines)
{
	seen_free(&seen);
	damage = (struct error){ .kind = ERR_NONE };
	put_sql("a", sql);
	assert_int_equal(import_nsys(&seen, in_folder("a"), &damage, &err), ERR_NONE);
	assert_string_equal(seen.lines ? seen.lines : "", lines);
	unlink(in_folder("a"));
}

/* ---- details --------------------------------------------------------------------------------------------------------------- */

#define SYNC \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER);"
#define MEMORY \
	"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (globalPid INTEGER, deviceId INTEGER, address INTEGER, bytes INTEGER, correlationId INTEGER);"

/* Of what several rows say the first that says it counts. */
static void test_several_rows_about_one_call(void **state)
{
	(void)state;
	expect(CALLS SYNC MEMORY "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (NULL,7,5," GPID
				 ",3), (1,8,5," GPID ",3), (2,9,5," GPID ",3), (3,4,6,200 << 24,3);"
				 "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (" GPID ",1,0,11,5), (" GPID
				 ",1,4096,12,5), (" GPID ",1,8192,13,5);"
				 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2," GTID ",5,0), (3,4," GTID
				 ",6,0), (5,6," GTID ",5,0);",
	       "call 100/100 1..2  result=0 corr=5 stream=7 device=1 bytes=12 address=4096 @14:1\n"
	       "call 100/100 3..4  result=0 corr=6 stream=- device=- bytes=0 address=0 @14:2\n"
	       "call 100/100 5..6  result=0 corr=5 stream=7 device=1 bytes=12 address=4096 @14:3\n");
}

/* So that each of as many calls finds it in one step. */
static void test_one_detail_is_kept_of_many_rows(void **state)
{
	struct nsys n = { .b = &seen };

	(void)state;
	put_sql("many", CALLS SYNC "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
				   "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SELECT 1, i, i % 2 + 5, " GPID
				   ", 3 FROM n;");
	assert_int_equal(nsys_file_open(&n.file, in_folder("many"), &damage, &err), ERR_NONE);
	nsys_details(&n);
	assert_int_equal(n.n_details, 2);
	assert_int_equal(n.details[0].correlation, 5);
	assert_int_equal(n.details[0].stream, 2);
	assert_int_equal(n.details[1].correlation, 6);
	assert_int_equal(n.details[1].stream, 1);
	nsys_file_close(&n.file);
	spill_free(n.details);
	spill_free(n.events);
}

/* ---- the scheduler --------------------------------------------------------------------------------------------------------- */

#define SCHED                                                                      \
	CALLS "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2," GTID ",0,0);" \
	      "CREATE TABLE SCHED_EVENTS (start INTEGER, isSchedIn INTEGER, globalTid INTEGER, threadState INTEGER);"
#define CALL "call 100/100 1..2  result=0 corr=0 stream=- device=- bytes=0 address=0 @14:1\n"

static void test_switches_in_any_order(void **state)
{
	(void)state;
	expect(SCHED "INSERT INTO SCHED_EVENTS VALUES (60,1," GTID ",0), (40,0," GTID ",2), (35,1," GTID2
		     ",0), (30,1," GTID ",0), (20,0," GTID ",1), (10,1," GTID ",0), (5,0," GTID2 ",3);",
	       CALL "op 100/100 kind=4 20..30 preempted @28:5\n"
		    "op 100/100 kind=4 40..60 sleeping @28:2\n"
		    "op 100/101 kind=4 5..35 uninterruptible @28:7\n");
	/* In between it ran: from 300 to 350. */
	expect(SCHED "INSERT INTO SCHED_EVENTS VALUES (100,0," GTID ",1), (900,1," GTID ",0), (300,1," GTID
		     ",0), (350,0," GTID ",2);",
	       CALL "op 100/100 kind=4 100..300 preempted @28:1\n"
		    "op 100/100 kind=4 350..900 sleeping @28:4\n");
}

/* One that was not written leaves nothing that is known. */
static void test_switches_that_are_missing(void **state)
{
	(void)state;
	expect(SCHED "INSERT INTO SCHED_EVENTS VALUES (10,1," GTID ",0), (20,0," GTID ",1), (30,0," GTID
		     ",2), (40,1," GTID ",0), (50,1," GTID ",0), (60,0," GTID ",1), (70,1," GTID2 ",0);",
	       CALL "op 100/100 kind=4 30..40 sleeping @28:3\n");
}

/* ---- processes ------------------------------------------------------------------------------------------------------------- */

#define COMMANDS                                                                                                          \
	"CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"                                                         \
	"INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND','/bin/python3'), ('PROCESS_0:ARGUMENT_0','train.py');" \
	"CREATE TABLE PROCESSES (globalPid INTEGER, name TEXT); INSERT INTO PROCESSES VALUES (" GPID                      \
	",'python3'), (200 << 24,'python3'), (300 << 24,'sh');"

/* Which of two was started with the arguments nobody knows. */
static void test_the_command_is_that_of_the_one_that_works(void **state)
{
	(void)state;
	expect(CALLS COMMANDS "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2," GTID ",0,0);",
	       CALL "command 100 /bin/python3 train.py\n");
	expect(CALLS COMMANDS "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2," GTID
			      ",0,0), (3,4,200 << 24 | 200,0,0);",
	       CALL "call 200/200 3..4  result=0 corr=0 stream=- device=- bytes=0 address=0 @14:2\n"
		    "command 100 python3\ncommand 200 python3\n");
}

/* ---- words ----------------------------------------------------------------------------------------------------------------- */

#define DIAGNOSTIC CALLS "CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT);"

/* What is said of rows (severity, text). */
static void expect_said(const char *rows, const char *lines)
{
	char sql[2048];

	snprintf(sql, sizeof(sql), DIAGNOSTIC "INSERT INTO DIAGNOSTIC_EVENT VALUES %s;", rows);
	expect(sql, lines);
}

static void test_numbers_of_what_is_lost(void **state)
{
	static const char *const texts[] = { "12 events were lost", "Number of dropped records: 12",
					     "Device 7: 12 CUDA events were dropped.", "Records dropped: 12 (CPU 3)",
					     "Lost 12 samples in 3 buffers" };
	static const struct {
		const char *text;
		uint64_t lost;
	} long_ones[] = { { "Number of CUDA events lost: 1,234", 1234 },
			  { "1,234,567 events were dropped.", 1234567 },
			  { "Dropped 12,345 records, 3 buffers", 12345 },
			  { "12, events were lost", 12 },
			  { "Events lost: ,123", 123 },
			  { "1,2345 events were lost", 2345 } };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char rows[128], lines[256];

		snprintf(rows, sizeof(rows), "(2,'%s')", texts[i]);
		snprintf(lines, sizeof(lines), "lost 12\nwarn Nsight Systems says: %s\n", texts[i]);
		expect_said(rows, lines);
	}
	for (size_t i = 0; i < sizeof(long_ones) / sizeof(long_ones[0]); i++) {
		char rows[128], lines[256];

		snprintf(rows, sizeof(rows), "(2,'%s')", long_ones[i].text);
		snprintf(lines, sizeof(lines), "lost %" PRIu64 "\nwarn Nsight Systems says: %s\n", long_ones[i].lost,
			 long_ones[i].text);
		expect_said(rows, lines);
	}
}

/* Process 0 of a machine is all of it, or all of the session; another process is none of ours. */
static void test_whom_a_warning_is_about(void **state)
{
	static const char *const ours[] = { "NULL", GPID, "1 << 48", "-144115188075855872" };
	char sql[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]) + 1; i++) {
		bool another = i == sizeof(ours) / sizeof(ours[0]);

		snprintf(sql, sizeof(sql),
			 CALLS "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2," GTID ",0,0);"
			       "CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT, globalPid INTEGER);"
			       "INSERT INTO DIAGNOSTIC_EVENT VALUES (2,'12 events were lost',%s);",
			 another ? "200 << 24" : ours[i]);
		expect(sql, another ? CALL : CALL "lost 12\nwarn Nsight Systems says: 12 events were lost\n");
	}
}

static void test_numbers_of_something_else(void **state)
{
	static const char *const texts[] = { "Process 12345 lost its console",
					     "Process 12345 lost events",
					     "95 events produced, 5 were lost",
					     "Buffer 4 overflow: events were lost",
					     "99999999999999999999 events were lost",
					     "Some events were lost in process 12345",
					     "dropped: 12",
					     "Buffers 1,2,3: events were lost" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char rows[128], lines[256];

		snprintf(rows, sizeof(rows), "(3,'%s')", texts[i]);
		snprintf(lines, sizeof(lines), "warn Nsight Systems says: %s\n", texts[i]);
		expect_said(rows, lines);
	}
	expect_said("(1,'12 events were lost'), (0,'12 events were dropped'), (2,'12 events of OpenGL')", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_several_rows_about_one_call, forget),
		cmocka_unit_test_teardown(test_one_detail_is_kept_of_many_rows, forget),
		cmocka_unit_test_teardown(test_switches_in_any_order, forget),
		cmocka_unit_test_teardown(test_switches_that_are_missing, forget),
		cmocka_unit_test_teardown(test_the_command_is_that_of_the_one_that_works, forget),
		cmocka_unit_test_teardown(test_numbers_of_what_is_lost, forget),
		cmocka_unit_test_teardown(test_whom_a_warning_is_about, forget),
		cmocka_unit_test_teardown(test_numbers_of_something_else, forget),
	};

	return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
