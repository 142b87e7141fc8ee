/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols_object.h: one ELF object and its DWARF, by libdw. Runs in the child of symbols.c alone: bytes that are not what they seem may
 * end the process. */
#pragma once

#include "symbols.h"

struct object;

/* NULL: o->state says why. Else it is FOUND, and o->dwarf set. */
struct object *object_open(struct symbol_object *o, const struct symbol_options *options);
void object_close(struct object *object);

/* The functions at an address, innermost first; their number. Texts are valid until the next call. */
uint32_t object_places(struct object *object, uint64_t address, struct symbol_place places[SYMBOLS_INLINED]);
