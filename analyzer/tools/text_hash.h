/* SPDX-License-Identifier: BSD-2-Clause */
/* text_hash.h: a hash of a text that varies in all its bits, eight bytes at a time: names of kernels have hundreds. The same only within one
 * run on one machine: it is written nowhere. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_HASH_MIX 0x9e3779b97f4a7c15u

static inline uint64_t text_hash_word(uint64_t h, uint64_t word)
{
	__uint128_t product = (__uint128_t)(h ^ word) * TEXT_HASH_MIX;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t text_hash(const char *at, size_t n)
{
	uint64_t h = TEXT_HASH_MIX ^ n, word;

	for (; n >= sizeof(word); at += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = text_hash_word(h, word);
	}
	word = 0;
	memcpy(&word, at, n);
	return text_hash_word(text_hash_word(h, word), TEXT_HASH_MIX);
}
