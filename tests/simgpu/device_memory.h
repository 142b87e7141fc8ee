/* SPDX-License-Identifier: BSD-2-Clause */
/* device_memory.h: how much of each device's memory is taken. Locked. */
#pragma once

#include "sim.h"

bool device_memory_take(int device, uint64_t bytes); /* false: not so much is free */
void device_memory_give(int device, uint64_t bytes);
uint64_t device_memory_used(int device); /* bytes */
