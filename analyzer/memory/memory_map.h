/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_map.h: the memory that one process holds of one device, at one moment: pieces that do not overlap, by address, each used or free.
 * Free pieces that touch and have one owner are one: it could be handed out at once. Every change costs the logarithm of their number.
 *
 *   owner 0x7000 ┌──────────┬─────┬────────────┐        owner 0x9000 ┌────────┐
 *                │ used 4 M │ 1 M │ used 2 M   │                     │ used   │     whole: the driver's, nobody says what is in it
 *                └──────────┴─────┴────────────┘                     └────────┘
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum memory_source { /* how the driver gave it */
	MEMORY_ALLOCATED,
	MEMORY_MAPPED, /* physical memory at an address of the program's choice */
	MEMORY_POOLED,
	MEMORY_UNSEEN, /* its allocation is not on record; known only by what lies in it */
	MEMORY_SOURCES
};

enum memory_state {
	MEMORY_FREE,
	MEMORY_WHOLE, /* in use, as far as anybody says */
	MEMORY_BLOCK, /* in use, as its allocator says */
};

struct memory_piece {
	uint64_t address, bytes;
	uint64_t owner; /* the range it was cut from: its first address; of a pool its number */
	uint8_t source; /* enum memory_source */
	uint8_t state;  /* enum memory_state */
};

struct memory_map {
	struct memory_node *root;
	struct memory_node *unused; /* to be used again */
	uint64_t held;              /* bytes in all pieces */
	uint64_t used;              /* … in those that are not free */
	size_t pieces;
	uint64_t random; /* 0: not begun */
	struct memory_node *free[64]; /* lists of the free ones: of 2^i bytes and more */
	uint64_t lists;               /* a bit for each that is not empty */
	struct memory_node *largest;  /* of the free ones; NULL: not known */
};

void memory_map_free(struct memory_map *m);

/* A piece at a new place: what lay there before is gone. False: no memory; the map is as it was or lacks what lay there. */
bool memory_map_add(struct memory_map *m, const struct memory_piece *piece);

/* Nothing is held in these addresses any more. False: no memory (a piece had to be cut in two). */
bool memory_map_remove(struct memory_map *m, uint64_t address, uint64_t bytes);

/* These addresses become used or free; they lie within pieces that are there (what does not is not touched). False: no memory. */
bool memory_map_set(struct memory_map *m, uint64_t address, uint64_t bytes, enum memory_state state);

/* The piece at this address; else the next one behind it. False: none. */
bool memory_map_at(const struct memory_map *m, uint64_t address, struct memory_piece *out);
bool memory_map_next(const struct memory_map *m, uint64_t address, struct memory_piece *out);

/* The largest free piece, 0 none; of equal ones the lowest. */
uint64_t memory_map_largest(struct memory_map *m);
bool memory_map_largest_of(const struct memory_map *m, enum memory_source source, uint64_t owner, struct memory_piece *out);

/* Of n pieces by address: where the range ends that the first one begins: as long as they touch and have one owner. */
size_t memory_range_end(const struct memory_piece *pieces, size_t n, size_t first);
