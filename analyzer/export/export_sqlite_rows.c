/* SPDX-License-Identifier: BSD-2-Clause */
#include "export_sqlite_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/fnv.h"
#include "tools/progress.h"
#include "tools/text.h"

#define SQLITE_VERSION_OURS 1
#define APPLICATION 1735422824 /* "gpsh", for file(1) */
#define TEXT_MOST 16384        /* as in JSON */

#define NUMBER(n) NUMBER_(n)
#define NUMBER_(n) #n

static const char *const creates[] = {
#define TABLE(name, what) "CREATE TABLE " #name "("
#define FIRST(name, type, meaning) "\"" #name "\" " type
#define COLUMN(name, type, meaning) ", \"" #name "\" " type
#define END(name) ")",
#define INDEX(table, columns)
#define VIEW(name, what, sql)
#include "export_sqlite.def"
#undef TABLE
#undef FIRST
#undef COLUMN
#undef END
};

static const char *const inserts[] = {
#define TABLE(name, what) "INSERT INTO " #name " VALUES("
#define FIRST(name, type, meaning) "?"
#define COLUMN(name, type, meaning) ", ?"
#define END(name) ")",
#include "export_sqlite.def"
#undef TABLE
#undef FIRST
#undef COLUMN
#undef END
#undef INDEX
#undef VIEW
};

static const char *const afterwards[] = {
#define TABLE(name, what)
#define FIRST(name, type, meaning)
#define COLUMN(name, type, meaning)
#define END(name)
#define INDEX(table, columns) "CREATE INDEX " #table "_index ON " #table "(" columns ")",
#define VIEW(name, what, sql) "CREATE VIEW " #name " AS " sql,
#include "export_sqlite.def"
#undef TABLE
#undef FIRST
#undef COLUMN
#undef INDEX
#undef VIEW
};

static const struct documented {
	const char *table, *column, *meaning; /* table NULL: of the one before */
} documentation[] = {
#define TABLE(name, what) { #name, NULL, what },
#define FIRST(name, type, meaning) { NULL, #name, meaning },
#define COLUMN(name, type, meaning) { NULL, #name, meaning },
#define INDEX(table, columns)
#define VIEW(name, what, sql) { #name, NULL, what },
#include "export_sqlite.def"
#undef TABLE
#undef FIRST
#undef COLUMN
#undef END
#undef INDEX
#undef VIEW
};

/* ---- the database ---------------------------------------------------------------------------------------------------------- */

static void note(struct rows *r, int code)
{
	if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW && r->trouble == SQLITE_OK)
		r->trouble = code;
}

static void run_sql(struct rows *r, const char *sql)
{
	if (r->trouble == SQLITE_OK)
		note(r, sqlite3_exec(r->db, sql, NULL, NULL, NULL));
}

/* Nobody else has the file, and what is half written is thrown away: neither locks nor a journal are of use. */
void rows_open(struct rows *r, const char *path)
{
	*r = (struct rows){ 0 };
	note(r, sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READWRITE, "unix-none"));
	run_sql(r,
		"PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
		"PRAGMA encoding = 'UTF-8'; PRAGMA cache_size = -2000; PRAGMA temp_store = FILE;"
		"PRAGMA application_id = " NUMBER(APPLICATION) "; PRAGMA user_version = " NUMBER(
			SQLITE_VERSION_OURS) "; BEGIN");
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		run_sql(r, creates[i]);
		if (r->trouble == SQLITE_OK)
			note(r, sqlite3_prepare_v2(r->db, inserts[i], -1, &r->insert[i], NULL));
	}
}

static void write_documentation(struct rows *r)
{
	const char *table = "";
	char item[128];

	for (size_t i = 0; i < sizeof(documentation) / sizeof(documentation[0]); i++) {
		const struct documented *d = &documentation[i];

		table = d->table ? d->table : table;
		snprintf(item, sizeof(item), d->column ? "%s.%s" : "%s", table, d->column);
		row_begin(r, TABLE_documentation);
		row_text(r, item);
		row_text(r, d->meaning);
		row_end(r);
	}
}

static enum err_kind said(const struct rows *r, const char *name, struct error *e)
{
	int number = r->db ? sqlite3_system_errno(r->db) : 0;

	switch (r->trouble & 0xff) {
	case SQLITE_OK:
		return ERR_NONE;
	case SQLITE_NOMEM:
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	case SQLITE_FULL:
		number = ENOSPC;
		break;
	}
	return err_set(e, ERR_SYSTEM, name, ERR_NO_BYTE, "cannot write: %s",
		       number ? strerror(number) : sqlite3_errstr(r->trouble));
}

enum err_kind rows_finish(struct rows *r, const char *name, struct error *e)
{
	enum err_kind kind;

	write_documentation(r);
	for (size_t i = 0; i < sizeof(afterwards) / sizeof(afterwards[0]); i++)
		run_sql(r, afterwards[i]);
	run_sql(r, "COMMIT");
	kind = said(r, name, e);
	for (size_t i = 0; i < TABLE_COUNT; i++)
		sqlite3_finalize(r->insert[i]);
	if (sqlite3_close(r->db) != SQLITE_OK && !kind)
		kind = err_set(e, ERR_SYSTEM, name, ERR_NO_BYTE, "cannot write: it could not be closed");
	free(r->names);
	hash_free(&r->index);
	return kind;
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------ */

void row_begin(struct rows *r, enum table_id table)
{
	r->table = table;
	r->column = 0;
}

void row_end(struct rows *r)
{
	sqlite3_stmt *insert = r->insert[r->table];

	if (r->trouble == SQLITE_OK && r->column != sqlite3_bind_parameter_count(insert))
		note(r, SQLITE_MISUSE);
	if (r->trouble == SQLITE_OK)
		note(r, sqlite3_step(insert));
	if (insert)
		sqlite3_reset(insert);
	progress_add(1);
}

void row_int(struct rows *r, int64_t v)
{
	r->column++;
	if (r->trouble == SQLITE_OK)
		note(r, sqlite3_bind_int64(r->insert[r->table], r->column, v));
}

void row_bytes(struct rows *r, uint64_t v)
{
	row_int(r, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

void row_real(struct rows *r, double v)
{
	r->column++;
	if (r->trouble == SQLITE_OK)
		note(r, sqlite3_bind_double(r->insert[r->table], r->column, isfinite(v) ? v : 0.0));
}

void row_null(struct rows *r)
{
	r->column++;
	if (r->trouble == SQLITE_OK)
		note(r, sqlite3_bind_null(r->insert[r->table], r->column));
}

void row_int_or_null(struct rows *r, bool known, int64_t v)
{
	if (known)
		row_int(r, v);
	else
		row_null(r);
}

void row_bytes_or_null(struct rows *r, bool known, uint64_t v)
{
	if (known)
		row_bytes(r, v);
	else
		row_null(r);
}

static void bind_text(struct rows *r, sqlite3_stmt *to, int column, const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char buf[TEXT_MOST];
	size_t out = 0;

	for (const char *s = text; *s && out + 4 <= sizeof(buf);) {
		unsigned length = text_utf8(s);

		memcpy(buf + out, length ? s : replacement, length ? length : 3);
		out += length ? length : 3;
		s += length ? length : 1;
	}
	note(r, sqlite3_bind_text(to, column, buf, (int)out, SQLITE_TRANSIENT));
}

void row_text(struct rows *r, const char *text)
{
	if (!text) {
		row_null(r);
		return;
	}
	r->column++;
	if (r->trouble == SQLITE_OK)
		bind_text(r, r->insert[r->table], r->column, text);
}

/* ---- names ----------------------------------------------------------------------------------------------------------------- */

static uint32_t find(const struct rows *r, const char *text, uint64_t hash)
{
	uint32_t number;

	for (size_t at = 0; (number = hash_next(&r->index, hash, &at)) != HASH_NONE;)
		if (strcmp(r->names[number], text) == 0)
			break;
	return number;
}

static void write_name(struct rows *r, uint32_t number, const char *text, const char *symbol)
{
	sqlite3_stmt *insert = r->insert[TABLE_strings];

	note(r, sqlite3_bind_int64(insert, 1, number));
	bind_text(r, insert, 2, text);
	if (symbol)
		bind_text(r, insert, 3, symbol);
	else
		note(r, sqlite3_bind_null(insert, 3));
	if (r->trouble == SQLITE_OK)
		note(r, sqlite3_step(insert));
	sqlite3_reset(insert);
}

static uint32_t number_of(struct rows *r, const char *text, const char *symbol)
{
	uint64_t hash = fnv1a(FNV_BEGIN, text, strlen(text));
	uint32_t number;

	if (r->trouble != SQLITE_OK)
		return 0;
	number = find(r, text, hash);
	if (number != HASH_NONE)
		return number;
	if (!array_room(r->names, r->n_names, r->cap_names) || !hash_add(&r->index, hash, (uint32_t)r->n_names)) {
		note(r, SQLITE_NOMEM);
		return 0;
	}
	r->names[r->n_names] = text;
	write_name(r, (uint32_t)r->n_names, text, symbol);
	return (uint32_t)r->n_names++;
}

void row_name(struct rows *r, const char *text)
{
	row_kernel(r, text, text);
}

void row_kernel(struct rows *r, const char *text, const char *symbol)
{
	if (text && *text)
		row_int(r, number_of(r, text, strcmp(text, symbol) == 0 ? NULL : symbol));
	else
		row_null(r);
}
