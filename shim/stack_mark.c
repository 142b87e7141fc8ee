/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_mark.h"

#include <string.h>

#include "elf_list.h"
#include "stack_memory.h"

#define NEAR 2048u /* the build-id mostly follows the headers */

static uint64_t hash(const uint8_t *p, uint32_t bytes)
{
	uint64_t h = bytes, word;

	for (uint32_t i = 0; i < bytes; i += sizeof(word)) {
		word = 0;
		memcpy(&word, p + i, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h;
}

/* What was read one after the other is of one object if it is there at one time. */
static bool are_together(const struct elf_headers *h, uint64_t id_at, const uint8_t *id, uint32_t id_bytes)
{
	static uint8_t both[NEAR];
	uint32_t bytes = (uint32_t)(h->n * sizeof(*h->header)), more = id_bytes;
	uint64_t between = id_at - h->at;

	if (id_bytes && between >= bytes && between < NEAR - id_bytes)
		bytes = (uint32_t)between + id_bytes;
	else
		more = 0;
	return stack_read(both, h->at, bytes) && memcmp(both, h->header, h->n * sizeof(*h->header)) == 0 &&
	       memcmp(both + bytes - more, id, more) == 0;
}

bool stack_mark_make(struct stack_mark *m, const struct elf_headers *h, uint64_t bias, uint64_t id_at,
		     const uint8_t *id, uint32_t id_bytes)
{
	const ElfW(Phdr) *dynamic = elf_headers_of(h, PT_DYNAMIC);
	uint8_t read[STACK_MARK_BYTES];

	if (id_bytes)
		m->piece = (struct stack_piece){ id_at, id_bytes };
	else
		m->piece = (struct stack_piece){ bias + dynamic->p_vaddr, dynamic->p_memsz < sizeof(read)
										  ? (uint32_t)dynamic->p_memsz
										  : (uint32_t)sizeof(read) };
	if (!stack_read(read, m->piece.at, m->piece.bytes) || (id_bytes && memcmp(read, id, id_bytes) != 0))
		return false;
	m->hash = hash(read, m->piece.bytes);
	return are_together(h, id_at, id, id_bytes);
}

bool stack_mark_is(const struct stack_mark *m, const void *read)
{
	return hash(read, m->piece.bytes) == m->hash;
}

bool stack_mark_stands(const struct stack_mark *m)
{
	uint8_t read[STACK_MARK_BYTES];

	return stack_read(read, m->piece.at, m->piece.bytes) && stack_mark_is(m, read);
}
