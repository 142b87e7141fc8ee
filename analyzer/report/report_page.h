/* SPDX-License-Identifier: BSD-2-Clause */
/* report_page.h: what the text reports are drawn with: colours, bars, wrapped lines. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "report.h"

enum ink { INK_PLAIN, INK_TITLE, INK_DIM, INK_COMPUTE, INK_COMM, INK_COPY, INK_IDLE, INK_CAUSE, INK_WARN };

struct page {
	FILE *out;
	const struct report_style *style;
};

/* printf in a colour; the colour is off again at its end. */
void page_ink(const struct page *p, enum ink ink, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* part of whole as a bar, then blanks up to width columns. Anything above 0 shows. */
void page_bar(const struct page *p, enum ink ink, int64_t part, int64_t whole, unsigned width);

/* Four kinds of time side by side in one bar of width columns, each in its own ink and glyph. */
void page_stack(const struct page *p, const int64_t parts[4], const enum ink inks[4], unsigned width);

/* As page_wrap, in so many lines at the most: what is cut ends in "...". */
void page_wrap_lines(const struct page *p, enum ink ink, unsigned at, unsigned indent, unsigned lines, const char *text);

/* Clean text in lines of the page's width: the first goes on at column `at`, the others begin at column indent. */
void page_wrap(const struct page *p, enum ink ink, unsigned at, unsigned indent, const char *text);
