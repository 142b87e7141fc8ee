/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_columns.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

/* The byte of a number: itself below SMALL; else how many bits it has and those behind its highest one: three of them, or one where it is
 * longer than LONG bits. */
#define SMALL 16u
#define SMALL_BITS 4u
#define LONG 24u
#define FIRST_LONG (SMALL + (LONG - SMALL_BITS) * 8)

void pack_columns_pack(struct pack_columns *c)
{
	c->unpacks = c->failed = c->no_memory = false;
	for (unsigned i = 0; i < PACK_COLUMNS; i++)
		c->at[i].n = c->at[i].bits = 0;
	c->bits.n = 0;
	c->word = 0;
	c->n_word = 0;
}

static bool room_for(struct pack_columns *c, struct pack_column *column, size_t n)
{
	while (column->cap - column->n < n) {
		uint8_t *more = array_grow(column->bytes, &column->cap, 1);

		if (!more) {
			c->failed = c->no_memory = true;
			return false;
		}
		column->bytes = more;
	}
	return true;
}

static void put(struct pack_columns *c, struct pack_column *column, uint8_t byte)
{
	if (column->n < column->cap || room_for(c, column, 1))
		column->bytes[column->n++] = byte;
}

static uint8_t get(struct pack_columns *c, struct pack_column *column)
{
	if (column->at < column->n)
		return column->bytes[column->at++];
	c->failed = true;
	return 0;
}

uint8_t pack_byte(struct pack_columns *c, unsigned column, uint8_t value)
{
	if (c->unpacks)
		return get(c, &c->at[column]);
	put(c, &c->at[column], value);
	return value;
}

void pack_plain(struct pack_columns *c, unsigned column, uint8_t *bytes, size_t n)
{
	struct pack_column *p = &c->at[column];

	if (!n)
		return;
	if (!c->unpacks) {
		if (room_for(c, p, n)) {
			memcpy(p->bytes + p->n, bytes, n);
			p->n += n;
		}
	} else if (n > p->n - p->at) {
		c->failed = true;
	} else {
		memcpy(bytes, p->bytes + p->at, n);
		p->at += n;
	}
}

/* n bits, 32 at most, the highest first. */
static uint64_t few_bits(struct pack_columns *c, uint64_t value, unsigned n)
{
	if (c->unpacks) {
		while (c->n_word < n) {
			c->word = c->word << 8 | get(c, &c->bits);
			c->n_word += 8;
		}
		c->n_word -= n;
		return c->word >> c->n_word & ((1ull << n) - 1);
	}
	c->word = c->word << n | value;
	c->n_word += n;
	while (c->n_word >= 8) {
		c->n_word -= 8;
		put(c, &c->bits, (uint8_t)(c->word >> c->n_word));
	}
	return value;
}

static uint64_t bits(struct pack_columns *c, uint64_t value, unsigned n)
{
	uint64_t high = n > 32 ? few_bits(c, value >> 32, n - 32) << 32 : 0;

	n = n > 32 ? 32 : n;
	return high | few_bits(c, value & ((1ull << n) - 1), n);
}

uint64_t pack_number(struct pack_columns *c, unsigned column, uint64_t value)
{
	unsigned length = value ? 64 - (unsigned)__builtin_clzll(value) : 0, shown = length > LONG ? 1 : 3;
	unsigned head = (unsigned)value;

	if (length > SMALL_BITS) {
		head = (unsigned)(value >> (length - 1 - shown)) & ((1u << shown) - 1);
		head += length > LONG ? FIRST_LONG + (length - LONG - 1) * 2 : SMALL + (length - SMALL_BITS - 1) * 8;
	}
	head = pack_byte(c, column, (uint8_t)head);
	if (head < SMALL)
		return head;
	if (head < FIRST_LONG) {
		shown = 3;
		length = (head - SMALL) / 8 + SMALL_BITS + 1;
		head = 8 + (head - SMALL) % 8;
	} else {
		shown = 1;
		length = (head - FIRST_LONG) / 2 + LONG + 1;
		head = 2 + (head - FIRST_LONG) % 2;
	}
	length -= 1 + shown;
	c->at[column].bits += length;
	return (uint64_t)head << length | bits(c, value & ((1ull << length) - 1), length);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

struct length { /* of a column that has any bytes; one of none ends the list */
	uint32_t column, bytes;
};

static void put_length(struct pack_columns *c, struct pack_column *whole, unsigned column, size_t bytes)
{
	struct length l = { column, (uint32_t)bytes };

	if (room_for(c, whole, sizeof(l))) {
		memcpy(whole->bytes + whole->n, &l, sizeof(l));
		whole->n += sizeof(l);
	}
}

bool pack_columns_join(struct pack_columns *c, struct pack_column *whole)
{
	if (c->n_word) /* the last byte is filled up */
		few_bits(c, 0, 8 - c->n_word);
	whole->n = 0;
	for (unsigned i = 0; i < PACK_COLUMNS; i++)
		if (c->at[i].n)
			put_length(c, whole, i, c->at[i].n);
	put_length(c, whole, 0, 0);
	for (unsigned i = 0; i < PACK_COLUMNS && !c->failed; i++)
		if (c->at[i].n && room_for(c, whole, c->at[i].n)) {
			memcpy(whole->bytes + whole->n, c->at[i].bytes, c->at[i].n);
			whole->n += c->at[i].n;
		}
	return !c->failed;
}

bool pack_columns_unpack(struct pack_columns *c, const uint8_t *whole, size_t n, const uint8_t *bits, size_t n_bits)
{
	uint8_t *bytes = (uint8_t *)(uintptr_t)whole; /* columns that are unpacked are only read */
	size_t lengths = 0;
	struct length l;

	*c = (struct pack_columns){ .unpacks = true, .bits = { .bytes = (uint8_t *)(uintptr_t)bits, .n = n_bits } };
	do {
		if (n - lengths < sizeof(l))
			return false;
		memcpy(&l, whole + lengths, sizeof(l));
		lengths += sizeof(l);
		if (l.column >= PACK_COLUMNS || (l.bytes && c->at[l.column].n))
			return false;
		c->at[l.column].n += l.bytes;
	} while (l.bytes);
	n -= lengths;
	bytes += lengths;
	for (unsigned i = 0; i < PACK_COLUMNS; i++) {
		if (c->at[i].n > n)
			return false;
		c->at[i].bytes = bytes;
		bytes += c->at[i].n;
		n -= c->at[i].n;
	}
	return n == 0;
}

bool pack_columns_ended(const struct pack_columns *c)
{
	for (unsigned i = 0; i < PACK_COLUMNS; i++)
		if (c->at[i].at != c->at[i].n)
			return false;
	return !c->failed && c->bits.at == c->bits.n;
}

void pack_columns_free(struct pack_columns *c)
{
	for (unsigned i = 0; i < PACK_COLUMNS && !c->unpacks; i++)
		free(c->at[i].bytes);
	if (!c->unpacks)
		free(c->bits.bytes);
	memset(c, 0, sizeof(*c));
}
