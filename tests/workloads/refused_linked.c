/* SPDX-License-Identifier: BSD-2-Clause */
/* refused_linked: calls with lists shorter than they say, or nowhere, that the driver refuses without reading them: a batch of writes, copies, a
 * launch. Prints what each returned. Whoever reads the lists all the same ends here. */
#include "sample.h"

#include <sys/mman.h>
#include <unistd.h>

#define NOWHERE ((void *)0x1000)

static void show(const char *what, CUresult result)
{
	const char *name = NULL;

	cuGetErrorName(result, &name);
	printf("%s: %s\n", what, name);
}

/* So many bytes behind which nothing can be read. */
static void *at_the_end(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED && mprotect(p + page, page, PROT_NONE) == 0);
	return p + page - bytes;
}

int main(void)
{
	CUstreamBatchMemOpParams *four = at_the_end(4 * sizeof(*four));
	CUlaunchConfig config = { .numAttrs = 1000000, .attrs = NOWHERE };
	CUdeviceptr memory;
	unsigned value = 0;
	CUstream stream;

	sample_device(0);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&memory, 64));
	for (unsigned i = 0; i < 4; i++)
		four[i] = (CUstreamBatchMemOpParams){
			.writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = memory, .value = i }
		};
	show("a batch of 1000000", cuStreamBatchMemOp(stream, 1000000, four, 0));
	show("a batch of 256", cuStreamBatchMemOp(stream, 256, four, 0));
	show("a batch with flags", cuStreamBatchMemOp(stream, 255, four, 1));
	show("a batch of nothing", cuStreamBatchMemOp(stream, 255, NULL, 0));
	show("a batch of 4", cuStreamBatchMemOp(stream, 4, four, 0));
	show("copies without attributes",
	     cuMemcpyBatchAsync(NOWHERE, NOWHERE, NOWHERE, 1000000, NULL, NULL, 0, stream));
	config.hStream = stream;
	config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ =
		1;
	show("a launch of no kernel", cuLaunchKernelEx(&config, NULL, NULL, NULL));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuMemcpyDtoH(&value, memory, sizeof(value)));
	printf("%u is there\n", value);
	return 0;
}
