/* SPDX-License-Identifier: BSD-2-Clause */
/* spin_linked CPU: somebody else's program, which computes on that CPU without end. */
#include "lab.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
	cpu_set_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&set);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		return 1;
	for (;;)
		compute_cpu(1000 * MS);
}
