/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_chain_evidence.h: what the end of a chain proves, in words: the file with its offset, the lock's holder, the block requests. */
#pragma once

#include "cause.h"
#include "chain/chain.h"

/* The texts for f->way into c. False: no memory. */
bool chain_keep_evidence(struct arena *arena, struct gap_cause *c, const struct finding *f, const struct host_trace *h);
