/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_kineto_words.h"

#include <string.h>

#include "import_kineto_read.h"

struct word {
	const char *text;
	uint8_t bytes, where, means;
};

static const struct word words[] = {
#define KEY(where, text, field) { text, sizeof(text) - 1, where, KINETO_FIELD_##field },
#define CATEGORY(text, class) { text, sizeof(text) - 1, CATEGORIES, KINETO_##class },
#include "import_kineto.def"
};
#define WORDS (sizeof(words) / sizeof(words[0]))

_Static_assert(WORDS <= UINT8_MAX && WORDS < KINETO_SLOTS / 2, "words find their slots soon");

struct ends {
	uint64_t begin, end;
};

/* The first and the last eight bytes; all of a text that is no longer: bytes that are read twice do no harm. */
static inline struct ends ends_of(const char *at, size_t bytes)
{
	struct ends e = { 0, 0 };
	uint32_t low, high;

	if (bytes >= sizeof(e.begin)) {
		memcpy(&e.begin, at, sizeof(e.begin));
		memcpy(&e.end, at + bytes - sizeof(e.end), sizeof(e.end));
	} else if (bytes >= sizeof(low)) {
		memcpy(&low, at, sizeof(low));
		memcpy(&high, at + bytes - sizeof(high), sizeof(high));
		e.begin = (uint64_t)high << 32 | low;
	} else if (bytes) {
		e.begin =
			(uint32_t)(uint8_t)at[0] << 16 | (uint32_t)(uint8_t)at[bytes / 2] << 8 | (uint8_t)at[bytes - 1];
	}
	return e;
}

static inline unsigned slot_of(struct ends e, size_t bytes, enum where where)
{
	return (unsigned)((e.begin + e.end + bytes * 61 + where) * 0x9e3779b97f4a7c15u >> 48) % KINETO_SLOTS;
}

void kineto_words_place(struct kineto_words *w)
{
	for (size_t i = 0; i < WORDS; i++) {
		struct ends e = ends_of(words[i].text, words[i].bytes);
		unsigned slot = slot_of(e, words[i].bytes, words[i].where);

		while (w->slots[slot].bytes)
			slot = (slot + 1) % KINETO_SLOTS;
		w->slots[slot] = (struct kineto_slot){ .begin = e.begin,
						       .end = e.end,
						       .bytes = words[i].bytes,
						       .where = words[i].where,
						       .means = words[i].means,
						       .word = (uint8_t)i };
	}
}

/* From the slot on. Apart from what most words need, which calls nothing. */
static __attribute__((noinline)) unsigned search(const struct kineto_words *w, unsigned slot, struct ends e,
						 enum where where, const char *at, size_t bytes)
{
	const struct kineto_slot *s;

	for (; (s = &w->slots[slot])->bytes; slot = (slot + 1) % KINETO_SLOTS)
		if (s->begin == e.begin && s->end == e.end && s->bytes == bytes && s->where == where &&
		    memcmp(words[s->word].text, at, bytes) == 0)
			return s->means;
	return 0;
}

unsigned kineto_word(const struct kineto_words *w, enum where where, const char *at, size_t bytes)
{
	struct ends e = ends_of(at, bytes);
	unsigned slot = slot_of(e, bytes, where);
	const struct kineto_slot *s = &w->slots[slot];

	if (!s->bytes)
		return 0;
	if (s->begin == e.begin && s->end == e.end && s->bytes == bytes && s->where == where &&
	    bytes <= 2 * sizeof(e.begin))
		return s->means;
	return search(w, slot, e, where, at, bytes);
}
