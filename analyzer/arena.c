/* SPDX-License-Identifier: BSD-2-Clause */
#include "arena.h"

#include "spill.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 10) /* the first; each is twice the one before, up to … */
#define CHUNK_MOST ((size_t)64 << 20)
#define CHUNK_LARGE ((size_t)8 << 20) /* from here on it may lie in a file */
#define ALIGN 16u

struct arena_chunk {
	struct arena_chunk *previous;
	_Alignas(ALIGN) char bytes[];
};

void *arena_alloc(struct arena *a, size_t bytes)
{
	struct arena_chunk *chunk;
	void *p;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!a->chunk || bytes > a->size - a->used) {
		size_t size = !a->chunk ? CHUNK_BYTES : a->size < CHUNK_MOST / 2 ? 2 * a->size : CHUNK_MOST;

		size = bytes > size ? bytes : size;
		chunk = size < CHUNK_LARGE ? malloc(sizeof(*chunk) + size) : spill_new(sizeof(*chunk) + size, 1);
		if (!chunk)
			return NULL;
		chunk->previous = a->chunk;
		a->chunk = chunk;
		a->used = 0;
		a->size = size;
	}
	p = a->chunk->bytes + a->used;
	a->used += bytes;
	return p;
}

char *arena_text(struct arena *a, const char *s)
{
	size_t bytes = strlen(s) + 1;
	char *copy = arena_alloc(a, bytes);

	return copy ? memcpy(copy, s, bytes) : NULL;
}

void arena_free(struct arena *a)
{
	while (a->chunk) {
		struct arena_chunk *previous = a->chunk->previous;

		spill_free(a->chunk);
		a->chunk = previous;
	}
	*a = (struct arena){ 0 };
}
