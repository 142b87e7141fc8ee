/* SPDX-License-Identifier: BSD-2-Clause */
#include "export_tracks.h"

#include <stdlib.h>

#include "alloc.h"
#include "fnv.h"

#define LANES_MAX 64

/* Where (owner, id) is in the slots, or the free one where it belongs. */
static size_t *slot_of(const struct tracks *t, const void *owner, uint64_t id)
{
	const uint64_t key[] = { (uintptr_t)owner, id };
	size_t i = fnv1a(FNV_BEGIN, key, sizeof(key)) & (t->n_slots - 1);

	while (t->slots[i] && (t->at[t->slots[i] - 1].owner != owner || t->at[t->slots[i] - 1].id != id))
		i = (i + 1) & (t->n_slots - 1);
	return &t->slots[i];
}

static bool widen(struct tracks *t)
{
	size_t n = t->n_slots ? 2 * t->n_slots : 64;
	size_t *slots = array_new(n, sizeof(*slots));

	if (!slots)
		return false;
	free(t->slots);
	t->slots = slots;
	t->n_slots = n;
	for (size_t i = 0; i < t->n; i++)
		*slot_of(t, t->at[i].owner, t->at[i].id) = i + 1;
	return true;
}

struct track *tracks_find(struct tracks *t, const void *owner, uint64_t id, uint32_t tid, bool *is_new)
{
	struct lane *lane;
	size_t *slot;

	*is_new = false;
	if ((2 * t->n >= t->n_slots && !widen(t)) || !array_room(t->at, t->n, t->cap))
		return NULL;
	slot = slot_of(t, owner, id);
	if (*slot)
		return &t->at[*slot - 1];
	lane = array_new(1, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->tid = tid;
	t->at[t->n] = (struct track){ .owner = owner, .id = id, .lanes = lane, .n = 1, .cap = 1 };
	*slot = ++t->n;
	*is_new = true;
	return &t->at[t->n - 1];
}

void tracks_free(struct tracks *t)
{
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->at[i].n; k++)
			free(t->at[i].lanes[k].ends);
		free(t->at[i].lanes);
	}
	free(t->at);
	free(t->slots);
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
