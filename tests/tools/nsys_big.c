/* SPDX-License-Identifier: BSD-2-Clause */
/* nsys_big FILE LAUNCHES: an export of Nsight Systems (SQLite, its tables of 2025), of a training loop that launches so many kernels: for each the
 * runtime's call and the kernel, for some a range and a call of the C library; each step copies a batch in and waits. Says on standard output how many
 * rows there are. The same for every call with the same LAUNCHES. */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LAUNCHES_OF_A_STEP 500
#define GLOBAL_PID (1ll << 48 | 2910249ll << 24)
#define GLOBAL_TID (GLOBAL_PID | 2910249ll % (1 << 24))

/* Numbers of texts. */
enum { LAUNCH = 1, COPY, SYNC, READ, KERNELS };

static const char tables[] =
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
	"INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync_v3020'), (3, 'cudaDeviceSynchronize_v3020'), (4, 'read'),"
	"(5, 'ampere_sgemm_128x64_tn'),"
	"(6, 'void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)'),"
	"(7, 'void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*)'),"
	"(8, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)');"
	"CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, totalMemory INTEGER, uuid TEXT, cuDevice INTEGER);"
	"INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'NVIDIA A100-SXM4-40GB', 42297786368, '110bc05b-778a-a2aa-f210-230b5a8ea938', 0);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
	" greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,"
	" mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,"
	" gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,"
	" dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
	" greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,"
	" srcKind INTEGER, dstKind INTEGER, copyCount INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,"
	" correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
	"CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT,"
	" globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);"
	"CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"
	" nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL);";

/* start, end and two more; then what is the same in each row. */
#define KERNEL                                                                                                                            \
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, NULL, 7, ?, %lld, ?, 5, NULL, NULL, 0, 122, 96, 6, 4, 256, 1, 1, 0, " \
	"16384, 0, 0, 1)"
#define MEMCPY "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, NULL, 7, ?, %lld, ?, 1, 1, 2, 1)"
#define RUNTIME "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, %lld, ?, ?, 0, NULL)"
#define NVTX "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, NULL, NULL, 'step ' || ?, %lld, NULL, NULL, ?)"
#define OSRT "INSERT INTO OSRT_API VALUES (?, ?, 27, %lld, ?, ?, 0, NULL, 0)"

struct maker {
	sqlite3 *db;
	sqlite3_stmt *kernel, *memcpy, *runtime, *nvtx, *osrt;
	int64_t host, device; /* ns: the thread's time, when the device's work so far has ended */
	int64_t correlation;
	uint64_t rows, random;
};

static void fail(struct maker *m)
{
	fprintf(stderr, "nsys_big: %s\n", sqlite3_errmsg(m->db));
	exit(EXIT_FAILURE);
}

static void run(struct maker *m, const char *sql)
{
	if (sqlite3_exec(m->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail(m);
}

static sqlite3_stmt *prepare(struct maker *m, const char *format, int64_t global)
{
	char *sql = sqlite3_mprintf(format, (long long)global);
	sqlite3_stmt *made = NULL;

	if (!sql || sqlite3_prepare_v2(m->db, sql, -1, &made, NULL) != SQLITE_OK)
		fail(m);
	sqlite3_free(sql);
	return made;
}

static void row(struct maker *m, sqlite3_stmt *s, int64_t begin, int64_t end, int64_t third, int64_t fourth)
{
	const int64_t values[] = { begin, end, third, fourth };

	for (int i = 0; i < 4; i++)
		sqlite3_bind_int64(s, i + 1, values[i]);
	if (sqlite3_step(s) != SQLITE_DONE || sqlite3_reset(s) != SQLITE_OK)
		fail(m);
	m->rows++;
}

/* xorshift64 (Marsaglia), below n */
static int64_t any(struct maker *m, uint64_t n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (int64_t)(m->random % n);
}

static void submit(struct maker *m, sqlite3_stmt *work, int64_t name, int64_t what, int64_t took)
{
	int64_t begin = m->host + 2000 + any(m, 4000), end = begin + 3000 + any(m, 4000), start;

	row(m, m->runtime, begin, end, ++m->correlation, name);
	start = end + 800 > m->device ? end + 800 : m->device + 900;
	m->device = start + took;
	row(m, work, start, m->device, m->correlation, what);
	m->host = end;
}

static void step(struct maker *m, int64_t number, uint64_t launches)
{
	int64_t opened = m->host, since;

	row(m, m->osrt, opened, opened + 100000, 0, READ);
	m->host = opened + 200000 + any(m, 4000000);
	submit(m, m->memcpy, COPY, 602112, 20000);
	for (uint64_t i = 0; i < launches; i++) {
		submit(m, m->kernel, LAUNCH, KERNELS + any(m, i % 97 ? 3 : 4), 1500 + any(m, 16000));
		if (i % 20 == 0)
			row(m, m->osrt, m->host, m->host + 900, 0, READ);
	}
	since = m->host;
	m->host = (m->device > since ? m->device : since) + 5000;
	row(m, m->runtime, since, m->host, ++m->correlation, SYNC);
	row(m, m->nvtx, opened, m->host + 1000, number, 0);
	m->host += 20000;
}

static void make(struct maker *m, uint64_t launches)
{
	run(m, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
	run(m, tables);
	m->kernel = prepare(m, KERNEL, GLOBAL_PID);
	m->memcpy = prepare(m, MEMCPY, GLOBAL_PID);
	m->runtime = prepare(m, RUNTIME, GLOBAL_TID);
	m->nvtx = prepare(m, NVTX, GLOBAL_TID);
	m->osrt = prepare(m, OSRT, GLOBAL_TID);
	for (uint64_t first = 0; first < launches; first += LAUNCHES_OF_A_STEP)
		step(m, (int64_t)(first / LAUNCHES_OF_A_STEP),
		     launches - first < LAUNCHES_OF_A_STEP ? launches - first : LAUNCHES_OF_A_STEP);
	sqlite3_finalize(m->kernel);
	sqlite3_finalize(m->memcpy);
	sqlite3_finalize(m->runtime);
	sqlite3_finalize(m->nvtx);
	sqlite3_finalize(m->osrt);
	run(m, "COMMIT");
}

int main(int argc, char *argv[])
{
	struct maker m = { .host = 1000000, .correlation = 100, .random = 88172645463325252u };
	uint64_t launches = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;

	if (!launches || (unlink(argv[1]) != 0 && access(argv[1], F_OK) == 0) ||
	    sqlite3_open_v2(argv[1], &m.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK) {
		fputs("usage: nsys_big FILE LAUNCHES\n", stderr);
		return EXIT_FAILURE;
	}
	make(&m, launches);
	sqlite3_close(m.db);
	printf("%" PRIu64 "\n", m.rows);
	return EXIT_SUCCESS;
}
