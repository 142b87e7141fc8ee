/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_address.c: cuGetProcAddress, as cuda.h documents it: the newest variant not newer than the version asked for, the
 * per-thread one if the flag asks for it and there is one; an unknown name or too low a version is CUDA_SUCCESS, NULL and the
 * reason in *status. The header leaves two cases open. The empty name (libcudart's first question, version 0) is
 * CUDA_ERROR_NOT_FOUND. The first form, without a status, has no other way to tell, and returns CUDA_ERROR_NOT_FOUND too. */
#include "proc_table.h"

#include "call.h"
#include "settings.h"

#include <string.h>

enum { SIM_DRIVER_VERSION = 13000 };

CUresult api_driver_version(CALL, int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = SIM_DRIVER_VERSION;
	return CUDA_SUCCESS;
}

static unsigned first_row(const char *name)
{
	unsigned low = 0, high = proc_count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (strcmp(proc_table[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct proc *newest(const char *name, int version, int per_thread)
{
	const struct proc *found = NULL;

	for (unsigned i = first_row(name); i < proc_count && !strcmp(proc_table[i].name, name); i++)
		if (proc_table[i].per_thread == per_thread && proc_table[i].version <= version)
			found = &proc_table[i];
	return found;
}

static bool known(const char *name)
{
	unsigned row = first_row(name);

	return row < proc_count && !strcmp(proc_table[row].name, name);
}

/* ---- functions of a newer driver: no export, no name that anybody knows ------------------------------------------ */

static CUresult extra_0(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult extra_1(void)
{
	return CUDA_ERROR_NOT_READY; /* another body: the compiler must not make one function of both */
}

/* The first name in SIMGPU_EXTRA is extra_0, every other one extra_1. */
static void *extra(const char *name)
{
	const char *at = settings()->extra;
	size_t length = strlen(name);

	for (bool first = true; *at; first = false) {
		size_t n = strcspn(at, ",");

		if (n && n == length && memcmp(at, name, n) == 0)
			return (void *)(uintptr_t)(first ? extra_0 : extra_1);
		at += n + (at[n] == ',');
	}
	return NULL;
}

CUresult api_proc_address_status(CALL, const char *symbol, void **pfn, int version, cuuint64_t flags,
				 CUdriverProcAddressQueryResult *status)
{
	const struct proc *found = NULL;

	if (!symbol || !pfn || version > SIM_DRIVER_VERSION || flags > 2)
		return CUDA_ERROR_INVALID_VALUE;
	*pfn = NULL;
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		found = newest(symbol, version, 1);
	if (!found)
		found = newest(symbol, version, 0);
	if (found)
		*pfn = (void *)(uintptr_t)found->address;
	else
		*pfn = extra(symbol);
	if (status)
		*status = *pfn            ? CU_GET_PROC_ADDRESS_SUCCESS
			  : known(symbol) ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
					  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *symbol ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult api_proc_address(CALL, const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	CUresult result = api_proc_address_status(call, symbol, pfn, version, flags, NULL);

	return result == CUDA_SUCCESS && !*pfn ? CUDA_ERROR_NOT_FOUND : result;
}
