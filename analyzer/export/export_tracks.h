/* SPDX-License-Identifier: BSD-2-Clause */
/* export_tracks.h: slices on tracks. A viewer drops a slice that partly overlaps another of its track; those go to a lane beside. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/hash_index.h"

struct lane {
	uint32_t tid;
	int64_t *ends; /* of the slices that are still open, the innermost last */
	size_t n, cap;
};

struct track {
	const void *owner; /* whose it is, and which of its: what it is found by */
	uint64_t id;
	struct lane *lanes;
	size_t n, cap;
};

struct tracks {
	struct track *at;
	size_t n, cap;
	struct hash_index index; /* by owner and id */
	uint32_t next_tid; /* for lanes beside the first */
};

/* The track of (owner, id), made with this tid where it is new. NULL: no memory. Valid until the next call. */
struct track *tracks_find(struct tracks *t, const void *owner, uint64_t id, uint32_t tid, bool *is_new);
/* … NULL: it is not there. */
struct track *tracks_known(const struct tracks *t, const void *owner, uint64_t id);
void tracks_free(struct tracks *t);

/* The lane for a slice; slices of a track come by begin, of equal ones the longest first. nest: a slice may lie within another.
 * Where there are too many lanes the slice is cut to fit. *is_new: the lane has no name yet. NULL: no memory. */
struct lane *track_lane(struct tracks *t, struct track *track, bool nest, int64_t *begin_ns, int64_t *end_ns, bool *is_new);
