/* SPDX-License-Identifier: BSD-2-Clause */
/* html_lanes_windows.h: where the timeline is whole at any level of detail: around the gaps whose stories the page tells. Who goes to one of them
 * wants to see what ran before and behind, not that something did. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct html;

struct lane_window {
	uint64_t begin_ns, end_ns;  /* of the page */
	uint64_t longest_ns;        /* gap in it */
	uint64_t slices;            /* of all rows, that begin in it */
	bool whole;
};

struct lane_windows { /* by time, disjoint */
	struct lane_window *at;
	size_t n, cap;
};

/* Of the gaps that are told. False: no memory. */
bool lane_windows_build(struct lane_windows *w, const struct html *h);
void lane_windows_free(struct lane_windows *w);

/* The one that holds this instant; NULL none. *from: where to look first; instants of one `from` do not fall. */
struct lane_window *lane_windows_at(const struct lane_windows *w, size_t *from, uint64_t ns);

/* When slices are counted: those of the longest gaps are whole, as long as they have no more than so many slices together. False: no memory. */
bool lane_windows_choose(struct lane_windows *w, uint64_t budget);
