/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.h: many small things that die together. Addresses stay; NULL = no memory. */
#pragma once

#include <stddef.h>

struct arena {
	struct arena_chunk *chunk;
	size_t used, size; /* of the newest chunk */
};

void *arena_alloc(struct arena *a, size_t bytes); /* aligned for anything, not zeroed */
char *arena_text(struct arena *a, const char *s);
void arena_free(struct arena *a);
