/* SPDX-License-Identifier: BSD-2-Clause */
/* entry_points_linked.c: every intercepted call, by every route.
 *   entry_points_linked where         which function each name leads to: route, name, …, file:symbol
 *   entry_points_linked call ROUTE    calls each row of hooks.def with zeros, before cuInit and in a context: name and result
 * ROUTE: direct (linked), handle, default (dlsym with the library's handle, with RTLD_DEFAULT), lookup (cuGetProcAddress). */
#define __CUDA_API_VERSION_INTERNAL /* every exported name is itself */
#include <cuda.h>
#include <cudaProfiler.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

struct row {
	const char *name;
	void *linked, *looked_up;
};

#define HOOK(name, ...) { #name, (void *)name, NULL },
#define HOOKX(name, ...) HOOK(name)
#define REAL(name, ...)
static struct row rows[] = {
#include "shim/hooks.def"
};

#define PASS(name, reason) #name,
static const char *const passed_on[] = {
#include "shim/not_hooked.def"
};

static const struct request {
	const char *name;
	int version;
	cuuint64_t flags;
} requests[] = {
	{ "", 0, 0 },
#define REQUEST(name, version, flags) { #name, version, flags },
#include "tests/unit/cudart13_requests.def"
};

/* Every version of CUDA that brought a function, and what lies before and between. */
static const int versions[] = { 0,     1000,  2000,  2010,  2020,  3000,  3010,  3020,  4000,  4010,  4020,  5000,
				5050,  6000,  6050,  7000,  7050,  8000,  9000,  9010,  9020,  10000, 10010, 10020,
				11000, 11010, 11020, 11030, 11040, 11050, 11060, 11070, 11080, 12000, 12010, 12020,
				12030, 12040, 12050, 12060, 12070, 12080, 12090, 13000, 13001 };

static void *cuda;

/* "file:symbol" */
static const char *place(void *function)
{
	static char text[256];
	const char *file;
	Dl_info info;

	if (!function)
		return "none";
	if (!dladdr(function, &info) || info.dli_saddr != function)
		return "unknown";
	file = strrchr(info.dli_fname, '/');
	snprintf(text, sizeof(text), "%s:%s", file ? file + 1 : info.dli_fname, info.dli_sname);
	return text;
}

/* cuMemcpyHtoD_v2_ptds -> cuMemcpyHtoD */
static const char *base_name(const char *symbol)
{
	static char text[128];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", symbol);

	if (n > 5 && (strcmp(text + n - 5, "_ptsz") == 0 || strcmp(text + n - 5, "_ptds") == 0))
		text[n -= 5] = 0;
	if (n > 3 && text[n - 3] == '_' && text[n - 2] == 'v')
		text[n - 3] = 0;
	return text;
}

static void *look_up(const char *name, int version, cuuint64_t flags, int form)
{
	CUdriverProcAddressQueryResult status;
	void *function = NULL;
	CUresult rc = form == 1 ? cuGetProcAddress(name, &function, version, flags)
				: cuGetProcAddress_v2(name, &function, version, flags, &status);

	return rc == CUDA_SUCCESS ? function : NULL;
}

/* ---- where ---------------------------------------------------------------------------------------------------------- */

static void show_dlsym(const char *name)
{
	printf("handle %s %s\n", name, place(dlsym(cuda, name)));
	printf("default %s %s\n", name, place(dlsym(RTLD_DEFAULT, name)));
	printf("next %s %s\n", name, place(dlsym(RTLD_NEXT, name)));
}

/* One line for each version at which the answer changes. */
static void show_lookups(const char *name)
{
	for (int form = 1; form <= 2; form++) {
		for (cuuint64_t flags = 0; flags <= 2; flags++) {
			void *before = NULL;

			for (unsigned i = 0; i < LENGTH(versions); i++) {
				void *function = look_up(name, versions[i], flags, form);

				if (function != before)
					printf("lookup-%d %s %d %d %s\n", form, name, versions[i], (int)flags,
					       place(function));
				before = function;
			}
		}
	}
}

static int where(void)
{
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		printf("direct %s %s\n", rows[i].name, place(rows[i].linked));
		show_dlsym(rows[i].name);
		show_lookups(base_name(rows[i].name));
	}
	for (unsigned i = 0; i < LENGTH(passed_on); i++) {
		show_dlsym(passed_on[i]);
		show_lookups(base_name(passed_on[i]));
	}
	for (unsigned i = 0; i < LENGTH(requests); i++)
		printf("replay %s %d %d %s\n", requests[i].name, requests[i].version, (int)requests[i].flags,
		       place(look_up(requests[i].name, requests[i].version, requests[i].flags, 2)));
	return 0;
}

/* ---- call ----------------------------------------------------------------------------------------------------------- */

typedef CUresult any_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			      uint64_t, uint64_t, uint64_t);

typedef CUresult takes_handle(void *, CUipcMemHandle, unsigned); /* cuIpcOpenMemHandle, cuIpcOpenEventHandle */

static CUresult called(const char *name, CUresult rc)
{
	printf("%s %d\n", name, (int)rc);
	return rc;
}

/* Whatever was called last: the primary context is there, and current. */
static void restore_context(void)
{
	CUcontext context = NULL;

	called("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, 0));
	called("cuCtxSetCurrent", cuCtxSetCurrent(context));
}

static void *find_by_lookup(const char *symbol)
{
	const char *name = base_name(symbol);

	for (cuuint64_t flags = 0; flags <= 2; flags += 2) {
		for (unsigned i = 0; i < LENGTH(versions); i++) {
			CUdriverProcAddressQueryResult status;
			void *function = NULL;
			Dl_info info;

			called("cuGetProcAddress_v2",
			       cuGetProcAddress_v2(name, &function, versions[i], flags, &status));
			if (function && dladdr(function, &info) && strcmp(info.dli_sname, symbol) == 0)
				return function;
		}
	}
	fprintf(stderr, "cuGetProcAddress gives no %s\n", symbol);
	return NULL;
}

static void *find(const char *route, struct row *row)
{
	if (strcmp(route, "direct") == 0)
		return row->linked;
	if (strcmp(route, "lookup") == 0)
		return row->looked_up = row->looked_up ? row->looked_up : find_by_lookup(row->name);
	return dlsym(strcmp(route, "handle") == 0 ? cuda : RTLD_DEFAULT, row->name);
}

static void call_row(const char *route, struct row *row)
{
	void *function = find(route, row);

	if (!function)
		return;
	/* A structure by value, which some processors pass as a pointer: zeros are no pointer. */
	if (strncmp(row->name, "cuIpcOpen", 9) == 0)
		called(row->name, ((takes_handle *)function)(NULL, (CUipcMemHandle){ { 0 } }, 0));
	else
		called(row->name, ((any_function *)function)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

static int call(const char *route)
{
	for (unsigned i = 0; i < LENGTH(rows); i++)
		if (strcmp(rows[i].name, "cuInit") != 0)
			call_row(route, &rows[i]);
	called("cuInit", cuInit(0));
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		restore_context();
		call_row(route, &rows[i]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	cuda = dlopen("libcuda.so.1", RTLD_NOW);
	if (!cuda)
		return 3;
	if (argc == 2 && strcmp(argv[1], "where") == 0)
		return where();
	if (argc == 3 && strcmp(argv[1], "call") == 0)
		return call(argv[2]);
	return 2;
}
