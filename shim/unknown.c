/* SPDX-License-Identifier: BSD-2-Clause */
#include "unknown.h"

#include <stdio.h>

#include "file.h"
#include "names.h"

#define UNKNOWN_MAX 256
#define NAME_MAX_BYTES 200

static uintptr_t seen[UNKNOWN_MAX]; /* functions, in the order found; 0: free */

/* Its number, 1, 2, 3 …, if it is new; 0: it was seen before; GST_NONE: there is no place for it. */
static uint32_t enter(uintptr_t function)
{
	for (uint32_t i = 0; i < UNKNOWN_MAX; i++) {
		uintptr_t there = __atomic_load_n(&seen[i], __ATOMIC_ACQUIRE);

		if (!there &&
		    __atomic_compare_exchange_n(&seen[i], &there, function, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return i + 1;
		if (there == function)
			return 0;
	}
	return GST_NONE;
}

void unknown_found(struct thread *t, void *function, const char *name, int version, uint64_t flags)
{
	uint32_t id = enter((uintptr_t)function);
	char text[NAME_MAX_BYTES + 48];

	if (!id)
		return;
	__atomic_fetch_add(&file_counters()->entry_points_unknown, 1, __ATOMIC_RELAXED);
	snprintf(text, sizeof(text), "%.*s %d %llu", NAME_MAX_BYTES, name, version, (unsigned long long)flags);
	if (id == GST_NONE)
		return;
	names_write(&t->ring, GST_SPACE_ENTRY, id, text);
}

void unknown_forget(void)
{
	for (uint32_t i = 0; i < UNKNOWN_MAX; i++)
		seen[i] = 0;
}
