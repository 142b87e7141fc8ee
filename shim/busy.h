/* SPDX-License-Identifier: BSD-2-Clause */
/* busy.h: GST_BUSY, the first record of each segment: which streams have work. What had finished before is then known even where the
 * records that prove it were given up. */
#pragma once

#include "ring.h"

void busy_write(struct ring *r);
