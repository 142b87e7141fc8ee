/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_verdict.h: the typical steps of the runs of two sides -> what changed, how sure that is, and what it amounts to.
 *
 * - Several runs a side: they vary by themselves (placement, clocks, neighbours), so what is compared is runs, by Welch's t; steps within them
 *   only say how small that variation cannot be.
 * - One run a side: how much runs vary is not known. Steps alone say how sure the difference of these two runs is, and the dead band is wider by
 *   what two runs of one program may differ (RUN_TO_RUN).
 * - A row is regressed or improved where its difference is beyond the dead band, for sure: rows are many, so by Holm's correction over all rows
 *   of all devices (Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979). */
#pragma once

#include <stdbool.h>

#include "diff_typical.h"

#define DIFF_ALPHA 0.05    /* of both directions together */
#define DIFF_BAND 0.02     /* of base's typical step: less is no change, however sure */
#define DIFF_TAIL_BAND 0.05 /* of what long steps add: they are few, and differ. Of one run a side … */
#define DIFF_TAIL_BAND_ALONE 0.25
#define DIFF_RUN_TO_RUN 0.01 /* standard deviation of runs, where it is not known: what idle machines show */
#define DIFF_BLUR 0.1 /* of what gaps' ends are not known to, that two runs may differ by where nothing says that they do */
#define DIFF_LEAST_STEPS 8 /* of fewer, nothing is said */
#define DIFF_LEAST_RUNS 3  /* … but where there are no steps: so many runs a side are compared whole */

enum diff_change { DIFF_UNCHANGED, DIFF_REGRESSED, DIFF_IMPROVED, DIFF_INCONCLUSIVE, DIFF_NOT_COMPARABLE };

/* '~', '+', '-', '?', 'x' */
char diff_sign(enum diff_change change);

struct diff_side { /* one device in the runs of a side */
	const struct diff_typical *runs;
	size_t n;
	int64_t blurred_ns; /* of a step: what is told idle may be busy, or the other way round; the dead band of all rows but the step is wider for it */
};

/* Which rows mean the same on both sides. */
enum diff_rows_alike { DIFF_ALL_ROWS, DIFF_NO_CAUSES /* what told causes is not the same */, DIFF_STEP_ALONE /* nor what told idle from busy */ };

struct diff_compared { /* a row */
	int64_t base_ns, new_ns, delta_ns; /* rows sum, as those of a typical step do */
	int64_t low_ns, high_ns;           /* of delta, 95 % */
	double p;                          /* that it is within the band all the same, in its direction */
	enum diff_change change;
	bool present; /* not 0 all through: it is one of those that Holm's correction counts */
};

struct diff_device {
	struct diff_compared row[DIFF_ROWS];
	int64_t base_tail_ns, new_tail_ns;
	struct diff_compared tail; /* of these: a row of its own, in no sum; its band is DIFF_TAIL_BAND */
	int64_t band_ns;     /* of the step; of the others it is wider by … */
	int64_t blurred_ns;
	bool variance_known; /* run-to-run */
	bool comparable;     /* enough steps on both sides, or runs where there are no steps */
	uint8_t alike;       /* enum diff_rows_alike; the caller's to set before the verdict */
};

/* What is no change in that row, ns; DIFF_ROWS: in the tail. */
int64_t diff_band(const struct diff_device *d, size_t row);
bool diff_row_is_alike(const struct diff_device *d, size_t row);

/* All but the verdicts. */
void diff_compare(struct diff_device *out, const struct diff_side *base, const struct diff_side *now);
/* The verdicts of all devices together. False: no memory. */
bool diff_judge(struct diff_device *devices, size_t n);
/* Of all: regressed where some row is, else improved where some is and neither a step nor its idle time may be worse by twice the band; inconclusive where one of these is.
 * Where the step alone can be compared and has not changed, nothing is known of its parts: not comparable. */
enum diff_change diff_overall(const struct diff_device *devices, size_t n);
