/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_host.c: the submitting thread sleeps, computes where it has to share a CPU ($LAB_CPU) or has a quota, or waits for a lock. */
#include "lab.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

static void act_sleep(long step)
{
	struct span s = span_begin("host-sleep", "main", step);

	sleep_ns(lab_length(step));
	span_end(&s);
}

static void pin(void)
{
	const char *cpu = getenv("LAB_CPU");
	cpu_set_t set;

	if (!cpu)
		return;
	CPU_ZERO(&set);
	CPU_SET(atoi(cpu), &set);
	REQUIRE(sched_setaffinity(0, sizeof(set), &set) == 0);
}

static void act_compute(long step)
{
	struct span s = span_begin("cpu-contention", "main", step);

	compute_cpu(lab_length(step) * 3 / 4);
	span_end(&s);
}

static void act_quota(long step)
{
	struct span s = span_begin("cpu-throttled", "main", step);

	compute_cpu(lab_length(step) * 3 / 4);
	span_end(&s);
}

/* ---- a lock: held by another thread, which computes ------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t wanted, held;
static long wanted_ns; /* the holder has it for so long */
static atomic_bool over;
static pthread_t holder;

static void *hold(void *arg)
{
	(void)arg;
	for (long step = 0;; step++) {
		struct span s;

		sem_wait(&wanted); /* and for its length */
		if (over)
			return NULL;
		s = span_begin("host-lock", "holder", step);
		pthread_mutex_lock(&lock);
		sem_post(&held);
		compute_until(lab_now() + wanted_ns);
		pthread_mutex_unlock(&lock);
		span_end(&s);
	}
}

static void open_lock(void)
{
	sem_init(&wanted, 0, 0);
	sem_init(&held, 0, 0);
	REQUIRE(pthread_create(&holder, NULL, hold, NULL) == 0);
}

static void act_lock(long step)
{
	struct span s;

	wanted_ns = lab_length(step);
	sem_post(&wanted);
	sem_wait(&held); /* to yield in a loop kept the holder from the CPU that both were on, for milliseconds */
	s = span_begin("host-lock", "main", step);
	pthread_mutex_lock(&lock);
	span_end(&s);
	pthread_mutex_unlock(&lock);
}

static void close_lock(void)
{
	over = true;
	sem_post(&wanted);
	pthread_join(holder, NULL);
}

const struct fault fault_sleep = { "sleep", NULL, NULL, act_sleep, NULL };
const struct fault fault_contention = { "contention", pin, NULL, act_compute, NULL };
const struct fault fault_quota = { "quota", pin, NULL, act_quota, NULL };
const struct fault fault_lock = { "lock", open_lock, NULL, act_lock, close_lock };
