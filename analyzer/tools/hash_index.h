/* SPDX-License-Identifier: BSD-2-Clause */
/* hash_index.h: which elements of the caller's array may be the one with a key, by the key's hash. It keeps numbers, not keys: the caller
 * compares. Eight to sixteen bytes an element; a failed allocation is an answer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_NONE UINT32_MAX

struct hash_index {
	struct hash_slot { uint32_t hash, number; } *slots; /* open addressing, at most half taken; number: 1 + the element's, 0 free */
	size_t n, n_slots;
};

/* The next element whose hash is this one, HASH_NONE after the last. *at: 0 before the first call.
 *	for (size_t at = 0; (number = hash_next(x, hash, &at)) != HASH_NONE;) if (it is the one) …
 * The hash has to vary in all its bits, as FNV-1a (fnv.h) does. */
uint32_t hash_next(const struct hash_index *x, uint64_t hash, size_t *at);
/* The element is not looked for among those that are there. False: no memory, and nothing is changed. number < HASH_NONE. */
bool hash_add(struct hash_index *x, uint64_t hash, uint32_t number);
void hash_free(struct hash_index *x);
