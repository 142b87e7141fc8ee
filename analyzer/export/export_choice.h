/* SPDX-License-Identifier: BSD-2-Clause */
/* export_choice.h: what of a long run is told event by event: what is around the longest gaps, and in the steps that took longest beyond what is
 * usual, with a usual one to compare them with. */
#pragma once

#include "summary/summary.h"
#include "tools/interval.h"

struct choice {
	const struct summary *s; /* borrowed */
	bool all;
	struct intervals around; /* not for all: as they are drawn, all hosts on one clock */
};

/* False: no memory. */
bool choice_make(struct choice *c, const struct summary *s, bool all);
/* Is what happened then, by that clock of the ranks', among it? */
bool choice_wants(const struct choice *c, uint32_t clock, int64_t begin_ns, int64_t end_ns);
void choice_free(struct choice *c);
