/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_cut.h: where an iteration begins. A period says how long one is, not with which launch it begins: that is the first copy to the
 * device, where one comes behind a copy to the host or a pause; else what comes behind the longest pause; else what the first iteration of
 * all begins with. */
#pragma once

#include "steps_period.h"

struct cut {
	uint32_t *first; size_t n; /* a typical iteration, from its first launch on */
	size_t anchor;             /* where in it the anchor is */
	size_t *at; size_t n_at;   /* where each begins, in the sequence, ascending: of every anchor there is one */
};

/* False: no memory. */
bool cut_make(struct cut *out, const struct step_tokens *s, const struct period *p);
void cut_free(struct cut *c);
