/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_pack.h"

#include <stdlib.h>

#include "tools/alloc.h"

#define LEVEL 6
#define MOST_BYTES 10 /* of a number */

static const char *const type_names[] = { "u8", "varint", "zigzag", "delta" };

void pack_begin(struct pack *p, enum pack_type type)
{
	*p = (struct pack){ .type = type };
	p->opened = deflateInit(&p->z, LEVEL) == Z_OK;
	p->failed = !p->opened;
}

static bool out_room(struct pack *p)
{
	uint8_t *out = p->n_out < p->cap_out ? p->out : array_grow(p->out, &p->cap_out, 1);

	if (!out)
		return false;
	p->out = out;
	p->z.next_out = p->out + p->n_out;
	p->z.avail_out = (unsigned)(p->cap_out - p->n_out < UINT32_MAX ? p->cap_out - p->n_out : UINT32_MAX);
	return true;
}

static void press(struct pack *p, int flush)
{
	int code = Z_OK;

	p->z.next_in = p->in;
	p->z.avail_in = (unsigned)p->used;
	p->used = 0;
	while (!p->failed && (p->z.avail_in || (flush == Z_FINISH && code != Z_STREAM_END))) {
		if (!out_room(p)) {
			p->failed = true;
			return;
		}
		code = deflate(&p->z, flush);
		p->failed = code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR;
		p->n_out = (size_t)(p->z.next_out - p->out);
	}
}

static void add_varint(struct pack *p, uint64_t v)
{
	while (v >= 0x80) {
		p->in[p->used++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	p->in[p->used++] = (uint8_t)v;
}

void pack_add(struct pack *p, uint64_t v)
{
	uint64_t more;

	if (p->failed)
		return;
	if (p->used + MOST_BYTES > PACK_BUFFER)
		press(p, Z_NO_FLUSH);
	switch (p->type) {
	case PACK_U8:
		p->in[p->used++] = (uint8_t)v;
		break;
	case PACK_VARINT:
		add_varint(p, v);
		break;
	case PACK_ZIGZAG:
		add_varint(p, v << 1 ^ -(v >> 63));
		break;
	case PACK_DELTA:
		more = v > p->last ? v - p->last : 0;
		p->last += more;
		add_varint(p, more);
		break;
	}
}

enum err_kind pack_end(struct pack *p, struct json *j, struct error *e)
{
	enum err_kind kind = ERR_NONE;

	if (j)
		press(p, Z_FINISH);
	if (p->opened)
		deflateEnd(&p->z);
	if (p->failed)
		kind = err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	if (j && !kind) {
		json_map(j);
		json_key_text(j, "t", type_names[p->type]);
		json_key(j, "z");
		json_base64(j, p->out, p->n_out);
		json_map_end(j);
	}
	free(p->out);
	*p = (struct pack){ .failed = true };
	return kind;
}
