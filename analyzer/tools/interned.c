/* SPDX-License-Identifier: BSD-2-Clause */
#include "interned.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fnv.h"

struct interned_text {
	char *text;
	unsigned kind;
	uint32_t number;
};

static const struct interned_text *find(const struct interned *t, unsigned kind, const char *text, uint64_t hash)
{
	uint32_t i;

	for (size_t at = 0; (i = hash_next(&t->index, hash, &at)) != HASH_NONE;)
		if (t->at[i].kind == kind && strcmp(t->at[i].text, text) == 0)
			return &t->at[i];
	return NULL;
}

uint32_t interned_number(struct interned *t, unsigned kind, const char *text, bool *is_new)
{
	size_t bytes = strlen(text) + 1;
	uint64_t hash = fnv1a(FNV_BEGIN + kind, text, bytes);
	const struct interned_text *known = find(t, kind, text, hash);
	char *copy;

	*is_new = false;
	if (known)
		return known->number;
	copy = array_room(t->at, t->n, t->cap) ? malloc(bytes) : NULL;
	if (!copy || !hash_add(&t->index, hash, (uint32_t)t->n)) {
		free(copy);
		return 0;
	}
	memcpy(copy, text, bytes);
	t->at[t->n++] = (struct interned_text){ copy, kind, ++t->next[kind] };
	t->bytes += bytes;
	*is_new = true;
	return t->next[kind];
}

bool interned_full(const struct interned *t)
{
	return t->n >= INTERNED_MOST || t->bytes >= INTERNED_BYTES;
}

void interned_clear(struct interned *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->at[i].text);
	free(t->at);
	hash_free(&t->index);
	*t = (struct interned){ 0 };
}
