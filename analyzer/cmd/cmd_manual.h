/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_manual.h: the manual's pages: analyzer/man/NAME.txt and the option rows, for man and for a terminal.
 *
 * A page's lines:   # SECTION      = TERM (its text follows, up to an empty line)       four blanks: as it stands
 *                   @options  @commands  @causes: the lists that stand elsewhere          else text; an empty line ends a paragraph
 * `name` in text is bold. */
#pragma once

#include "cmd.h"

/* c NULL: the page of gpushim itself. man(7) source: */
void manual_source(FILE *out, const struct command *c);
/* To be read as it is: */
void manual_text(FILE *out, const struct command *c, const struct report_style *style);

/* One page's lines, to walk. */
const char *manual_page(const struct command *c);
