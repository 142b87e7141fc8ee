/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_launches.h: the iterations of a training loop that says nothing of them, from what it launches.
 *
 * A step begins with the first launch or copy of an iteration. What comes behind an iteration and is none (a checkpoint, a logged value)
 * belongs to the step before it; where that is half an iteration of launches or more (an evaluation) it is a piece between steps. */
#pragma once

#include "steps.h"

/* Fills s->at and what goes with it; s->n stays 0 where there is no clear period. False: no memory. */
bool steps_from_launches(struct trace_steps *s);
