/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_contents.h: what a step puts into the streams, as a number that is the same in every run, version and machine: which kernels and graphs,
 * and how many of each, by name. In which order does not count (threads overtake each other), nor do grids and sizes (batches differ), nor copies
 * (a loader's are where they happen to be). */
#pragma once

#include "steps/steps.h"

struct step_contents {
	uint64_t key; /* never 0 */
	uint32_t launches, copies;
};

/* Of n steps, by time. False: no memory. */
bool diff_contents_of(struct step_contents *out, const struct trace *t, const struct step *const *steps, size_t n);
