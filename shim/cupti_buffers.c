/* SPDX-License-Identifier: BSD-2-Clause */
#include "cupti_buffers.h"

#include <sys/mman.h>

#define BUFFERS 12
#define BUFFER_BYTES (1u << 20) /* some 4000 kernels */

enum { FREE, TAKEN, FULL };

static uint8_t *memory;
static struct {
	uint32_t state;
	uint64_t order; /* in which they were given back */
	size_t bytes;
} buffers[BUFFERS];
static uint64_t last_order;

bool cupti_buffers_start(void)
{
	void *p = mmap(NULL, (size_t)BUFFERS * BUFFER_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	memory = p;
	return true;
}

/* Low ones first: few are used, and they stay warm. */
uint8_t *cupti_buffers_take(size_t *size)
{
	for (unsigned i = 0; i < BUFFERS; i++) {
		uint32_t state = FREE;

		if (__atomic_compare_exchange_n(&buffers[i].state, &state, TAKEN, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED)) {
			*size = BUFFER_BYTES;
			return memory + (size_t)i * BUFFER_BYTES;
		}
	}
	*size = 0;
	return NULL;
}

static size_t index_of(const uint8_t *buffer)
{
	return buffer >= memory && buffer < memory + (size_t)BUFFERS * BUFFER_BYTES
		       ? (size_t)(buffer - memory) / BUFFER_BYTES
		       : BUFFERS;
}

void cupti_buffers_fill(uint8_t *buffer, size_t bytes)
{
	size_t i = index_of(buffer);

	if (i == BUFFERS)
		return;
	buffers[i].bytes = bytes < BUFFER_BYTES ? bytes : BUFFER_BYTES;
	buffers[i].order = __atomic_add_fetch(&last_order, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&buffers[i].state, bytes ? FULL : FREE, __ATOMIC_RELEASE);
}

uint8_t *cupti_buffers_next(size_t *bytes)
{
	size_t first = BUFFERS;

	for (size_t i = 0; i < BUFFERS; i++)
		if (__atomic_load_n(&buffers[i].state, __ATOMIC_ACQUIRE) == FULL &&
		    (first == BUFFERS || buffers[i].order < buffers[first].order))
			first = i;
	if (first == BUFFERS)
		return NULL;
	*bytes = buffers[first].bytes;
	return memory + first * BUFFER_BYTES;
}

void cupti_buffers_free(uint8_t *buffer)
{
	__atomic_store_n(&buffers[index_of(buffer)].state, FREE, __ATOMIC_RELEASE);
}
