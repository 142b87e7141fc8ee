/* SPDX-License-Identifier: BSD-2-Clause */
/* html_pack.h: a long column of numbers as a few bytes of JSON: { "t": type, "z": base64 of zlib's bytes }. data.js reads it.
 *
 *   u8      a byte each
 *   varint  7 bits a byte, the lowest first; the top bit says that there are more
 *   zigzag  the same of 2v, or of -2v - 1 where v is negative
 *   delta   the same of what each is more than the one before it: they must not fall; one that does counts as equal
 * Packed bytes are held until pack_end, numbers are not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "tools/error.h"
#include "tools/json.h"

enum pack_type { PACK_U8, PACK_VARINT, PACK_ZIGZAG, PACK_DELTA };

#define PACK_BUFFER 4096

struct pack {
	enum pack_type type;
	bool failed; /* no memory: pack_end says so */
	bool opened;
	uint64_t last;
	size_t used; /* of in */
	z_stream z;
	uint8_t *out;
	size_t n_out, cap_out;
	uint8_t in[PACK_BUFFER];
};

void pack_begin(struct pack *p, enum pack_type type);
void pack_add(struct pack *p, uint64_t v); /* zigzag: an int64_t's bits */
/* Writes the object and gives all memory back; json NULL: only that. */
enum err_kind pack_end(struct pack *p, struct json *j, struct error *e);
