/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_frames.h"

#include "pack_memory.h"

enum next { /* of a frame that does not stand where it stood last within the two around it */
	    NEXT_NEW,
	    NEXT_ELSEWHERE, /* one that is known, but not from here */
	    NEXT_HERE,      /* the last one that stood within the one around it, the one before … */
};

/* ---- frames that are known -------------------------------------------------------------------------- */

static uint32_t hash_of(const struct gst_frame *f)
{
	return pack_hash((uint32_t)(f->at ^ f->at >> 32), f->of << 2 | f->kind);
}

static bool same(const struct gst_frame *a, const struct gst_frame *b)
{
	return a->at == b->at && a->of == b->of && a->kind == b->kind;
}

/* Its place in the index, or the free one where it belongs: half of them are free. */
static uint16_t *place_of(struct pack_known *k, const struct gst_frame *f)
{
	uint32_t i = hash_of(f) % (2 * PACK_FRAMES);

	while (k->index[i] && !same(&k->at[k->index[i]], f))
		i = (i + 1) % (2 * PACK_FRAMES);
	return &k->index[i];
}

/* 0: there is no number left. */
static unsigned add(struct pack_known *k, const struct gst_frame *f)
{
	uint16_t *place = place_of(k, f);

	if (!*place && k->n + 1 < PACK_FRAMES) {
		*place = (uint16_t)++k->n;
		k->at[k->n] = *f;
	}
	return *place;
}

static uint16_t *within(struct pack_known *k, unsigned outer, unsigned around)
{
	return &k->within[pack_hash(outer, around) % (2 * PACK_FRAMES)];
}

static void met(struct pack_known *k, unsigned outer, unsigned around, unsigned number)
{
	uint16_t *next = k->next[outer];
	unsigned i = 0;

	while (i < PACK_NEXT - 1 && next[i] != number)
		i++;
	memmove(next + 1, next, i * sizeof(*next));
	next[0] = *within(k, outer, around) = (uint16_t)number;
}

/* ---- one frame -------------------------------------------------------------------------------------- */

/* It is of the newest code, or of one so much older; and so far from where that was last. */
static void new_frame(struct pack_model *m, struct gst_frame *f)
{
	struct pack_memory *y = m->memory;
	struct pack_columns *c = &m->columns;
	uint32_t more;
	uint64_t *at, far;

	f->kind = pack_byte(c, PACK_USE_FRAME_KIND, (uint8_t)f->kind);
	more = y->most_of + 1 - f->of;
	more = (uint32_t)pack_number(c, PACK_USE_FRAME_OF, more << 1 ^ -(more >> 31));
	f->of = y->most_of + 1 - (more >> 1 ^ -(more & 1));
	if (f->of > y->most_of && f->kind == GST_FRAME_PYTHON)
		y->most_of = f->of;
	at = &y->last_at[pack_hash(f->of, f->kind) % PACK_STREAMS];
	far = f->at - *at;
	far = pack_number(c, PACK_USE_FRAME_AT, far << 1 ^ -(far >> 63));
	f->at = *at + (far >> 1 ^ -(far & 1));
}

/* One that was not foreseen. Returns its number; 0: it has none. */
static unsigned code_next(struct pack_model *m, unsigned outer, struct gst_frame *f)
{
	struct pack_known *k = &m->memory->frames;
	struct pack_columns *c = &m->columns;
	unsigned number = c->unpacks ? 0 : *place_of(k, f), which = number ? NEXT_ELSEWHERE : NEXT_NEW;

	for (unsigned i = 0; i < PACK_NEXT && which == NEXT_ELSEWHERE; i++)
		if (k->next[outer][i] == number)
			which = NEXT_HERE + i;
	which = pack_byte(c, PACK_USE_FRAME_NEXT, (uint8_t)which);
	if (which == NEXT_NEW) {
		new_frame(m, f);
		return add(k, f);
	}
	if (which == NEXT_ELSEWHERE)
		number = (unsigned)pack_number(c, PACK_USE_FRAME_KNOWN, number);
	else if (which - NEXT_HERE < PACK_NEXT)
		number = k->next[outer][which - NEXT_HERE];
	if (number == 0 || number > k->n) {
		c->failed = true;
		return 0;
	}
	*f = k->at[number];
	return number;
}

/* ---- a stack ---------------------------------------------------------------------------------------- */

static struct gst_frame frame_at(const uint8_t *frames, unsigned i)
{
	struct gst_frame f;

	memcpy(&f, frames + i * sizeof(f), sizeof(f));
	return f;
}

/* Nothing but frames? Then none has anything where nothing should be, and a kind there is. */
static bool are_frames(const uint8_t *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct gst_frame f = frame_at(frames, i);

		if (f.zero || f.kind > UINT8_MAX)
			return false;
	}
	return true;
}

/* How many of n frames, from the outermost, stand where they stood last. */
static unsigned foreseen(struct pack_known *k, const uint8_t *frames, unsigned n, unsigned outer, unsigned around)
{
	unsigned run = 0;

	for (; run < n; run++) {
		struct gst_frame f = frame_at(frames, n - 1 - run);
		unsigned number = *within(k, outer, around);

		if (number == 0 || !same(&k->at[number], &f))
			break;
		around = outer;
		outer = number;
	}
	return run;
}

uint32_t pack_frames(struct pack_model *m, uint8_t *frames, uint32_t size)
{
	struct pack_known *k = &m->memory->frames;
	struct pack_columns *c = &m->columns;
	unsigned n = size / sizeof(struct gst_frame), run = 0, outer = 0, around = 0, number;
	bool counted = false; /* what is not foreseen follows what is */

	if (!pack_byte(c, PACK_USE_FRAME_KIND, c->unpacks ? 0 : are_frames(frames, n)))
		return 0;
	for (unsigned i = n; i > 0 && !c->failed; i--) {
		struct gst_frame f = frame_at(frames, i - 1);

		if (!counted)
			run = (unsigned)pack_number(c, PACK_USE_FRAME,
						    c->unpacks ? 0 : foreseen(k, frames, i, outer, around));
		counted = run > 0;
		if (run) {
			run--;
			number = *within(k, outer, around);
			f = k->at[number];
		} else {
			number = code_next(m, outer, &f);
		}
		m->memory->last_at[pack_hash(f.of, f.kind) % PACK_STREAMS] = f.at;
		if (number)
			met(k, outer, around, number);
		around = outer;
		outer = number;
		f.zero = 0;
		memcpy(frames + (i - 1) * sizeof(f), &f, sizeof(f));
	}
	return n * (uint32_t)sizeof(struct gst_frame);
}
