/* SPDX-License-Identifier: BSD-2-Clause */
#include "interned.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fnv.h"

struct interned_text {
	char *text;
	uint64_t hash;
	unsigned kind;
	uint32_t number;
};

/* The text's place, or the free one where it belongs. */
static struct interned_text *find(const struct interned *t, unsigned kind, const char *text, uint64_t hash)
{
	size_t i = hash & (t->cap - 1);

	while (t->at[i].text && (t->at[i].hash != hash || t->at[i].kind != kind || strcmp(t->at[i].text, text) != 0))
		i = (i + 1) & (t->cap - 1);
	return &t->at[i];
}

static bool widen(struct interned *t)
{
	struct interned wider = { .cap = t->cap ? 2 * t->cap : 32 };

	wider.at = array_new(wider.cap, sizeof(*wider.at));
	if (!wider.at)
		return false;
	for (size_t i = 0; i < t->cap; i++)
		if (t->at[i].text)
			*find(&wider, t->at[i].kind, t->at[i].text, t->at[i].hash) = t->at[i];
	free(t->at);
	t->at = wider.at;
	t->cap = wider.cap;
	return true;
}

uint32_t interned_number(struct interned *t, unsigned kind, const char *text, bool *is_new)
{
	size_t bytes = strlen(text) + 1;
	uint64_t hash = fnv1a(FNV_BEGIN + kind, text, bytes);
	struct interned_text *place;

	*is_new = false;
	if (2 * t->n >= t->cap && !widen(t))
		return 0;
	place = find(t, kind, text, hash);
	if (place->text)
		return place->number;
	place->text = malloc(bytes);
	if (!place->text)
		return 0;
	memcpy(place->text, text, bytes);
	place->hash = hash;
	place->kind = kind;
	place->number = ++t->next[kind];
	t->n++;
	t->bytes += bytes;
	*is_new = true;
	return place->number;
}

bool interned_full(const struct interned *t)
{
	return t->n >= INTERNED_MOST || t->bytes >= INTERNED_BYTES;
}

void interned_clear(struct interned *t)
{
	for (size_t i = 0; i < t->cap; i++)
		free(t->at[i].text);
	free(t->at);
	*t = (struct interned){ 0 };
}
