/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/fnv.h"
#include "tools/text.h"

#define HASH_BYTES 18 /* "~" and 16 digits, and the end */

/* The longest beginning of valid UTF-8 that has at most so many bytes. */
static size_t whole_characters(const char *s, size_t most)
{
	size_t n = 0;

	for (unsigned length; (length = text_utf8(s + n)) && n + length <= most;)
		n += length;
	return n;
}

const char *diff_keep_text(struct arena *arena, const char *s)
{
	char clean[DIFF_TEXT];
	size_t n = s ? strlen(s) : 0, kept;

	if (n < DIFF_TEXT && whole_characters(s ? s : "", n) == n)
		return arena_text_once(arena, s ? s : "");
	text_utf8_only(clean, sizeof(clean), s);
	if (n < DIFF_TEXT && strlen(clean) + 5 < DIFF_TEXT)
		return arena_text_once(arena, clean);
	kept = whole_characters(clean, DIFF_TEXT - HASH_BYTES);
	snprintf(clean + kept, HASH_BYTES, "~%016" PRIx64, fnv1a(FNV_BEGIN, s, n));
	return arena_text_once(arena, clean);
}

void *diff_keep_list(struct arena *arena, const void *list, size_t n, size_t size)
{
	void *copy = arena_alloc(arena, n * size + 1);

	return copy && n ? memcpy(copy, list, n * size) : copy;
}
