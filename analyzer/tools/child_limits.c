/* SPDX-License-Identifier: BSD-2-Clause */
#include "child_limits.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

void child_bound_memory(long long bytes)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* a sanitizer's own memory is beyond any bound */
	FILE *statm = fopen("/proc/self/statm", "re");
	long long data = 0;
	struct rlimit limit;

	if (statm && fscanf(statm, "%*d %*d %*d %*d %*d %lld", &data) == 1 && getrlimit(RLIMIT_DATA, &limit) == 0) {
		rlim_t wanted = (rlim_t)(data * sysconf(_SC_PAGESIZE) + bytes);

		if (limit.rlim_cur == RLIM_INFINITY || wanted < limit.rlim_cur)
			limit.rlim_cur = wanted;
		setrlimit(RLIMIT_DATA, &limit);
	}
	if (statm)
		fclose(statm);
#else
	(void)bytes;
#endif
}

void child_be_ordinary(void)
{
	const struct rlimit none = { 0, 0 };
	sigset_t nothing;

	setrlimit(RLIMIT_CORE, &none);
	for (int number = 1; number < NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP)
			signal(number, SIG_DFL);
	sigemptyset(&nothing);
	sigprocmask(SIG_SETMASK, &nothing, NULL);
}
