/* SPDX-License-Identifier: BSD-2-Clause */
/* report_totals.h: sums that several parts of the text report show, and what they say of a gap. */
#pragma once

#include "summary/summary.h"

struct totals { /* of one device, or of several */
	int64_t span, compute, comm, comm_wait, comm_transfer, h2d_pageable, h2d_pinned, d2h, d2d, peer, memset, idle;
	int64_t causes[CAUSE_COUNT];
};

void totals_add(struct totals *t, const struct summary_device *d);

/* The causes that own any time, the longest first; how many. */
int totals_rank(const int64_t causes[CAUSE_COUNT], enum cause_id order[CAUSE_COUNT]);
/* ": launch-bound 1.0 s, host-compute 0.1 s": the first few, of a whole that they sum to. */
void totals_causes(const int64_t causes[CAUSE_COUNT], int64_t whole, char *buf, size_t size);

/* Of a gap, the longest interval with evidence; of one cause, or of any (-1). NULL: none. */
const struct gap_cause *totals_main_cause(const struct gap_story *g, int cause);
