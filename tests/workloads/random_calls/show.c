/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

#include <stdio.h>

unsigned call_number;

CUresult show(const char *symbol, CUresult result)
{
	printf("\n%u %s %d", call_number++, symbol, (int)result);
	return result;
}

void show_query(const char *symbol, CUresult result)
{
	show(symbol, result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result);
}

void show_handle(uintptr_t handle)
{
	printf(" %s", handle == UNTOUCHED ? "untouched" : handle ? "handle" : "null");
}

void show_number(long long number)
{
	printf(" %lld", number);
}

void show_context(CUcontext context)
{
	unsigned kept = contexts.count < HANDLES ? contexts.count : HANDLES;

	for (unsigned i = 0; i < kept; i++)
		if (contexts.items[i] == (uintptr_t)context) {
			printf(" context%u", i);
			return;
		}
	show_handle((uintptr_t)context);
}

void show_data(const uint8_t *data, size_t bytes)
{
	printf(" %016llx", (unsigned long long)random_hash(0, data, bytes));
}
