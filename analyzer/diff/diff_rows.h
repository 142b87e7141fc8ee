/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_rows.h: what two runs are compared in, for each device: what a step takes, and what of it is whose.
 *
 * Leaves sum to the step, exactly: compute, exposed communication, exposed copies, and the causes of idle time. `step` and `idle` are sums. */
#pragma once

#include <stdint.h>

#include "cause/cause.h"

enum diff_leaf { LEAF_COMPUTE, LEAF_COMM, LEAF_COPY, LEAF_CAUSES, DIFF_LEAVES = LEAF_CAUSES + CAUSE_COUNT };

enum diff_row { ROW_STEP, ROW_IDLE, ROW_LEAVES, DIFF_ROWS = ROW_LEAVES + DIFF_LEAVES };

/* "step", "idle", "compute", …, a cause's id; lives on */
const char *diff_row_name(size_t row);

/* Sets step and idle, from the leaves. */
void diff_rows_sum(int64_t row_ns[DIFF_ROWS]);

/* The steps of one run on one device, in their order: each has one value in each leaf. */
struct diff_series {
	size_t n;
	int64_t *leaf[DIFF_LEAVES]; /* ns, [n] each; NULL: 0 in every step */
};

/* What step i takes, ns. */
int64_t diff_step_ns(const struct diff_series *s, size_t i);
void diff_series_free(struct diff_series *s);
