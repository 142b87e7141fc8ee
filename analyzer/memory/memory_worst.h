/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_worst.h: where everything lay at each device's worst moment: when it last was out of memory, else when it was most fragmented while as
 * much as ever was reserved (memory_device.worst). The events are gone through once more, up to there. */
#pragma once

#include "memory.h"

struct memory_part { /* what one process holds of the device, by address */
	uint32_t process; /* index in run.traces */
	struct memory_piece *pieces; size_t n, cap;
};

struct memory_worst {
	const struct memory_story *story; /* the out-of-memory; NULL: there was none */
	int64_t time_ns;
	struct memory_use use;            /* of all processes */
	uint64_t unplaced;                /* reserved bytes of which nobody knows the address: of pools of the driver's, or taken before the trace began */
	struct memory_part *parts; size_t n, cap;
	bool found; /* false: the device never held anything, and nothing of the rest is set */
};

/* Of each of m's devices, in its order; m is what memory_build made of the run. To be freed. */
enum err_kind memory_worst_build(struct memory_worst **out, const struct memory *m, const struct run *run, struct error *e);
void memory_worst_free(struct memory_worst *worst, size_t n);
