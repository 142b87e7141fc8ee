/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash_index.h"

#include <stdlib.h>

#include "alloc.h"

#define FIRST_SLOTS 64

/* Of 64 bits 32 are kept; they place an element, and tell it from its neighbours. */
static uint32_t kept(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

uint32_t hash_next(const struct hash_index *x, uint64_t hash, size_t *at)
{
	while (x->n_slots && *at < x->n_slots) {
		const struct hash_slot *slot = &x->slots[(kept(hash) + (*at)++) & (x->n_slots - 1)];

		if (!slot->number)
			break;
		if (slot->hash == kept(hash))
			return slot->number - 1;
	}
	return HASH_NONE;
}

static void put(struct hash_index *x, struct hash_slot element)
{
	size_t i = element.hash & (x->n_slots - 1);

	while (x->slots[i].number)
		i = (i + 1) & (x->n_slots - 1);
	x->slots[i] = element;
}

static bool widen(struct hash_index *x)
{
	struct hash_index wider = { .n = x->n, .n_slots = x->n_slots ? 2 * x->n_slots : FIRST_SLOTS };

	wider.slots = array_new(wider.n_slots, sizeof(*wider.slots));
	if (!wider.slots)
		return false;
	for (size_t i = 0; i < x->n_slots; i++)
		if (x->slots[i].number)
			put(&wider, x->slots[i]);
	free(x->slots);
	*x = wider;
	return true;
}

bool hash_add(struct hash_index *x, uint64_t hash, uint32_t number)
{
	if (2 * (x->n + 1) > x->n_slots && !widen(x))
		return false;
	put(x, (struct hash_slot){ kept(hash), number + 1 });
	x->n++;
	return true;
}

void hash_free(struct hash_index *x)
{
	free(x->slots);
	*x = (struct hash_index){ 0 };
}
