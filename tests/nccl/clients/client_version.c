/* SPDX-License-Identifier: BSD-2-Clause */
/* client_version [LIBRARY]: a program that asks NCCL, this one or the one it is linked to, for its version and its words, and never
 * calls the driver. */
#include "client.h"

#include <dlfcn.h>

static void *find(void *handle, const char *name)
{
	void *found = dlsym(handle, name);

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	return found;
}

int main(int argc, char **argv)
{
	void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : RTLD_DEFAULT;
	typeof(ncclGetVersion) *get_version;
	typeof(ncclGetErrorString) *get_error_string;
	int version = 0;

	if (argc > 1 && !handle) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	*(void **)&get_version = argc > 1 ? find(handle, "ncclGetVersion") : (void *)(uintptr_t)ncclGetVersion;
	*(void **)&get_error_string =
		argc > 1 ? find(handle, "ncclGetErrorString") : (void *)(uintptr_t)ncclGetErrorString;
	printf("%d\n", (int)get_version(&version));
	printf("%d\n", version);
	printf("%d\n", (int)get_version(NULL));
	puts(get_error_string(ncclInvalidUsage));
	return 0;
}
