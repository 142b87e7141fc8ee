/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols_linked.c: which library a driver call's name leads to, by every route a program can take; and what else dlsym says.
 * One line per route: route, symbol, the file that has the function. */
#include "common_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *cuda;

static void show(const char *route, const char *symbol, void *function)
{
	Dl_info info = { 0 };
	const char *file = "none";

	if (function)
		file = dladdr(function, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : "unknown";
	printf("%s %s %s\n", route, symbol, file && *file == '/' ? file + 1 : file ? file : info.dli_fname);
}

static void show_error(const char *route)
{
	const char *text = dlerror();

	printf("%s: %s\n", route, text ? text : "no error");
}

static void by_name(const char *symbol)
{
	show("RTLD_DEFAULT", symbol, dlsym(RTLD_DEFAULT, symbol));
	show("RTLD_NEXT", symbol, dlsym(RTLD_NEXT, symbol));
	show("handle", symbol, dlsym(cuda, symbol));
	show("program", symbol, dlsym(dlopen(NULL, RTLD_NOW), symbol));
	show("dlvsym", symbol, dlvsym(cuda, symbol, "GLIBC_2.2.5"));
	dlerror();
}

static void by_lookup(const char *name, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	char route[64];
	void *function = NULL;

	snprintf(route, sizeof(route), "lookup-%d-%d", version, (int)flags);
	if (cuGetProcAddress_v2(name, &function, version, flags, &status))
		function = NULL;
	show(route, name, function);
	function = NULL;
	snprintf(route, sizeof(route), "lookup-v1-%d-%d", version, (int)flags);
	if (cuGetProcAddress(name, &function, version, flags))
		function = NULL;
	show(route, name, function);
}

/* A lookup that hands out itself, as libraries do that keep only one pointer. */
static void by_lookup_of_lookup(void)
{
	__typeof__(cuGetProcAddress_v2) *again = NULL;
	void *function = NULL;

	cuGetProcAddress_v2("cuGetProcAddress", (void **)&again, 12000, 0, NULL);
	show("lookup", "cuGetProcAddress", (void *)again);
	if (again)
		again("cuLaunchKernel", &function, 12000, 0, NULL);
	show("lookup-of-lookup", "cuLaunchKernel", function);
}

/* RTLD_NEXT must mean: next after this program, which has a getppid of its own. */
pid_t getppid(void)
{
	return -1;
}

static void other_names(void)
{
	show("RTLD_NEXT", "getppid", dlsym(RTLD_NEXT, "getppid"));
	show("RTLD_NEXT", "malloc", dlsym(RTLD_NEXT, "malloc"));
	dlerror();
	show("handle", "no_such_function", dlsym(cuda, "no_such_function"));
	show_error("handle");
	show("handle", "cuNoSuchFunction", dlsym(cuda, "cuNoSuchFunction"));
	show_error("handle");
	show("RTLD_DEFAULT", "cuNoSuchFunction", dlsym(RTLD_DEFAULT, "cuNoSuchFunction"));
	show_error("RTLD_DEFAULT");
	show("RTLD_NEXT", "cuNoSuchFunction", dlsym(RTLD_NEXT, "cuNoSuchFunction"));
	show_error("RTLD_NEXT");
	show("libm", "cuInit", dlsym(dlopen("libm.so.6", RTLD_NOW), "cuInit"));
	show_error("libm");
	show("libc", "printf", dlsym(dlopen("libc.so.6", RTLD_NOW), "printf"));
	show_error("libc");
}

int main(void)
{
	static const char *const hooked[] = { "cuInit", "cuLaunchKernel", "cuLaunchKernel_ptsz", "cuMemAlloc_v2",
					      "cuGetProcAddress_v2" };

	cuda = dlopen("libcuda.so.1", RTLD_NOW);
	if (!cuda)
		return 3;
	show("linked", "cuInit", (void *)cuInit);
	show("linked", "cuLaunchKernel", (void *)cuLaunchKernel);
	for (unsigned i = 0; i < sizeof(hooked) / sizeof(*hooked); i++)
		by_name(hooked[i]);
	by_name("cuDeviceGetCount");
	by_lookup("cuLaunchKernel", 4000, 0);
	by_lookup("cuLaunchKernel", 7000, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
	by_lookup("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
	by_lookup("cuMemAlloc", 3020, 0);
	by_lookup("cuMemAlloc", 13000, 0);
	by_lookup("cuMemAlloc", 1000, 0);
	by_lookup("cuDeviceGetCount", 12000, 0);
	by_lookup("cuNoSuchFunction", 12000, 0);
	by_lookup_of_lookup();
	other_names();
	printf("cuInit %d\n", (int)cuInit(0));
	return 0;
}
