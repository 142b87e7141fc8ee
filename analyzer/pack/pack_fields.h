/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_fields.h: what records are made of, as packing sees it (pack_fields.def). */
#pragma once

#include <stdint.h>
#include <string.h>

#include "shim/format_host.h"

enum pack_kind { PACK_SAME, PACK_TIME, PACK_AFTER, PACK_VALUE, PACK_COUNT, PACK_SEQ, PACK_LOOK, PACK_PACE, PACK_STACK };

struct pack_field {
	uint16_t type;   /* of the record */
	uint8_t kind;    /* enum pack_kind */
	uint8_t bytes;   /* 1, 2, 4, 8 */
	uint16_t offset; /* in the record */
	uint16_t whole;  /* bytes of the struct, its header included */
};

#define PACK_TYPES 64u /* numbers of types that have rows are below */
#define PACK_STRUCT_MOST 124u /* bytes of a struct with rows */
#define PACK_FIELDS_MOST 512u

/* All of them, those of one type together. */
extern const struct pack_field pack_fields[];
extern const unsigned pack_n_fields;

/* Those of each type: first … first + n; n 0: it is stored as it is. */
struct pack_layout {
	uint16_t first, n;
	uint16_t whole;
};
void pack_layouts(struct pack_layout out[PACK_TYPES]);

static inline uint64_t pack_get(const uint8_t *record, const struct pack_field *f)
{
	uint64_t value = 0;

	memcpy(&value, record + f->offset, f->bytes);
	return value;
}

static inline void pack_set(uint8_t *record, const struct pack_field *f, uint64_t value)
{
	memcpy(record + f->offset, &value, f->bytes);
}
