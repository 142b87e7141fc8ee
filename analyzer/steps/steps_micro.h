/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_micro.h: gradient accumulation: iterations of which each M-th alone changes the parameters. It launches, besides all that the
 * others do, what none of those does: an optimizer by its kernels' names or, where no name says it, many kernels and hardly a copy to the
 * host (of a logged value there is one). */
#pragma once

#include "steps_tokens.h"

struct micro {
	size_t *at; size_t n; /* where steps of several iterations begin; the last one may be cut short. none: there are no such steps */
	size_t typical;       /* one of them that is whole; there is one behind it */
};

/* Of the iterations i with is_step[i], which begin at at[i]. False: no memory. */
bool micro_find(struct micro *out, const struct step_tokens *s, const size_t *at, const uint8_t *is_step, size_t n);
void micro_free(struct micro *m);
