/* SPDX-License-Identifier: BSD-2-Clause */
/* fnv.h: FNV-1a, 64 bits (public domain; Fowler, Noll, Vo). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FNV_BEGIN 0xcbf29ce484222325u

/* Goes on from `h`. */
static inline uint64_t fnv1a(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}
