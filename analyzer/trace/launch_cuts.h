/* SPDX-License-Identifier: BSD-2-Clause */
/* launch_cuts.h: where rows of launches must not be folded: where another record begins or ends, behind numbers that records and other rows name,
 * within NCCL's calls, and while there is another row as well. */
#pragma once

#include "tools/interval.h"
#include "trace.h"

struct launch_row { /* launches of one thread, one right behind the other in one stream: of their part those from `first` on */
	int64_t begin_ns, end_ns; /* ticks, until launch_rows_settle */
	int64_t base_ns; /* that launch.begin counts from: begin_ns */
	size_t first;
	uint32_t longest, silence;    /* ticks: of a launch; between two. For launch_rows_settle */
	uint32_t n, tid, stream, seq; /* seq: of the first, modulo 2^32 as in the file */
	uint16_t hook, device, part;
};

struct launch_cuts {
	const struct trace *t;
	const struct launch_row *rows; size_t n_rows;
	int64_t *instants;  size_t n_instants;  /* rising */
	uint64_t *numbers;  size_t n_numbers;   /* stream << 32 | number, rising */
	struct intervals each;                  /* when each launch stands by itself: merged */
};

#define CUTS_STREAMS 16

struct cuts_near { /* where the last row was: the next one that is asked for is mostly near it. Zeros first */
	size_t instant;
	size_t number[CUTS_STREAMS]; /* by stream: they stand in the order of these */
};

/* Does nothing that was decoded ask for each launch? Host functions, waits for memory, graphs that may stand still, streams that the legacy default
 * stream orders: what they hold up is looked at one by one. */
bool launch_cuts_allow(const struct trace *t);

/* Of these rows, borrowed like the trace. False: no memory. */
bool launch_cuts_find(struct launch_cuts *c, const struct trace *t, const struct launch_row *rows, size_t n);
/* Where the piece ends that begins with launch `at`: *end, row->n at most; *fold: it may be folded. */
void launch_cuts_next(const struct launch_cuts *c, struct cuts_near *near, const struct launch_row *row, uint32_t at, uint32_t *end, bool *fold);
void launch_cuts_free(struct launch_cuts *c);
