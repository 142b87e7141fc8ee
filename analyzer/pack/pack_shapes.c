/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_shapes.h"

#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/fnv.h"

void pack_shapes_clear(struct pack_shapes *s)
{
	s->n = 0;
	hash_free(&s->index);
}

void pack_shapes_free(struct pack_shapes *s)
{
	hash_free(&s->index);
	free(s->at);
	*s = (struct pack_shapes){ 0 };
}

/* Eight bytes at a time: each record's shape is looked for. */
static uint64_t hash_of(const struct pack_shape *shape)
{
	uint64_t words[sizeof(*shape) / 8], h = FNV_BEGIN;

	_Static_assert(sizeof(*shape) % 8 == 0, "whole words");
	memcpy(words, shape, sizeof(words));
	for (unsigned i = 0; i < sizeof(*shape) / 8; i++)
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

uint16_t pack_shapes_find(const struct pack_shapes *s, const struct pack_shape *shape)
{
	uint64_t hash = hash_of(shape);
	uint32_t number;

	for (size_t at = 0; (number = hash_next(&s->index, hash, &at)) != HASH_NONE;)
		if (memcmp(&s->at[number], shape, sizeof(*shape)) == 0)
			return (uint16_t)number;
	return PACK_NO_SHAPE;
}

uint16_t pack_shapes_add(struct pack_shapes *s, const struct pack_shape *shape, bool *failed)
{
	if (s->n >= PACK_SHAPES_MOST)
		return PACK_NO_SHAPE;
	if (!array_room(s->at, s->n, s->cap) || !hash_add(&s->index, hash_of(shape), (uint32_t)s->n)) {
		*failed = true;
		return PACK_NO_SHAPE;
	}
	s->at[s->n] = *shape;
	return (uint16_t)s->n++;
}
