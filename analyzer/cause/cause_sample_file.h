/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_sample_file.h: what a sample says of a file or a page that a thread waited for; nobody but the recorder watched. */
#pragma once

#include "cause_rules.h"

/* By its path it is data: no program's own, nothing of the kernel's. */
bool sample_is_data(const struct activity *a);

/* What the thread waited for in a page fault: by the accounts of the silence around it, which count those that had to read, and by what left the
 * swap meanwhile. */
enum faulted { FAULTED_UNKNOWN, FAULTED_FILE, FAULTED_SWAP };
enum faulted sample_faulted(const struct gap_view *v, const struct activity *a);

/* That cause, inferred, for as long as it was found there. */
void sample_finding(const struct gap_view *v, struct findings *out, enum cause_id cause, const struct activity *a);
