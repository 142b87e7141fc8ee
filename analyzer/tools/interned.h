/* SPDX-License-Identifier: BSD-2-Clause */
/* interned.h: texts that get a number where they first occur, 1, 2, … for each kind, so that they need not be written again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash_index.h"

#define INTERNED_KINDS 4
#define INTERNED_MOST 4096            /* texts, … */
#define INTERNED_BYTES (1024 * 1024)  /* and all of them together, so that memory is bounded whatever a file says */

struct interned {
	struct interned_text *at;
	size_t n, cap, bytes;
	struct hash_index index;
	uint32_t next[INTERNED_KINDS];
};

/* Its number; *is_new: the text has it from now on. 0: no memory. */
uint32_t interned_number(struct interned *t, unsigned kind, const char *text, bool *is_new);
/* Time to forget all (interned_clear): more is taken, but not for long. */
bool interned_full(const struct interned *t);
void interned_clear(struct interned *t);
