/* SPDX-License-Identifier: BSD-2-Clause */
/* Nsight Systems' exports, made here by SQL: what is said of them, version by version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/nsys_made.h"

static void test_the_current_schema(void **state)
{
	(void)state;
	make(current);
	assert_int_equal(import(), ERR_NONE);
	expect(current_said);
	assert_int_equal(damage.kind, ERR_NONE);
	assert_string_equal(import_nsys_table(9), "CUPTI_ACTIVITY_KIND_KERNEL");
	assert_string_equal(import_nsys_table(14), "CUPTI_ACTIVITY_KIND_RUNTIME");
	assert_null(import_nsys_table(NSYS_TABLES));
}

/* As of 2019 and 2020: other types, fewer columns, no mangled names, no kinds of memory. */
static void test_an_old_schema(void **state)
{
	(void)state;
	make(STRINGS
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, globalPid INT NOT NULL, demangledName INT NOT NULL, shortName INT NOT NULL);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000,9000,0,1,7,21," GPID ",1,2);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, globalPid INT NOT NULL, bytes INT NOT NULL, copyKind INT NOT NULL);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (100,200,0,1,7,22," GPID ",4096,1), (300,400,0,1,7,23," GPID
	     ",4096,2);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL, eventClass INT NOT NULL, globalTid INT NOT NULL, correlationId INT NOT NULL, nameId INT NOT NULL, returnValue INT NOT NULL);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (4000,4100,0," GTID ",21,3,0);"
	     "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);"
	     "INSERT INTO TARGET_INFO_GPU VALUES (0,'Tesla V100');"
	     "CREATE TABLE SCHED_EVENTS (id INTEGER PRIMARY KEY AUTOINCREMENT, start INT NOT NULL, cpu INT NOT NULL, isSchedIn INT NOT NULL, globalTid INT NOT NULL);"
	     "INSERT INTO SCHED_EVENTS VALUES (70,20,1,0," GTID "), (71,30,1,1," GTID ");");
	assert_int_equal(import(), ERR_NONE);
	expect("work 100 kind=1 5000..9000 void gemm<float>(float*) device=0 stream=7 context=1 corr=21 bytes=0 copy=0 node=0 @9:1\n"
	       "work 100 kind=2 100..200  device=0 stream=7 context=1 corr=22 bytes=4096 copy=2 node=0 @10:1\n"
	       "work 100 kind=2 300..400  device=0 stream=7 context=1 corr=23 bytes=4096 copy=4 node=0 @10:2\n"
	       "call 100/100 4000..4100 cudaLaunchKernel result=0 corr=21 stream=- device=- bytes=0 address=0 @14:1\n"
	       "op 100/100 kind=4 20..30  @28:70\n"
	       "device 100/0 Tesla V100 memory=0 uuid=0000..00\n");
}

/* Cut down by hand: texts without a key, no processes; columns of somebody else's, indexes that hold all that is asked for. */
static void test_a_file_that_was_worked_on(void **state)
{
	(void)state;
	make("CREATE TABLE stringids (value TEXT, ID INTEGER, seen TEXT);"
	     "INSERT INTO stringids VALUES ('kernel_b',700,''), ('cudaLaunchKernel',-3,''), ('kernel_a',5,'');"
	     "CREATE TABLE cupti_activity_kind_kernel (END INTEGER, START INTEGER, kernel_name TEXT, demangledName INTEGER, streamid INTEGER);"
	     "INSERT INTO cupti_activity_kind_kernel VALUES (30,20,'x',700,3), (15,10,'x',5,2), (50,40,'x',6,1);"
	     "CREATE INDEX by_start ON cupti_activity_kind_kernel (start, end, demangledName, streamId);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (globalTid INTEGER, correlationId INTEGER, start INTEGER NOT NULL, end INTEGER NOT NULL, nameId INTEGER);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" GTID ",0,1,2,-3);");
	assert_int_equal(import(), ERR_NONE);
	expect("work 100 kind=1 20..30 kernel_b device=- stream=3 context=0 corr=0 bytes=0 copy=0 node=0 @9:1\n"
	       "work 100 kind=1 10..15 kernel_a device=- stream=2 context=0 corr=0 bytes=0 copy=0 node=0 @9:2\n"
	       "work 100 kind=1 40..50  device=- stream=1 context=0 corr=0 bytes=0 copy=0 node=0 @9:3\n"
	       "call 100/100 1..2 cudaLaunchKernel result=0 corr=0 stream=- device=- bytes=0 address=0 @14:1\n");
}

/* An event is known by its number where one context records it; what waits for it, by table or by the lack of a stream. */
static void test_events(void **state)
{
	(void)state;
	make(STRINGS
	     "INSERT INTO StringIds VALUES (16, 'cudaStreamWaitEvent_v3020');"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 11, " GTID ", 1, 9), (20, 21, " GTID
	     ", 2, 9), (30, 31, " GTID ", 3, 9), (40, 41, " GTID ", 4, 16), (50, 51, " GTID ", 5, 16), (60, 61, " GTID
	     ", 6, 16), (70, 71, " GTID ", 7, 10), (80, 81, " GTID ", 8, 4);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 7, 1, " GPID ", 5), (0, 1, 8, 2, " GPID
	     ", 6), (1, 2, 9, 3, " GPID ", 6);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (0, 1, 13, 4, " GPID ", 2, 5), (0, 1, 13, 5, " GPID
	     ", 3, 6), (0, 1, 13, 6, " GPID ", 2, 99), (0, 1, 4294967295, 7, " GPID
	     ", 2, 5), (0, 1, 4294967295, 8, " GPID ", 3, 4294967295);");
	assert_int_equal(import(), ERR_NONE);
	expect("call 100/100 10..11 cudaEventRecord result=0 corr=1 stream=7 context=1 device=0 bytes=0 address=5 @14:1\n"
	       "call 100/100 20..21 cudaEventRecord result=0 corr=2 stream=8 context=1 device=0 bytes=0 address=0 @14:2\n"
	       "call 100/100 30..31 cudaEventRecord result=0 corr=3 stream=9 context=2 device=1 bytes=0 address=0 @14:3\n"
	       "call 100/100 40..41 cudaStreamWaitEvent result=0 corr=4 stream=13 context=1 device=0 bytes=0 address=5 @14:4\n"
	       "call 100/100 50..51 cudaStreamWaitEvent result=0 corr=5 stream=13 context=1 device=0 bytes=0 address=0 @14:5\n"
	       "call 100/100 60..61 cudaStreamWaitEvent result=0 corr=6 stream=13 context=1 device=0 bytes=0 address=0 @14:6\n"
	       "call 100/100 70..71 cudaEventSynchronize result=0 corr=7 stream=7 context=1 device=0 bytes=0 address=5 @14:7\n"
	       "call 100/100 80..81 cudaStreamSynchronize result=0 corr=8 stream=- context=1 device=0 bytes=0 address=0 @14:8\n"
	       "warn no kernel is in it: record with --trace=cuda (there is no table CUPTI_ACTIVITY_KIND_KERNEL)\n");
}

static void test_what_is_missing_is_said(void **state)
{
	(void)state;
	make(STRINGS
	     "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);"
	     "INSERT INTO NVTX_EVENTS VALUES (1,2,59,'step'," GTID "), (3,4,32,'something else'," GTID ");");
	assert_int_equal(import(), ERR_NONE);
	expect("range 100/100 1..2 step domain= @18:1\n"
	       "warn no kernel is in it: record with --trace=cuda (there is no table CUPTI_ACTIVITY_KIND_KERNEL)\n"
	       "warn no CUDA call is in it: why a device was idle is hardly known; record with --trace=cuda (there is no table "
	       "CUPTI_ACTIVITY_KIND_RUNTIME)\n");
}

static void test_ranks_of_mpi(void **state)
{
	(void)state;
	make(STRINGS
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2," GTID
	     ",1,3), (1,2,281478332154057,1,3);" /* 200/201 */
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER);"
	     "CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);"
	     "INSERT INTO MPI_RANKS VALUES (" GTID ",1), (281478332154057,0), (281474993487873,0), (" GTID ",4);"
	     "CREATE TABLE MPI_COMMUNICATORS (rank INTEGER, size INTEGER); INSERT INTO MPI_COMMUNICATORS VALUES (0,2), (0,4), (0,NULL), (0,-1);");
	assert_int_equal(import(), ERR_NONE);
	assert_non_null(strstr(seen.lines, "rank 100 1/4\nrank 200 0/4\n"));
	assert_null(strstr(seen.lines, "rank 1 "));
	assert_null(strstr(seen.lines, "4/4"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_current_schema),        cmocka_unit_test(test_an_old_schema),
		cmocka_unit_test(test_a_file_that_was_worked_on), cmocka_unit_test(test_events),
		cmocka_unit_test(test_what_is_missing_is_said),   cmocka_unit_test(test_ranks_of_mpi),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
