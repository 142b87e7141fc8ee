/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_model.h: what the bytes of a recording are made of, said in columns, and from them made again: PACK.md, "Segments".
 *
 * One code goes both ways, so what was packed is what is unpacked. It takes any bytes: what is no sound record is kept as it is. It learns as
 * it goes, from the beginning of a block to its end: the segments of a block come in their order, each once. */
#pragma once

#include "pack_clock.h"
#include "pack_columns.h"
#include "pack_fields.h"
#include "pack_grid.h"
#include "pack_shapes.h"

struct pack_model {
	struct pack_columns columns;
	struct pack_grid grid;
	struct pack_clock clock;
	struct pack_layout layouts[PACK_TYPES];
	uint32_t kind; /* enum gst_file_kind */
	bool rounds;   /* numbers that the recorder rounds are told without their zeros */
	struct pack_shapes shapes;
	struct pack_memory *memory;
};

/* Of this version's archives. False: no memory. */
bool pack_model_new(struct pack_model *m, uint32_t kind, struct pack_clock clock);
void pack_model_free(struct pack_model *m);

/* A block begins: what was learnt is forgotten. The columns are begun by the caller. */
void pack_model_begin(struct pack_model *m);
/* One segment, or what the file has of it: `room` bytes, GST_SEGMENT_BYTES at most. Unpacking: they are zero before. False: columns.failed. */
bool pack_model_segment(struct pack_model *m, uint8_t *bytes, uint32_t room);

/* Columns. A field has two: which of the guesses it was, and how far off. */
enum pack_use {
	PACK_USE_WHICH = 0,
	PACK_USE_MORE = PACK_FIELDS_MOST,
	PACK_USE_STEP = 2 * PACK_FIELDS_MOST, /* of a segment: its records' shapes */
	PACK_USE_SHAPE,      /* what is new in a shape */
	PACK_USE_HEADER,     /* of segments */
	PACK_USE_OFF,        /* off the clock's steps */
	PACK_USE_FRAME,      /* of a stack: how many were foreseen, */
	PACK_USE_FRAME_NEXT, /* which was the next one, */
	PACK_USE_FRAME_KNOWN, /* its number, where it is known from elsewhere, */
	PACK_USE_FRAME_KIND, /* and of one that was not: its kind, */
	PACK_USE_FRAME_OF,   /* what it is of, */
	PACK_USE_FRAME_AT,   /* and how far from where that was last */
	PACK_USE_PLAIN,
	PACK_USE_LOW, /* of a rounded number, what is not zero of the bits that mostly are */
	PACK_USE_END,
};
_Static_assert(PACK_USE_END <= PACK_COLUMNS, "columns");
