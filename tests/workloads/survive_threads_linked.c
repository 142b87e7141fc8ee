/* SPDX-License-Identifier: BSD-2-Clause */
/* survive_threads_linked CASE: threads that come, go, are placed and watch what a recorder in their process does. */
#include "survive.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static bool over;

/* ---- descriptors ------------------------------------------------------------------------------------------------------ */

/* First calls of new threads, bursts of launches, and silences long enough to be looked into. */
static void *busy_thread(void *arg)
{
	CU(cuCtxSetCurrent, context);
	for (int i = 0; i < 20 && !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
		work(40);
		usleep(3000);
	}
	return arg;
}

static void *starter(void *arg)
{
	usleep(10000);
	start("kernel__2us");
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		pthread_t threads[3];

		for (int i = 0; i < 3; i++)
			REQUIRE(pthread_create(&threads[i], NULL, busy_thread, NULL) == 0);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
	return arg;
}

/* The lowest free descriptor is what it always was, whatever the other threads have recorded. */
static void descriptors(void)
{
	int expected = open("/dev/null", O_RDONLY | O_CLOEXEC), opens = 0, other = 0;
	pthread_t thread;

	close(expected);
	REQUIRE(pthread_create(&thread, NULL, starter, NULL) == 0);
	for (uint64_t end_ns = now_ns() + 1500000000; now_ns() < end_ns; opens++) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		other += fd != expected;
		close(fd);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("opens enough: %d, others than expected: %d\n", opens > 20000, other);
}

/* ---- placement -------------------------------------------------------------------------------------------------------- */

/* The thread that makes the first calls is pinned, of another policy, and nicer than the process. */
static void *placed_thread(void *arg)
{
	struct sched_param none = { 0 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
	REQUIRE(setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10) == 0);
	REQUIRE(sched_setscheduler(0, SCHED_BATCH, &none) == 0);
	start("kernel__2us");
	for (int i = 0; i < 5; i++) { /* enough for a second segment, and so for all of our threads */
		work(2000);
		usleep(20000);
	}
	return arg;
}

/* Then whoever watches says what each thread of the process got: SURVIVE_PAUSE_MS to look from outside. */
static void placement(void)
{
	const char *pause_ms = getenv("SURVIVE_PAUSE_MS");
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, placed_thread, NULL) == 0);
	pthread_join(thread, NULL);
	puts("ready");
	fflush(stdout);
	usleep(1000u * (unsigned)atoi(pause_ms ? pause_ms : "0"));
}

/* ---- many ------------------------------------------------------------------------------------------------------------- */

#define AT_ONCE 1000

static pthread_barrier_t all_there;

static void *one_of_many(void *arg)
{
	pthread_barrier_wait(&all_there);
	REQUIRE(CU(cuCtxSetCurrent, context) == CUDA_SUCCESS);
	work(8);
	pthread_barrier_wait(&all_there); /* none ends before each has recorded */
	return arg;
}

static void many(void)
{
	static pthread_t threads[AT_ONCE];
	pthread_attr_t attr;

	start("kernel__1us");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_barrier_init(&all_there, NULL, AT_ONCE);
	for (int i = 0; i < AT_ONCE; i++)
		REQUIRE(pthread_create(&threads[i], &attr, one_of_many, NULL) == 0);
	for (int i = 0; i < AT_ONCE; i++)
		pthread_join(threads[i], NULL);
}

static void *one_call(void *arg)
{
	CU(cuEventQuery, NULL);
	REQUIRE(CU(cuCtxSetCurrent, context) == CUDA_SUCCESS);
	return arg;
}

static void one_by_one(void)
{
	start("kernel__1us");
	for (int i = 0; i < 10000; i++) {
		pthread_t thread;

		REQUIRE(pthread_create(&thread, NULL, one_call, NULL) == 0);
		pthread_join(thread, NULL);
	}
}

/* ---- the end of a thread ------------------------------------------------------------------------------------------------ */

static pthread_key_t late;

static void call_late(void *arg)
{
	work(8);
	if (arg == (void *)1) /* and once more, in the next round of destructors */
		pthread_setspecific(late, (void *)2);
}

static void *ends(void *arg)
{
	REQUIRE(CU(cuCtxSetCurrent, context) == CUDA_SUCCESS);
	work(8);
	pthread_setspecific(late, (void *)1);
	return arg;
}

/* The thread's own destructors of thread-specific data make calls: keys made before ours and behind it. */
static void destructors(void)
{
	pthread_t thread;

	REQUIRE(pthread_key_create(&late, call_late) == 0);
	start("kernel__1us");
	for (int round = 0; round < 2; round++) {
		REQUIRE(pthread_create(&thread, NULL, ends, NULL) == 0);
		pthread_join(thread, NULL);
		REQUIRE(pthread_key_create(&late, call_late) == 0);
	}
}

/* ---- captures ----------------------------------------------------------------------------------------------------------- */

static void *launches(void *arg)
{
	CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUstream s;

	REQUIRE(CU(cuCtxSetCurrent, context) == CUDA_SUCCESS);
	cuThreadExchangeStreamCaptureMode(&relaxed);
	REQUIRE(CU(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		REQUIRE(launch(s) == CUDA_SUCCESS);
		REQUIRE(CU(cuStreamSynchronize, s) == CUDA_SUCCESS);
		usleep(300); /* silent: the helper asks */
	}
	return arg;
}

/* In a capture of mode global, what others do can spoil it. What we do must not. */
static void global_capture(void)
{
	pthread_t thread;
	int spoilt = 0;
	CUstream s;

	start("kernel__20us");
	REQUIRE(CU(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	REQUIRE(pthread_create(&thread, NULL, launches, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		CUgraph graph = NULL;

		REQUIRE(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
		for (int k = 0; k < 3; k++) {
			spoilt += launch(s) != CUDA_SUCCESS;
			usleep(1000);
		}
		spoilt += cuStreamEndCapture(s, &graph) != CUDA_SUCCESS;
		if (graph)
			cuGraphDestroy(graph);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("spoilt: %d\n", spoilt);
}

int main(int argc, char **argv)
{
	static const struct survive_case cases[] = {
		{ "descriptors", descriptors }, { "placement", placement },     { "many", many },
		{ "one-by-one", one_by_one },   { "destructors", destructors }, { "global-capture", global_capture },
	};

	return survive_main(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
