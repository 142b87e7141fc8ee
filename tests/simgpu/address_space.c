/* SPDX-License-Identifier: BSD-2-Clause */
#include "address_space.h"

#include "settings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, LOW_BYTES = 256 << 20 };

struct piece {
	uintptr_t base;
	size_t bytes;
};

static struct piece *pieces; /* by base */
static unsigned piece_count, piece_room;
struct arena {
	uintptr_t base; /* 0: not there yet */
	size_t bytes;
};

static struct arena arena, low_arena;

/* Pages are never committed in advance: room for reservations many times the device's memory costs nothing. */
static void *reserve(uintptr_t wish, size_t bytes)
{
	return mmap((void *)wish, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Below 4 GiB: wherever the kernel grants the address that is wished for (MAP_32BIT is x86-64's alone, and below 2 GiB). */
static void *reserve_low(size_t bytes)
{
	const uintptr_t end = 1ull << 32;

	for (uintptr_t at = LOW_BYTES; at + bytes <= end; at += LOW_BYTES) {
		void *memory = reserve(at, bytes);

		if (memory == MAP_FAILED || (uintptr_t)memory + bytes <= end)
			return memory;
		munmap(memory, bytes);
	}
	return MAP_FAILED;
}

static bool arena_map(struct arena *a, size_t bytes, bool low)
{
	void *memory;

	if (a->base)
		return true;
	memory = low ? reserve_low(bytes) : reserve(0, bytes);
	if (memory == MAP_FAILED)
		return false;
	a->base = ((uintptr_t)memory + ADDRESS_ALIGN_LARGE - 1) & ~(uintptr_t)(ADDRESS_ALIGN_LARGE - 1);
	a->bytes = bytes - ADDRESS_ALIGN_LARGE;
	return true;
}

static bool inside(const struct arena *a, uintptr_t address)
{
	return a->base && address - a->base < a->bytes;
}

bool address_within(uintptr_t address)
{
	return inside(&arena, address) || inside(&low_arena, address);
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

	return base >= arena.base && bytes <= arena.bytes && base - arena.base <= arena.bytes - bytes &&
	       (!after || pieces[after - 1].base + pieces[after - 1].bytes <= base);
}

/* First fit; 0: none. */
static uintptr_t find_room(const struct arena *a, size_t bytes, size_t align)
{
	uintptr_t at = (a->base + align - 1) & ~(uintptr_t)(align - 1);

	for (unsigned i = upper_bound(a->base - 1); i < piece_count && inside(a, pieces[i].base); i++) {
		if (pieces[i].base >= at && pieces[i].base - at >= bytes)
			break;
		at = (pieces[i].base + pieces[i].bytes + align - 1) & ~(uintptr_t)(align - 1);
	}
	return bytes <= a->bytes && at - a->base <= a->bytes - bytes ? at : 0;
}

static uintptr_t keep(uintptr_t base, size_t bytes)
{
	unsigned at;

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

uintptr_t address_take(size_t bytes, size_t align, uintptr_t wish)
{
	size_t room =
		(size_t)(settings()->memory_bytes * (uint64_t)settings()->devices * 4 + settings()->address_bytes);

	if (!bytes || !arena_map(&arena, room, false))
		return 0;
	return keep(wish && !(wish & (align - 1)) && is_free(wish, bytes) ? wish : find_room(&arena, bytes, align),
		    bytes);
}

uintptr_t address_take_low(size_t bytes)
{
	return bytes && arena_map(&low_arena, LOW_BYTES, true)
		       ? keep(find_room(&low_arena, bytes, ADDRESS_ALIGN), bytes)
		       : 0;
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
