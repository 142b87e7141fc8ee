/* SPDX-License-Identifier: BSD-2-Clause */
/* hog_linked KERNEL_US BURST PAUSE_US: somebody else on the device ($SIMGPU_SHARED): kernels in bursts, with a pause after each, until it is killed. It
 * prints a line when the first burst is done. */
#include "work.h"

#include <sys/prctl.h>
#include <signal.h>

int main(int argc, char **argv)
{
	CUfunction kernel;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc != 4)
		return 2;
	CHECK(cuInit(0));
	CHECK(cuCtxSetCurrent(work_context(0)));
	kernel = work_kernel_of(0, "theirs", atol(argv[1]));
	for (bool first = true;; first = false) {
		for (long i = 0; i < atol(argv[2]); i++)
			work_launch(0, kernel, work_stream(0, 0));
		CHECK(cuStreamSynchronize(work_stream(0, 0)));
		if (first) {
			puts("ready");
			fflush(stdout);
		}
		sleep_ns(atol(argv[3]) * 1000);
	}
}
