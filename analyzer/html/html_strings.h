/* SPDX-License-Identifier: BSD-2-Clause */
/* html_strings.h: the names of a page, each once: others say its number. Number 0 is "". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/hash_index.h"
#include "tools/json.h"

#define HTML_STRINGS_BYTES (3u << 20) /* of all; what comes then is "(name left out)": a page stays small whatever a program calls its ranges */
#define HTML_STRING 1024             /* columns of one */
#define HTML_SHORT 72                /* of a C++ name of more there is a short form, too */

struct html_strings {
	char *text;       /* one after the other, each with its end */
	size_t used, cap;
	size_t *at;       /* where in text, by number */
	size_t n, cap_at;
	struct hash_index index; /* of the numbers */
	struct html_short { uint32_t number; size_t at; } *shorts; /* by number; where in text */
	size_t n_shorts, cap_shorts;
	uint32_t left_out; /* the number of "(name left out)"; 0: not yet needed */
	bool failed;      /* there was no memory: html_strings_write says so */
};

/* Its number: untrusted text, made clean here. 0 where there is no memory. */
uint32_t html_string(struct html_strings *s, const char *text);
/* The array of all. False: no memory, now or before. */
bool html_strings_write(const struct html_strings *s, struct json *j);
/* Short forms (text_symbol.h) by number: {"7": "gemm<float>"}. */
void html_shorts_write(const struct html_strings *s, struct json *j);
void html_strings_free(struct html_strings *s);
