/* SPDX-License-Identifier: BSD-2-Clause */
#include "device_memory.h"

#include "settings.h"
#include "shared.h"

static uint64_t used_bytes[SIM_MAX_DEVICES];

uint64_t device_memory_used(int device)
{
	return shared_on() ? shared_memory_used(device) : used_bytes[device];
}

bool device_memory_take(int device, uint64_t bytes)
{
	uint64_t used = used_bytes[device], all = settings()->memory_bytes;

	if (shared_on())
		return shared_memory_take(device, bytes, all);
	if (used > all || bytes > all - used)
		return false;
	used_bytes[device] += bytes;
	return true;
}

void device_memory_give(int device, uint64_t bytes)
{
	if (shared_on())
		shared_memory_give(device, bytes);
	else
		used_bytes[device] -= bytes;
}
