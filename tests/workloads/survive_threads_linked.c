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

int main(int argc, char **argv)
{
	static const struct survive_case cases[] = {
		{ "descriptors", descriptors },
		{ "placement", placement },
	};

	return survive_main(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
