/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_mark.h: what a loaded object is known by: its build-id, where it lies in memory; without one the begin of its dynamic section, which
 * says where everything in it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stack_memory.h"

#define STACK_MARK_BYTES 256u

struct elf_headers;

struct stack_mark {
	struct stack_piece piece; /* STACK_MARK_BYTES at most */
	uint64_t hash;            /* of what was there */
};

/* id: the build-id that was read at id_at; of 0 bytes: it has none. False: that and the headers are not there (any more), or another object's. */
bool stack_mark_make(struct stack_mark *m, const struct elf_headers *h, uint64_t bias, uint64_t id_at,
		     const uint8_t *id, uint32_t id_bytes);

bool stack_mark_stands(const struct stack_mark *m);
/* The same of what was read there, piece.bytes of it. */
bool stack_mark_is(const struct stack_mark *m, const void *read);
