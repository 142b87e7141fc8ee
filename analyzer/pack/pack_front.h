/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_front.h: what stands before a recording's segments: header, counters, and a directory whose entries are foreseen by their place. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"

/* An entry that is the right one becomes 1, and 1 the right one; so it is its own opposite. In place; n bytes of the front
 * there are. */
void pack_front_exchange(uint8_t *front, size_t n);
