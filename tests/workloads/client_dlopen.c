/* SPDX-License-Identifier: BSD-2-Clause */
/* client_dlopen.c: random work by a program that opens libcuda.so.1 itself and asks dlsym for each call. */
#include "common_random_work.h"

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	driver_from_dlsym(handle);
	return random_work_main(argc, argv);
}
