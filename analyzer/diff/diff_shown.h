/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_shown.h: which rows of a diff a reader is shown, in which order, and its figures in words: the same ones in every output. */
#pragma once

#include "diff.h"
#include "tools/text.h"

#define DIFF_WORDS 96 /* room for any of the words below */

const char *diff_change_word(enum diff_change change); /* "regressed" */

/* ---- rows: those of diff_rows.h, and one more that is in no sum ---- */

#define DIFF_TAIL DIFF_ROWS /* what long steps add */
#define DIFF_SHOWN (DIFF_ROWS + 1)

const struct diff_compared *diff_shown_row(const struct diff_pair *p, size_t row);
const char *diff_shown_name(size_t row);                           /* "step", …, "tail" */

/* The step, the idle time, what changed for sure, and what is a two-hundredth of the step on either side; of the tail a fiftieth. */
bool diff_row_is_shown(const struct diff_pair *p, size_t row);
/* step, compute, comm, copy, idle, then the causes: those that regressed first, and of each kind what changed most. All rows but the tail. */
void diff_row_order(size_t order[DIFF_ROWS], const struct diff_pair *p);

/* Did this row make the exit status 1? By --fail-on, where that was given: no rule is about the tail. */
bool diff_row_fails(const struct diff *d, size_t pair, size_t row);

/* ---- devices ---- */

/* What the verdict would be if there were no other device. */
enum diff_change diff_pair_verdict(const struct diff_pair *p);

/* All pairs: those that regressed, then '-', 'x', '?', '~'; else as base has them. */
struct diff_walk {
	const struct diff *d; /* to begin with nothing else is set */
	size_t pair;          /* where it is */
	size_t next, change;
};

bool diff_walk_next(struct diff_walk *w);

/* ---- figures ---- */

const char *diff_delta(char buf[DIFF_WORDS], int64_t ns);                        /* "+1.2 ms" */
const char *diff_interval(char buf[DIFF_WORDS], const struct diff_compared *r);  /* "+0.9 ms to +1.5 ms" */
const char *diff_percent(char buf[DIFF_WORDS], int64_t ns, int64_t whole);       /* "+12.3 %"; "" where whole is 0 */
const char *diff_times(char buf[DIFF_WORDS], double per_step);                   /* "412", "0.25" */
const char *diff_bytes(char buf[DIFF_WORDS], const struct diff_work_change *w);   /* of a step: "1.0 MiB to 2.0 MiB"; "" where it is none, or as it was */
const char *diff_growth(char buf[DIFF_WORDS], uint64_t base, uint64_t now);      /* of bytes: "+1.5 GiB" */

/* ---- sentences ---- */

/* How sure it can be: "24 steps in each of 5 runs against …; a change of less than 0.2 ms is none". clean text */
const char *diff_how_sure(char *buf, size_t size, const struct diff *d, const struct diff_pair *p);
/* "device 3, rank 3, NVIDIA H100", "device 3 (5 in new)": base's, clean. */
const char *diff_pair_title(char *buf, size_t size, const struct diff_pair *p);
