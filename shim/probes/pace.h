/* SPDX-License-Identifier: BSD-2-Clause */
/* pace.h: how long to rest between two rounds of looking, so that it costs a small share of a CPU at most. */
#pragma once

#include <stdint.h>

struct pace {
	uint64_t cpu_ns, wall_ns; /* when it was last reckoned */
	uint32_t ms, least_ms, most_ms;
	uint32_t share; /* a hundredth of a CPU is 100 */
};

/* Also asks the scheduler to put this thread on a CPU soon when it wakes, as it never stays there for long. */
void pace_begin(struct pace *p, uint32_t least_ms, uint32_t most_ms, uint32_t share);
/* Milliseconds until the next round; to be asked once a round. */
uint32_t pace_next(struct pace *p);
