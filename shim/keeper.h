/* SPDX-License-Identifier: BSD-2-Clause */
/* keeper.h: the kept segments (FORMAT.md, "Recycling"): what other records refer to, copied out of segments that are given up. One thread
 * at a time writes them; none waits for another. It holds a blank segment in reserve, so that what is in one segment always has room. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "segment.h"

/* Now that segment `index` was claimed, of a file of so many, is it time for the keeper's first one? */
bool keeper_comes_next(uint32_t index, uint32_t segments);
/* A blank segment for its reserve. False: it wants none, or another thread is at it. */
bool keeper_take(struct segment *s);
/* Its reserve, for a thread that is left without any. False: it has none, or another thread is at it. */
bool keeper_give_back(struct segment *s);

/* Copies what is to be kept of the segment, `bytes` of records that keeper_wants. 0; EBUSY: another thread is at it; ENOSPC: there is no room
 * for it now, and more is to be had. rather_lose: then what has no room is lost, and counted, as it is where no more is to be had. */
int keeper_copy(const struct segment *from, uint64_t bytes, bool rather_lose);

/* Is it copied, if there is room? (Anchors are, too, but nothing is lost without them.) */
bool keeper_wants(const struct gst_record *r);

/* Names of hooks were lost since it was last asked: whoever begins a segment writes them again. */
bool keeper_lost_hooks(void);

void keeper_forget(void);
