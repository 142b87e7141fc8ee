/* SPDX-License-Identifier: BSD-2-Clause */
/* import_names.h: every text of an import, once, under a number; and what a call of that name does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import_facts.h"
#include "tools/arena.h"
#include "tools/hash_index.h"

#define NAME_UNASKED UINT16_MAX /* hook: nobody made a call of that name so far */

enum import_call_ways {
	CALL_WAITS = 1,    /* of a copy: the form without Async */
	CALL_CAPTURES = 2, /* begins the capture of a graph … */
	CALL_CAPTURED = 4, /* … ends it */
};

struct import_named {
	const char *text; /* NUL-terminated, no NUL in it */
	uint32_t bytes;
	uint16_t hook;  /* of trace.hooks, the same in every process of the import */
	uint8_t family; /* enum gst_family, where hook is not UNASKED */
	uint8_t ways;   /* enum import_call_ways */
};

struct import_names {
	struct import_named *at; /* [0] is "" */
	size_t n, cap;
	struct hash_index index;
	struct arena text;
	uint32_t hooks, by_hook[GST_HOOK_MAX]; /* so many have one: their numbers */
};

bool import_names_new(struct import_names *names);
void import_names_free(struct import_names *names);

/* 0: the empty text, or *no_memory is set. What follows a NUL is left out. */
uint32_t import_names_number(struct import_names *names, struct import_text text, bool *no_memory);

/* What a call of that name does. Beyond GST_HOOK_MAX names of calls their hook is GST_HOOK_MAX: the name is lost. */
const struct import_named *import_names_call(struct import_names *names, uint32_t name);

/* By import_calls.def. */
void import_call_kind(const char *name, uint8_t *family, uint8_t *ways);
