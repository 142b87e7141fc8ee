/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl_hash.h: by what value a communicator goes in all processes that are its ranks (FORMAT.md, GST_COMM). Derived from what every rank
 * has in hand when it makes it: nothing is exchanged. Never 0. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A finaliser of 64 bits (splitmix64, public domain). */
static inline uint64_t nccl_hash_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static inline uint64_t nccl_hash_some(uint64_t x)
{
	return x ? x : 1;
}

/* The unique ids it was made with, in their order. */
static inline uint64_t nccl_hash_ids(const void *ids, size_t bytes)
{
	const uint8_t *p = ids;
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, public domain */

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return nccl_hash_some(nccl_hash_mix(h));
}

/* A communicator made of another one: how (enum gst_nccl_kind), as the how-manieth of this kind, and what tells it from its siblings. */
static inline uint64_t nccl_hash_child(uint64_t parent, unsigned made, uint32_t nth, uint64_t which)
{
	return nccl_hash_some(nccl_hash_mix(nccl_hash_mix(nccl_hash_mix(parent ^ made) ^ nth) ^ which));
}

/* The ranks that were left out: in whatever order they are listed. */
static inline uint64_t nccl_hash_ranks(const int *ranks, int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += nccl_hash_mix((uint64_t)(uint32_t)ranks[i]);
	return sum;
}
