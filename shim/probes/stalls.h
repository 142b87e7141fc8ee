/* SPDX-License-Identifier: BSD-2-Clause */
/* stalls.h: a task's waits that are too short for a record of their own, summed up by what they are for (GST_STALLS). */
#pragma once

#include "host_file.h"

#define STALL_KINDS 4u

struct stall {
	uint64_t begin, end; /* of the first and of the last one; begin 0: not in use */
	uint64_t blocked_ns, queued_ns, throttled_ns;
	uint64_t last_offset;
	uint32_t count;
	struct gst_wait_for what;
};

struct stalls {
	struct stall kind[STALL_KINDS];
};

/* part: its times, count (how many they were), what (bytes: of each of them). A sum that is worth a record is written at once. */
void stalls_add(struct stalls *s, struct host_file *f, uint32_t tid, const struct stall *part);
/* Writes all of them: before a long wait, so that a sum does not stretch across it, and at the end. */
void stalls_write(struct stalls *s, struct host_file *f, uint32_t tid);
