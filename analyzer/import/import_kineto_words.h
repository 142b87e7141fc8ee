/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_words.h: what a key or a category means (import_kineto.def), found by its first and last eight bytes, its length and where it
 * stands: nearly every token of a trace is asked for. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum where { TOP, EVENTS, EVENT, ARGS, DEVICES, DEVICE, DISTRIBUTED, NOTES, NOTHING };

#define CATEGORIES NOTHING /* as a place where words stand */

#define KINETO_SLOTS 512u /* some KB: they stay in the nearest cache */

struct kineto_words {
	struct kineto_slot { /* open addressing */
		uint64_t begin, end; /* of the word's text */
		uint8_t bytes, where, means, word; /* bytes 0: free; word: its number */
	} slots[KINETO_SLOTS];
};

/* Into one that is zeroed. */
void kineto_words_place(struct kineto_words *w);

/* What it means there: an enum kineto_field, of a category an enum kineto_class; 0 nothing. */
unsigned kineto_word(const struct kineto_words *w, enum where where, const char *at, size_t bytes);
