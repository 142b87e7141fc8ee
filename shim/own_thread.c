/* SPDX-License-Identifier: BSD-2-Clause */
#include "own_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#define STACK_BYTES (256u * 1024u)

bool own_thread_start(void *(*main)(void *))
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t id;
	int saved_errno = errno, rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	rc = pthread_create(&id, &attr, main, NULL);
	if (rc == EINVAL) { /* a program with much thread-local storage: our small stack cannot hold it */
		pthread_attr_setstacksize(&attr, STACK_BYTES * 32);
		rc = pthread_create(&id, &attr, main, NULL);
	}
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved_errno;
	return rc == 0;
}
