/* SPDX-License-Identifier: BSD-2-Clause */
/* shared.h: SIMGPU_SHARED: what the processes that share devices know of each other, in a file that all of them map.
 *
 *     byte 0 locked       somebody attaches
 *     byte 1 + n locked   the process in slot n lives (fcntl: the kernel lets go of it however the process ends)
 *     the mapped struct   under its robust mutex
 *
 * A dead process' memory, wishes and turns are taken back when somebody misses them (shared_reap). Locked, all of it. */
#pragma once

#include "sim.h"

enum { SHARED_PROCESSES = 64 };

/* What only one process uses at a time; turns.h says how. */
enum gate_kind { GATE_KERNELS, GATE_TO_DEVICE, GATE_TO_HOST, GATE_KINDS };

struct gate {
	uint64_t holder; /* the process whose turn it is, or was last; 0: nobody's yet */
	uint32_t holder_slot;
	uint32_t open;          /* what the holder started has no known end yet */
	uint64_t begin_ns;      /* of the turn: nothing of earlier holders ends later */
	uint64_t turn_end_ns;   /* from then on others come first */
	uint64_t busy_until_ns; /* the last known end of what the holder started */
	uint64_t wanted_ns[SHARED_PROCESSES]; /* by slot: since when, or from when on; 0: not */
};

CUresult shared_attach(void); /* at cuInit; CUDA_SUCCESS too where SIMGPU_SHARED is not set */
bool shared_on(void);
uint64_t shared_id(void);     /* of this process: never used again for another */
unsigned shared_slot(void);

void shared_lock(void); /* may be nested */
void shared_unlock(void);
struct gate *shared_gate(int device, enum gate_kind kind); /* to be used between the two */
void shared_reap(void);

uint64_t shared_memory_used(int device); /* by all processes, in bytes */
bool shared_memory_take(int device, uint64_t bytes, uint64_t all);
void shared_memory_give(int device, uint64_t bytes);
