/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment_table.h"

#include <string.h>

#include "clock.h"
#include "format.h"

/* Pages of these that are never used cost nothing. */
static uint64_t left[GST_SEGMENT_CAPACITY]; /* ticks; 0: somebody's, or never used */
static uint32_t recycles[GST_SEGMENT_CAPACITY];

void segment_table_put_back(uint32_t index, uint64_t left_ticks)
{
	__atomic_store_n(&left[index], left_ticks, __ATOMIC_RELEASE);
}

uint64_t segment_table_leave(uint32_t index)
{
	uint64_t now;

	__sync_synchronize(); /* whoever looks at a later tick sees all that came with its records (busy.c) */
	now = clock_ticks();
	segment_table_put_back(index, now);
	return now;
}

bool segment_table_take(uint32_t index, uint64_t left_ticks)
{
	return __atomic_compare_exchange_n(&left[index], &left_ticks, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool segment_table_holds(uint32_t index, uint64_t left_ticks)
{
	return __atomic_load_n(&left[index], __ATOMIC_RELAXED) == left_ticks;
}

static uint32_t oldest(uint32_t n, uint64_t after, uint64_t *left_ticks)
{
	uint32_t found = GST_NONE;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t ticks = __atomic_load_n(&left[i], __ATOMIC_RELAXED);

		if (ticks > after && (found == GST_NONE || ticks < *left_ticks)) {
			found = i;
			*left_ticks = ticks;
		}
	}
	return found;
}

uint32_t segment_table_take_oldest(uint32_t n, uint64_t after, uint64_t *left_ticks)
{
	uint32_t index = GST_NONE;

	/* Each time in vain, another thread got one: as often as there are threads at it. */
	while ((index = oldest(n, after, left_ticks)) != GST_NONE && !segment_table_take(index, *left_ticks))
		;
	return index;
}

bool segment_table_has_more_than(unsigned least, uint32_t n)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < n && found <= least; i++)
		found += __atomic_load_n(&left[i], __ATOMIC_RELAXED) != 0;
	return found > least;
}

uint32_t segment_table_recycles(uint32_t index)
{
	return __atomic_load_n(&recycles[index], __ATOMIC_RELAXED);
}

void segment_table_recycled(uint32_t index)
{
	__atomic_fetch_add(&recycles[index], 1, __ATOMIC_RELAXED);
}

void segment_table_forget(uint32_t n)
{
	memset(left, 0, n * sizeof(left[0]));
	memset(recycles, 0, n * sizeof(recycles[0]));
}
