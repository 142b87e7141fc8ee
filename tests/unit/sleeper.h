/* SPDX-License-Identifier: BSD-2-Clause */
/* sleeper.h: a child that does nothing until it is killed, at the latest with its parent. */
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static inline pid_t start_sleeper(void)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}
