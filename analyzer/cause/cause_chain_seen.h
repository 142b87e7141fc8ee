/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_chain_seen.h: what tasks were found doing somewhere in a walk, looked up by task: one answer asks about many others. */
#pragma once

#include "chain/chain.h"

struct chain_sight;

struct chain_seen { /* zeroed: nothing */
	struct chain_sight *at; size_t n, cap;
};

/* Of that walk; what it held is gone. False: no memory. */
bool chain_seen_set(struct chain_seen *seen, const struct chain *walk);
void chain_seen_free(struct chain_seen *seen);

/* On the way to an answer it waited for data: then it carries data, whatever it computes in between. */
bool chain_seen_fetching(const struct chain_seen *seen, const struct host_task *task);
/* At the end of one it forced that file to the disk; any, where it is not known which it is. Then writing to it, and opening and making it, was
 * part of saving it. */
bool chain_seen_flushing(const struct chain_seen *seen, const struct host_task *task, const struct host_what *file);
/* … it waited for swapped memory. */
bool chain_seen_swapping(const struct chain_seen *seen, const struct host_task *task);
