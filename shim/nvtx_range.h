/* SPDX-License-Identifier: BSD-2-Clause */
/* nvtx_range.h: NVTX ranges and marks, from the program's calls to records.
 *
 * A range is written when it ends. Those that may last (started ones, and pushed ones that stand in few others) are written when they begin
 * as well, so that they are known of where the process is killed within. What is open before there is a file (the process has not made a
 * driver call yet) is remembered, and is in the file once it ends, or once there is one; what had ended before is not. */
#pragma once

#include <stddef.h>

#include "nvtx_api.h"
#include "nvtx_text.h"

struct thread;

struct nvtx_event {
	struct nvtx_name name;
	uint32_t domain; /* its number */
	uint32_t category;
	uint32_t payload_kind;
	uint64_t payload;
	const struct nvtx_data *data; /* structured payloads, n_data of them */
	size_t n_data;
};

/* The level begun, the level ended; negative: there is none, or nobody counts. */
int nvtx_range_push(const struct nvtx_event *e);
int nvtx_range_pop(uint32_t domain, const struct nvtx_data *data, size_t n_data);

/* The range's id, never 0. */
uint64_t nvtx_range_start(const struct nvtx_event *e);
void nvtx_range_end(uint64_t id, const struct nvtx_data *data, size_t n_data);

void nvtx_range_mark(const struct nvtx_event *e);

/* The thread has just been attached to the file: what it has open is written. */
void nvtx_ranges_announce(struct thread *t);
/* There has just come to be a file: likewise what any thread has started. */
void nvtx_ranges_started_announce(struct thread *t);
/* The thread ends: what it has open stays open. */
void nvtx_ranges_thread_ended(void);

/* After fork, in the child: what the parent's other threads had open. */
void nvtx_ranges_forget(void);
