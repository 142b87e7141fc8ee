/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols_child.h: what the forked reader of symbols.c does, and how its answers come through a pipe. */
#pragma once

#include "symbols.h"

struct symbol_reply { /* an object, before its queries' answers */
	uint32_t object, state, dwarf;
};

struct symbol_answer { /* to a query, in their order */
	uint32_t n_places;
};

struct symbol_line { /* a place; its texts follow: function, mangled, file, without a NUL */
	uint64_t offset;
	uint32_t line;
	uint16_t n[3];
	uint8_t mangled, file, inlined, zero; /* is there one? */
};

/* Answers for all objects from `first` on; ends the process. */
void symbols_child(int out, struct symbol_object *objects, size_t n_objects, const struct symbol_query *queries,
		   size_t n_queries, size_t first, const struct symbol_options *options) __attribute__((noreturn));
