/* SPDX-License-Identifier: BSD-2-Clause */
/* CUPTI has a thread of its own. It gives buffers back when they are full, and asks the driver things. */
#include "standin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

enum { EVERY_US = 5000 };

static void *work(void *arg)
{
	CUresult (*version)(int *);
	int n;

	(void)arg;
	*(void **)&version = dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuDriverGetVersion");
	for (;;) {
		usleep(EVERY_US);
		version(&n);
		records_deliver(false);
	}
	return NULL;
}

static void start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL) == 0)
		pthread_detach(thread);
}

void worker_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start);
}
