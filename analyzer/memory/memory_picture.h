/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_picture.h: memory as it can be drawn: few enough points of a course, few enough pieces of a map, and nothing that stands out is lost. */
#pragma once

#include "memory_worst.h"

/* At most `most` (64 or more) of n points, by time: the least and the greatest of each figure in each of many stretches, and what each ends with. Into
 * an array that the caller frees. NULL: no memory. */
struct memory_point *memory_course(const struct memory_point *points, size_t n, size_t most, size_t *kept);

enum memory_cell_state { CELL_FREE, CELL_WHOLE, CELL_BLOCK, CELL_SEVERAL }; /* the first three as memory_state */

struct memory_cell { /* a piece, or several small neighbours */
	uint64_t bytes, used;
	uint32_t pieces;
	uint8_t state; /* enum memory_cell_state */
	bool largest;  /* the largest free piece of the device; of equal ones the first */
};

struct memory_row { /* a range of addresses, as the driver gave it */
	uint32_t process;
	uint8_t source; /* enum memory_source */
	uint64_t address, bytes, used, owner;
	size_t first, n; /* its cells */
};

struct memory_picture {
	struct memory_row *rows;   size_t n_rows, cap_rows;
	struct memory_cell *cells; size_t n_cells, cap_cells;
	uint64_t smallest;         /* pieces of less may be drawn as one with their neighbours; 0: each is drawn */
	uint64_t rows_left_out, bytes_left_out, used_left_out; /* the smallest ones */
};

/* False: no memory. */
bool memory_picture_build(struct memory_picture *out, const struct memory_worst *w, size_t most_rows, size_t most_cells);
void memory_picture_free(struct memory_picture *p);
