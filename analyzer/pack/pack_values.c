/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_values.h"

#include <stdlib.h>

#include "pack_memory.h"

/* ---- what is remembered ----------------------------------------------------------------------------- */

struct pack_memory *pack_memory_new(void)
{
	return calloc(1, sizeof(struct pack_memory));
}

void pack_memory_clear(struct pack_memory *y)
{
	memset(y, 0, sizeof(*y));
}

struct pack_thread *pack_thread_of(struct pack_model *m, uint32_t tid)
{
	struct pack_thread *t = &m->memory->threads[tid % PACK_THREADS];

	if (!t->known || t->tid != tid) {
		memset(t, 0, sizeof(*t));
		t->tid = tid;
		t->known = true;
	}
	return t;
}

void pack_thread_met(struct pack_thread *t, uint16_t shape)
{
	t->shapes[2] = t->shapes[1];
	t->shapes[1] = t->shapes[0];
	t->shapes[0] = shape;
	t->path = pack_hash(pack_hash(shape, t->shapes[1]), t->shapes[2]);
}

static void value_met(struct pack_value *v, uint64_t value)
{
	v->more = value - v->value;
	v->value = value;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

static uint64_t mask_of(const struct pack_field *f)
{
	return f->bytes < 8 ? (1ull << 8 * f->bytes) - 1 : UINT64_MAX;
}

/* How many steps of the grid lie from one number to another, or by how much it is more. */
static int64_t way(const struct pack_grid *g, uint64_t from, uint64_t to)
{
	return g ? pack_grid_steps(g, from, to) : (int64_t)(to - from);
}

static uint64_t gone(const struct pack_grid *g, uint64_t from, int64_t way)
{
	return g ? pack_grid_after(g, from, way) : from + (uint64_t)way;
}

/* What a number may be: one of the first `exact` guesses; or it is some way off one of the others, the nearest of them. */
struct guesses {
	uint64_t at[8];
	unsigned exact, n;
	const struct pack_grid *grid; /* NULL: any number */
};

/* Which: the guess that is right, or `exact` and twice the number of the near one, and 1 where it is less than that. */
static unsigned choose(const struct guesses *g, uint64_t value, uint64_t *off)
{
	unsigned which = g->exact;

	for (unsigned i = 0; i < g->exact; i++)
		if (value == g->at[i])
			return i;
	*off = UINT64_MAX;
	for (unsigned i = g->exact; i < g->n; i++) {
		int64_t to = way(g->grid, g->at[i], value);
		uint64_t least = (uint64_t)(to < 0 ? ~to : to);

		if (least < *off) {
			*off = least;
			which = g->exact + 2 * (i - g->exact) + (to < 0);
		}
	}
	return which;
}

/* The value, or the place of the grid that it is near. *exact: it was one of the guesses. */
static uint64_t code_near(struct pack_model *m, unsigned use, const struct guesses *g, uint64_t value, bool *exact)
{
	struct pack_columns *c = &m->columns;
	uint64_t off = 0;
	unsigned which = c->unpacks ? 0 : choose(g, value, &off), near;

	which = pack_byte(c, PACK_USE_WHICH + use, (uint8_t)which);
	*exact = which < g->exact;
	if (*exact)
		return g->at[which];
	off = pack_number(c, PACK_USE_MORE + use, off);
	near = g->exact + (which - g->exact) / 2;
	if (near >= g->n) {
		c->failed = true;
		return 0;
	}
	return gone(g->grid, g->at[near], (int64_t)((which - g->exact) % 2 ? ~off : off));
}

static uint64_t code_number(struct pack_model *m, unsigned use, const struct guesses *g, uint64_t value)
{
	bool exact;

	return code_near(m, use, g, value, &exact);
}

static uint64_t code_value(struct pack_model *m, const struct pack_thread *t, unsigned use, uint16_t shape,
			   uint32_t also, uint64_t value)
{
	const struct pack_field *f = &pack_fields[use];
	struct pack_memory *y = m->memory;
	uint64_t mask = mask_of(f);
	struct pack_value *there = &y->there[pack_hash(t->path ^ also, use << 16 | shape) % PACK_PLACES];
	struct pack_value *same = &y->shape[pack_hash(use, shape) % PACK_PLACES], *field = &y->field[use];
	struct guesses g = { .exact = 5, .n = 6 };

	g.at[0] = there->value;
	g.at[1] = g.at[5] = same->value;
	g.at[2] = (same->value + same->more) & mask;
	g.at[3] = (field->value + field->more) & mask;
	g.at[4] = f->kind == PACK_STACK ? y->stack : there->value;
	value = code_number(m, use, &g, value) & mask;
	value_met(there, value);
	value_met(same, value);
	value_met(field, value);
	return value;
}

static uint64_t code_count(struct pack_model *m, const struct pack_thread *t, unsigned use, uint64_t value)
{
	const struct pack_field *f = &pack_fields[use];
	struct guesses g = { .at = { pack_get(t->last[f->type], f) }, .n = 1 };

	return code_number(m, use, &g, value) & mask_of(f);
}

/* ---- what is rounded -------------------------------------------------------------------------------- */

#define ROUND_SEEN 16 /* values: so many say how the next ones are rounded */
#define ROUND_LEAST 8 /* bits: a clock's steps are mostly fewer ticks than that, and then known better */
#define ROUND_MOST 20

/* Bits; 0: it is not. */
static unsigned rounded(const struct pack_model *m, unsigned use)
{
	unsigned bits = m->memory->round[use].bits;

	return m->rounds && bits >= ROUND_LEAST ? bits : 0;
}

/* Such a number without its zeros; and these, as there may be one that has none. */
static uint64_t code_rounded(struct pack_model *m, unsigned use, struct guesses *g, uint64_t value)
{
	unsigned bits = rounded(m, use);
	uint64_t low, mask = (1ull << bits) - 1;

	for (unsigned i = 0; i < g->n; i++)
		g->at[i] >>= bits;
	low = pack_number(&m->columns, PACK_USE_LOW, value & mask) & mask;
	return code_number(m, use, g, value >> bits) << bits | low;
}

static void round_met(struct pack_model *m, unsigned use, uint64_t value)
{
	struct pack_round *r = &m->memory->round[use];
	unsigned zeros;

	if (!value)
		return; /* which says nothing */
	zeros = (unsigned)__builtin_ctzll(value);
	zeros = zeros < ROUND_MOST ? zeros : ROUND_MOST;
	r->least = r->met && r->least < zeros ? r->least : (uint8_t)zeros;
	if (++r->met < ROUND_SEEN)
		return;
	r->bits = r->least;
	r->met = 0;
}

/* So many ns behind the thread's last record of that type as the clock's ticks say. */
static uint64_t code_pace(struct pack_model *m, const struct pack_thread *t, unsigned use, const uint8_t *record,
			  uint64_t value)
{
	const struct pack_field *f = &pack_fields[use], *ticks = f - 1;
	const uint8_t *last = t->last[f->type];
	uint64_t passed = pack_get(record, ticks) - pack_get(last, ticks);
	uint64_t ns = (uint64_t)((unsigned __int128)passed * m->clock.pace >> 32);
	struct guesses g = { .at = { pack_get(last, f) + ns }, .n = 1 };

	value = rounded(m, use) ? code_rounded(m, use, &g, value) : code_number(m, use, &g, value);
	round_met(m, use, value);
	return value;
}

static uint32_t code_seq(struct pack_model *m, unsigned use, const uint8_t *record, uint32_t value)
{
	struct gst_call call;
	uint32_t *seq, *newest = &m->memory->seq[PACK_STREAMS - 1];
	struct guesses g = { .exact = 3, .n = 4 };

	memcpy(&call, record, sizeof(call)); /* of which stream and flags are known */
	seq = &m->memory->seq[call.stream % PACK_STREAMS];
	g.at[0] = g.at[3] = *seq + (call.flags & GST_SUBMISSION ? 1 : 0);
	g.at[1] = call.flags & GST_SUBMISSION ? *seq : 0;
	g.at[2] = *newest; /* of those without a stream, what was the last submission anywhere */
	value = (uint32_t)code_number(m, use, &g, value);
	if (call.flags & GST_SUBMISSION)
		*seq = *newest = value;
	else if (value)
		*seq = value;
	return value;
}

/* ---- instants --------------------------------------------------------------------------------------- */

static void recent_met(struct pack_thread *t, uint64_t value)
{
	unsigned i = 0;

	while (i < PACK_RECENT - 1 && t->recent[i] != value)
		i++;
	memmove(t->recent + 1, t->recent, i * sizeof(t->recent[0]));
	t->recent[0] = value;
	if (value > t->now)
		t->now = value;
}

/* … and what it is off the grid. */
static uint64_t code_instant(struct pack_model *m, struct pack_thread *t, unsigned use, struct guesses *g,
			     uint64_t value)
{
	uint64_t at, off;
	bool exact = true; /* what is rounded is told without steps */

	g->grid = rounded(m, use) ? NULL : &m->grid;
	at = g->grid ? code_near(m, use, g, value, &exact) : code_rounded(m, use, g, value);
	if (!exact && m->grid.step) {
		off = value - at;
		off = pack_number(&m->columns, PACK_USE_OFF, off << 1 ^ -(off >> 63));
		off = off >> 1 ^ -(off & 1);
		at += off;
		pack_grid_met(&m->grid, at, (int64_t)off);
	}
	if (at)
		recent_met(t, at);
	round_met(m, use, at);
	return at;
}

static void guess_recent(const struct pack_thread *t, struct guesses *g)
{
	memcpy(g->at, t->recent, sizeof(t->recent));
	g->exact = PACK_RECENT;
}

static uint64_t code_time(struct pack_model *m, struct pack_thread *t, unsigned use, uint16_t shape, uint64_t from,
			  uint64_t value)
{
	struct pack_value *same = &m->memory->shape[pack_hash(use, shape) % PACK_PLACES];
	const struct pack_field *f = &pack_fields[use];
	struct guesses g = { .n = 0 };

	if (f->type != GST_CALL || f->kind == PACK_TIME)
		guess_recent(t, &g);
	if (f->type != GST_CALL) {
		g.at[g.exact++] = pack_get(t->last[f->type], f);
		g.at[g.exact++] = 0;
	}
	g.at[g.exact++] = from + same->value;
	g.n = g.exact;
	g.at[g.n++] = from;
	value = code_instant(m, t, use, &g, value);
	same->value = value - from;
	return value;
}

/* The recorder looks at a silent thread every now and then, and more rarely the longer it is silent (shim/sample.c). */
static uint64_t code_look(struct pack_model *m, struct pack_thread *t, unsigned use, uint32_t tid, uint64_t value)
{
	struct pack_looked *l = &m->memory->looked[tid % PACK_THREADS];
	struct guesses g = { .n = 0 };

	guess_recent(t, &g);
	g.at[g.exact] = l->at + l->interval;
	g.at[g.exact + 1] = l->at + l->interval + l->interval / 16;
	g.at[g.exact + 2] = t->now;
	g.n = g.exact + 3;
	value = code_instant(m, t, use, &g, value);
	l->interval = value - l->at;
	l->at = value;
	return value;
}

/* ---- records ---------------------------------------------------------------------------------------- */

void pack_values(struct pack_model *m, struct pack_thread *t, const struct pack_layout *layout, uint16_t shape,
		 uint8_t *record)
{
	uint64_t from = t->now;
	uint32_t also = 0;

	for (unsigned i = 0; i < layout->n; i++) {
		unsigned use = layout->first + i;
		const struct pack_field *f = &pack_fields[use];
		uint64_t value = pack_get(record, f);

		switch ((enum pack_kind)f->kind) {
		case PACK_SAME:
			continue;
		case PACK_TIME:
			value = from = code_time(m, t, use, shape, t->now, value);
			break;
		case PACK_AFTER:
			value = code_time(m, t, use, shape, from, value);
			from = value ? value : from;
			break;
		case PACK_LOOK:
			value = code_look(m, t, use, ((struct gst_sample *)(void *)record)->tid, value);
			break;
		case PACK_VALUE:
		case PACK_STACK:
			value = code_value(m, t, use, shape, also, value);
			also = pack_hash(also, (uint32_t)(value ^ value >> 32));
			break;
		case PACK_COUNT:
			value = code_count(m, t, use, value);
			break;
		case PACK_PACE:
			value = code_pace(m, t, use, record, value);
			break;
		case PACK_SEQ:
			value = code_seq(m, use, record, (uint32_t)value);
			break;
		}
		pack_set(record, f, value);
	}
	memcpy(t->last[pack_fields[layout->first].type], record, layout->whole);
	if (pack_fields[layout->first].type == GST_STACK)
		m->memory->stack = ((struct gst_stack *)(void *)record)->id;
}
