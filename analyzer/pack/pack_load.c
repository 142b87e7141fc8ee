/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "pack_front.h"
#include "tools/alloc.h"

void pack_loaded_free(struct pack_loaded *b)
{
	free(b->bytes);
	free(b->plain);
	*b = (struct pack_loaded){ 0 };
}

/* ---- blocks ----------------------------------------------------------------------------------------- */

/* The header of block `number` of a member, at `at`: each size is within bounds. */
static enum err_kind block_header(const struct pack_file *p, size_t i, uint32_t number, uint64_t at,
				  struct pack_block *b, struct error *e)
{
	uint64_t end = p->members[i].end;
	enum err_kind kind;

	if (at > end || end - at < sizeof(*b))
		return err_set(e, ERR_FORMAT, p->name, at, "a block reaches beyond its member");
	if ((kind = pack_get_bytes(p, b, sizeof(*b), at, e)))
		return kind;
	if (b->mark != PACK_BLOCK_MARK || b->member != i || b->number != number)
		return err_set(e, ERR_FORMAT, p->name, at, "here should be block %" PRIu32 " of member %zu", number, i);
	if (b->segments > PACK_BLOCK_SEGMENTS || (number == 0) != (b->segments == 0) || b->plain > PACK_PLAIN_MOST ||
	    b->packed > PACK_PLAIN_MOST || b->bits > PACK_PLAIN_MOST || (b->packed == 0) != (b->plain == 0))
		return err_set(e, ERR_FORMAT, p->name, at, "a block's sizes are none that are ever packed");
	if ((uint64_t)b->packed + b->bits > end - at - sizeof(*b))
		return err_set(e, ERR_FORMAT, p->name, at, "a block reaches beyond its member");
	return ERR_NONE;
}

enum err_kind pack_load(const struct pack_file *p, size_t i, uint32_t number, uint64_t at, struct pack_loaded *b,
			struct error *e)
{
	enum err_kind kind = block_header(p, i, number, at, &b->header, e);
	size_t n = (size_t)b->header.packed + b->header.bits;
	uint32_t check;

	b->at = at;
	if (kind)
		return kind;
	b->bytes = array_new(n + 1, 1);
	if (!b->bytes)
		return pack_no_memory(p, e);
	if ((kind = pack_get_bytes(p, b->bytes, n, at + sizeof(b->header), e)))
		return kind;
	check = (uint32_t)crc32(0, (const uint8_t *)&b->header, offsetof(struct pack_block, check));
	check = (uint32_t)crc32(check, b->bytes, (uInt)n);
	return check == b->header.check ? ERR_NONE
					: err_set(e, ERR_FORMAT, p->name, at, "the block's check value does not hold");
}

enum err_kind pack_load_plain(const struct pack_file *p, struct pack_loaded *b, struct error *e)
{
	size_t got;

	b->plain = array_new(b->header.plain + 1, 1);
	if (!b->plain)
		return pack_no_memory(p, e);
	if (!b->header.packed)
		return ERR_NONE;
	got = ZSTD_decompress(b->plain, b->header.plain, b->bytes, b->header.packed);
	return got == b->header.plain ? ERR_NONE
				      : err_set(e, ERR_FORMAT, p->name, b->at + sizeof(b->header),
						"what is packed here does not make %" PRIu32 " bytes", b->header.plain);
}

uint64_t pack_load_next(const struct pack_loaded *b)
{
	return b->at + sizeof(b->header) + b->header.packed + b->header.bits;
}

enum err_kind pack_load_whole(const struct pack_file *p, size_t i, uint64_t at, uint64_t segments, struct error *e)
{
	const struct pack_part *m = &p->members[i];
	uint64_t rest = m->entry.length > GST_SEGMENTS_OFFSET ? m->entry.length - GST_SEGMENTS_OFFSET : 0;

	if (at != m->end)
		return err_set(e, ERR_FORMAT, p->name, at, "the member goes on behind its last block");
	return segments == (rest + GST_SEGMENT_BYTES - 1) / GST_SEGMENT_BYTES
		       ? ERR_NONE
		       : err_set(e, ERR_FORMAT, p->name, m->entry.begin,
				 "the member's segments do not make its length");
}

enum err_kind pack_check(struct pack_file *p, struct error *e)
{
	enum err_kind kind = ERR_NONE;

	for (size_t i = 0; i < p->n && !kind; i++) {
		uint64_t at = p->members[i].entry.begin, segments = 0;

		for (uint32_t k = 0; k < p->members[i].entry.blocks && !kind; k++) {
			struct pack_loaded b = { 0 };

			kind = pack_load(p, i, k, at, &b, e);
			at = pack_load_next(&b);
			segments += b.header.segments;
			pack_loaded_free(&b);
		}
		if (!kind)
			kind = pack_load_whole(p, i, at, segments, e);
	}
	return kind;
}

enum err_kind pack_load_front(const struct pack_file *p, size_t i, struct pack_loaded *b, struct error *e)
{
	uint64_t length = p->members[i].entry.length;
	uint64_t n = length < GST_SEGMENTS_OFFSET ? length : GST_SEGMENTS_OFFSET;
	enum err_kind kind = pack_load(p, i, 0, p->members[i].entry.begin, b, e);

	if (!kind && (b->header.plain != n || b->header.bits))
		kind = err_set(e, ERR_FORMAT, p->name, b->at, "the member's front has %" PRIu32 " bytes, not %" PRIu64,
			       b->header.plain, n);
	if (!kind)
		kind = pack_load_plain(p, b, e);
	if (!kind)
		pack_front_exchange(b->plain, n);
	return kind;
}

enum err_kind pack_front(struct pack_file *p, size_t i, uint8_t **out, size_t *n, struct error *e)
{
	struct pack_loaded b = { 0 };
	enum err_kind kind = pack_load_front(p, i, &b, e);

	*out = NULL;
	if (!kind) {
		*out = b.plain;
		*n = b.header.plain;
		b.plain = NULL;
	}
	pack_loaded_free(&b);
	return kind;
}
