/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const word_copy_kinds[] = { "unknown", "h2d-pageable", "h2d-pinned", "d2h-pageable", "d2h-pinned", "d2d",
					"peer",    "h2h",          NULL };

const char *word_value(const struct parser *p, const char *key)
{
	size_t n = strlen(key);

	for (int i = 1; i < p->n_words; i++)
		if (strncmp(p->words[i], key, n) == 0 && p->words[i][n] == '=')
			return p->words[i] + n + 1;
	return NULL;
}

uint64_t word_number(struct parser *p, const char *key, uint64_t otherwise)
{
	const char *text = word_value(p, key);
	char *end;
	uint64_t value;

	if (!text)
		return otherwise;
	value = strtoull(text, &end, 0);
	p->bad |= end == text;
	if (*end)
		value <<= *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
	p->bad |= *end && (!strchr("KMG", *end) || end[1]);
	return value;
}

/* "12.5us" up to the end of the text or `..`; *rest: what follows. */
static uint64_t duration_at(struct parser *p, const char *text, const char **rest)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char digits[64];
	size_t n = strspn(text, "0123456789"), fraction = 0;

	if (text[n] == '.' && text[n + 1] != '.')
		fraction = 1 + strspn(text + n + 1, "0123456789");
	snprintf(digits, sizeof(digits), "%.*s", (int)(n + fraction), text);
	text += n + fraction;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].unit);

		if (n && strncmp(text, units[i].unit, length) == 0) {
			*rest = text + length;
			return (uint64_t)llround(strtod(digits, NULL) * units[i].ns);
		}
	}
	p->bad = true;
	*rest = text + strlen(text);
	return 0;
}

uint64_t word_duration(struct parser *p, const char *key, uint64_t otherwise)
{
	const char *text = word_value(p, key), *rest;
	uint64_t value;

	if (!text)
		return otherwise;
	value = duration_at(p, text, &rest);
	p->bad |= *rest != '\0';
	return value;
}

uint64_t word_instant(struct parser *p, const char *key)
{
	return word_value(p, key) ? EPOCH_NS + word_duration(p, key, 0) : 0;
}

void word_span(struct parser *p, uint64_t *begin, uint64_t *end)
{
	const char *text = word_value(p, "t"), *rest;

	*begin = *end = EPOCH_NS;
	if (!text) {
		p->bad = true;
		return;
	}
	*begin = *end = EPOCH_NS + duration_at(p, text, &rest);
	if (strncmp(rest, "..", 2) == 0)
		*end = EPOCH_NS + duration_at(p, rest + 2, &rest);
	p->bad |= *rest != '\0';
	if (*end > p->file->image.last_ticks)
		p->file->image.last_ticks = *end;
}

uint32_t word_choice(struct parser *p, const char *text, const char *const *list, uint32_t otherwise)
{
	if (!text)
		return otherwise;
	for (uint32_t i = 0; list[i]; i++)
		if (strcmp(text, list[i]) == 0)
			return i;
	p->bad = true;
	return otherwise;
}

bool word_flag(const struct parser *p, const char *flag)
{
	const char *text = word_value(p, "flags");

	return text && strstr(text, flag);
}

void record_add(struct parser *p, uint16_t type, const void *record, size_t size)
{
	p->bad |= gst_image_add(&p->file->image, type, record, size, !p->unfinished) == 0;
	p->unfinished = false;
}

uint32_t record_name(struct parser *p, uint16_t space, const char *text)
{
	char key[128];

	if (!text || !*text)
		return 0;
	snprintf(key, sizeof(key), "%u%s", space, text);
	for (size_t i = 0; i < p->n_names; i++)
		if (strcmp(p->names[i], key) == 0)
			return (uint32_t)i + 1;
	if (p->n_names == NAMES || (space == GST_SPACE_HOOK && p->n_names + 1 >= GST_HOOK_MAX)) {
		p->bad = true;
		return 0;
	}
	strcpy(p->names[p->n_names++], key);
	p->bad |= gst_image_name(&p->file->image, space, (uint32_t)p->n_names, text, strlen(text)) == 0;
	return (uint32_t)p->n_names;
}
