/* SPDX-License-Identifier: BSD-2-Clause */
/* import_inflate.h: what a member of a gzip file holds, header and check value read as well. By ISA-L, which is three times as fast as zlib, or by zlib
 * where that is not there and in the static program (import_inflate_static.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct import_inflate;

enum import_inflated {
	INFLATED_SOME,  /* as far as there was input and room; nothing of either was used: there is none */
	INFLATED_ALL,   /* and the member has ended */
	INFLATED_WRONG, /* it is damaged */
	INFLATED_NO_MEMORY,
};

struct import_stream {
	const unsigned char *in;
	unsigned char *out;
	uint32_t n_in, n_out;
};

struct import_inflate *import_inflate_new(void); /* NULL: no memory */
void import_inflate_free(struct import_inflate *z);
/* Another member begins. */
void import_inflate_again(struct import_inflate *z);
enum import_inflated import_inflate(struct import_inflate *z, struct import_stream *s);
