/* SPDX-License-Identifier: BSD-2-Clause */
/* client_namespace.c: a driver in a namespace of its own beside the program's, and names that only look like the driver's. Prints what
 * dlsym and dlerror say; nothing of it may depend on a recorder. */
#include <cuda.h>

#include <dlfcn.h>
#include <stdio.h>

static const char *const names[] = { "cu",     "cuda", "cudaMalloc", "cudnnCreate",    "cuInit2",
				     "CUINIT", "cU",   "",           "cublasCreate_v2" };

static void look(void *handle, const char *name)
{
	void *found = dlsym(handle, name);
	const char *error = dlerror();

	printf("%s: %s, %s\n", name, found ? "found" : "none", error ? error : "no error");
}

int main(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *other = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW), *found;
	CUresult (*init)(unsigned), (*other_init)(unsigned);

	if (!cuda || !other) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		look(cuda, names[i]);
	look(RTLD_DEFAULT, "cuNoSuchCall");
	look(RTLD_NEXT, "cuNoSuchCall");
	found = dlsym(cuda, "cuNoSuchCall"); /* an error that nobody asks for … */
	other_init = (CUresult(*)(unsigned))dlsym(other, "cuInit");
	init = (CUresult(*)(unsigned))dlsym(cuda, "cuInit");
	printf("%s, %s\n", found ? "found" : "none",
	       dlerror() ? "error" : "no error"); /* … is gone after two that went well */
	if (!init || !other_init)
		return 4;
	printf("%d, other %d, %s\n", (int)init(0), (int)other_init(0), init == other_init ? "the same" : "two drivers");
	return 0;
}
