/* SPDX-License-Identifier: BSD-2-Clause */
/* host_keep.h: which records of a segment of host probes must outlive it: names that later records mention, tasks that go on, the ends of
 * tasks whose beginning was kept, what pipes they hold, what was watched. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../format_host.h"
#include "host_names.h"

struct host_keep;

/* NULL: no memory. */
struct host_keep *host_keep_new(struct host_names *names);
void host_keep_free(struct host_keep *k);

struct host_given_up {
	uint64_t records; /* that are gone; definitions are not counted */
	uint64_t lost;    /* definitions that were to be kept and had no room */
};

/* Segment number `seq` is about to be given up: calls put for each record of it that is to be kept, in order. put returns false where it
 * has no room. */
struct host_given_up host_keep_copy(struct host_keep *k, const uint8_t *segment, uint64_t seq,
				    bool (*put)(const struct gst_record *r, void *arg), void *arg);
