/* SPDX-License-Identifier: BSD-2-Clause */
/* shared_file.h: what the file of SIMGPU_SHARED holds. Whoever changes a field counts SHARED_VERSION up: programs built before
 * and after may meet in one file. */
#pragma once

#include "shared.h"

#define SHARED_MAGIC "simgpu\n" /* with its zero: eight bytes */

enum { SHARED_VERSION = 1 };

struct process {
	uint64_t id; /* 0: the slot is free */
	uint64_t used_bytes[SIM_MAX_DEVICES];
};

struct shared {
	char magic[8];
	uint32_t version, bytes;
	char boot[40]; /* times of another boot mean nothing */
	uint64_t last_id;
	pthread_mutex_t lock;
	struct process processes[SHARED_PROCESSES];
	struct gate gates[SIM_MAX_DEVICES][GATE_KINDS];
};
