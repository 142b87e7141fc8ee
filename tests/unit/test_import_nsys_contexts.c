/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose stream and whose event it is that a row of Nsight's names: its context says it, for its device may be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/nsys_seen.h"

/* Context 1 is of device 0, context 2 of device 1, context 3 of both. */
#define WORK                                                                                                                                                                                     \
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"                                                                                                                           \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER);"                 \
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,2,0,1,7,91," GPID "), (1,2,1,2,7,92," GPID                                                                                             \
	"), (1,2,0,3,9,93," GPID "), (1,2,1,3,9,94," GPID "), (1,2,4,5,7,95,200 << 24);"                                                                                                         \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"                                                       \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER);"                        \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);" \
	"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (globalPid INTEGER, deviceId INTEGER, contextId INTEGER, address INTEGER, bytes INTEGER, correlationId INTEGER);"

#define CALLS(n)                                                                           \
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " #n ")" \
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 10 * i, 10 * i + 1, " GTID ", i, 0 FROM n;"

#define NONE "4294967295" /* CUPTI's word for no stream, no event, no context */

/* What is said of calls. */
static void expect(const char *sql, const char *lines)
{
	const char *calls;

	put_sql("a", sql);
	assert_int_equal(import_nsys(&seen, in_folder("a"), &damage, &err), ERR_NONE);
	calls = strstr(seen.lines, "call ");
	assert_string_equal(calls ? calls : "", lines);
}

static void test_the_device_is_the_context_s(void **state)
{
	(void)state;
	expect(WORK CALLS(8) "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (0,2,7,1," GPID ",3," NONE
			     "), (0,1,7,2," GPID ",3," NONE "), (1,NULL,7,3," GPID ",3," NONE "), (1," NONE ",7,4," GPID
			     ",3," NONE "), (1,3,9,5," GPID ",3," NONE "), (0,5,7,6," GPID ",3," NONE ");"
			     "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0,2,7,7," GPID ",1);"
			     "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (" GPID ",0,2,4096,12,8);",
	       "call 100/100 10..11  result=0 corr=1 stream=7 context=2 device=1 bytes=0 address=0 @14:1\n"
	       "call 100/100 20..21  result=0 corr=2 stream=7 context=1 device=0 bytes=0 address=0 @14:2\n"
	       "call 100/100 30..31  result=0 corr=3 stream=7 device=1 bytes=0 address=0 @14:3\n"
	       "call 100/100 40..41  result=0 corr=4 stream=7 device=1 bytes=0 address=0 @14:4\n"
	       "call 100/100 50..51  result=0 corr=5 stream=9 context=3 device=1 bytes=0 address=0 @14:5\n"
	       "call 100/100 60..61  result=0 corr=6 stream=7 context=5 device=0 bytes=0 address=0 @14:6\n"
	       "call 100/100 70..71  result=0 corr=7 stream=7 context=2 device=1 bytes=0 address=1 @14:7\n"
	       "call 100/100 80..81  result=0 corr=8 stream=- context=2 device=1 bytes=12 address=4096 @14:8\n");
}

/* Event 1 is recorded in both contexts, event 2 in the first alone. */
#define EVENTS                                                                                    \
	"INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0,1,7,1," GPID ",1), (1,2,13,2," GPID \
	",1), (0,1,8,3," GPID ",2);"

static void test_the_host_waits_for_an_event_of_the_context(void **state)
{
	(void)state;
	expect(WORK EVENTS CALLS(8) "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (0,1," NONE ",4," GPID
				    ",1,1), (0,2," NONE ",5," GPID ",1,1), (4,6," NONE ",6," GPID ",1,1), (4,NULL," NONE
				    ",7," GPID ",1,1), (0,2," NONE ",8," GPID ",1,2);",
	       "call 100/100 10..11  result=0 corr=1 stream=7 context=1 device=0 bytes=0 address=0 @14:1\n"
	       "call 100/100 20..21  result=0 corr=2 stream=13 context=2 device=1 bytes=0 address=0 @14:2\n"
	       "call 100/100 30..31  result=0 corr=3 stream=8 context=1 device=0 bytes=0 address=2 @14:3\n"
	       "call 100/100 40..41  result=0 corr=4 stream=7 context=1 device=0 bytes=0 address=0 @14:4\n"
	       "call 100/100 50..51  result=0 corr=5 stream=13 context=2 device=1 bytes=0 address=0 @14:5\n"
	       "call 100/100 60..61  result=0 corr=6 stream=- context=6 device=4 bytes=0 address=0 @14:6\n"
	       "call 100/100 70..71  result=0 corr=7 stream=- device=4 bytes=0 address=0 @14:7\n"
	       "call 100/100 80..81  result=0 corr=8 stream=- context=2 device=1 bytes=0 address=0 @14:8\n");
}

/* Also where the row has no word on the host's context: the event is one context's alone. */
static void test_an_event_of_one_context_needs_no_word_on_it(void **state)
{
	(void)state;
	expect(WORK EVENTS CALLS(4) "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (0,NULL," NONE ",4," GPID
				    ",1,2);"
				    "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId < 4;",
	       "call 100/100 40..41  result=0 corr=4 stream=8 context=1 device=0 bytes=0 address=2 @14:4\n");
}

/* A stream waits for an event of another context: it stays that stream, and the event that one. */
static void test_streams_wait_across_contexts(void **state)
{
	(void)state;
	expect(WORK EVENTS CALLS(5) "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (0,2,13,4," GPID
				    ",2,2), (0,2,13,5," GPID ",2,1);"
				    "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId < 4;",
	       "call 100/100 40..41  result=0 corr=4 stream=13 context=2 device=1 bytes=0 address=2 @14:4\n"
	       "call 100/100 50..51  result=0 corr=5 stream=13 context=2 device=1 bytes=0 address=0 @14:5\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_the_device_is_the_context_s, forget),
		cmocka_unit_test_teardown(test_the_host_waits_for_an_event_of_the_context, forget),
		cmocka_unit_test_teardown(test_an_event_of_one_context_needs_no_word_on_it, forget),
		cmocka_unit_test_teardown(test_streams_wait_across_contexts, forget),
	};

	return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
