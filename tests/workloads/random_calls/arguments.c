/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

struct random rng;

struct pool contexts, modules, functions, streams, events, pointers;

void *pinned[HANDLES];
uint8_t pageable[HOST_BYTES] __attribute__((aligned(4096)));

unsigned below(unsigned limit)
{
	return random_below(&rng, limit);
}

bool one_in(unsigned n)
{
	return below(n) == 0;
}

void pool_add(struct pool *pool, uintptr_t handle)
{
	pool->items[pool->count++ % HANDLES] = handle;
}

uintptr_t pool_take(struct pool *pool)
{
	unsigned kept = pool->count < HANDLES ? pool->count : HANDLES, i = kept ? below(kept) : 0;
	uintptr_t handle = kept ? pool->items[i] : 0;

	pool->items[i] = 0;
	return handle;
}

uintptr_t pick(const struct pool *pool)
{
	static const uintptr_t invented[] = { 0x10, 0xdeadbeef000, 0x7fffffff, 0x1000, (uintptr_t)-64 };
	const struct pool *others[] = { &contexts, &modules, &functions, &contexts, &pointers };
	unsigned kept = pool->count < HANDLES ? pool->count : HANDLES;

	if (kept && !one_in(8))
		return pool->items[below(kept)];
	switch (below(3)) {
	case 0:
		return 0;
	case 1:
		pool = others[below(5)];
		return pool->items[0];
	default:
		return invented[below(sizeof(invented) / sizeof(*invented))];
	}
}

CUstream a_stream(void)
{
	if (one_in(6))
		return one_in(2) ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD;
	return (CUstream)pick(&streams);
}

size_t a_size(void)
{
	static const size_t sizes[] = {
		0, 1, 3, 4, 512, 4096, 65536, 65540, 200000, 1 << 20, (size_t)1 << 33, SIZE_MAX, SIZE_MAX / 2
	};

	return sizes[below(one_in(3) ? sizeof(sizes) / sizeof(*sizes) : 9)];
}

void *host_memory(size_t bytes)
{
	void *p = pinned[below(HANDLES)];

	if (one_in(12))
		return NULL;
	return p && bytes <= 65536 && one_in(2) ? p : pageable;
}

CUdeviceptr a_pointer(void)
{
	CUdeviceptr p = (CUdeviceptr)pick(&pointers);

	return one_in(4) ? p + 4 * below(64) : one_in(30) ? p + 1 : p;
}

CUdeviceptr a_real_pointer(void)
{
	unsigned kept = pointers.count < HANDLES ? pointers.count : HANDLES;

	return kept ? (CUdeviceptr)pointers.items[below(kept)] + 4 * below(64) : 0;
}

void nothing(void *argument)
{
	(void)argument;
}
