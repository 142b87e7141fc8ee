/* SPDX-License-Identifier: BSD-2-Clause */
/* launch_rows.h: the plain launches of a part of a file, while it is gone through, as rows (launches.h). */
#pragma once

#include "clock.h"
#include "launch_cuts.h"
#include "read/reader.h"
#include "tools/hash_index.h"

struct launch_kernel { /* of a kernel */
	uint32_t tid; /* that launched it last: a thread's first launch of it stands for itself, as it may load code */
	bool launched; /* at all */
	bool plain;    /* its name was read, and is no communication's */
};

#define LAUNCHES_KNOWN 1024

struct launch_known { /* a launch that was taken */
	uint64_t args[2];
	uint32_t name, tid;
	uint32_t shape; /* LAUNCH_SHAPES: none was */
};

struct launch_rows {
	struct launch_row *at; size_t n, cap;
	struct launch_part launches; /* whoever takes them leaves zeros */
	struct launch_kernel *kernels; size_t n_kernels; /* by their ids in the file */
	struct hash_index index;  /* of shapes */
	struct launch_known known[LAUNCHES_KNOWN]; /* by known_at: where the index need not be asked */
	uint32_t silent, longest; /* ticks; how long one is may show later only, then these are high */
	uint16_t part;
	bool open; /* the last row may go on */
};

/* like: of the beginning of the file, whose kernels are known; NULL: this is it. False: no memory. */
bool launch_rows_begin(struct launch_rows *r, uint16_t part, const struct clock *clock, const struct launch_rows *like);
void launch_rows_free(struct launch_rows *r);

/* A kernel's name was read. Launches of others are not taken. */
void launch_rows_named(struct launch_rows *r, const struct gst_name *name);

enum launch_taken { LAUNCH_NOT_TAKEN, LAUNCH_TAKEN, LAUNCH_NO_MEMORY };

/* The next call of a thread, if it is a plain launch. */
enum launch_taken launch_rows_take(struct launch_rows *r, const struct gst_call *c, const struct record_view *v);

/* How many of n calls of a thread, which lie one behind the other in the file from `byte` on, go on with its row, as most do: they are taken. Whether the
 * one behind them is one is launch_rows_take's to say. */
size_t launch_rows_go_on(struct launch_rows *r, const struct gst_call *c, size_t n, uint32_t tid, uint64_t byte);

/* Ticks become nanoseconds; streams and kernels are those of the file still. False: no memory. */
bool launch_rows_settle(struct launch_rows *r, const struct clock *clock);
