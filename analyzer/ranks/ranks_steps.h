/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_steps.h: the steps of ranks_build, in their order. False: no memory. */
#pragma once

#include "ranks.h"
#include "ranks_fit.h"

/* members, parts: in any order, without what the others say. */
bool ranks_find_parts(struct ranks *r, const struct threads *threads);
struct comm_hashes;
/* By what a process's communicator goes, in its window: those of different windows are never one. */
uint64_t ranks_hash(const struct comm_hashes *hashes, const struct trace *t, uint32_t comm);
/* collectives; parts in their order, wait_ns. */
bool ranks_match(struct ranks *r);
/* clocks: which there are; and how they are to each other. */
bool ranks_find_clocks(struct ranks *r);
bool ranks_align(struct ranks *r);
/* fits: to the reference, like clocks. What no collective aligns is on the clock that it may be one with (same_clock.h), if that is aligned.
 * True: some is. */
bool ranks_adopt_clocks(struct ranks *r, struct fit *fits);
/* Clocks that may be one, and of which the fits say so but for these errors, get one fit. */
void ranks_join_clocks(const struct ranks *r, struct fit *fits, const int64_t *error_ns);
/* parts: leaves out those of groups whose calls were only counted, by ranks that saw different ones. */
bool ranks_check_counted(struct ranks *r);
/* devices, exposed_wait_ns; the members' sums. */
bool ranks_split(struct ranks *r);
bool ranks_find_stragglers(struct ranks *r, const struct attribution *const attributions[]);
