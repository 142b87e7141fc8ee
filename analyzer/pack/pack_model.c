/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_model.h"

#include <stdlib.h>

#include "pack_frames.h"
#include "pack_values.h"
#include "read/reader_types.h"

/* What comes next in a segment, in one byte as far as there is room. */
enum step {
	STEP_END,        /* only zeros */
	STEP_WORD,       /* eight bytes that are no sound record */
	STEP_NEW,        /* a record of a new shape */
	STEP_KNOWN,      /* one of the first shape, of the second … */
	STEP_LONG = 255, /* its number is in two bytes that follow */
};

/* ---- shapes ----------------------------------------------------------------------------------------- */

static const struct pack_layout *layout_of(const struct pack_model *m, uint16_t type, uint16_t size)
{
	const struct pack_layout *l = type < PACK_TYPES ? &m->layouts[type] : NULL;

	return l && l->n && size >= l->whole ? l : NULL;
}

static void shape_of(const struct pack_model *m, const uint8_t *record, struct pack_shape *out)
{
	struct gst_record h;
	const struct pack_layout *l;

	memcpy(&h, record, sizeof(h));
	memset(out, 0, sizeof(*out));
	out->type = h.type;
	out->size = h.size;
	l = layout_of(m, h.type, h.size);
	for (unsigned i = 0; l && i < l->n; i++) {
		const struct pack_field *f = &pack_fields[l->first + i];

		if (f->kind == PACK_SAME)
			memcpy(out->bytes + f->offset, record + f->offset, f->bytes);
	}
}

/* Type, size, and what is the same in all records of it. */
static void new_shape(struct pack_model *m, struct pack_shape *shape)
{
	const struct pack_layout *l;

	pack_plain(&m->columns, PACK_USE_SHAPE, (uint8_t *)&shape->type, sizeof(shape->type));
	pack_plain(&m->columns, PACK_USE_SHAPE, (uint8_t *)&shape->size, sizeof(shape->size));
	l = layout_of(m, shape->type, shape->size);
	for (unsigned i = 0; l && i < l->n; i++) {
		const struct pack_field *f = &pack_fields[l->first + i];

		if (f->kind == PACK_SAME)
			pack_plain(&m->columns, PACK_USE_SHAPE, shape->bytes + f->offset, f->bytes);
	}
}

static unsigned code_step(struct pack_model *m, unsigned step)
{
	struct pack_columns *c = &m->columns;
	unsigned low, high;

	step = step < STEP_LONG ? pack_byte(c, PACK_USE_STEP, (uint8_t)step)
				: pack_byte(c, PACK_USE_STEP, STEP_LONG) | step << 8;
	if ((step & 255) != STEP_LONG)
		return step;
	step >>= 8;
	low = pack_byte(c, PACK_USE_STEP, (uint8_t)step);
	high = pack_byte(c, PACK_USE_STEP, (uint8_t)(step >> 8));
	return low | high << 8;
}

/* ---- one record ------------------------------------------------------------------------------------- */

/* Does a whole, sound record stand here? Then nothing of its header need be said but type and size. */
static bool is_sound(const struct pack_model *m, const uint8_t *bytes, uint32_t at, uint32_t room)
{
	struct gst_record h;

	if (room - at < sizeof(h))
		return false;
	memcpy(&h, bytes + at, sizeof(h));
	return h.size >= sizeof(h) && h.size % 8 == 0 && h.size <= room - at && h.commit == GST_COMMIT &&
	       h.check == gst_record_check(h.type, h.size, at) &&
	       record_fits(m->kind, (const struct gst_record *)(const void *)(bytes + at));
}

/* All of the record at `at` but its shape, which has this number. Returns its size, 0: failed. */
static uint32_t code_record(struct pack_model *m, struct pack_thread *t, const struct pack_shape *shape,
			    uint16_t number, uint8_t *bytes, uint32_t at, uint32_t room)
{
	struct gst_record h = { shape->type, shape->size, gst_record_check(shape->type, shape->size, at), GST_COMMIT };
	const struct pack_layout *l = layout_of(m, shape->type, shape->size);
	uint8_t *record = bytes + at;
	uint32_t done = l ? l->whole : sizeof(h);

	if (shape->size < sizeof(h) || shape->size % 8 || shape->size > room - at) {
		m->columns.failed = true;
		return 0;
	}
	if (m->columns.unpacks) {
		memcpy(record, shape->bytes, l ? l->whole : 0);
		memcpy(record, &h, sizeof(h));
	}
	if (l)
		pack_values(m, t, l, number, record);
	if (shape->type == GST_STACK && m->kind == GST_FILE_PROCESS && l)
		done += pack_frames(m, record + done, shape->size - done);
	pack_plain(&m->columns, PACK_USE_PLAIN, record + done, shape->size - done);
	pack_thread_met(t, number);
	return m->columns.failed ? 0 : shape->size;
}

/* ---- one segment ------------------------------------------------------------------------------------ */

/* Its own header, by which the thread is known. The check value is that of the rest, mostly. */
static void code_header(struct pack_model *m, uint8_t *bytes)
{
	struct gst_segment_header h;

	memcpy(&h, bytes, sizeof(h));
	h.check ^= gst_hash32(&h, sizeof(h), offsetof(struct gst_segment_header, check));
	pack_plain(&m->columns, PACK_USE_HEADER, (uint8_t *)&h, sizeof(h));
	h.check ^= gst_hash32(&h, sizeof(h), offsetof(struct gst_segment_header, check));
	memcpy(bytes, &h, sizeof(h));
}

/* Where the last byte stands that is not zero, and one. */
static uint32_t end_of(const uint8_t *bytes, uint32_t room)
{
	while (room && bytes[room - 1] == 0)
		room--;
	return room;
}

/* What comes next, from the bytes; of a record its shape. number: PACK_NO_SHAPE of a new one. */
static unsigned next_step(struct pack_model *m, const uint8_t *bytes, uint32_t at, uint32_t end, uint32_t room,
			  struct pack_shape *shape)
{
	uint16_t number;

	if (at >= end)
		return STEP_END;
	if (!is_sound(m, bytes, at, room))
		return STEP_WORD;
	shape_of(m, bytes + at, shape);
	number = pack_shapes_find(&m->shapes, shape);
	return number == PACK_NO_SHAPE ? STEP_NEW : (unsigned)STEP_KNOWN + number;
}

/* A record whose shape the step says. Returns its size, 0: failed. */
static uint32_t code_step_record(struct pack_model *m, struct pack_thread *t, unsigned step, struct pack_shape *shape,
				 uint8_t *bytes, uint32_t at, uint32_t room)
{
	uint16_t number;

	if (step == STEP_NEW) {
		new_shape(m, shape);
		number = pack_shapes_add(&m->shapes, shape, &m->columns.no_memory);
		m->columns.failed |= m->columns.no_memory;
	} else if (step - STEP_KNOWN >= m->shapes.n) {
		m->columns.failed = true;
		return 0;
	} else {
		number = (uint16_t)(step - STEP_KNOWN);
		*shape = m->shapes.at[number];
	}
	return m->columns.failed ? 0 : code_record(m, t, shape, number, bytes, at, room);
}

bool pack_model_segment(struct pack_model *m, uint8_t *bytes, uint32_t room)
{
	struct pack_columns *c = &m->columns;
	uint32_t end = c->unpacks ? 0 : end_of(bytes, room), at = sizeof(struct gst_segment_header), n, tid;
	struct pack_shape shape = { 0 };
	struct pack_thread *t;
	unsigned step;

	if (code_step(m, end > 0 ? STEP_WORD : STEP_END) == STEP_END)
		return !c->failed;
	if (room < at) {
		pack_plain(c, PACK_USE_PLAIN, bytes, room);
		return !c->failed;
	}
	code_header(m, bytes);
	memcpy(&tid, bytes + offsetof(struct gst_segment_header, tid), sizeof(tid));
	t = pack_thread_of(m, tid);
	while (at < room && !c->failed) {
		step = code_step(m, c->unpacks ? 0 : next_step(m, bytes, at, end, room, &shape));
		if (step == STEP_END)
			break;
		if (step == STEP_WORD) {
			n = room - at < 8 ? room - at : 8;
			pack_plain(c, PACK_USE_PLAIN, bytes + at, n);
			at += n;
		} else {
			at += code_step_record(m, t, step, &shape, bytes, at, room);
		}
	}
	return !c->failed;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

bool pack_model_new(struct pack_model *m, uint32_t kind, struct pack_clock clock)
{
	*m = (struct pack_model){ .kind = kind, .clock = clock, .rounds = true, .memory = pack_memory_new() };
	pack_layouts(m->layouts);
	return m->memory != NULL;
}

void pack_model_begin(struct pack_model *m)
{
	m->grid = (struct pack_grid){ .step = m->clock.step };
	pack_shapes_clear(&m->shapes);
	pack_memory_clear(m->memory);
}

void pack_model_free(struct pack_model *m)
{
	pack_columns_free(&m->columns);
	pack_shapes_free(&m->shapes);
	free(m->memory);
	*m = (struct pack_model){ 0 };
}
