/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_keep.h: what a diff_run and a diff keep, in their arenas: texts as a baseline can hold them, and lists. NULL: no memory. */
#pragma once

#include "tools/arena.h"

#include <stddef.h>

#define DIFF_TEXT 512 /* bytes of a text, at most; its end included */

/* Valid UTF-8; of one that is longer the first part and a hash of all of it: two that are not the same stay so. NULL is "". */
const char *diff_keep_text(struct arena *arena, const char *s);
/* A copy of n elements, n 0: any address but NULL. */
void *diff_keep_list(struct arena *arena, const void *list, size_t n, size_t size);
