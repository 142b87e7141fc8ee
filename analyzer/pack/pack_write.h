/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_write.h: recordings -> an archive (PACK.md), one after the other, with no more than a block of them in memory. */
#pragma once

#include <stdio.h>

#include "tools/error.h"

struct pack_writer;

/* out: borrowed; written from its beginning to its end. What cannot be written shows by ferror. NULL: no memory. */
struct pack_writer *pack_writer_new(FILE *out);
void pack_writer_free(struct pack_writer *w);

/* The recording at that path, sound or damaged, byte by byte. Members have to come in the order of their names (strcmp). */
enum err_kind pack_write(struct pack_writer *w, const char *path, const char *name, struct error *e);
enum err_kind pack_write_end(struct pack_writer *w, struct error *e);

struct pack_written {
	size_t members;
	uint64_t read, written; /* bytes */
};
struct pack_written pack_written(const struct pack_writer *w);
