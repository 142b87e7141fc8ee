/* SPDX-License-Identifier: BSD-2-Clause */
/* text.h: numbers and untrusted names as people read them. Each fills buf, always ends it, and returns buf. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TEXT_SHORT 32 /* room for any duration, size or count */
#define TEXT_DIGITS 20 /* of any 64 bits */

char *text_digits(char digits[TEXT_DIGITS], uint64_t n); /* the first place behind them; no end of text is written */

const char *text_duration(char buf[TEXT_SHORT], int64_t ns);    /* "170.3 ms" */
const char *text_long(char buf[TEXT_SHORT], int64_t ns);        /* "3 h 12 min"; short ones as above */
const char *text_offset(char buf[TEXT_SHORT], int64_t ns);      /* "+2,041.3 us": always to 0.1 us, so that any two can be compared */
const char *text_bytes(char buf[TEXT_SHORT], uint64_t bytes);   /* "2.0 MiB" */
const char *text_count(char buf[TEXT_SHORT], uint64_t n);       /* "1,234,567" */
const char *text_percent(char buf[TEXT_SHORT], int64_t part, int64_t whole); /* "12.3 %" */

/* Text that a trace brought: control characters and bytes that are no UTF-8 become '?', so a terminal is never steered and JSON
 * stays valid; more than `columns` characters end in "...". size is buf's, at least 4. */
const char *text_clean(char *buf, size_t size, const char *s, size_t columns);

/* Of n bytes those up to the first that is no printable ASCII. */
size_t text_ascii(const char *s, size_t n);

/* Length of the valid UTF-8 character at s (1 to 4), 0 where there is none. NUL is none. */
unsigned text_utf8(const char *s);

/* Columns that clean text takes: one for each character. */
unsigned text_columns(const char *s);

/* The text with U+FFFD for each byte that is no UTF-8, for files of other programs; what has no room in buf is left out. */
const char *text_utf8_only(char *buf, size_t size, const char *s);

/* What follows the last slash. */
const char *text_base(const char *path);

/* The command without the folder of its program: an interpreter's is long, and what comes after it tells more. */
const char *text_command(const char *command);
