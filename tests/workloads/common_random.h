/* SPDX-License-Identifier: BSD-2-Clause */
/* common_random.h: random numbers that are the same everywhere, and a quick hash. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct random {
	uint64_t state;
};

static inline struct random random_from(uint64_t seed)
{
	return (struct random){ (seed + 1) * 0x9e3779b97f4a7c15u };
}

static inline uint64_t random_next(struct random *r) /* xorshift64* */
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545f4914f6cdd1du;
}

static inline unsigned random_below(struct random *r, unsigned limit)
{
	return (unsigned)((random_next(r) >> 32) * limit >> 32);
}

static inline void random_fill(struct random *r, uint8_t *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = random_next(r);

		memcpy(to + i, &word, bytes - i < 8 ? bytes - i : 8);
	}
}

static inline uint64_t random_hash(uint64_t hash, const uint8_t *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = 0;

		memcpy(&word, data + i, bytes - i < 8 ? bytes - i : 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash;
}
