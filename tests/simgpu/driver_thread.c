/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver_thread.h"

#include "op.h"
#include "truth_log.h"
#include "watch.h"

#include <pthread.h>
#include <signal.h>

enum {
	COARSE_NS = 1000000, /* between looks at small transfers nobody waits for */
	FLUSH_NS = 50000000  /* between writes of the truth log: what SIGKILL may lose */
};

static bool started;
static pthread_cond_t work;
static uint64_t wake_ns;

static uint64_t next_wake_ns(uint64_t now_ns)
{
	uint64_t next_ns = timeline_next_action_ns();
	uint64_t data_ns = timeline_next_data_ns();

	if (data_ns != UINT64_MAX && data_ns < now_ns + COARSE_NS)
		data_ns = now_ns + COARSE_NS;
	if (data_ns < next_ns)
		next_ns = data_ns;
	if (watch_any() && now_ns + WATCH_NS < next_ns)
		next_ns = now_ns + WATCH_NS;
	if (truth_log_wanted() && now_ns + FLUSH_NS < next_ns)
		next_ns = now_ns + FLUSH_NS;
	return next_ns;
}

static void sleep_until(uint64_t until_ns)
{
	struct timespec until = { .tv_sec = (time_t)(until_ns / NSEC_PER_SEC),
				  .tv_nsec = (long)(until_ns % NSEC_PER_SEC) };

	wake_ns = until_ns;
	if (until_ns == UINT64_MAX)
		pthread_cond_wait(&work, sim_mutex());
	else
		pthread_cond_timedwait(&work, sim_mutex(), &until);
	wake_ns = 0;
}

static void *run(void *unused)
{
	uint64_t flush_ns = clock_now_ns();

	(void)unused;
	sim_lock();
	for (;;) {
		uint64_t now_ns = clock_now_ns();
		struct op *op;

		timeline_advance(now_ns);
		op = timeline_due_host_function();
		if (!op)
			op = timeline_due_transfer();
		if (op) {
			op_run_due(op);
			op_unref(op);
			continue;
		}
		if (now_ns >= flush_ns + FLUSH_NS) {
			truth_log_flush(); /* without the lock: something may have become due */
			flush_ns = now_ns;
			continue;
		}
		sleep_until(next_wake_ns(now_ns));
	}
	return NULL;
}

void driver_thread_start(void)
{
	pthread_condattr_t attributes;
	pthread_t thread;
	sigset_t all, before;

	if (started)
		return;
	started = true;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&work, &attributes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, run, NULL) == 0)
		pthread_detach(thread);
	else
		started = false;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void driver_thread_expect(uint64_t due_ns)
{
	if (!started)
		driver_thread_start();
	else if (due_ns < wake_ns)
		pthread_cond_signal(&work);
}

void driver_thread_expect_data(uint64_t end_ns)
{
	driver_thread_expect(end_ns + COARSE_NS);
}
