/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_md.h: Markdown of bounded size with names in it that anybody may have chosen.
 *
 * - A name is code: between more backticks than it has in a row nothing is read as markup, and nobody is mentioned. A '|' would end a table's
 *   cell even there, so it is written between two pieces of code.
 * - Lines are gathered in `row` and written where there is room for them. What has none is counted and left out whole. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MD_BYTES 60000 /* GitHub takes 65,536 characters; who posts it may add a line */
#define MD_SAVED 800   /* of them, to end with: closing tags, and what was left out */
#define MD_ROW 12000

struct md {
	FILE *out;
	size_t used; /* bytes written */
	size_t left_out; /* rows for which there was no room */
	size_t n; bool over; /* row: bytes; it has no room for all of it */
	char row[MD_ROW];
};

/* All of these add to the row. */
void md_put(struct md *m, const char *markup); /* ours */
void md_format(struct md *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void md_code(struct md *m, const char *name);  /* clean text of anybody's: as code; "" is a dash */
void md_text(struct md *m, const char *sentence); /* anybody's: as a sentence */
/* Writes the row, if it all fits. False: it was left out, and counted. */
bool md_row(struct md *m);
/* The same out of what was saved for the end. */
void md_end(struct md *m);
