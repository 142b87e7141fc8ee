/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_steps.h: the steps of ranks_build, in their order. False: no memory. */
#pragma once

#include "ranks.h"

/* members, parts: in any order, without what the others say. */
bool ranks_find_parts(struct ranks *r, const struct threads *threads);
/* collectives; parts in their order, wait_ns. */
bool ranks_match(struct ranks *r);
/* clocks: which there are; and how they are to each other. */
bool ranks_find_clocks(struct ranks *r);
bool ranks_align(struct ranks *r);
/* devices, exposed_wait_ns; the members' sums. */
bool ranks_split(struct ranks *r);
bool ranks_find_stragglers(struct ranks *r, const struct attribution *const attributions[]);
