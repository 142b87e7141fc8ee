/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_strings.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fnv.h"
#include "text.h"
#include "text_symbol.h"

#define FIRST_SLOTS 1024

static size_t slot_of(const struct html_strings *s, const char *text)
{
	size_t slot = fnv1a(FNV_BEGIN, text, strlen(text)) & (s->n_slots - 1);

	while (s->slots[slot] && strcmp(s->text + s->at[s->slots[slot] - 1], text) != 0)
		slot = (slot + 1) & (s->n_slots - 1);
	return slot;
}

/* At most half of them are taken. */
static bool slots_room(struct html_strings *s)
{
	struct html_strings more = *s;

	if (2 * (s->n + 1) <= s->n_slots)
		return true;
	more.n_slots = s->n_slots ? 2 * s->n_slots : FIRST_SLOTS;
	more.slots = array_new(more.n_slots, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (size_t i = 0; i < s->n; i++)
		more.slots[slot_of(&more, s->text + s->at[i])] = (uint32_t)i + 1;
	free(s->slots);
	s->slots = more.slots;
	s->n_slots = more.n_slots;
	return true;
}

static bool text_room(struct html_strings *s, size_t bytes)
{
	while (s->cap - s->used < bytes) {
		char *text = array_grow(s->text, &s->cap, 1);

		if (!text)
			return false;
		s->text = text;
	}
	return true;
}

static uint32_t add(struct html_strings *s, const char *clean)
{
	size_t bytes = strlen(clean) + 1, slot;

	if (!slots_room(s) || !text_room(s, bytes) || !array_room(s->at, s->n, s->cap_at)) {
		s->failed = true;
		return 0;
	}
	slot = slot_of(s, clean);
	if (s->slots[slot])
		return s->slots[slot] - 1;
	memcpy(s->text + s->used, clean, bytes);
	s->at[s->n] = s->used;
	s->used += bytes;
	s->slots[slot] = (uint32_t)++s->n;
	return s->slots[slot] - 1;
}

/* The short form of the newest, where it says more than the name's beginning does. */
static void add_short(struct html_strings *s, const char *text)
{
	char brief[4 * HTML_SHORT + 4], cut[4 * HTML_SHORT + 4];
	size_t bytes;

	if (strlen(text) <= HTML_SHORT)
		return;
	text_symbol(brief, sizeof(brief), text, HTML_SHORT);
	if (strcmp(brief, text_clean(cut, sizeof(cut), text, HTML_SHORT)) == 0)
		return;
	bytes = strlen(brief) + 1;
	if (!text_room(s, bytes) || !array_room(s->shorts, s->n_shorts, s->cap_shorts)) {
		s->failed = true;
		return;
	}
	memcpy(s->text + s->used, brief, bytes);
	s->shorts[s->n_shorts++] = (struct html_short){ (uint32_t)s->n - 1, s->used };
	s->used += bytes;
}

uint32_t html_string(struct html_strings *s, const char *text)
{
	char clean[4 * HTML_STRING + 4];
	uint32_t number;
	size_t before;

	if (!s->n)
		add(s, "");
	if (s->failed || !text || !*text)
		return 0;
	text_clean(clean, sizeof(clean), text, HTML_STRING);
	if (s->used + strlen(clean) < HTML_STRINGS_BYTES) {
		before = s->n;
		number = add(s, clean);
		if (s->n > before)
			add_short(s, text);
		return number;
	}
	if (s->slots[slot_of(s, clean)])
		return s->slots[slot_of(s, clean)] - 1;
	if (!s->left_out)
		s->left_out = add(s, "(name left out)");
	return s->left_out;
}

bool html_strings_write(const struct html_strings *s, struct json *j)
{
	json_array(j);
	if (!s->n)
		json_text(j, "");
	for (size_t i = 0; i < s->n; i++)
		json_text(j, s->text + s->at[i]);
	json_array_end(j);
	return !s->failed;
}

void html_shorts_write(const struct html_strings *s, struct json *j)
{
	char number[16];

	json_map(j);
	for (size_t i = 0; i < s->n_shorts; i++) {
		snprintf(number, sizeof(number), "%u", s->shorts[i].number);
		json_key_text(j, number, s->text + s->shorts[i].at);
	}
	json_map_end(j);
}

void html_strings_free(struct html_strings *s)
{
	free(s->shorts);
	free(s->text);
	free(s->at);
	free(s->slots);
	*s = (struct html_strings){ 0 };
}
