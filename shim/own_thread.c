/* SPDX-License-Identifier: BSD-2-Clause */
#include "own_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "apart.h"
#include "dirent64.h"
#include "file.h"
#include "glibc.h"
#include "placement.h"
#include "sanitizer.h"

#define STACK_BYTES (256u * 1024u)

static __thread bool here;
static uint32_t alive; /* of our threads */

bool own_thread_here(void)
{
	return here;
}

static uint32_t begun;                   /* how many of our threads ever got as far as our own code */
static uint32_t tids[OWN_THREADS_KNOWN]; /* 0 free */

void own_thread_known(bool lives)
{
	uint32_t me = (uint32_t)syscall(SYS_gettid);

	for (uint32_t i = 0; i < OWN_THREADS_KNOWN; i++) {
		uint32_t from = lives ? 0 : me;

		if (__atomic_compare_exchange_n(&tids[i], &from, lives ? me : 0, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
	}
}

bool own_thread_is(uint32_t tid)
{
	for (uint32_t i = 0; i < OWN_THREADS_KNOWN; i++)
		if (__atomic_load_n(&tids[i], __ATOMIC_RELAXED) == tid)
			return true;
	return false;
}

static void *start(void *arg)
{
	const struct own_thread *thread = arg;

	sanitizer_ignore_begin();
	here = true;
	own_thread_known(true);
	__atomic_fetch_add(&begun, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &begun, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	placement_take();
	prctl(PR_SET_NAME, thread->name);
	thread->main();
	own_thread_known(false);
	__atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED);
	sanitizer_ignore_end();
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

/* libc ends the process where a new thread's own registrations (rseq) are refused. If the program's next step is to forbid all but a few
 * system calls, that must not meet a thread of ours that is still being born. */
static void await_birth(uint32_t before)
{
	const struct timespec most = { 0, 10000000 };

	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == before &&
	       (syscall(SYS_futex, &begun, FUTEX_WAIT_PRIVATE, before, &most, NULL, 0) == 0 || errno == EINTR))
		;
}

bool own_thread_start(const struct own_thread *thread)
{
	uint32_t before = __atomic_load_n(&begun, __ATOMIC_ACQUIRE);
	sigset_t all, old;
	int saved_errno = errno, rc;

	__atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old); /* this thread's: pthread_sigmask is the same, and newer */
	rc = create(thread, STACK_BYTES, PTHREAD_EXPLICIT_SCHED);
	if (rc == EPERM) /* an idle caller may not be followed by an ordinary thread */
		rc = create(thread, STACK_BYTES, PTHREAD_INHERIT_SCHED);
	if (rc == EINVAL) /* a program with much thread-local storage: our small stack cannot hold it */
		rc = create(thread, STACK_BYTES * 32, PTHREAD_INHERIT_SCHED);
	if (!rc)
		await_birth(before);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (rc)
		__atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED);
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

/* ---- the end of all others -------------------------------------------------------------------------------------------- */

/* libc gives every thread such a list and the kernel takes it away at the thread's end, but a main thread that has ended stays in all
 * other lists until the process does. */
static bool main_has_ended(void)
{
	void *list = NULL;
	size_t size;

	return syscall(SYS_get_robust_list, getpid(), &list, &size) == 0 && !list;
}

struct census {
	int32_t caller;   /* tid */
	uint32_t threads; /* without the one that counts, where that is not the caller; UINT32_MAX not known */
};

static void count_threads(void *arg)
{
	struct census *c = arg;
	const struct linux_dirent64 *entry;
	char buffer[4096] __attribute__((aligned(8)));
	int dir = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t n = 0;
	long bytes = 0;

	while (dir >= 0 && (bytes = syscall(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < bytes; at += entry->size) {
			entry = (const struct linux_dirent64 *)(buffer + at);
			n += entry->name[0] != '.';
		}
	if (dir >= 0)
		close(dir);
	c->threads = dir < 0 || bytes < 0 ? UINT32_MAX : n - (syscall(SYS_gettid) != c->caller);
}

bool own_threads_are_alone(void)
{
	struct census c = { (int32_t)syscall(SYS_gettid), UINT32_MAX };

	if (!main_has_ended())
		return false;
	apart_run(count_threads, &c); /* by a thread of its own, where one is to be had */
	return c.threads <= __atomic_load_n(&alive, __ATOMIC_RELAXED) + 1; /* main */
}

void own_threads_forget(void)
{
	alive = 0;
	for (uint32_t i = 0; i < OWN_THREADS_KNOWN; i++)
		tids[i] = 0;
}
