/* SPDX-License-Identifier: BSD-2-Clause */
/* import_pieces.h: a JSON file in pieces which end, where one can guess it, behind an element of a list of objects. Whoever reads a piece finds out
 * whether that was guessed right: a text may hold what looks like it. How the file is cut depends on nothing but its bytes. */
#pragma once

#include <stdbool.h>

#include "import_unpack.h"

#define IMPORT_PIECE ((size_t)128 << 10)

struct import_piece {
	char *at;
	size_t n, room;
	uint64_t byte;      /* of the file, where it begins */
	bool after, before; /* an element of a list ends before it; it ends with one */
};

struct import_pieces {
	struct import_unpack *file;
	char *rest; /* what was read, and belongs to the next piece */
	size_t n_rest, rest_room;
	size_t step;      /* bytes that are read next */
	uint64_t byte;    /* the next piece begins there */
	bool after, ended;
	bool in_text; /* the next piece begins within a text, by what is known */
};

enum err_kind import_pieces_open(struct import_pieces *p, const char *path, struct error *e);
void import_pieces_close(struct import_pieces *p);

/* The next one; n 0: there is none any more. The piece keeps its memory, which is the caller's. ERR_SYSTEM: it cannot be read, or there is no memory. */
enum err_kind import_pieces_next(struct import_pieces *p, struct import_piece *piece, const char *path, struct error *e);
