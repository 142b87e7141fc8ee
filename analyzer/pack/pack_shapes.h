/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_shapes.h: the shapes of records: their type, size and those fields that few values are seen of (PACK_SAME). Few shapes there are: a record's
 * is said by its number. */
#pragma once

#include "pack_fields.h"
#include "tools/hash_index.h"

struct pack_shape {
	uint16_t type, size;
	uint8_t bytes[PACK_STRUCT_MOST]; /* the record's, of all other fields zero */
};

#define PACK_SHAPES_MOST 60000u
#define PACK_NO_SHAPE UINT16_MAX

struct pack_shapes {
	struct pack_shape *at;
	size_t n, cap;
	struct hash_index index;
};

void pack_shapes_clear(struct pack_shapes *s); /* the memory is used again */
void pack_shapes_free(struct pack_shapes *s);

/* Its number; PACK_NO_SHAPE: it is none of them. */
uint16_t pack_shapes_find(const struct pack_shapes *s, const struct pack_shape *shape);
/* A new one; PACK_NO_SHAPE: there are too many, or no memory (*failed). */
uint16_t pack_shapes_add(struct pack_shapes *s, const struct pack_shape *shape, bool *failed);
