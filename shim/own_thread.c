/* SPDX-License-Identifier: BSD-2-Clause */
#include "own_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

#include "file.h"
#include "glibc.h"
#include "placement.h"

#define STACK_BYTES (256u * 1024u)

static __thread bool here;

bool own_thread_here(void)
{
	return here;
}

static void *start(void *arg)
{
	const struct own_thread *thread = arg;

	here = true;
	placement_take();
	prctl(PR_SET_NAME, thread->name);
	thread->main();
	return NULL;
}

static int create(const struct own_thread *thread, size_t stack_bytes, int inherit)
{
	pthread_attr_t attr;
	pthread_t id;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	glibc_pthread_attr_setstacksize(&attr, stack_bytes);
	/* The caller sees to the policy: behind a real-time caller on the same CPU the new thread might not come to it for long. */
	pthread_attr_setinheritsched(&attr, inherit);
	rc = glibc_pthread_create(&id, &attr, start, (void *)(uintptr_t)thread);
	pthread_attr_destroy(&attr);
	return rc;
}

bool own_thread_start(const struct own_thread *thread)
{
	sigset_t all, old;
	int saved_errno = errno, rc;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old); /* this thread's: pthread_sigmask is the same, and newer */
	rc = create(thread, STACK_BYTES, PTHREAD_EXPLICIT_SCHED);
	if (rc == EPERM) /* an idle caller may not be followed by an ordinary thread */
		rc = create(thread, STACK_BYTES, PTHREAD_INHERIT_SCHED);
	if (rc == EINVAL) /* a program with much thread-local storage: our small stack cannot hold it */
		rc = create(thread, STACK_BYTES * 32, PTHREAD_INHERIT_SCHED);
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = saved_errno;
	return rc == 0;
}

void own_thread_account(void)
{
	static __thread uint64_t counted;
	struct timespec cpu;
	uint64_t ns;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) != 0)
		return;
	ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	__atomic_fetch_add(&file_counters()->own_cpu_ns, ns - counted, __ATOMIC_RELAXED);
	counted = ns;
}
