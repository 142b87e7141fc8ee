/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_md.h: Markdown of bounded size with names in it that anybody may have chosen.
 *
 * - A name is code: between more backticks than it has in a row nothing is read as markup, and nobody is mentioned. A '|' would end a table's
 *   cell even there, so it is written between two pieces of code.
 * - Lines are gathered in `row` and written where there is room for them, together where one means nothing without the other. What has none is
 *   counted and left out whole. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "diff_shown.h"

#define MD_BYTES 60000 /* GitHub takes 65,536 characters; who posts it may add a line */
#define MD_SAVED 800   /* of them, to end with: closing tags, and what was left out */
#define MD_ROW 12000
#define MD_COLUMNS 100 /* of a name */
#define MD_LINE 160    /* of evidence */

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
void md_clean_code(struct md *m, const char *name, size_t columns); /* anybody's: as code; NULL "" */
void md_symbol_code(struct md *m, const char *name);                /* of a kernel: short */
void md_text(struct md *m, const char *sentence); /* anybody's: as a sentence */
/* Writes the row, if it all fits. False: it was left out, and counted. */
bool md_row(struct md *m);
/* The same where no more than `most` bytes are then written in all; whoever asks says what is left out. */
bool md_row_within(struct md *m, size_t most);
/* The same out of what was saved for the end. */
void md_end(struct md *m);

/* "<details><summary>Kernels</summary>" and a table's head, or "": false where there is no room for them, and nothing is to follow. */
bool md_details(struct md *m, const char *summary, const char *head);
void md_details_end(struct md *m);

/* diff_md_changes.c: gaps side by side, call sites, kernels, kinds of steps, memory. */
void md_changes(struct md *m, const struct diff_pair *p);
