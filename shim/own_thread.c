/* SPDX-License-Identifier: BSD-2-Clause */
#include "own_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "glibc.h"

#define STACK_BYTES (256u * 1024u)

bool own_thread_start(void *(*main)(void *))
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t id;
	int saved_errno = errno, rc;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old); /* this thread's: pthread_sigmask is the same, and newer */
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	glibc_pthread_attr_setstacksize(&attr, STACK_BYTES);
	rc = glibc_pthread_create(&id, &attr, main, NULL);
	if (rc == EINVAL) { /* a program with much thread-local storage: our small stack cannot hold it */
		glibc_pthread_attr_setstacksize(&attr, STACK_BYTES * 32);
		rc = glibc_pthread_create(&id, &attr, main, NULL);
	}
	pthread_attr_destroy(&attr);
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = saved_errno;
	return rc == 0;
}
