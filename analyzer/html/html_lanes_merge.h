/* SPDX-License-Identifier: BSD-2-Clause */
/* html_lanes_merge.h: the level of detail of one row of slices. Slices come by begin and do not overlap.
 *
 * At level 0 each is an item of its own. At level L those that are shorter than 2^L ns and begin in the same 2^L ns become one item: so a row
 * has at most two items for each 2^L ns of its length, and no item hides more than that. How many there are at each level is counted in one pass over the slices,
 * without memory; the second pass makes the items of the level that was chosen. What ran within an item is kept exactly:
 * Σ (length - empty) is the same at every level. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANE_LEVELS 64

struct lane_levels { /* zeroed: no slice yet */
	uint64_t n;
	uint64_t joins[LANE_LEVELS]; /* slices that join the one before them from that level on */
	uint64_t last_begin_ns, last_length_ns;
};

void lane_levels_add(struct lane_levels *l, uint64_t begin_ns, uint64_t length_ns);
/* Items at that level. */
uint64_t lane_levels_items(const struct lane_levels *l, unsigned level);

struct lane_slice {
	uint64_t begin_ns, length_ns;
	uint64_t number; /* of who made it, to tell it by */
	const void *of;  /* likewise */
	uint32_t weight; /* of how many at once it tells; 0 where that is no question */
	uint8_t class;
};

struct lane_item {
	uint64_t begin_ns, length_ns;
	uint64_t empty_ns; /* of its length; in which none of its slices ran */
	uint64_t weight_ns; /* Σ weight × length, at most UINT64_MAX */
	uint64_t number;   /* of the longest slice of its class */
	const void *of;    /* likewise */
	uint32_t count;    /* slices; stays at the end of its range */
	uint8_t class;     /* that which ran longest */
};

#define LANE_CLASSES 128

struct lane_merge {
	unsigned level;
	struct lane_item *items; size_t n, cap;
	bool open;         /* the last item takes more in */
	uint64_t busy_ns;  /* of it */
	uint64_t last_end_ns;
	struct lane_class {
		uint64_t busy_ns, longest_ns, number;
		const void *of;
		bool seen;
	} *classes; /* [LANE_CLASSES], of the open item; NULL at level 0 */
};

/* False: no memory. Level LANE_LEVELS - 1 at most. */
bool lane_merge_begin(struct lane_merge *m, unsigned level);
bool lane_merge_add(struct lane_merge *m, const struct lane_slice *s, bool alone); /* alone: it is an item of its own, whatever the level */
void lane_merge_end(struct lane_merge *m); /* the items are complete */
void lane_merge_free(struct lane_merge *m);
