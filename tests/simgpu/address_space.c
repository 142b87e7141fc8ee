/* SPDX-License-Identifier: BSD-2-Clause */
#include "address_space.h"

#include "settings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

struct piece {
	uintptr_t base;
	size_t bytes;
};

static struct piece *pieces; /* by base */
static unsigned piece_count, piece_room;
static uintptr_t arena;
static size_t arena_bytes;

/* Pages are never committed in advance: room for reservations many times the device's memory costs nothing. */
static bool arena_map(void)
{
	size_t bytes = (size_t)settings()->memory_bytes * (size_t)settings()->devices * 4 + (1ull << 40);
	void *memory;

	if (arena)
		return true;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	arena = ((uintptr_t)memory + ADDRESS_ALIGN_LARGE - 1) & ~(uintptr_t)(ADDRESS_ALIGN_LARGE - 1);
	arena_bytes = bytes - ADDRESS_ALIGN_LARGE;
	return true;
}

bool address_within(uintptr_t address)
{
	return arena && address - arena < arena_bytes;
}

/* The number of pieces that begin at or before the address. */
static unsigned upper_bound(uintptr_t address)
{
	unsigned low = 0, high = piece_count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (pieces[middle].base <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_free(uintptr_t base, size_t bytes)
{
	unsigned after = upper_bound(base + bytes - 1);

	return base >= arena && bytes <= arena_bytes && base - arena <= arena_bytes - bytes &&
	       (!after || pieces[after - 1].base + pieces[after - 1].bytes <= base);
}

/* First fit; 0: none. */
static uintptr_t find_room(size_t bytes, size_t align)
{
	uintptr_t at = (arena + align - 1) & ~(uintptr_t)(align - 1);

	for (unsigned i = 0; i < piece_count; i++) {
		if (pieces[i].base >= at && pieces[i].base - at >= bytes)
			break;
		at = (pieces[i].base + pieces[i].bytes + align - 1) & ~(uintptr_t)(align - 1);
	}
	return bytes <= arena_bytes && at - arena <= arena_bytes - bytes ? at : 0;
}

uintptr_t address_take(size_t bytes, size_t align, uintptr_t wish)
{
	uintptr_t base;
	unsigned at;

	if (!bytes || !arena_map())
		return 0;
	base = wish && !(wish & (align - 1)) && is_free(wish, bytes) ? wish : find_room(bytes, align);
	if (!base)
		return 0;
	if (piece_count == piece_room) {
		unsigned room = piece_room ? piece_room * 2 : 256;
		struct piece *grown = realloc(pieces, room * sizeof(*pieces));

		if (!grown)
			return 0;
		pieces = grown;
		piece_room = room;
	}
	at = upper_bound(base);
	memmove(&pieces[at + 1], &pieces[at], (piece_count - at) * sizeof(*pieces));
	pieces[at] = (struct piece){ base, bytes };
	piece_count++;
	return base;
}

void address_give(uintptr_t base)
{
	unsigned at = upper_bound(base) - 1;
	uintptr_t first = (base + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t last = (base + pieces[at].bytes) & ~(uintptr_t)(PAGE - 1);

	if (first < last)
		madvise((void *)first, last - first, MADV_DONTNEED);
	memmove(&pieces[at], &pieces[at + 1], (piece_count - at - 1) * sizeof(*pieces));
	piece_count--;
}
