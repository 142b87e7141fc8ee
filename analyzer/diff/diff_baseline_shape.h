/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_baseline_shape.h: what a baseline's objects are made of: the one list by which they are written and read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum baseline_kind {
	BASELINE_INT64,  /* within ± BASELINE_NUMBER */
	BASELINE_INT,    /* an int, not negative */
	BASELINE_UINT32, /* any */
	BASELINE_UINT64, /* any */
	BASELINE_AMOUNT, /* a uint64_t, or size_t, up to BASELINE_NUMBER */
	BASELINE_DOUBLE, /* from 0 to BASELINE_NUMBER */
	BASELINE_BOOL,
	BASELINE_WORDS,  /* a text, never NULL */
	BASELINE_MAYBE,  /* a text; NULL: there is none */
	BASELINE_LEAVES, /* int64_t [DIFF_ROWS]: the leaves, by name; none is negative */
	BASELINE_ERRORS, /* double [DIFF_ROWS], by name */
	BASELINE_CAUSES, /* int64_t [CAUSE_COUNT], by name; likewise */
	BASELINE_LINES,  /* const char * [DIFF_LINES], and how many */
	BASELINE_ONE,    /* a struct */
	BASELINE_LIST,   /* a pointer to structs, and how many */
};

struct baseline_field {
	const char *name;
	enum baseline_kind kind;
	size_t at;    /* in the struct */
	size_t count; /* of a list: likewise; its size_t */
	size_t most;  /* of a list: what is beyond is passed over, as those are last that matter least */
	const struct baseline_shape *of; /* of a list, of one */
};

struct baseline_shape {
	size_t size; /* of the struct */
	const struct baseline_field *fields; size_t n;
	const char *(*wrong)(const void *of); /* what does not sum; NULL: all is well. Itself NULL: nothing does */
};

extern const struct baseline_shape baseline_run;
