/* SPDX-License-Identifier: BSD-2-Clause */
/* nsys_made.h: exports of Nsight Systems, made by SQL, and what the importer says of them. For test programs of the Nsight importer. */
#pragma once

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/import_nsys_file.h"
#include "tests/unit/import_seen.h"

/* Process 100 (0x64), its threads 100 and 101; the upper 8 bits are the hardware's, the next 8 the VM's. */
#define GPID "281476654432256"  /* 1 << 48 | 100 << 24 */
#define GTID "281476654432356"  /* … | 100 */
#define GTID2 "281476654432357" /* … | 101 */

static char folder[] = "/tmp/test_import_nsys.XXXXXX";
static char path[512];
static struct import_build seen;
static struct error err, damage;

static inline int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a b?mode=rw#%%41.sqlite", folder); /* none of it means anything */
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	seen_free(&seen);
	unlink(path);
	return rmdir(folder);
}

/* ---- making files ---------------------------------------------------------------------------------------------------------- */

static inline void make(const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	unlink(path);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	sqlite3_close(db);
}

static inline size_t slurp(uint8_t **bytes)
{
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*bytes = malloc((size_t)st.st_size + 1);
	assert_int_equal(read(fd, *bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

static inline void spit(const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	close(fd);
}

static inline enum err_kind import(void)
{
	seen_free(&seen);
	damage = (struct error){ .kind = ERR_NONE };
	return import_nsys(&seen, path, &damage, &err);
}

/* All that was said, in order. */
static inline void expect(const char *lines)
{
	const char *have = seen.lines ? seen.lines : "";

	if (strcmp(have, lines) != 0) {
		size_t same = 0;

		while (have[same] && have[same] == lines[same])
			same++;
		while (same && have[same - 1] != '\n')
			same--;
		fail_msg("said:\n%.400s\ninstead of:\n%.400s", have + same, lines + same);
	}
}

static inline void expect_damage(const char *text, uint64_t place)
{
	if (!strstr(damage.text, text))
		fail_msg("damage is '%s', not '%s'", damage.text, text);
	assert_int_equal(damage.kind, ERR_FORMAT);
	assert_int_equal(damage.byte, place);
}

/* ---- one of today's, with something in each table, and what is said of it -------------------------------------------------- */

#define STRINGS                                                                                                          \
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"                                 \
	"INSERT INTO StringIds VALUES (1,'void gemm<float>(float*)'), (2,'gemm'), (3,'cudaLaunchKernel_v7000'),"         \
	"(4,'cudaStreamSynchronize_v3020'), (5,'cudaMalloc_v3020'), (6,'cuMemAlloc_v2'), (7,'read'), (8,'main thread')," \
	"(9,'cudaEventRecord_v3020'), (10,'cudaEventSynchronize_v3020'), (11,'registered'), (12,'Command Buffer Full')," \
	"(13,'MPI_Allreduce'), (14,'cublasSgemm_v2'), (15,'loader');"

/* As Nsight Systems 2025 and 2026 export (schema 3.25): columns that are not read are left out but for a few. */
static const char current[] = STRINGS
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER);"
	"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1769308002162486533, '2026', '2026', 6324391262083);"
	"CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL);"
	"INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1,'Local (CLI)','CpuCores',1,'18'), (1,'Local (CLI)','Hostname',2,'node7'),"
	"(1,'Local (CLI)','DeviceEnvironment',3,'MYRANK=9;RANK=3;WORLD_SIZE=8;A=RANK=1');"
	"CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);"
	"INSERT INTO META_DATA_CAPTURE VALUES ('CAPTURE_EVENT_TYPE','Cuda'), ('PROCESS_0:COMMAND','/usr/bin/python3'), ('PROCESS_0:ARGUMENT_0','train.py'), ('PROCESS_0:ARGUMENT_1','--fast');"
	"CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, totalMemory INTEGER, uuid TEXT, cuDevice INTEGER);"
	"INSERT INTO TARGET_INFO_GPU VALUES (1,0,'H100 A',85899345920,'110bc05b-778a-a2aa-f210-230b5a8ea938',1), (1,1,'H100 B',85899345921,'GPU-ff0bc05b778aa2aaf210230b5a8ea9ee',0);"
	"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT, numMultiprocessors INTEGER);"
	"INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1,1,100,NULL,132), (0,1,200,NULL,132);"
	"CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
	"INSERT INTO PROCESSES VALUES (281474993487872,1,'systemd'), (" GPID ",100,'python3');"
	"CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
	"INSERT INTO ThreadNames VALUES (8,20,281474993487873), (8,20," GTID "), (15,20," GTID2 ");"
	"CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER);"
	"INSERT INTO DIAGNOSTIC_EVENT VALUES (1,2,3,1,'Number of CUPTI events produced: 95, CUPTI buffers: 50.',NULL), (1,2,3,2,'Not all NVTX events might have been collected.'||char(10)||'more',NULL),"
	"(1,2,3,3,'Device 7: 1234 CUDA events were dropped.'," GPID
	"), (1,2,3,2,'No OpenGL events collected.',NULL), (1,2,3,2,'No CUDA events collected.',281474993487872);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, gridX INTEGER NOT NULL, graphNodeId INTEGER, tensorSizeMinusOneElements TEXT);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000,9000,1,1,0,7,21," GPID
	",1,2,NULL,50,NULL,'[]'), (9500,9600,1,1,0,13,22," GPID ",99,2,99,50,17179869185,'[]'),"
	"(0,0,1,1,0,7,23," GPID ",1,2,NULL,1,NULL,NULL);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER, copyCount INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (100,200,1,1,0,7,30," GPID
	",4096,1,0,2,NULL,1), (210,300,1,1,0,7,31," GPID ",4097,1,1,2,NULL,1), (310,400,1,1,0,7,32," GPID
	",4098,2,2,0,NULL,1),"
	"(410,500,1,1,0,7,33," GPID ",4099,2,2,1,NULL,1), (510,600,1,1,0,7,34," GPID
	",4100,8,2,2,NULL,1), (610,700,1,1,0,7,35," GPID ",4101,10,2,2,NULL,1), (710,800,1,1,0,7,36," GPID
	",4102,9,0,0,NULL,1),"
	"(810,900,1,0,0,0,0," GPID ",65536,11,7,7,NULL,1), (910,999,1,1,0,7,37," GPID ",1,42,7,7,NULL,1);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1000,1100,1,1,7,40," GPID ",0,512,NULL,2);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (20000,30000,1,1,0,7,50," GPID ",1,2);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (4000,4100,0," GTID ",21,3,0,NULL), (4200,9100,0," GTID
	",60,4,0,NULL), (4201,9099,67," GTID ",60,4,0,5), (9200,9300,0," GTID2 ",61,5,2,NULL),"
	"(9310,9320,1," GTID2 ",62,6,0,NULL), (9400,9410,0," GTID ",63,9,0,NULL), (9420,9430,0," GTID
	",64,9,0,NULL), (9440,9700,0," GTID ",65,10,0,NULL);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL, eventSyncId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0,1,1,0,13,63," GPID ",5,1), (0,1,1,0,14,64," GPID
	",5,2), (0,1,1,0,15,66," GPID ",5,3), (0,0,1,0,16,64,281474993487872,5,2);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL, eventSyncId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (4300,9000,1,1,NULL,7,60," GPID
	",NULL,3,0,0), (9450,9690,1,1,NULL,4294967295,65," GPID ",NULL,1,5,2);"
	"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER);"
	"INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (9290," GPID
	",1,1,139637976727552,0,1048576,2,0,NULL,61,NULL);"
	"CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, int64Value INTEGER, jsonText TEXT, eventId INTEGER NOT NULL PRIMARY KEY);"
	"INSERT INTO NVTX_EVENTS VALUES (10,90,59,NULL,NULL,NULL,'step 1'," GTID
	",NULL,NULL,0,NULL,NULL,101), (20,80,60,5,NULL,NULL,NULL," GTID "," GTID2
	",11,2,NULL,NULL,102), (30,NULL,34,NULL,NULL,NULL,'mark'," GTID2 ",NULL,NULL,3,NULL,NULL,103),"
	"(40,NULL,59,NULL,NULL,NULL,'open'," GTID
	",NULL,NULL,NULL,NULL,NULL,104), (5,NULL,75,NULL,NULL,NULL,'NCCL'," GTID
	",NULL,NULL,2,NULL,NULL,105), (6,NULL,33,NULL,4,NULL,'category'," GTID ",NULL,NULL,0,NULL,NULL,106),"
	"(50,60,59,NULL,NULL,NULL,'aten::add, op_id = 314290'," GTID
	",NULL,NULL,0,NULL,NULL,107), (51,59,59,NULL,NULL,NULL,'MulBackward0, seq = 12, op_id = 4'," GTID
	",NULL,NULL,0,NULL,NULL,108), (52,58,59,NULL,NULL,NULL,'ProfilerStep#3, op_id = 9'," GTID
	",NULL,NULL,0,NULL,NULL,109), (53,57,59,NULL,NULL,NULL,'record_param_comms, op_id = 10'," GTID
	",NULL,NULL,0,NULL,NULL,110);"
	"CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL);"
	"INSERT INTO OSRT_API VALUES (1,1,31," GPID ",7,0,NULL,0), (100,900,27," GTID2
	",7,0,0,1), (100,900,27,281474993487873,7,0,0,1);"
	"CREATE TABLE CUBLAS_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL);"
	"INSERT INTO CUBLAS_EVENTS VALUES (3900,4150,29," GTID ",14);"
	"CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, size INTEGER);"
	"INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (300,400," GTID ",13,1,8);"
	"CREATE TABLE PROFILER_OVERHEAD (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, overheadType INTEGER NOT NULL);"
	"INSERT INTO PROFILER_OVERHEAD VALUES (1,50," GTID ",999,3);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, overheadType INTEGER NOT NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (4020,4080,103," GTID ",21,12,8);"
	"CREATE TABLE SCHED_EVENTS (start INTEGER NOT NULL, cpu INTEGER NOT NULL, isSchedIn INTEGER NOT NULL, globalTid INTEGER, threadState INTEGER, threadBlock INTEGER);"
	"INSERT INTO SCHED_EVENTS VALUES (10,1,1," GTID ",0,NULL), (20,1,0," GTID ",2,NULL), (25,1,0," GTID2
	",0,NULL), (30,1,1," GTID ",0,NULL), (31,1,1," GTID2 ",0,NULL), (40,1,0," GTID
	",5,NULL), (50,1,0,281474993487873,2,NULL), (60,1,1,281474993487873,0,NULL);";

static const char current_said[] =
	"epoch 1769308002162486533\n"
	"host node7\n"
	"work 100 kind=1 5000..9000 void gemm<float>(float*) device=1 stream=7 context=1 corr=21 bytes=0 copy=0 node=0 @9:1\n"
	"work 100 kind=1 9500..9600 gemm device=1 stream=13 context=1 corr=22 bytes=0 copy=0 node=17179869185 @9:2\n"
	"work 100 kind=1 0..-9223372036854775808 void gemm<float>(float*) device=1 stream=7 context=1 corr=23 bytes=0 copy=0 node=0 @9:3\n"
	"work 100 kind=2 100..200  device=1 stream=7 context=1 corr=30 bytes=4096 copy=1 node=0 @10:1\n"
	"work 100 kind=2 210..300  device=1 stream=7 context=1 corr=31 bytes=4097 copy=2 node=0 @10:2\n"
	"work 100 kind=2 310..400  device=1 stream=7 context=1 corr=32 bytes=4098 copy=3 node=0 @10:3\n"
	"work 100 kind=2 410..500  device=1 stream=7 context=1 corr=33 bytes=4099 copy=4 node=0 @10:4\n"
	"work 100 kind=2 510..600  device=1 stream=7 context=1 corr=34 bytes=4100 copy=5 node=0 @10:5\n"
	"work 100 kind=2 610..700  device=1 stream=7 context=1 corr=35 bytes=4101 copy=6 node=0 @10:6\n"
	"work 100 kind=2 710..800  device=1 stream=7 context=1 corr=36 bytes=4102 copy=7 node=0 @10:7\n"
	"work 100 kind=2 810..900  device=1 stream=- context=0 corr=0 bytes=65536 copy=2 node=0 @10:8\n"
	"work 100 kind=2 910..999  device=1 stream=7 context=1 corr=37 bytes=1 copy=0 node=0 @10:9\n"
	"work 100 kind=3 1000..1100  device=1 stream=7 context=1 corr=40 bytes=512 copy=0 node=0 @11:1\n"
	"work 100 kind=4 20000..30000  device=1 stream=7 context=1 corr=50 bytes=0 copy=0 node=0 @13:1\n"
	"call 100/100 4000..4100 cudaLaunchKernel result=0 corr=21 stream=- device=- bytes=0 address=0 @14:1\n"
	"call 100/100 4200..9100 cudaStreamSynchronize result=0 corr=60 stream=7 context=1 device=1 bytes=0 address=0 @14:2\n"
	"call 100/101 9200..9300 cudaMalloc result=2 corr=61 stream=- context=1 device=1 bytes=1048576 address=139637976727552 @14:4\n"
	"call 100/101 9310..9320 cuMemAlloc_v2 result=0 corr=62 stream=- device=- bytes=0 address=0 @14:5\n"
	"call 100/100 9400..9410 cudaEventRecord result=0 corr=63 stream=13 context=1 device=1 bytes=0 address=5 @14:6\n"
	"call 100/100 9420..9430 cudaEventRecord result=0 corr=64 stream=14 context=1 device=1 bytes=0 address=5 @14:7\n"
	"call 100/100 9440..9700 cudaEventSynchronize result=0 corr=65 stream=14 context=1 device=1 bytes=0 address=5 @14:8\n"
	"range 100/100 10..90 step 1 domain= @18:101\n"
	"range 100/100 20..80 registered domain=NCCL started @18:102\n"
	"range 100/101 30..30 mark domain=domain 3 @18:103\n"
	"range 100/100 40..- open domain= @18:104\n"
	"op 100/100 kind=1 50..60 aten::add @18:107\n"
	"op 100/100 kind=1 51..59 MulBackward0 @18:108\n"
	"range 100/100 52..58 ProfilerStep#3 domain= @18:109\n"
	"op 100/100 kind=1 53..57 record_param_comms @18:110\n"
	"op 100/101 kind=3 100..900 read @19:2\n"
	"op 100/100 kind=1 3900..4150 cublasSgemm_v2 @20:1\n"
	"op 100/100 kind=1 300..400 MPI_Allreduce @23:1\n"
	"op 100/100 kind=5 1..50 buffer flush @26:1\n"
	"op 100/100 kind=5 4020..4080 Command Buffer Full @27:1\n"
	"op 100/100 kind=4 20..30 sleeping @28:2\n"
	"op 100/101 kind=4 25..31  @28:3\n"
	"device 100/1 H100 B memory=85899345921 uuid=ff0b..ee\n"
	"command 100 /usr/bin/python3 train.py --fast\n"
	"thread 100/100 main thread\n"
	"thread 100/101 loader\n"
	"rank 100 3/8\n"
	"warn pages of managed memory moved by themselves: they are shown as copies of no stream\n"
	"warn Nsight Systems says: Not all NVTX events might have been collected.\n"
	"lost 1234\n"
	"warn Nsight Systems says: Device 7: 1234 CUDA events were dropped.\n";
