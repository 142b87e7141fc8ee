/* SPDX-License-Identifier: BSD-2-Clause */
/* html_lanes_names.h: of a row whose slices are merged, every name there is: how often it comes, and when it lasts longest. So that whoever looks for a
 * name finds it though all of its slices went into others' items. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "html_lanes_merge.h"

struct lane_name {
	uint64_t count;
	struct lane_slice longest;
};

struct lane_names { /* by key */
	struct lane_name *at;
	size_t n;
};

/* Keys of all rows together: beyond, a row has no list. */
#define LANE_NAMES ((size_t)2 << 20)

/* False: no memory. */
bool lane_names_begin(struct lane_names *names, size_t n_keys);
void lane_names_add(struct lane_names *names, uint32_t key, const struct lane_slice *s);
void lane_names_free(struct lane_names *names);
