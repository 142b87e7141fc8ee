/* SPDX-License-Identifier: BSD-2-Clause */
/* segment_table.h: which segments of the file no thread writes any more, since when, and how often each was given up. Lock-free: a
 * segment that was left belongs to whoever takes it out of the table. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Its thread has written its last record into it, and is never to touch it again. Returns the tick that says so. */
uint64_t segment_table_leave(uint32_t index);
/* The same with the tick of the first time: whoever took it could not use it. */
void segment_table_put_back(uint32_t index, uint64_t left_ticks);
/* The segment left at this very tick, if it is still there to be had. */
bool segment_table_take(uint32_t index, uint64_t left_ticks);
bool segment_table_holds(uint32_t index, uint64_t left_ticks);
/* The one left longest ago, but after `after`, of the first n. GST_NONE: none. */
uint32_t segment_table_take_oldest(uint32_t n, uint64_t after, uint64_t *left_ticks);

/* Are more than so many of the first n to be had? */
bool segment_table_has_more_than(unsigned least, uint32_t n);

/* How often it was given up; by its owner: once more. */
uint32_t segment_table_recycles(uint32_t index);
void segment_table_recycled(uint32_t index);

/* After fork, in the child; n were in use. */
void segment_table_forget(uint32_t n);
