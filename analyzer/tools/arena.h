/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.h: many small things that die together. Addresses stay; NULL = no memory. */
#pragma once

#include <stddef.h>

struct arena {
	struct arena_chunk *chunk;
	size_t used, size; /* of the newest chunk */
	size_t ready;      /* bytes of it whose pages are there */
	const char **said; /* texts that were kept lately, by their hash; NULL: none was */
};

void *arena_alloc(struct arena *a, size_t bytes); /* aligned for anything, not zeroed */
char *arena_text(struct arena *a, const char *s);
/* The same memory for a text that was kept not long ago. It is nobody's to change. */
const char *arena_text_once(struct arena *a, const char *s);
void arena_free(struct arena *a);
