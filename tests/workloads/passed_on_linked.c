/* SPDX-License-Identifier: BSD-2-Clause */
/* passed_on_linked.c: calls every function of not_hooked.def, as linked, and prints what it returned: all with zeros before cuInit; and
 * some with arguments that tell whether they arrive. */
#define __CUDA_API_VERSION_INTERNAL /* every exported name is itself */
#include <cuda.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Not all are in cuda.h, and none is called by its own parameters: as the linker sees them. */
#define PASS(name, reason) \
	CUresult all_##name(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) __asm__(#name);
#include "shim/not_hooked.def"
#undef PASS

typedef CUresult any_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

#define PASS(name, reason) { #name, all_##name },
static const struct {
	const char *name;
	any_function *function;
} all[] = {
#include "shim/not_hooked.def"
};

int main(void)
{
	const char *text = NULL;
	char name[64] = "";
	int devices = 0, value = 0;
	size_t bytes = 0;

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		printf("%s %d\n", all[i].name, (int)all[i].function(0, 0, 0, 0, 0, 0));
	if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&devices) || cuDeviceGetName(name, sizeof(name), 0) ||
	    cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0) || cuDeviceTotalMem_v2(&bytes, 0) ||
	    cuGetErrorName(CUDA_ERROR_NOT_READY, &text))
		return 1;
	printf("%d %s %d %zu %s\n", devices, name, value, bytes, text);
	return 0;
}
