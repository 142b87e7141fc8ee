/* SPDX-License-Identifier: BSD-2-Clause */
/* segment_order.h: the segments of a file in the order in which each thread filled them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A segment made ready in advance may lie before the one it continues. segments: n indexes, ascending; previous: of each, the one it
 * continues, GST_NONE or one that is not there. Changes segments so that each stands behind the one it continues; of a circle,
 * which only damage makes, one link is passed over. False: no memory. */
bool segment_order(uint32_t *segments, const uint32_t *previous, size_t n);
