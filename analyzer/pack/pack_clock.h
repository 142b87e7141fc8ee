/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_clock.h: what a recording's clock is like, as far as that makes its instants foreseen. */
#pragma once

#include "read/reader_file.h"
#include "tools/error.h"

struct pack_clock {
	uint64_t step; /* ticks from one instant to the next there can be, 32 bits of them behind the point; 0: any tick is one */
	uint64_t pace; /* ns of a tick, 32 bits of them behind the point; 0: not known */
};

/* From the calls and anchors of its first segments, as far as these are sound. False: no memory. */
bool pack_clock_find(struct pack_clock *clock, const struct reader_file *file);
