/* SPDX-License-Identifier: BSD-2-Clause */
/* tenant_linked BUSY_US IDLE_US: somebody else's program on the same device (SIMGPU_SHARED): a kernel of so long, a pause of about so long,
 * until standard input ends. Not recorded; its own log of the driver says when its kernels ran. */
#include "truth.h"

#include <poll.h>

int main(int argc, char **argv)
{
	struct pollfd ended = { .fd = 0, .events = POLLIN };
	CUcontext context;
	CUfunction kernel;
	CUmodule module;
	CUstream stream;

	REQUIRE(argc == 3);
	seed_open(6);
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, "other"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	kernel = kernel_of(module, "theirs", atol(argv[1]));
	puts("ready");
	fflush(stdout);
	while (poll(&ended, 1, 0) == 0) {
		launch(kernel, stream);
		CHECK(cuStreamSynchronize(stream));
		sleep_for(draw_ns(atol(argv[2]) * 500, atol(argv[2]) * 2000));
	}
	CHECK(cuDevicePrimaryCtxRelease(0));
	return 0;
}
