/* SPDX-License-Identifier: BSD-2-Clause */
/* comm_hashes.h: which communicators of a run's processes are one. It goes by one hash on all of its ranks, but for one that was grown: its
 * first rank says by which two (FORMAT.md, GST_COMM). */
#pragma once

#include "run.h"

struct comm_alias {
	uint64_t from, to;
};

struct comm_hashes {
	struct comm_alias *aliases; /* by from */
	size_t n;
};

/* False: no memory. */
bool comm_hashes_build(struct comm_hashes *out, const struct run *run);
void comm_hashes_free(struct comm_hashes *h);
/* The one of the hashes that stands for the communicator. */
uint64_t comm_hash_of(const struct comm_hashes *h, uint64_t hash);
