/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_told.h: what a framework says that it has in all of a device. Other tools' traces begin in the middle of a run: the blocks that they
 * have are only what changed since, and each comes with these totals.
 *
 *   told     allocated ████████████████████│ free                 in all; reserved is where it ends
 *   placed   ░░░░░░░░░░░░░░░░██████          blocks on record     ░ the base: taken before, at no address on record
 */
#pragma once

#include "trace/trace.h"

struct memory_events;
struct memory_use;

struct memory_told { /* of one device, by one process */
	uint64_t allocated, reserved;
	bool known;
};

/* Another tool's trace, and one of its blocks has totals? */
bool memory_told_in(const struct trace *t);
/* One event MEMORY_TOLD for each device whose blocks have them. False: no memory. */
bool memory_told_add(struct memory_events *out, const struct trace *t, uint32_t process);

/* As it was before the first block that has totals; then each block, in order. Beyond what any device has nothing counts. */
void memory_told_begin(struct memory_told *t, const struct block_event *first);
void memory_told_hear(struct memory_told *t, const struct block_event *b);

/* How what is free lies nobody says: it is taken for one piece here, and not shown. */
struct memory_use memory_told_use(const struct memory_told *t);
/* What of it is at no address on record, where so much is. */
uint64_t memory_told_base(const struct memory_told *t, uint64_t placed);
