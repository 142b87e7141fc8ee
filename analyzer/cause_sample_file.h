/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_sample_file.h: what a sample says of a file or a page that a thread waited for; nobody but the recorder watched. */
#pragma once

#include "cause_rules.h"

/* By its path it is data: no program's own, nothing of the kernel's. */
bool sample_is_data(const struct activity *a);
/* By the accounts of the silence around it the thread had pages read meanwhile. */
bool sample_faulted(const struct gap_view *v, const struct activity *a);
/* That cause, inferred, for as long as it was found there. */
void sample_finding(const struct gap_view *v, struct findings *out, enum cause_id cause, const struct activity *a);
