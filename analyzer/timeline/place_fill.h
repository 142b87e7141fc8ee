/* SPDX-License-Identifier: BSD-2-Clause */
/* place_fill.h: where a device is not idle, some operation is drawn. An operation's place is a guess within its bounds; without
 * this, guesses side by side could leave a hole that every reader of an export would take for idle time. */
#pragma once

#include "timeline.h"

/* out->ops: by begin, outside the gaps; they stay so. What counts as busy and has no operation beside it, as there are gaps on both
 * sides, becomes out->undrawn. Notes which ops are no kernels. False: no memory. */
bool place_fill(struct device_timeline *out);
