/* SPDX-License-Identifier: BSD-2-Clause */
/* bytes.h: GPUSHIM_LIMIT, as the recorder and the host probes read it. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

#define BYTES_LIMIT (2ull << 30) /* where it is not set */

/* "2G" -> bytes; 0 if it is no number. */
static inline uint64_t bytes_parse(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);
	unsigned shift = 0;

	switch (*end | 0x20) {
	case 'k':
		shift = 10;
		break;
	case 'm':
		shift = 20;
		break;
	case 'g':
		shift = 30;
		break;
	case 't':
		shift = 40;
		break;
	}
	return n > UINT64_MAX >> shift ? UINT64_MAX : n << shift;
}
