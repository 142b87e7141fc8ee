/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_file.h: an SQLite file of a stranger, row by row, in the order of the file.
 *
 * It is opened so that nothing beside it can be written, and nothing in it runs: real tables alone are read, no views, triggers, virtual
 * tables, computed columns or functions. What cannot be read is damage: what precedes it counts, and the other tables are gone on with. How
 * much is read is bounded by the size of the file, whatever its pages claim. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "import_facts.h"
#include "tools/error.h"

enum nsys_table {
#define TABLE(id, name, words) NSYS_##id,
#define COLUMN(table, name)
#define END(id)
#include "import_nsys.def"
#undef TABLE
#undef COLUMN
#undef END
	NSYS_TABLES
};

/* KERNEL_start, KERNEL_end …: columns of nsys_rows_int. */
#define TABLE(id, name, words) enum nsys_columns_##id {
#define COLUMN(table, name) table##_##name,
#define END(id) id##_COLUMNS };
#include "import_nsys.def"
#undef TABLE
#undef COLUMN
#undef END

_Static_assert(NSYS_TABLES <= 63, "IMPORT_ROW has room for so many");

struct nsys_file {
	sqlite3 *db;
	const char *path;
	struct error *damage;  /* the first one there is stays */
	uint64_t bytes;        /* of the file */
	uint64_t steps;        /* that SQLite's machine may still take */
	uint64_t told;         /* bytes that progress was told of */
	uint32_t page;         /* bytes of one */
	bool there[NSYS_TABLES];
	bool no_memory;
};

/* Reading a table. */
struct nsys_rows {
	struct nsys_file *file;
	sqlite3_stmt *query;
	enum nsys_table table;
	int64_t row, n;
	uint32_t columns; /* bits: those that are there */
	bool damaged;     /* there are more rows than could be read */
};

/* Damage goes to *damage, now and later. On failure nothing needs to be closed. */
enum err_kind nsys_file_open(struct nsys_file *f, const char *path, struct error *damage, struct error *e);
void nsys_file_close(struct nsys_file *f);
/* Is there a journal or log with changes that are not in the file? */
enum err_kind nsys_check_beside(const char *path, struct error *e);

/* The table's name in the file; NULL none. What is said where it is missing; NULL nothing. */
const char *nsys_table_name(unsigned table);
const char *nsys_table_words(unsigned table);

/* False: it is not there, or cannot be read at all (which is damage). Else nsys_rows_close when done. */
bool nsys_rows_begin(struct nsys_rows *r, struct nsys_file *f, enum nsys_table table);
/* Only rows with this number in the column; none where there is no such column. */
bool nsys_rows_begin_where(struct nsys_rows *r, struct nsys_file *f, enum nsys_table table, unsigned column, int value);
/* False: there are no more. */
bool nsys_rows_next(struct nsys_rows *r);
void nsys_rows_close(struct nsys_rows *r);

bool nsys_rows_have(const struct nsys_rows *r, unsigned column);
bool nsys_rows_null(const struct nsys_rows *r, unsigned column); /* also: has no such column */
int64_t nsys_rows_int(const struct nsys_rows *r, unsigned column, int64_t otherwise);
/* Valid until nsys_rows_next. */
struct import_text nsys_rows_text(const struct nsys_rows *r, unsigned column);
uint64_t nsys_rows_place(const struct nsys_rows *r);

/* A statement of our own, on real tables; NULL: no memory, or damage of `table`. sqlite3_finalize it. */
sqlite3_stmt *nsys_prepare(struct nsys_file *f, enum nsys_table table, const char *sql);
/* What SQLite answered, if it was no row and not the end: no memory, or damage in `table` behind `row`. */
void nsys_trouble(struct nsys_file *f, int code, enum nsys_table table, int64_t row);
