/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_columns.h: where the values of a block stand: one column for each thing that is said, so that alike stands beside alike, and the noise apart.
 *
 *   a byte      in its column
 *   a number    a byte in its column for how long it is and how it begins; the bits behind that, which no one foresees, in one row for all columns
 *   plain       bytes as they are, in a column of their own
 *
 * zstd packs the columns, one behind the other; the row of bits stands as it is. One code goes both ways: each function is given what is packed, and
 * returns what is unpacked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_COLUMNS 1088u

struct pack_column {
	uint8_t *bytes; /* packing: owned; unpacking: borrowed */
	size_t n, cap;
	size_t at;     /* unpacking: the next one */
	uint64_t bits; /* packing: of its numbers, in the row */
};

struct pack_columns {
	bool unpacks;
	bool failed; /* more was unpacked than there is; or, and then */
	bool no_memory;
	struct pack_column at[PACK_COLUMNS], bits;
	uint64_t word; /* bits on their way: the last of them lowest */
	unsigned n_word;
};

/* Begins anew; the memory is used again. */
void pack_columns_pack(struct pack_columns *c);
/* All columns behind a list of their lengths, and the bits: valid until the next block is begun. False: no memory. */
bool pack_columns_join(struct pack_columns *c, struct pack_column *whole);
/* Of what was joined. False: it never was. */
bool pack_columns_unpack(struct pack_columns *c, const uint8_t *whole, size_t n, const uint8_t *bits, size_t n_bits);
/* All of it was used. */
bool pack_columns_ended(const struct pack_columns *c);
/* Only of one that packs. */
void pack_columns_free(struct pack_columns *c);

uint8_t pack_byte(struct pack_columns *c, unsigned column, uint8_t value);
uint64_t pack_number(struct pack_columns *c, unsigned column, uint64_t value);
void pack_plain(struct pack_columns *c, unsigned column, uint8_t *bytes, size_t n);
