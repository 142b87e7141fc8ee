/* SPDX-License-Identifier: BSD-2-Clause */
/* sqlite_rate FILE: steps through every row of every table of an SQLite file and asks for each column: what no reader that is built on SQLite, and wants
 * all of it, can be faster than. Says on standard output how many rows there were. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long rows, sum;

static int step_through(sqlite3 *db, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
	sqlite3_stmt *s = NULL;
	int code = sql ? sqlite3_prepare_v2(db, sql, -1, &s, NULL) : SQLITE_NOMEM;

	while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		for (int i = 0, n = sqlite3_column_count(s); i < n; i++)
			sum += sqlite3_column_type(s, i) == SQLITE_TEXT
				       ? (unsigned long long)sqlite3_column_bytes(s, i)
				       : (unsigned long long)sqlite3_column_int64(s, i);
		rows++;
		code = SQLITE_OK;
	}
	sqlite3_finalize(s);
	sqlite3_free(sql);
	return code;
}

int main(int argc, char *argv[])
{
	sqlite3 *db = NULL;
	sqlite3_stmt *tables = NULL;
	int code = argc == 2 ? sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) : SQLITE_MISUSE;

	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(db, "SELECT name FROM sqlite_master WHERE type = 'table'", -1, &tables, NULL);
	while (code == SQLITE_OK && sqlite3_step(tables) == SQLITE_ROW) {
		code = step_through(db, (const char *)sqlite3_column_text(tables, 0));
		code = code == SQLITE_DONE ? SQLITE_OK : code;
	}
	sqlite3_finalize(tables);
	sqlite3_close(db);
	if (code != SQLITE_OK) {
		fprintf(stderr, "sqlite_rate: cannot read %s\n", argc == 2 ? argv[1] : "a file without a name");
		return EXIT_FAILURE;
	}
	printf("%llu rows, %llu\n", rows, sum);
	return EXIT_SUCCESS;
}
