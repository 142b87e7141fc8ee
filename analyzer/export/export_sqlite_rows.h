/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sqlite_rows.h: a database that is filled row by row, in one transaction, and never read. Nothing needs to be checked in between:
 * after the first failure everything does nothing, and rows_finish says what it was. Memory: SQLite's cache of 2 MiB, and the names. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/error.h"
#include "tools/hash_index.h"

enum table_id {
#define TABLE(name, what) TABLE_##name,
#define FIRST(name, type, meaning)
#define COLUMN(name, type, meaning)
#define END(name)
#define INDEX(table, columns)
#define VIEW(name, what, sql)
#include "export_sqlite.def"
#undef TABLE
#undef FIRST
#undef COLUMN
#undef END
#undef INDEX
#undef VIEW
	TABLE_COUNT
};

struct rows {
	sqlite3 *db;
	sqlite3_stmt *insert[TABLE_COUNT];
	enum table_id table; /* of the row that is being filled */
	int column;          /* … how far */
	int trouble;         /* the first error of SQLite, SQLITE_OK */
	const char **names;  /* that have a number, which is their place; borrowed */
	size_t n_names, cap_names;
	struct hash_index index; /* of their numbers */
};

/* path: a file that is there, and empty; what is in it is replaced. */
void rows_open(struct rows *r, const char *path);

/* A row, column by column in the order of the list, then row_end. */
void row_begin(struct rows *r, enum table_id table);
void row_int(struct rows *r, int64_t v);
void row_bytes(struct rows *r, uint64_t v); /* at most INT64_MAX */
void row_real(struct rows *r, double v);    /* not finite: 0 */
void row_text(struct rows *r, const char *text); /* NULL is NULL. As JSON has it: what is no UTF-8 becomes U+FFFD */
void row_null(struct rows *r);
void row_int_or_null(struct rows *r, bool known, int64_t v);
void row_bytes_or_null(struct rows *r, bool known, uint64_t v);
void row_name(struct rows *r, const char *text); /* its number in `strings`; NULL and "" are NULL. Borrowed until rows_finish */
/* … of a kernel, and what its module calls it. */
void row_kernel(struct rows *r, const char *text, const char *symbol);
void row_end(struct rows *r);

/* Indexes, views, documentation; then all is in the file, or the error says why it is not. name: what the user calls it. */
enum err_kind rows_finish(struct rows *r, const char *name, struct error *e);
