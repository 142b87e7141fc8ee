/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_parse.h: the kernel's records in a ring buffer (perf_event_open(2)), as events. */
#pragma once

#include "perf_rings.h"

/* Of samples; of the other records the first two stand at their end. */
#define PERF_PARSE_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CALLCHAIN)

struct perf_parse {
	uint8_t *whole; /* a record that goes on at the ring's beginning */
};

bool perf_parse_begin(struct perf_parse *p);
void perf_parse_end(struct perf_parse *p);
/* Adds the records of [tail, head) of a ring. False: no memory for some of them. */
bool perf_parse(struct perf_parse *p, struct perf_batch *b, const uint8_t *data, size_t bytes, uint64_t tail, uint64_t head);
