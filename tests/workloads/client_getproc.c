/* SPDX-License-Identifier: BSD-2-Clause */
/* client_getproc.c: random work by a program that asks dlsym for cuGetProcAddress_v2 only and that one for everything else, as
 * NVIDIA's runtime does. */
#include "common_random_work.h"

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	__typeof__(cuGetProcAddress_v2) *get;

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	*(void **)&get = dlsym(handle, "cuGetProcAddress_v2");
	for (unsigned i = 0; i < CALL_COUNT; i++) {
		const struct driver_row *row = &driver_rows[i];
		CUdriverProcAddressQueryResult status;
		CUresult result = get(row->name, row->place, row->version, CU_GET_PROC_ADDRESS_DEFAULT, &status);

		if (result || !*row->place) {
			fprintf(stderr, "cuGetProcAddress(%s, %d): result %d, status %d\n", row->name, row->version,
				(int)result, (int)status);
			return 3;
		}
	}
	return random_work_main(argc, argv);
}
