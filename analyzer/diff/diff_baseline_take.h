/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_baseline_take.h: one value of a baseline -> the field of a struct. */
#pragma once

#include "diff_baseline_shape.h"
#include "tools/arena.h"

struct baseline_token {
	enum { BASELINE_TEXT_TOKEN, BASELINE_NUMBER_TOKEN, BASELINE_WORD_TOKEN } kind;
	const char *at; size_t bytes; /* of a text or a number; not terminated */
	int word; /* 0 false, 1 true, -1 null */
};

/* The struct is zeroed: its texts are "" from now on. */
void baseline_begin(const struct baseline_shape *shape, void *of);
/* Of leaves, errors, causes, lines: the field begins once more. */
void baseline_clear(const struct baseline_field *f, void *of);

#define BASELINE_NO_ROW SIZE_MAX
/* Which element of leaves, errors or causes has that name. */
size_t baseline_row(const struct baseline_field *f, const char *name, size_t bytes);

/* plain: the value is the field's; else it is one of its elements, row of leaves, errors and causes. False: *wrong says what; NULL: no memory. */
bool baseline_take(const struct baseline_field *f, void *of, bool plain, size_t row, const struct baseline_token *token, struct arena *texts,
		   const char **wrong);
