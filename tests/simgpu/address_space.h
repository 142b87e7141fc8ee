/* SPDX-License-Identifier: BSD-2-Clause */
/* address_space.h: the addresses of device memory. All devices share one reserved range, so a device pointer can be told from
 * any other; its pages cost nothing until they are written. Locked. */
#pragma once

#include "sim.h"

enum { ADDRESS_ALIGN = 512, ADDRESS_ALIGN_LARGE = 2 << 20 };

/* A piece nobody else has, at `wish` if that is free and not 0; align is a power of two. 0: no room. */
uintptr_t address_take(size_t bytes, size_t align, uintptr_t wish);
uintptr_t address_take_low(size_t bytes); /* the same, below 4 GiB, for calls whose addresses have 32 bits */
void address_give(uintptr_t base); /* what address_take returned; its pages are given back and read as zero */
bool address_within(uintptr_t address);
