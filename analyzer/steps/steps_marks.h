/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_marks.h: what in a sequence of tokens has to do with the host: copies to it and from it, and calls that wait. Counted once, so that each
 * of the many intervals that are asked about costs a subtraction, however many calls lie in it. */
#pragma once

#include "steps_tokens.h"

struct step_marks {
	size_t from;
	uint32_t *before; /* by place from `from` on: how many there are from there to it */
};

/* Of the places [from, until), at least one. False: no memory. */
bool marks_count(struct step_marks *out, const struct step_tokens *s, size_t from, size_t until);
void marks_free(struct step_marks *m);

/* From the one submission to the other, which is not in it. */
static inline uint32_t marks_between(const struct step_marks *m, size_t begin, size_t end)
{
	return m->before[end - m->from] - m->before[begin - m->from];
}
