/* SPDX-License-Identifier: BSD-2-Clause */
#include "arena.h"

#include "spill.h"
#include "text_hash.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 10) /* the first; each is twice the one before, up to … */
#define CHUNK_MOST ((size_t)64 << 20)
#define CHUNK_LARGE ((size_t)1 << 20) /* from here on it may lie in a file */
#define READY ((size_t)256 << 10) /* … and its pages come so many bytes at a time: the last one is seldom filled */
#define ALIGN 16u
#define SAID 512u /* texts that are looked for */

struct arena_chunk {
	struct arena_chunk *previous;
	_Alignas(ALIGN) char bytes[];
};

static bool add_chunk(struct arena *a, size_t bytes)
{
	size_t size = !a->chunk ? CHUNK_BYTES : a->size < CHUNK_MOST / 2 ? 2 * a->size : CHUNK_MOST;
	struct arena_chunk *chunk;
	bool large;

	size = bytes > size ? bytes : size;
	large = size >= CHUNK_LARGE;
	chunk = large ? spill_new_shared(sizeof(*chunk) + size) : malloc(sizeof(*chunk) + size);
	if (!chunk)
		return false;
	chunk->previous = a->chunk;
	a->chunk = chunk;
	a->size = size;
	a->ready = large ? 0 : size;
	return true;
}

static void make_ready(struct arena *a)
{
	size_t left = a->size - a->ready, want = a->used - a->ready;

	want = want > READY ? want : READY < left ? READY : left;
	spill_ready(a->chunk->bytes + a->ready, want);
	a->ready += want;
}

/* At a multiple of `align`, of which ALIGN is one. */
static void *take(struct arena *a, size_t bytes, size_t align)
{
	size_t at = (a->used + align - 1) & ~(align - 1);

	if (bytes > SIZE_MAX / 2)
		return NULL;
	if (!a->chunk || at > a->size || bytes > a->size - at) {
		if (!add_chunk(a, bytes))
			return NULL;
		at = 0;
	}
	a->used = at + bytes;
	if (a->used > a->ready)
		make_ready(a);
	return a->chunk->bytes + at;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	return take(a, bytes, ALIGN);
}

char *arena_text(struct arena *a, const char *s)
{
	size_t bytes = strlen(s) + 1;
	char *copy = take(a, bytes, 1);

	return copy ? memcpy(copy, s, bytes) : NULL;
}

const char *arena_text_once(struct arena *a, const char *s)
{
	const char **said;

	if (!a->said) {
		a->said = arena_alloc(a, SAID * sizeof(*a->said));
		if (!a->said)
			return NULL;
		memset(a->said, 0, SAID * sizeof(*a->said));
	}
	said = &a->said[text_hash(s, strlen(s)) % SAID];
	if (!*said || strcmp(*said, s) != 0)
		*said = arena_text(a, s);
	return *said;
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
