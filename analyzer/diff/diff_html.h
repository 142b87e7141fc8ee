/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_html.h: a diff as one page of HTML, a file of its own that needs nothing else, scripts neither: elements, SVG and a style that is known by
 * its hash (scripts/page.sh; analyzer/html/page/diff/). Whatever a name holds, it is text: markup_text() alone writes it.
 *
 *   diff_html          the answer; a section for each device; runs and environment
 *   diff_html_rows     the table, with each change and its interval drawn, and the step as two bars
 *   diff_html_gaps     gaps side by side
 *   diff_html_changes  kernels, call sites, kinds of steps, memory
 *   diff_html_draw     bars and swatches; how cells are written */
#pragma once

#include "diff_shown.h"

/* ---- diff_html_draw.c ---- */

void html_text(FILE *out, const char *s);                   /* anybody's; NULL nothing */
void html_symbol(FILE *out, const char *name);              /* of a kernel: short, the whole name where the pointer rests */
void html_sign(FILE *out, enum diff_change change);         /* "+", and "regressed" beside it */
void html_cell(FILE *out, const char *words);               /* a number's */
void html_cell_ns(FILE *out, bool known, int64_t ns);       /* empty where it is not known */
void html_cell_times(FILE *out, bool known, double times);

enum { STACK_CAUSES = DIFF_LEAVES - LEAF_CAUSES };

void html_patterns(FILE *out);                              /* once, before what is drawn */
void html_swatch(FILE *out, size_t leaf);
/* Leaves side by side; as wide as `whole` all of it. low: half as high. words: what it shows, for who does not see it. */
void html_stack(FILE *out, const int64_t leaf_ns[DIFF_LEAVES], int64_t whole, bool low, const char *words);

/* ---- the parts ---- */

void html_rows(FILE *out, const struct diff *d, size_t pair);
void html_bars(FILE *out, const struct diff_pair *p);
void html_gap_changes(FILE *out, const struct diff_pair *p);
void html_changes(FILE *out, const struct diff_pair *p);
