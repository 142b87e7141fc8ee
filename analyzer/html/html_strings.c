/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_strings.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/fnv.h"
#include "tools/text.h"
#include "tools/text_symbol.h"

static uint64_t hash_of(const char *text)
{
	return fnv1a(FNV_BEGIN, text, strlen(text));
}

/* Its number, HASH_NONE. */
static uint32_t find(const struct html_strings *s, const char *clean, uint64_t hash)
{
	uint32_t number;

	for (size_t at = 0; (number = hash_next(&s->index, hash, &at)) != HASH_NONE;)
		if (strcmp(s->text + s->at[number], clean) == 0)
			break;
	return number;
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
	uint64_t hash = hash_of(clean);
	uint32_t number = find(s, clean, hash);
	size_t bytes = strlen(clean) + 1;

	if (number != HASH_NONE)
		return number;
	if (!text_room(s, bytes) || !array_room(s->at, s->n, s->cap_at) || !hash_add(&s->index, hash, (uint32_t)s->n)) {
		s->failed = true;
		return 0;
	}
	memcpy(s->text + s->used, clean, bytes);
	s->at[s->n] = s->used;
	s->used += bytes;
	return (uint32_t)s->n++;
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
	number = find(s, clean, hash_of(clean));
	if (number != HASH_NONE)
		return number;
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
	hash_free(&s->index);
	*s = (struct html_strings){ 0 };
}
