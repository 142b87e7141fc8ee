/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_told.h"

#include "memory_process.h"

static uint64_t capped(uint64_t bytes)
{
	return bytes < MEMORY_BEYOND_ANY ? bytes : MEMORY_BEYOND_ANY;
}

static uint64_t more(uint64_t bytes, uint64_t by)
{
	return capped(bytes + capped(by));
}

static uint64_t less(uint64_t bytes, uint64_t by)
{
	return bytes > by ? bytes - by : 0;
}

/* Where all that is ever said is nothing, nobody counts. */
static bool counts(const struct block_event *b)
{
	return b->allocated || b->reserved;
}

bool memory_told_in(const struct trace *t)
{
	for (size_t i = 0; t->imported && i < t->memory.n_blocks; i++)
		if (counts(&t->memory.blocks[i]))
			return true;
	return false;
}

bool memory_told_add(struct memory_events *out, const struct trace *t, uint32_t process)
{
	bool told[MEMORY_ORDINALS] = { false }, begun[MEMORY_ORDINALS] = { false },
	     counted[MEMORY_ORDINALS] = { false };

	for (size_t i = 0; i < t->memory.n_blocks; i++)
		if (t->memory.blocks[i].device < MEMORY_ORDINALS)
			counted[t->memory.blocks[i].device] |= counts(&t->memory.blocks[i]);
	for (size_t i = 0; i < t->memory.n_blocks; i++) {
		const struct block_event *b = &t->memory.blocks[i];
		struct memory_event e = { .time_ns = b->time_ns, .process = process, .what = MEMORY_TOLD };

		if (b->device >= MEMORY_ORDINALS || told[b->device] ||
		    (b->kind != GST_BLOCK_TAKEN && b->kind != GST_BLOCK_GIVEN))
			continue;
		/* Nothing happened before the first one: so it was from the begin on. */
		if (!begun[b->device] && t->begin_ns < e.time_ns)
			e.time_ns = t->begin_ns;
		begun[b->device] = true;
		e.block = b;
		told[b->device] = counted[b->device] && b->said;
		if (told[b->device] && !memory_event_add(out, &e))
			return false;
	}
	return true;
}

void memory_told_begin(struct memory_told *t, const struct block_event *first)
{
	uint64_t allocated = capped(first->allocated);

	t->known = true;
	t->allocated = first->kind == GST_BLOCK_TAKEN ? less(allocated, first->bytes) : more(allocated, first->bytes);
	/* Of nothing allocated nothing is known to have been reserved: it may be the program's first block. */
	t->reserved = t->allocated ? capped(first->reserved) : 0;
}

void memory_told_hear(struct memory_told *t, const struct block_event *b)
{
	if (b->said & BLOCK_ALLOCATED)
		t->allocated = capped(b->allocated);
	else
		t->allocated = b->kind == GST_BLOCK_TAKEN ? more(t->allocated, b->bytes) : less(t->allocated, b->bytes);
	if (b->said & BLOCK_RESERVED)
		t->reserved = capped(b->reserved);
}

struct memory_use memory_told_use(const struct memory_told *t)
{
	uint64_t reserved = t->reserved > t->allocated ? t->reserved : t->allocated;

	return (struct memory_use){ t->allocated, reserved, reserved - t->allocated };
}

uint64_t memory_told_base(const struct memory_told *t, uint64_t placed)
{
	return less(t->allocated, placed);
}
