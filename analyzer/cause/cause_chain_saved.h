/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_chain_saved.h: how much the submitting thread's process wrote to each file, in a walk, after it had copied from the device. */
#pragma once

#include "chain/chain.h"

struct chain_write;

struct chain_saved { /* zeroed: nothing */
	struct chain_write *at; size_t n, cap;
};

/* Of that walk, from copied_out_ns on; what it held is gone. False: no memory. */
bool chain_saved_set(struct chain_saved *saved, const struct chain *walk, int64_t copied_out_ns);
void chain_saved_free(struct chain_saved *saved);

/* Into that file; of one call, all that it asked for, however often it waited. Writes that waited for nothing are none of these. */
uint64_t chain_saved_bytes(const struct chain_saved *saved, const struct host_what *file);
