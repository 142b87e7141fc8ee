/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_names.h"

#include "tools/alloc.h"
#include "tools/text_hash.h"

#include <stdlib.h>
#include <string.h>

/* ---- what calls do -------------------------------------------------------------------------------------- */

static const struct row {
	const char *name;
	bool runtime;
	uint8_t family;
} rows[] = {
#define RUNTIME(name, family) { name, true, GST_FAMILY_##family },
#define DRIVER(name, family) { name, false, GST_FAMILY_##family },
#include "import_calls.def"
};

/* Without "_v2", "_v7000", "_ptsz", "_ptds". */
static size_t bare_length(const char *name, size_t n)
{
	for (;;) {
		size_t digits = 0;

		if (n > 5 && (memcmp(name + n - 5, "_ptsz", 5) == 0 || memcmp(name + n - 5, "_ptds", 5) == 0)) {
			n -= 5;
			continue;
		}
		while (digits < n && name[n - 1 - digits] >= '0' && name[n - 1 - digits] <= '9')
			digits++;
		if (!digits || n < digits + 3 || memcmp(name + n - digits - 2, "_v", 2) != 0)
			return n;
		n -= digits + 2;
	}
}

static bool fits(const char *row, const char *name, size_t n)
{
	size_t length = strlen(row);

	if (row[length - 1] == '*')
		return n >= length - 1 && memcmp(row, name, length - 1) == 0;
	return n == length && memcmp(row, name, n) == 0;
}

static bool holds(const char *name, size_t n, const char *word)
{
	return memmem(name, n, word, strlen(word)) != NULL;
}

void import_call_kind(const char *name, uint8_t *family, uint8_t *ways)
{
	size_t n = bare_length(name, strlen(name)), skip = 0;

	*family = GST_FAMILY_OTHER;
	*ways = 0;
	if (strncmp(name, "cuda", 4) == 0)
		skip = 4;
	else if (strncmp(name, "hip", 3) == 0)
		skip = 3;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].runtime != (skip != 0) || !fits(rows[i].name, name + skip, n - skip))
			continue;
		*family = rows[i].family;
		break;
	}
	if (*family == GST_FAMILY_COPY && !holds(name, n, "Async"))
		*ways |= CALL_WAITS;
	if (*family == GST_FAMILY_CAPTURE && holds(name, n, "BeginCapture"))
		*ways |= CALL_CAPTURES;
	if (*family == GST_FAMILY_CAPTURE && holds(name, n, "EndCapture"))
		*ways |= CALL_CAPTURED;
}

/* ---- numbers ---------------------------------------------------------------------------------------------- */

bool import_names_new(struct import_names *names)
{
	*names = (struct import_names){ 0 };
	if (!array_room(names->at, names->n, names->cap))
		return false;
	names->at[names->n++] = (struct import_named){ .text = "", .hook = NAME_UNASKED };
	return true;
}

void import_names_free(struct import_names *names)
{
	free(names->at);
	hash_free(&names->index);
	arena_free(&names->text);
	*names = (struct import_names){ 0 };
}

static uint32_t add(struct import_names *names, struct import_text text, uint64_t hash)
{
	char *copy;

	if (names->n >= HASH_NONE || text.bytes > UINT32_MAX || !array_room(names->at, names->n, names->cap))
		return 0;
	copy = arena_alloc(&names->text, text.bytes + 1);
	if (!copy || !hash_add(&names->index, hash, (uint32_t)names->n))
		return 0;
	memcpy(copy, text.at, text.bytes);
	copy[text.bytes] = 0;
	names->at[names->n] =
		(struct import_named){ .text = copy, .bytes = (uint32_t)text.bytes, .hook = NAME_UNASKED };
	return (uint32_t)names->n++;
}

uint32_t import_names_number(struct import_names *names, struct import_text text, bool *no_memory)
{
	const char *nul = text.bytes ? memchr(text.at, 0, text.bytes) : NULL;
	uint32_t number;
	uint64_t hash;

	text.bytes = nul ? (size_t)(nul - text.at) : text.bytes;
	if (!text.bytes)
		return 0;
	hash = text_hash(text.at, text.bytes);
	for (size_t at = 0; (number = hash_next(&names->index, hash, &at)) != HASH_NONE;)
		if (names->at[number].bytes == text.bytes && memcmp(names->at[number].text, text.at, text.bytes) == 0)
			return number;
	number = add(names, text, hash);
	*no_memory |= !number;
	return number;
}

const struct import_named *import_names_call(struct import_names *names, uint32_t name)
{
	struct import_named *n = &names->at[name < names->n ? name : 0];

	if (n->hook == NAME_UNASKED) {
		n->hook = GST_HOOK_MAX;
		if (names->hooks < GST_HOOK_MAX && n->bytes) {
			names->by_hook[names->hooks] = name;
			n->hook = (uint16_t)names->hooks++;
		}
		import_call_kind(n->text, &n->family, &n->ways);
	}
	return n;
}
