/* SPDX-License-Identifier: BSD-2-Clause */
/* client_unknown.c [NAME VERSION FLAGS]…: asks cuGetProcAddress for each and calls what it gets; prints what that returned. */
#include <cuda.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef CUresult look_up_fn(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

int main(int argc, char **argv)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	look_up_fn *look_up = cuda ? (look_up_fn *)dlsym(cuda, "cuGetProcAddress_v2") : NULL;

	if (!look_up)
		return 3;
	for (int i = 1; i + 2 < argc; i += 3) {
		CUresult (*function)(unsigned) = NULL;
		CUresult rc =
			look_up(argv[i], (void **)&function, atoi(argv[i + 1]), (cuuint64_t)atoi(argv[i + 2]), NULL);

		printf("%s %d %d\n", argv[i], (int)rc, function ? (int)function(0) : -1);
	}
	return 0;
}
