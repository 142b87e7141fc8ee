/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_candidate.h: what a period is chosen from, in three steps. steps_anchors: what comes again and again, about as far apart; steps_period:
 * the intervals between its places (steps_marks: what in them touches the host); steps_choose: which of them are iterations. */
#pragma once

#include "steps_period.h"

#define LEVEL_RATIO 16 /* how many halves and quarters of an iteration could be taken for one */

struct candidate {
	struct anchor anchor;
	uint32_t n, first, last; /* its places in the window: how many, and which */
	uint64_t regular;        /* length of those intervals that are as long as one of those before */
	size_t number;           /* as they were found */
	/* looked at closely */
	uint64_t alike, most, all, span; /* launches: bags_sum's, and in all intervals */
	size_t length, members, example;
	int64_t time_ns; /* from the first place to the last */
	bool marked;     /* iterations copy to or from the host, or wait */
	bool whole;      /* … or change parameters: what layers do not */
	bool inputs;     /* each has a copy to the device of its own */
	bool turns;      /* they are of several kinds, always in the same order */
	bool phases;     /* other intervals come several in a row, and mostly again: evaluations */
	bool valid;      /* candidate_choose: they could be iterations */
};

/* In [from, until) of the sequence; the most regular first, not more than are worth a closer look. False: no memory. */
bool anchors_find(struct candidate **out, size_t *n, const struct step_tokens *s, size_t from, size_t until);
/* NULL: none is an iteration. */
const struct candidate *candidate_choose(const struct step_tokens *s, struct candidate *c, size_t n);
