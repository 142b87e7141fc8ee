/* SPDX-License-Identifier: BSD-2-Clause */
#include "protobuf.h"

#include <stdlib.h>
#include <string.h>

#define VARINT_MOST 10

enum how { VARINT = 0, FIXED64 = 1, BYTES = 2 };

void pb_free(struct pb *m)
{
	free(m->at);
	*m = (struct pb){ 0 };
}

void pb_clear(struct pb *m)
{
	m->n = 0;
}

static bool room(struct pb *m, size_t bytes)
{
	size_t cap = m->cap ? m->cap : 256;
	uint8_t *at;

	if (m->failed)
		return false;
	if (m->at && bytes <= m->cap - m->n)
		return true;
	while (cap - m->n < bytes && cap <= SIZE_MAX / 2)
		cap *= 2;
	at = cap - m->n < bytes ? NULL : realloc(m->at, cap);
	if (!at) {
		m->failed = true;
		return false;
	}
	m->at = at;
	m->cap = cap;
	return true;
}

static size_t varint(uint8_t to[VARINT_MOST], uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

static size_t tag(uint8_t to[VARINT_MOST], uint32_t field, enum how how)
{
	return varint(to, (uint64_t)field << 3 | how);
}

static void put_tag(struct pb *m, uint32_t field, enum how how)
{
	m->n += tag(m->at + m->n, field, how);
}

void pb_uint(struct pb *m, uint32_t field, uint64_t value)
{
	if (!room(m, (size_t)2 * VARINT_MOST))
		return;
	put_tag(m, field, VARINT);
	m->n += varint(m->at + m->n, value);
}

void pb_int(struct pb *m, uint32_t field, int64_t value)
{
	pb_uint(m, field, (uint64_t)value);
}

void pb_fixed64(struct pb *m, uint32_t field, uint64_t value)
{
	if (!room(m, VARINT_MOST + sizeof(value)))
		return;
	put_tag(m, field, FIXED64);
	for (size_t i = 0; i < sizeof(value); i++)
		m->at[m->n++] = (uint8_t)(value >> (8 * i));
}

void pb_double(struct pb *m, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	pb_fixed64(m, field, bits);
}

static void put_bytes(struct pb *m, uint32_t field, const void *bytes, size_t n)
{
	if (n > SIZE_MAX / 2 || !room(m, 2 * VARINT_MOST + n))
		return;
	put_tag(m, field, BYTES);
	m->n += varint(m->at + m->n, n);
	if (n)
		memcpy(m->at + m->n, bytes, n);
	m->n += n;
}

void pb_text(struct pb *m, uint32_t field, const char *text)
{
	put_bytes(m, field, text, strlen(text));
}

void pb_message(struct pb *m, uint32_t field, const struct pb *inner)
{
	if (inner->failed)
		m->failed = true;
	else
		put_bytes(m, field, inner->at, inner->n);
}

/* Most are shorter than 128 bytes: one is left for the length, and what follows moves where that is not enough. */
size_t pb_open(struct pb *m, uint32_t field)
{
	if (!room(m, VARINT_MOST + 1))
		return 0;
	put_tag(m, field, BYTES);
	m->at[m->n++] = 0;
	return m->n;
}

void pb_close(struct pb *m, size_t open)
{
	uint8_t length[VARINT_MOST];
	size_t bytes, more;

	if (!room(m, VARINT_MOST))
		return;
	bytes = m->n - open;
	more = varint(length, bytes) - 1;
	if (more)
		memmove(m->at + open + more, m->at + open, bytes);
	memcpy(m->at + open - 1, length, 1 + more);
	m->n += more;
}

void pb_write(FILE *out, uint32_t field, const struct pb *m)
{
	uint8_t head[2 * VARINT_MOST];
	size_t n;

	if (m->failed)
		return;
	n = tag(head, field, BYTES);
	n += varint(head + n, m->n);
	fwrite(head, 1, n, out);
	fwrite(m->at, 1, m->n, out);
}
