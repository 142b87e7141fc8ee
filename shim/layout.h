/* SPDX-License-Identifier: BSD-2-Clause */
/* layout.h: a trace file's bytes in memory: who may be told what, in which order, so that a process killed in between leaves a good file
 * (FORMAT.md, "Layout", "Recycling"). The recorder and the host probes write the same form; nothing here knows which. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "format.h"

/* Growing a file beyond RLIMIT_FSIZE is a SIGXFSZ, which kills the program. */
bool layout_may_grow_to(uint64_t bytes);

/* The file's first records are about to be given up: its version says so, whenever it is read. head: header, counters, directory. */
void layout_mark_recycled(uint8_t *head);

/* The segment's header, *h but for its check, then its directory entry. */
void layout_sign(uint8_t *head, uint8_t *segment, struct gst_segment_header *h);
/* Its directory entry becomes 0, then its bytes. */
void layout_blank(uint8_t *head, uint8_t *segment, uint32_t index);

/* A record's header, its commit still 0; where the record begins. One store, or a process that is killed in between leaves a header that does
 * not hold; and no earlier one after it: who sees a record begun sees those before it committed. (On x86-64 stores keep their order anyway.) */
static inline void *layout_begin_record(uint8_t *segment, uint32_t at, uint16_t type, uint16_t size)
{
	struct gst_record header = { type, size, gst_record_check(type, size, at), 0 };
	uint64_t word;

	memcpy(&word, &header, sizeof(word));
	__atomic_store_n((uint64_t *)(void *)(segment + at), word, __ATOMIC_RELEASE);
	return segment + at;
}

/* Calls f for each finished record of a segment. */
void layout_each_record(const uint8_t *segment, void (*f)(const struct gst_record *r, void *arg), void *arg);
