/* SPDX-License-Identifier: BSD-2-Clause */
#include "pool.h"

#include <string.h>

#include "clock.h"
#include "gate.h"
#include "self_time.h"
#include "thread.h"

#define POOLS 64
#define DEVICES 64
#define AGAIN_NS 10000000 /* between two questions of one kind … */
#define AT_ONCE_POOL 64   /* … once so many were asked */
#define AT_ONCE_LEFT 16

struct limit {
	uint32_t asked, at_once;
	uint64_t last; /* ticks */
};

static uint64_t
	handles[POOLS]; /* of pool i + 1; never taken out: a pool made anew at the same place is the same number */
static uint32_t current[DEVICES]; /* the device's pool, 0 not known */
static struct limit of_pools = { .at_once = AT_ONCE_POOL }, of_left = { .at_once = AT_ONCE_LEFT };

uint32_t pool_number(CUmemoryPool pool)
{
	uint64_t handle = (uintptr_t)pool;

	for (uint32_t i = 0; handle && i < POOLS; i++) {
		uint64_t there = __atomic_load_n(&handles[i], __ATOMIC_ACQUIRE);

		/* Where another thread was faster, `there` is what it has put there. */
		if (!there &&
		    __atomic_compare_exchange_n(&handles[i], &there, handle, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return i + 1;
		if (there == handle)
			return i + 1;
	}
	return 0;
}

uint32_t pool_of_device(struct thread *t, uint16_t device)
{
	CUmemoryPool pool = NULL;
	uint32_t number;
	uint64_t begin;
	CUresult rc;

	if (device >= DEVICES)
		return 0;
	number = __atomic_load_n(&current[device], __ATOMIC_RELAXED);
	if (number)
		return number;
	begin = clock_ticks();
	rc = INJECT(cuDeviceGetMemPool, &pool, (CUdevice)device);
	self_time_injected(t, clock_ticks() - begin);
	if (rc != CUDA_SUCCESS)
		return 0;
	number = pool_number(pool);
	__atomic_store_n(&current[device], number, __ATOMIC_RELAXED);
	return number;
}

void pool_set_device(uint16_t device, uint32_t pool)
{
	if (device < DEVICES)
		__atomic_store_n(&current[device], pool, __ATOMIC_RELAXED);
}

void pools_changed(void)
{
	for (unsigned i = 0; i < DEVICES; i++)
		__atomic_store_n(&current[i], 0, __ATOMIC_RELAXED);
}

static bool is_time(struct limit *l, bool now)
{
	uint64_t ticks = clock_ticks();

	if (__atomic_load_n(&l->asked, __ATOMIC_RELAXED) < l->at_once)
		__atomic_fetch_add(&l->asked, 1, __ATOMIC_RELAXED);
	else if (!now && ticks - __atomic_load_n(&l->last, __ATOMIC_RELAXED) < clock_ticks_in(AGAIN_NS))
		return false;
	__atomic_store_n(&l->last, ticks, __ATOMIC_RELAXED);
	return true;
}

static bool ask(CUmemoryPool pool, struct gst_pool *r)
{
	return INJECT(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &r->reserved) ==
		       CUDA_SUCCESS &&
	       INJECT(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &r->reserved_high) ==
		       CUDA_SUCCESS &&
	       INJECT(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &r->used) == CUDA_SUCCESS &&
	       INJECT(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &r->used_high) == CUDA_SUCCESS;
}

/* Inside the gate: whoever destroys a pool closes it. */
void pool_ask(struct thread *t, uint32_t pool, uint16_t device, bool now)
{
	struct gst_pool r = { .pool = pool, .device = device };
	uint64_t begin;

	if (!pool || !is_time(&of_pools, now) || !gate_enter())
		return;
	r.handle = __atomic_load_n(&handles[pool - 1], __ATOMIC_RELAXED);
	begin = clock_ticks();
	if (ask((CUmemoryPool)(uintptr_t)r.handle, &r)) {
		r.ticks = clock_ticks();
		ring_append(&t->ring, GST_POOL, sizeof(r), &r);
	}
	self_time_injected(t, clock_ticks() - begin);
	gate_leave();
}

void memory_left_ask(struct thread *t)
{
	struct gst_memory_left r = { .free = 0 };
	size_t left, total;
	uint64_t begin;

	if (!thread_context(t) || !is_time(&of_left, false) || !gate_enter())
		return;
	begin = clock_ticks();
	if (INJECT(cuMemGetInfo_v2, &left, &total) == CUDA_SUCCESS) {
		r.free = left;
		r.total = total;
		r.device = t->device;
		r.ticks = clock_ticks();
		ring_append(&t->ring, GST_MEMORY_LEFT, sizeof(r), &r);
	}
	self_time_injected(t, clock_ticks() - begin);
	gate_leave();
}

void pools_forget(void)
{
	memset(handles, 0, sizeof(handles));
	memset(current, 0, sizeof(current));
	of_pools = (struct limit){ .at_once = AT_ONCE_POOL };
	of_left = (struct limit){ .at_once = AT_ONCE_LEFT };
}
