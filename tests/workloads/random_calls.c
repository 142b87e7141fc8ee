/* SPDX-License-Identifier: BSD-2-Clause */
/* random_calls.c: random driver calls, valid and invalid, from a seed; prints each call's result and what it gave back, so that
 * two runs can be compared byte for byte. Usage: random_calls SEED [CALLS].
 *
 * What may differ between two good runs is left out: addresses (only whether there is one), times, and whether work in
 * progress was already done when asked. Data is moved by one stream at a time, so its order is not left to chance. */
#include "random_calls/calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const struct kind {
	unsigned weight;
	void (*call)(void);
} kinds[] = {
	{ 1, call_init },          { 4, call_device },      { 1, call_error_name }, { 3, call_context_make },
	{ 1, call_context_end },   { 8, call_context },     { 8, call_module },     { 20, call_launch },
	{ 3, call_host_function }, { 2, call_function },    { 12, call_stream },    { 14, call_event },
	{ 12, call_memory },       { 4, call_pinned },      { 12, call_copy },      { 5, call_set },
	{ 2, call_lookup },        { 2, call_synchronize },
};

static void call_any(void)
{
	unsigned total = 0, at;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		total += kinds[i].weight;
	at = below(total);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (at < kinds[i].weight) {
			kinds[i].call();
			return;
		}
		at -= kinds[i].weight;
	}
}

static void start_well(void)
{
	CUcontext context = NULL;

	CU(cuInit, 0);
	CU(cuDevicePrimaryCtxRetain, &context, 0);
	CU(cuCtxSetCurrent, context);
	pool_add(&contexts, (uintptr_t)context);
}

int main(int argc, char **argv)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	unsigned calls = argc > 2 ? (unsigned)atoi(argv[2]) : 10000;

	if (!handle || argc < 2) {
		fprintf(stderr, "random_calls SEED [CALLS], with a libcuda.so.1\n");
		return 2;
	}
	driver_from_dlsym(handle);
	rng = random_from(strtoull(argv[1], NULL, 10));
	while (call_number < 60) /* before cuInit, and soon after it */
		call_any();
	start_well();
	while (call_number < calls)
		call_any();
	putchar('\n');
	return 0;
}
