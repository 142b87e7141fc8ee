/* SPDX-License-Identifier: BSD-2-Clause */
#include "apart.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_thread.h"
#include "settings.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

#define STACK_BYTES (128u * 1024u)

/* Like a thread of pthread_create's, but the caller sleeps until it has ended (CLONE_VFORK), as it borrows the caller's thread-local
 * storage. Nobody has to wait for it or is told of its end. */
#define THREAD_FLAGS (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK)

__attribute__((visibility("hidden"))) long gpushim_clone(unsigned long flags, void *stack, void (*work)(void *),
							 void *arg);

static __thread bool staying;

void undisturbed_begin(struct undisturbed *u)
{
	const uint64_t all = ~0ull; /* libc keeps two of them out of sigfillset: one cancels threads */

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &u->cancel);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &u->signals, sizeof(all));
}

void undisturbed_end(const struct undisturbed *u)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &u->signals, NULL, sizeof(u->signals));
	pthread_setcancelstate(u->cancel, NULL);
}

static void leave_descriptors(void)
{
	syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE); /* of all of them: none is even copied */
}

struct job {
	void (*work)(void *);
	void *arg;
	char *log; /* standard error is the caller's */
};

static void job_do(void *arg)
{
	const struct job *j = arg;

	own_thread_known(true);
	leave_descriptors();
	settings_log_keep(j->log);
	j->work(j->arg);
	settings_log_keep(NULL);
	own_thread_known(false);
}

void apart_run(void (*work)(void *), void *arg)
{
	struct job job = { work, arg, NULL };
	struct undisturbed u;
	uint8_t *stack;

	if (staying) {
		work(arg);
		return;
	}
	undisturbed_begin(&u);
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	job.log = (char *)stack; /* the stack does not come down to its other end */
	if (stack == MAP_FAILED || gpushim_clone(THREAD_FLAGS, stack + STACK_BYTES, job_do, &job) < 0)
		work(arg);
	else
		settings_log_write(job.log);
	if (stack != MAP_FAILED)
		munmap(stack, STACK_BYTES);
	undisturbed_end(&u);
}

void apart_stay(void)
{
	leave_descriptors();
	staying = true;
}
