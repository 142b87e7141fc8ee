/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_load.h: the blocks of an archive, each checked before anything of it is used. */
#pragma once

#include "pack_parts.h"

struct pack_loaded { /* zeroed before it is loaded; to be freed, whatever came of that */
	struct pack_block header;
	uint64_t at;    /* its byte in the archive */
	uint8_t *bytes; /* packed, bits */
	uint8_t *plain; /* NULL until pack_load_plain */
};

/* Block `number` of member i, which is to lie at byte `at`. */
enum err_kind pack_load(const struct pack_file *p, size_t i, uint32_t number, uint64_t at, struct pack_loaded *b, struct error *e);
enum err_kind pack_load_plain(const struct pack_file *p, struct pack_loaded *b, struct error *e);
/* Block 0, ready to be used. */
enum err_kind pack_load_front(const struct pack_file *p, size_t i, struct pack_loaded *b, struct error *e);
/* Where the next one lies. */
uint64_t pack_load_next(const struct pack_loaded *b);
/* After the last one, which ends at `at`: is it where the member ends, and were they all of its segments? */
enum err_kind pack_load_whole(const struct pack_file *p, size_t i, uint64_t at, uint64_t segments, struct error *e);
void pack_loaded_free(struct pack_loaded *b);
