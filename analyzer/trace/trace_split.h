/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_split.h: a file is gone through once, in parts side by side: plain launches become rows, blocks are decoded, and whatever else there is is kept as it
 * stands there, a tenth of the file, to be described and decoded when all of it has been met. */
#pragma once

#include "launch_rows.h"
#include "read/reader.h"
#include "trace.h"

struct kept_records {
	char *bytes; size_t n, cap;
};

struct split_part {
	struct reader *reader;
	struct launch_rows rows;
	struct trace_memory memory; /* blocks alone; their times are ticks */
	struct kept_records kept;
	uint64_t types[TRACE_TYPES];
	size_t first, n; /* segments */
};

struct trace_split {
	struct split_part *parts; size_t n;
	size_t part, at; /* where trace_split_next is: which part, byte of what it kept */
};

/* Of a file that has just been opened. What the reader counts, and whether it is damaged, is then what it would be had it gone through all itself; its
 * next record is of the first kept segment. False: no memory. */
bool trace_split_read(struct trace_split *s, struct reader *reader, const struct clock *clock);
void trace_split_free(struct trace_split *s);

/* The records that were kept, in the file's order. */
bool trace_split_next(struct trace_split *s, struct record_view *out);
void trace_split_rewind(struct trace_split *s);

/* Of one of its parts, when the clock is ready; the others, and what was kept, may be had meanwhile. False: no memory. */
bool trace_split_settle(struct trace_split *s, size_t part, const struct clock *clock);
/* What was decoded already becomes t's. False: no memory. */
bool trace_split_give_blocks(struct trace_split *s, struct trace *t);
