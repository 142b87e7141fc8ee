/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_nsys_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/alloc.h"
#include "tools/progress.h"

/* A row of the widest table takes some 60 steps and 100 bytes; of an empty file a few thousand are asked for its names. */
#define STEPS_A_BYTE 64
#define STEPS_AT_LEAST 4000000
#define STEPS_A_LOOK 1000
#define BYTES_A_ROW 4 /* at least: its place in the page, its length, its number */
#define ROWS_A_TELL 16384
#define URI_MOST (3 * 4096 + 64)
#define SQL_MOST 2048

static const struct {
	const char *name, *words;
	const char *columns[13];
} tables[] = {
#define TABLE(id, name, words) [NSYS_##id] = { name, words, {
#define COLUMN(table, name) #name,
#define END(id) \
	NULL    \
	}       \
	}       \
	,
#include "import_nsys.def"
#undef TABLE
#undef COLUMN
#undef END
};

const char *nsys_table_name(unsigned table)
{
	return table < NSYS_TABLES ? tables[table].name : NULL;
}

const char *nsys_table_words(unsigned table)
{
	return table < NSYS_TABLES ? tables[table].words : NULL;
}

/* ---- trouble --------------------------------------------------------------------------------------------------------------- */

void nsys_trouble(struct nsys_file *f, int code, enum nsys_table table, int64_t row)
{
	const char *why = sqlite3_errstr(code);

	if ((code & 0xff) == SQLITE_NOMEM)
		f->no_memory = true;
	else if ((code & 0xff) == SQLITE_INTERRUPT)
		why = "it claims more than a file of this size can hold";
	if (f->no_memory || f->damage->kind)
		return;
	if (row > 0)
		err_set(f->damage, ERR_FORMAT, f->path, IMPORT_ROW(table, row), "%s cannot be read after row %lld: %s",
			tables[table].name, (long long)row, why);
	else
		err_set(f->damage, ERR_FORMAT, f->path, IMPORT_ROW(table, 0), "%s cannot be read: %s",
			tables[table].name, why);
}

static int look(void *closure)
{
	struct nsys_file *f = closure;

	f->steps -= f->steps < STEPS_A_LOOK ? f->steps : STEPS_A_LOOK;
	return f->steps == 0;
}

/* ---- opening --------------------------------------------------------------------------------------------------------------- */

/* What is asked is ours, but what a file's schema makes of it need not be. */
static int allow(void *closure, int action, const char *first, const char *second, const char *database,
		 const char *inner)
{
	(void)closure;
	(void)second;
	if (inner)
		return SQLITE_DENY;
	if (action == SQLITE_PRAGMA)
		return strcmp(first, "table_xinfo") == 0 ? SQLITE_OK : SQLITE_DENY;
	if (action == SQLITE_READ)
		return !database || strcmp(database, "main") == 0 ? SQLITE_OK : SQLITE_DENY;
	return action == SQLITE_SELECT ? SQLITE_OK : SQLITE_DENY;
}

/* As a URI with nothing in it that a URI gives a meaning. */
static bool uri_of(char uri[URI_MOST], const char *path)
{
	char *to = uri + snprintf(uri, URI_MOST, *path == '/' ? "file://" : "file:");

	for (const unsigned char *s = (const unsigned char *)path; *s; s++) {
		if (to + 32 > uri + URI_MOST)
			return false;
		if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
		    strchr("/._-", *s))
			*to++ = (char)*s;
		else
			to += sprintf(to, "%%%02X", *s);
	}
	strcpy(to, "?mode=ro&immutable=1");
	return true;
}

static void confine(struct nsys_file *f, bool lenient)
{
	static const struct {
		int id, value;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 16 << 20 },   { SQLITE_LIMIT_EXPR_DEPTH, 100 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 1 }, { SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },   { SQLITE_LIMIT_WORKER_THREADS, 0 },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(f->db, limits[i].id, limits[i].value);
	sqlite3_db_config(f->db, SQLITE_DBCONFIG_DEFENSIVE, !lenient, NULL);
	sqlite3_db_config(f->db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, lenient, NULL);
	sqlite3_db_config(f->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(f->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(f->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(f->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_exec(f->db, "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL,
		     NULL);
	sqlite3_set_authorizer(f->db, allow, NULL);
	sqlite3_progress_handler(f->db, STEPS_A_LOOK, look, f);
}

/* Which tables there are. A virtual one has no page of its own; a view is no table. */
static int list(struct nsys_file *f)
{
	sqlite3_stmt *query;
	int code = sqlite3_prepare_v2(f->db, "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0", -1,
				      &query, NULL);

	memset(f->there, 0, sizeof(f->there));
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		const char *name;

		code = sqlite3_step(query);
		name = code == SQLITE_ROW ? (const char *)sqlite3_column_text(query, 0) : NULL;
		for (unsigned i = 0; name && i < NSYS_TABLES; i++)
			f->there[i] |= sqlite3_stricmp(name, tables[i].name) == 0;
	}
	sqlite3_finalize(query);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* lenient: also where the file is shorter than it says, or parts of its schema make no sense. */
static int connect_to(struct nsys_file *f, const char *uri, bool lenient)
{
	int code = sqlite3_open_v2(
		uri, &f->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
		NULL);

	if (code == SQLITE_OK) {
		confine(f, lenient);
		code = list(f);
	}
	return code;
}

static uint32_t be32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Is it one, and all of it there? */
static enum err_kind check_header(struct nsys_file *f, const char *path, struct error *e)
{
	uint8_t h[100];
	struct stat st;
	uint64_t whole;
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error;

	if (fd < 0 || fstat(fd, &st) || (S_ISREG(st.st_mode) && (n = pread(fd, h, sizeof(h), 0)) < 0)) {
		error = errno;
		if (fd >= 0)
			close(fd);
		return err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "cannot read: %s", strerror(error));
	}
	close(fd);
	if (n < (ssize_t)sizeof(h) || memcmp(h, "SQLite format 3", 16) != 0)
		return err_set(e, ERR_FORMAT, path, 0,
			       "this is no SQLite database, as `nsys export --type=sqlite` writes it");
	f->bytes = (uint64_t)st.st_size;
	f->page = (uint32_t)h[16] << 8 | h[17];
	f->page = f->page == 1 ? 65536 : f->page;
	whole = memcmp(h + 24, h + 92, 4) == 0 ? (uint64_t)be32(h + 28) * f->page : 0;
	if (whole > f->bytes)
		err_set(f->damage, ERR_FORMAT, path, f->bytes, "the file ends here: %llu of its %llu bytes are missing",
			(unsigned long long)(whole - f->bytes), (unsigned long long)whole);
	return ERR_NONE;
}

enum err_kind nsys_file_open(struct nsys_file *f, const char *path, struct error *damage, struct error *e)
{
	char *uri = malloc(URI_MOST);
	enum err_kind kind;
	int code;

	*f = (struct nsys_file){ .path = path, .damage = damage };
	if (!uri)
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	kind = check_header(f, path, e);
	kind = kind ? kind : nsys_check_beside(path, e);
	if (!kind && !uri_of(uri, path))
		kind = err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "cannot read: %s", strerror(ENAMETOOLONG));
	if (kind) {
		free(uri);
		return kind;
	}
	f->steps = STEPS_AT_LEAST + STEPS_A_BYTE * f->bytes;
	code = connect_to(f, uri, false);
	if ((code & 0xff) == SQLITE_CORRUPT) {
		if (!f->damage->kind)
			err_set(f->damage, ERR_FORMAT, path, ERR_NO_BYTE, "the database is damaged: %s",
				sqlite3_errmsg(f->db));
		sqlite3_close(f->db);
		code = connect_to(f, uri, true);
	}
	free(uri);
	if (code == SQLITE_OK)
		return ERR_NONE;
	if ((code & 0xff) == SQLITE_NOMEM)
		kind = err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	else
		kind = err_set(e, ERR_FORMAT, path, ERR_NO_BYTE, "cannot be read as an SQLite database: %s",
			       sqlite3_errmsg(f->db));
	nsys_file_close(f);
	return kind;
}

void nsys_file_close(struct nsys_file *f)
{
	sqlite3_close(f->db);
	f->db = NULL;
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------ */

sqlite3_stmt *nsys_prepare(struct nsys_file *f, enum nsys_table table, const char *sql)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(f->db, sql, -1, &query, NULL);

	if (code != SQLITE_OK)
		nsys_trouble(f, code, table, 0);
	return query;
}

/* Which of the columns we know are there, and stored: hidden ones are computed. */
static bool find_columns(struct nsys_rows *r)
{
	char sql[128];
	sqlite3_stmt *query;
	int code;

	snprintf(sql, sizeof(sql), "PRAGMA table_xinfo(\"%s\")", tables[r->table].name);
	query = nsys_prepare(r->file, r->table, sql);
	if (!query)
		return false;
	while ((code = sqlite3_step(query)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(query, 1);

		for (unsigned i = 0; name && tables[r->table].columns[i]; i++)
			if (sqlite3_column_int(query, 6) == 0 &&
			    sqlite3_stricmp(name, tables[r->table].columns[i]) == 0)
				r->columns |= 1u << i;
	}
	sqlite3_finalize(query);
	if (code != SQLITE_DONE)
		nsys_trouble(r->file, code, r->table, 0);
	return code == SQLITE_DONE;
}

static bool begin(struct nsys_rows *r, struct nsys_file *f, enum nsys_table table, int column, int value)
{
	char sql[SQL_MOST];
	int at;

	*r = (struct nsys_rows){ .file = f, .table = table, .row = INT64_MIN };
	if (!f->there[table] || f->no_memory || !find_columns(r) ||
	    (column >= 0 && !nsys_rows_have(r, (unsigned)column)))
		return false;
	at = snprintf(sql, sizeof(sql), "SELECT _rowid_");
	for (unsigned i = 0; tables[table].columns[i]; i++)
		at += snprintf(sql + at, sizeof(sql) - (size_t)at, nsys_rows_have(r, i) ? ", \"%s\"" : ", NULL",
			       tables[table].columns[i]);
	at += snprintf(sql + at, sizeof(sql) - (size_t)at, " FROM \"%s\" NOT INDEXED", tables[table].name);
	if (column >= 0)
		snprintf(sql + at, sizeof(sql) - (size_t)at, " WHERE \"%s\" = %d", tables[table].columns[column],
			 value);
	r->query = nsys_prepare(f, table, sql);
	return r->query != NULL;
}

bool nsys_rows_begin(struct nsys_rows *r, struct nsys_file *f, enum nsys_table table)
{
	return begin(r, f, table, -1, 0);
}

bool nsys_rows_begin_where(struct nsys_rows *r, struct nsys_file *f, enum nsys_table table, unsigned column, int value)
{
	return begin(r, f, table, (int)column, value);
}

static void tell_progress(struct nsys_file *f)
{
	int pages = 0, highest;
	uint64_t read;

	if (sqlite3_db_status(f->db, SQLITE_DBSTATUS_CACHE_MISS, &pages, &highest, 0) != SQLITE_OK)
		return;
	read = (uint64_t)pages * f->page;
	if (read > f->told)
		progress_add(read - f->told);
	f->told = read;
}

/* Rows come by their number: one that does not grow is met twice, and so would all behind it be, again and again. */
bool nsys_rows_next(struct nsys_rows *r)
{
	struct nsys_file *f = r->file;
	int code = sqlite3_step(r->query);
	int64_t row;

	if (code != SQLITE_ROW) {
		if (code != SQLITE_DONE)
			nsys_trouble(f, code, r->table, r->row);
		r->damaged = code != SQLITE_DONE;
		return false;
	}
	row = sqlite3_column_int64(r->query, 0);
	if (row <= r->row || (uint64_t)++r->n > f->bytes / BYTES_A_ROW) {
		nsys_trouble(f, SQLITE_CORRUPT, r->table, r->row);
		r->damaged = true;
		return false;
	}
	r->row = row;
	if (r->n % ROWS_A_TELL == 0)
		tell_progress(f);
	return true;
}

void nsys_rows_close(struct nsys_rows *r)
{
	sqlite3_finalize(r->query);
	r->query = NULL;
}

bool nsys_rows_have(const struct nsys_rows *r, unsigned column)
{
	return r->columns >> column & 1;
}

bool nsys_rows_null(const struct nsys_rows *r, unsigned column)
{
	return !nsys_rows_have(r, column) || sqlite3_column_type(r->query, (int)column + 1) == SQLITE_NULL;
}

int64_t nsys_rows_int(const struct nsys_rows *r, unsigned column, int64_t otherwise)
{
	int64_t value = sqlite3_column_int64(r->query, (int)column + 1); /* 0 of NULL */

	return value || !otherwise || !nsys_rows_null(r, column) ? value : otherwise;
}

struct import_text nsys_rows_text(const struct nsys_rows *r, unsigned column)
{
	const char *at =
		nsys_rows_have(r, column) ? (const char *)sqlite3_column_text(r->query, (int)column + 1) : NULL;

	return (struct import_text){ at ? at : "", at ? (size_t)sqlite3_column_bytes(r->query, (int)column + 1) : 0 };
}

uint64_t nsys_rows_place(const struct nsys_rows *r)
{
	return IMPORT_ROW(r->table, r->row);
}
