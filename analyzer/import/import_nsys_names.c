/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_names.c: texts by their number. Each is looked up when it is first asked for: there are long ones that nobody asks for, such as all
 * that a program printed. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "import_nsys_parts.h"
#include "tools/alloc.h"
#include "tools/fnv.h"

#define VERSION_DIGITS 4 /* at least: "_v3020", but cuMemAlloc_v2 is another function */

bool nsys_is(struct import_text text, const char *word)
{
	return text.bytes == strlen(word) && memcmp(text.at, word, text.bytes) == 0;
}

bool nsys_begins(struct import_text text, const char *word)
{
	return text.bytes >= strlen(word) && memcmp(text.at, word, strlen(word)) == 0;
}

static uint64_t hash_of(int64_t id)
{
	return fnv1a(FNV_BEGIN, &id, sizeof(id));
}

/* Are ids the numbers of rows, so that each is found at once? */
static bool is_row_number(struct nsys_file *f)
{
	sqlite3_stmt *query = nsys_prepare(f, NSYS_STRINGS, "PRAGMA table_xinfo(\"StringIds\")");
	unsigned keys = 0;
	bool is = false;

	while (query && sqlite3_step(query) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(query, 1);
		const char *type = (const char *)sqlite3_column_text(query, 2);

		keys += sqlite3_column_int(query, 5) > 0;
		is |= name && type && sqlite3_stricmp(name, "id") == 0 && sqlite3_stricmp(type, "INTEGER") == 0 &&
		      sqlite3_column_int(query, 5) == 1;
	}
	sqlite3_finalize(query);
	return is && keys == 1;
}

/* Where they are not: which row has which id. */
static bool list_places(struct nsys *n)
{
	struct nsys_names *s = &n->names;
	struct nsys_rows r;
	bool fine = true;

	if (!nsys_rows_begin(&r, &n->file, NSYS_STRINGS))
		return true;
	while (fine && nsys_next(n, &r)) {
		int64_t id = nsys_rows_int(&r, STRINGS_id, INT64_MIN);

		fine = s->n_places < HASH_NONE && array_room(s->places, s->n_places, s->cap_places) &&
		       hash_add(&s->by_id, hash_of(id), (uint32_t)s->n_places);
		if (fine)
			s->places[s->n_places++] = (struct nsys_place){ id, r.row };
	}
	nsys_rows_close(&r);
	return fine;
}

bool nsys_names_open(struct nsys *n)
{
	n->names.by_row = is_row_number(&n->file);
	n->names.query = nsys_prepare(&n->file, NSYS_STRINGS, "SELECT \"value\" FROM \"StringIds\" WHERE _rowid_ = ?1");
	return n->names.by_row || list_places(n);
}

void nsys_names_close(struct nsys *n)
{
	sqlite3_finalize(n->names.query);
	free(n->names.at);
	free(n->calls.at);
	free(n->names.places);
	hash_free(&n->names.index);
	hash_free(&n->calls.index);
	hash_free(&n->names.by_id);
}

static int64_t row_of(const struct nsys_names *s, int64_t id)
{
	uint32_t number;

	if (s->by_row)
		return id;
	for (size_t at = 0; (number = hash_next(&s->by_id, hash_of(id), &at)) != HASH_NONE;)
		if (s->places[number].id == id)
			return s->places[number].row;
	return INT64_MIN;
}

/* "cudaLaunchKernel_v7000" is cudaLaunchKernel, as CUDA 7.0 had it. */
static size_t without_version(struct import_text text)
{
	size_t digits = 0;

	while (digits < text.bytes && isdigit((unsigned char)text.at[text.bytes - 1 - digits]))
		digits++;
	if (digits < VERSION_DIGITS || text.bytes < digits + 2 ||
	    memcmp(text.at + text.bytes - digits - 2, "_v", 2) != 0)
		return text.bytes;
	return text.bytes - digits - 2;
}

struct import_text nsys_text(struct nsys *n, int64_t id)
{
	sqlite3_stmt *query = n->names.query;
	const char *at = NULL;
	int code;

	if (!query)
		return (struct import_text){ "", 0 };
	sqlite3_reset(query);
	sqlite3_bind_int64(query, 1, row_of(&n->names, id));
	code = sqlite3_step(query);
	if (code == SQLITE_ROW)
		at = (const char *)sqlite3_column_text(query, 0);
	else if (code != SQLITE_DONE)
		nsys_trouble(&n->file, code, NSYS_STRINGS, id);
	return (struct import_text){ at ? at : "", at ? (size_t)sqlite3_column_bytes(query, 0) : 0 };
}

static uint32_t read_name(struct nsys *n, int64_t id, bool call)
{
	struct import_text text = nsys_text(n, id);

	if (call)
		text.bytes = without_version(text);
	return import_name(n->b, text);
}

uint32_t nsys_name(struct nsys *n, struct nsys_names *names, int64_t id)
{
	uint64_t hash = hash_of(id);
	uint32_t number;

	for (size_t at = 0; (number = hash_next(&names->index, hash, &at)) != HASH_NONE;)
		if (names->at[number].id == id)
			return names->at[number].name;
	if (names->n >= HASH_NONE - 1 || !array_room(names->at, names->n, names->cap) ||
	    !hash_add(&names->index, hash, (uint32_t)names->n)) {
		n->no_memory = true;
		return 0;
	}
	names->at[names->n] = (struct nsys_name){ id, read_name(n, id, names == &n->calls) };
	return names->at[names->n++].name;
}

uint32_t nsys_row_name(struct nsys *n, const struct nsys_rows *r, unsigned column)
{
	return nsys_rows_null(r, column) ? 0 : nsys_name(n, &n->names, nsys_rows_int(r, column, 0));
}
