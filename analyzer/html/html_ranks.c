/* SPDX-License-Identifier: BSD-2-Clause */
/* html_ranks.c: the ranks beside each other: a row for each, a column for each step, or, where there are no steps, for equal pieces of time.
 * A step of one rank stands above the same of the others. Where they were not all seen from the same one on, clocks tell by how many they
 * differ: those of ranks that are aligned; else they are counted from the first. */
#include "html.h"

#include <stdlib.h>

#include "html_pack.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#define MOST_COLUMNS 2000
#define MOST_CELLS 400000
#define SLICES 240    /* of time */
#define MOST_SHIFT 16 /* steps that a rank may have begun later */
#define LOOKED_AT 256 /* steps, to find out */

struct cell {
	int64_t begin_ns, end_ns; /* on the rank's own clock */
	int64_t idle_ns;
	int64_t wait_ns; /* exposed, for other ranks */
	int64_t late_ns; /* that the others waited, exposed, where it came last */
};

struct rows {
	struct html *h;
	const struct ranks *r;
	size_t *row_of; /* 1 + row, by member; 0: it is no rank */
	size_t *shift;  /* the column of its first step, by member, before stride */
	size_t n, columns, stride;
	bool steps;
	struct cell *cells; /* row by row */
};

static const struct device_phases *phases_of(const struct rows *x, const struct rank_member *m)
{
	return &x->h->s->devices[m->device].phases;
}

/* ---- the columns --------------------------------------------------------------------------------------------------------- */

static bool is_step(const struct device_phases *of, size_t i)
{
	return of->steps[i].step->kind == STEP;
}

static int64_t step_begin(const struct rows *x, const struct rank_member *m, size_t i)
{
	return (int64_t)html_ns(x->h, m->clock, phases_of(x, m)->steps[i].step->begin_ns);
}

/* How far its steps lie from the other's, on the whole, if its first is the other's number `shift`. */
static double distance(const struct rows *x, const struct rank_member *m, const struct rank_member *other, int shift)
{
	const size_t n = phases_of(x, m)->n_steps, n_other = phases_of(x, other)->n_steps;
	size_t compared = 0;
	double sum = 0;

	for (size_t i = shift < 0 ? (size_t)-shift : 0; i < n && compared < LOOKED_AT; i++) {
		size_t k = (size_t)((int64_t)i + shift);

		if (k >= n_other)
			break;
		sum += (double)llabs(step_begin(x, m, i) - step_begin(x, other, k));
		compared++;
	}
	return compared ? sum / (double)compared : (double)INT64_MAX;
}

static int best_shift(const struct rows *x, const struct rank_member *m, const struct rank_member *other)
{
	int best = 0;
	double least = distance(x, m, other, 0);

	for (int shift = -MOST_SHIFT; shift <= MOST_SHIFT; shift++) {
		double d = distance(x, m, other, shift);

		if (d < least) {
			least = d;
			best = shift;
		}
	}
	return best;
}

/* Each rank's first column; how many there are. */
static size_t set_shifts(struct rows *x, size_t reference)
{
	const struct rank_member *at = x->r->members;
	size_t most = 0, least = SIZE_MAX;

	for (size_t i = 0; i < x->r->n_members; i++) {
		int shift = x->row_of[i] && x->r->aligned ? best_shift(x, &at[i], &at[reference]) : 0;

		if (!x->row_of[i])
			continue;
		x->shift[i] = (size_t)(MOST_SHIFT + shift);
		least = x->shift[i] < least ? x->shift[i] : least;
		if (x->shift[i] + phases_of(x, &at[i])->usual.n > most)
			most = x->shift[i] + phases_of(x, &at[i])->usual.n;
	}
	for (size_t i = 0; i < x->r->n_members; i++)
		x->shift[i] -= x->row_of[i] ? least : 0;
	return most - least;
}

/* Steps, if each rank has some. */
static void choose(struct rows *x)
{
	size_t most = 0, columns = MOST_COLUMNS, reference = 0;

	x->steps = true;
	for (size_t i = 0; i < x->r->n_members; i++) {
		size_t n = phases_of(x, &x->r->members[i])->usual.n;

		if (!rank_is_one(&x->r->members[i]))
			continue;
		x->row_of[i] = ++x->n;
		x->steps = x->steps && n;
		reference = n > most ? i : reference;
		most = n > most ? n : most;
	}
	x->steps = x->steps && x->n;
	if (x->steps)
		most = set_shifts(x, reference);
	if (x->n * columns > MOST_CELLS)
		columns = MOST_CELLS / x->n ? MOST_CELLS / x->n : 1;
	x->stride = x->steps ? (most + columns - 1) / columns : 1;
	x->columns = x->steps ? (most + x->stride - 1) / x->stride : columns < SLICES ? columns : SLICES;
}

static void set_steps(const struct rows *x, struct cell *row, const struct device_phases *of, size_t shift)
{
	size_t at = shift, last = 0;

	for (size_t i = 0; i < of->n_steps; i++) {
		const struct step_idle *step = &of->steps[i];
		struct cell *c = &row[at / x->stride];

		if (!is_step(of, i))
			continue;
		if (!c->end_ns)
			c->begin_ns = step->step->begin_ns;
		c->end_ns = step->step->end_ns;
		c->idle_ns = sum64(c->idle_ns, step->idle_ns);
		last = at++ / x->stride;
	}
	for (size_t i = 0; i < shift / x->stride; i++) /* those that it has not */
		row[i].begin_ns = row[i].end_ns = row[shift / x->stride].begin_ns;
	for (size_t i = last + 1; i < x->columns; i++)
		row[i].begin_ns = row[i].end_ns = row[last].end_ns;
}

/* The last slice may end a little behind what a time can be. */
static int64_t behind(int64_t begin_ns, uint64_t ns)
{
	return sum64(begin_ns, ns < INT64_MAX ? (int64_t)ns : INT64_MAX);
}

/* The slice of the page's time, on a rank's clock: as far from the device's begin as it is drawn there. */
static void set_slices(const struct rows *x, struct cell *row, const struct summary_device *d, uint32_t clock)
{
	const int64_t begin_ns = d->timeline->begin_ns - (int64_t)html_ns(x->h, clock, d->timeline->begin_ns);
	const uint64_t each = x->h->span_ns / x->columns + 1;
	size_t at = 0;

	for (size_t i = 0; i < x->columns; i++)
		row[i] = (struct cell){ .begin_ns = behind(begin_ns, i * each),
					.end_ns = behind(begin_ns, (i + 1) * each) };
	for (size_t g = 0; g < d->timeline->n_gaps; g++) {
		const struct gap *gap = &d->timeline->gaps[g];

		while (at + 1 < x->columns && row[at].end_ns <= gap->begin_ns)
			at++;
		for (size_t i = at; i < x->columns && row[i].begin_ns < gap->end_ns; i++)
			row[i].idle_ns +=
				max64(0, min64(gap->end_ns, row[i].end_ns) - max64(gap->begin_ns, row[i].begin_ns));
	}
}

/* ---- what is in them ----------------------------------------------------------------------------------------------------- */

static bool ends_before(const void *element, const void *key)
{
	return ((const struct cell *)element)->end_ns <= *(const int64_t *)key;
}

/* Where the part began; NULL: in none. */
static struct cell *cell_of(const struct rows *x, const struct rank_part *p)
{
	struct cell *row;
	size_t at;

	if (!x->row_of[p->member])
		return NULL;
	row = x->cells + (x->row_of[p->member] - 1) * x->columns;
	at = array_first(row, x->columns, sizeof(*row), ends_before, &p->op->begin_ns);
	return at < x->columns && row[at].begin_ns <= p->op->begin_ns ? &row[at] : NULL;
}

static void add_waits(const struct rows *x)
{
	for (size_t i = 0; i < x->r->n_collectives; i++) {
		const struct rank_collective *c = &x->r->collectives[i];
		struct cell *last = c->together && c->last != GST_NONE ? cell_of(x, &x->r->parts[c->last]) : NULL;

		for (size_t k = c->first; k < c->first + c->n; k++) {
			const struct rank_part *p = &x->r->parts[k];
			struct cell *cell = cell_of(x, p);

			if (cell)
				cell->wait_ns = sum64(cell->wait_ns, max64(p->exposed_wait_ns, 0));
			if (last && k != c->last)
				last->late_ns = sum64(last->late_ns, max64(p->exposed_wait_ns, 0));
		}
	}
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------------- */

enum what { BEGIN, LENGTH, IDLE, WAIT, LATE };

static uint64_t value(const struct rows *x, const struct cell *c, uint32_t clock, enum what what)
{
	switch (what) {
	case BEGIN:
		return html_ns(x->h, clock, c->begin_ns);
	case LENGTH:
		return (uint64_t)(c->end_ns - c->begin_ns);
	case IDLE:
		return (uint64_t)c->idle_ns;
	case WAIT:
		return (uint64_t)c->wait_ns;
	default:
		return (uint64_t)c->late_ns;
	}
}

static enum err_kind row_json(const struct rows *x, const struct rank_member *m, const struct cell *row,
			      struct error *e)
{
	static const char *const keys[] = { "b", "length", "idle", "wait", "late" };
	struct json *j = &x->h->json;
	enum err_kind kind = ERR_NONE;

	json_map(j);
	json_key_int(j, "rank", m->rank == GST_NONE ? -1 : (int64_t)m->rank);
	json_key_int(j, "device", x->h->s->devices[m->device].number);
	json_key_int(j, "host", html_string(&x->h->strings, m->trace->header.host));
	json_key_int(j, "pid", m->trace->header.pid);
	for (enum what what = BEGIN; !kind && what <= LATE; what++) {
		struct pack p;

		pack_begin(&p, what == BEGIN ? PACK_DELTA : PACK_VARINT);
		for (size_t i = 0; i < x->columns; i++)
			pack_add(&p, value(x, &row[i], m->clock, what));
		json_key(j, keys[what]);
		kind = pack_end(&p, j, e);
	}
	json_map_end(j);
	return kind;
}

static enum err_kind rows_json(const struct rows *x, struct error *e)
{
	struct json *j = &x->h->json;
	enum err_kind kind = ERR_NONE;

	json_key_map(j, "ranks");
	json_key_text(j, "by", x->steps ? "steps" : "time");
	json_key_int(j, "columns", (int64_t)x->columns);
	json_key_int(j, "stride", (int64_t)x->stride);
	json_key_array(j, "rows");
	for (size_t i = 0; !kind && i < x->r->n_members; i++)
		if (x->row_of[i])
			kind = row_json(x, &x->r->members[i], x->cells + (x->row_of[i] - 1) * x->columns, e);
	json_array_end(j);
	json_map_end(j);
	return kind;
}

enum err_kind html_ranks(struct html *h, struct error *e)
{
	const size_t n = h->s->ranks.n_members;
	struct rows x = {
		.h = h, .r = &h->s->ranks, .row_of = array_new(n, sizeof(size_t)), .shift = array_new(n, sizeof(size_t))
	};
	enum err_kind kind = ERR_NONE;

	if (x.row_of && x.shift)
		choose(&x);
	else
		kind = err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	if (x.n > 1) {
		x.cells = array_new(x.n * x.columns, sizeof(*x.cells));
		for (size_t i = 0; x.cells && i < x.r->n_members; i++) {
			const struct rank_member *m = &x.r->members[i];
			struct cell *row;

			if (!x.row_of[i])
				continue;
			row = x.cells + (x.row_of[i] - 1) * x.columns;
			if (x.steps)
				set_steps(&x, row, phases_of(&x, m), x.shift[i]);
			else
				set_slices(&x, row, &h->s->devices[m->device], m->clock);
		}
		if (x.cells) {
			add_waits(&x);
			kind = rows_json(&x, e);
		} else {
			kind = err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
		}
	}
	free(x.cells);
	free(x.row_of);
	free(x.shift);
	return kind;
}
