/* SPDX-License-Identifier: BSD-2-Clause */
#include "export_tracks.h"

#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/fnv.h"

#define LANES_MAX 64

static uint64_t hash_of(const void *owner, uint64_t id)
{
	const uint64_t key[] = { (uintptr_t)owner, id };

	return fnv1a(FNV_BEGIN, key, sizeof(key));
}

struct track *tracks_known(const struct tracks *t, const void *owner, uint64_t id)
{
	uint64_t hash = hash_of(owner, id);
	uint32_t i;

	for (size_t at = 0; (i = hash_next(&t->index, hash, &at)) != HASH_NONE;)
		if (t->at[i].owner == owner && t->at[i].id == id)
			return &t->at[i];
	return NULL;
}

struct track *tracks_find(struct tracks *t, const void *owner, uint64_t id, uint32_t tid, bool *is_new)
{
	struct track *known = tracks_known(t, owner, id);
	struct lane *lane;

	*is_new = false;
	if (known)
		return known;
	lane = array_room(t->at, t->n, t->cap) ? array_new(1, sizeof(*lane)) : NULL;
	if (!lane || !hash_add(&t->index, hash_of(owner, id), (uint32_t)t->n)) {
		free(lane);
		return NULL;
	}
	lane->tid = tid;
	t->at[t->n] = (struct track){ .owner = owner, .id = id, .lanes = lane, .n = 1, .cap = 1 };
	*is_new = true;
	return &t->at[t->n++];
}

void tracks_free(struct tracks *t)
{
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->at[i].n; k++)
			free(t->at[i].lanes[k].ends);
		free(t->at[i].lanes);
	}
	free(t->at);
	hash_free(&t->index);
	*t = (struct tracks){ 0 };
}

static bool push(struct lane *lane, int64_t end_ns)
{
	if (!array_room(lane->ends, lane->n, lane->cap))
		return false;
	lane->ends[lane->n++] = end_ns;
	return true;
}

static bool fits(struct lane *lane, bool nest, int64_t begin_ns, int64_t end_ns)
{
	while (lane->n && lane->ends[lane->n - 1] <= begin_ns)
		lane->n--;
	return !lane->n || (nest && end_ns <= lane->ends[lane->n - 1]);
}

struct lane *track_lane(struct tracks *t, struct track *track, bool nest, int64_t *begin_ns, int64_t *end_ns,
			bool *is_new)
{
	struct lane *lane;

	*is_new = false;
	for (size_t i = 0; i < track->n; i++) {
		if (fits(&track->lanes[i], nest, *begin_ns, *end_ns))
			return push(&track->lanes[i], *end_ns) ? &track->lanes[i] : NULL;
	}
	if (track->n == LANES_MAX) {
		lane = &track->lanes[track->n - 1];
		if (nest) {
			*end_ns = lane->ends[lane->n - 1];
		} else {
			*begin_ns = lane->ends[lane->n - 1];
			*end_ns = *end_ns > *begin_ns ? *end_ns : *begin_ns;
			lane->n--;
		}
		return push(lane, *end_ns) ? lane : NULL;
	}
	if (!array_room(track->lanes, track->n, track->cap))
		return NULL;
	lane = &track->lanes[track->n++];
	*lane = (struct lane){ .tid = t->next_tid++ };
	*is_new = true;
	return push(lane, *end_ns) ? lane : NULL;
}
