/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_chain_requests.h: the block requests that were answered while a thread waited for a file, and what they took of its wait. */
#pragma once

#include "chain/chain.h"

struct requests_sum {
	size_t n;
	uint64_t bytes;
	int64_t worst_device_ns, worst_queue_ns; /* of one; 0 where it is not known */
	int64_t covered_ns; /* of the wait, in which at least one of them was queued or with the device */
	uint32_t dev;       /* the first one's disk */
	bool device_known;  /* at least of one is known when the device had it */
};

/* Of the leaf's file, where it is known and theirs is; else of the leaf's task. Those answered within [begin, end]. */
struct requests_sum requests_of(const struct host_trace *h, const struct chain_step *leaf, int64_t begin_ns,
				int64_t end_ns);

/* "3 block requests on 254:0, 1.0 MiB: worst 1.1 ms in the device, 0.2 ms queued; throttled above the device"; "" where they are not watched. */
void requests_words(char *buf, size_t size, const struct host_trace *h, const struct chain_step *leaf, int64_t begin_ns,
		    int64_t end_ns);
