/* SPDX-License-Identifier: BSD-2-Clause */
/* cupti_link.h: which submission a record of CUPTI's belongs to. CUPTI calls us at the entry of each driver call that puts work into a
 * stream, in the thread that makes it, with the number that its records will bear: the submission that this thread is at is the one.
 *
 * Counting the records of a stream would do without those calls, but one record that CUPTI drops, one copy that makes two, and all that
 * follow belong to the wrong call. External correlation ids cost two calls of ours a launch, and two records. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cupti_submission {
	uint32_t stream, seq; /* as in the call's record */
	uint16_t device;
	uint64_t entered_ns; /* CLOCK_MONOTONIC, when the driver had been called */
};

/* Once; false: no memory. */
bool cupti_link_start(void);

/* The calling thread's submission, if it is at one, has this number from now on. */
void cupti_link_enter(uint32_t correlation);

/* False: not known, or forgotten meanwhile: so many later ones have come. */
bool cupti_link_get(uint32_t correlation, struct cupti_submission *out);
