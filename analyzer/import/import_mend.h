/* SPDX-License-Identifier: BSD-2-Clause */
/* import_mend.h: what programs write for JSON though it is none: inf and NaN as C (nan(ind) as well), Python and JavaScript spell them, control
 * characters and backslashes as they are in texts. It becomes JSON of the same length, in place, so that what comes behind can be read: only
 * where all of it, and what it follows, is in the bytes at hand. A text that began before them stays as it is: one that is longer than a piece
 * (import_pieces.h), or has what looks like an element's end in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define IMPORT_MEND_NONE ((size_t)-1)

/* A reader has stumbled in at[n], having taken its first `stumbled` bytes, over a word in place of a value. It is an empty text from now on. Where it
 * begins; IMPORT_MEND_NONE: it is no such word. */
size_t import_mend_word(char *at, size_t n, size_t stumbled);
/* … within a text: control characters become spaces, and backslashes slashes where nothing can be escaped like this. Where the text's first quote is. */
size_t import_mend_text(char *at, size_t n, size_t stumbled);

/* What a value or key that begins there follows: one of ":[{,"; 0: nothing that it can follow is in these bytes. */
char import_mend_behind(const char *at, size_t begins);
