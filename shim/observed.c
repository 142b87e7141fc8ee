/* SPDX-License-Identifier: BSD-2-Clause */
#include "observed.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "glibc.h"

static long observer;
static unsigned long long space;

/* In another PID namespace its number is somebody else's. The program is not to see that anything was tried. */
static void let_look(void)
{
	int saved = errno;
	struct stat ours;

	if (glibc_stat("/proc/self/ns/pid", &ours) == 0 && ours.st_ino == space)
		prctl(PR_SET_PTRACER, (unsigned long)observer, 0, 0, 0);
	errno = saved;
}

void observed_start(void)
{
	const char *given = getenv("GPUSHIM_OBSERVER");
	char *end;

	if (!given)
		return;
	observer = strtol(given, &end, 10);
	if (observer <= 0 || observer > INT_MAX || *end != ':')
		return;
	space = strtoull(end + 1, NULL, 10);
	let_look();
	pthread_atfork(NULL, NULL, let_look);
}
