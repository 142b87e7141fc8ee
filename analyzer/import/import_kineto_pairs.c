/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_pairs.c: events in two halves. B and E nest within a thread (Trace Event Format, "Duration Events"). b and e (S and F, as they once were
 * called) have an id, which is one of a category (ibid., "Async Events"), and may begin and end anywhere.
 *
 * Halves of one thread, or of one id, should come in the order of time; where a file was written in blocks, or one half is astray, they do not. So all
 * wait for the end of the file: 56 bytes for each, and 8 for each number that it says, where records are kept (spill.h). An end closes the last that
 * began before it in the file, whatever comes between: kernels of one stream may overlap. Where that leaves an end of a thread alone, or before its
 * begin, and more of the thread's are paired in the order of time, as viewers do it, they are paired so. */
#include <stdlib.h>

#include "import_kineto_parts.h"
#include "tools/fnv.h"
#include "tools/spill.h"

#define NONE UINT32_MAX

struct half {
	uint64_t place, said; /* kineto_event's */
	int64_t ns;
	size_t numbers; /* the first of its own, one for each field that is said */
	struct kineto_name name;
	uint32_t where; /* of places */
	uint32_t link;  /* of a begin: the one that was open when it came; of an end: its begin. NONE */
	uint8_t class;
	bool begins;
	bool instant; /* in the file its other half is of the same time */
};

struct place { /* a thread; or an id, which is one of a process and category */
	uint64_t process, number;
	enum kineto_class class; /* the category's */
	bool started;
	bool astray;                /* in the order of the file an end is alone, or before its begin */
	uint32_t top;               /* the last half that is open; NONE */
	size_t pairs, pairs_before; /* in this order, and in the one before */
};

struct kineto_pairs {
	struct half *halves; /* in the order of the file */
	size_t n_halves, halves_cap;
	uint64_t *numbers;
	size_t n_numbers, numbers_cap;
	struct place *places;
	size_t n_places, places_cap;
	struct hash_index index;
};

static uint64_t hash_of(const struct place *x)
{
	uint64_t words[] = { x->process, x->number, x->started };

	return fnv1a(FNV_BEGIN, words, sizeof(words));
}

/* any: of whatever category, in which one is open. NULL: it is not there. */
static struct place *find(struct kineto_pairs *p, const struct place *x, bool any)
{
	uint64_t hash = hash_of(x);
	uint32_t i;

	for (size_t at = 0; (i = hash_next(&p->index, hash, &at)) != HASH_NONE;) {
		struct place *y = &p->places[i];

		if (y->process == x->process && y->number == x->number && y->started == x->started &&
		    (any ? y->top != NONE : y->class == x->class))
			return y;
	}
	return NULL;
}

static struct place said_place(const struct kineto_event *e, bool started)
{
	return (struct place){
		.process = e->said & KINETO_SAID(PID) ? kineto_number(e, KINETO_FIELD_PID) : 0,
		.number = started ? kineto_number(e, KINETO_FIELD_ID) : kineto_tid(e),
		.class = started ? e->class : KINETO_UNKNOWN,
		.started = started,
		.top = NONE,
	};
}

/* NULL: no memory. */
static struct place *place_of(struct kineto_pairs *p, const struct place *x)
{
	struct place *place = find(p, x, false);

	if (place)
		return place;
	if (!array_room(p->places, p->n_places, p->places_cap) ||
	    !hash_add(&p->index, hash_of(x), (uint32_t)p->n_places))
		return NULL;
	p->places[p->n_places] = *x;
	return &p->places[p->n_places++];
}

/* It is there only so that its end closes nothing else. */
static bool says_nothing(enum kineto_class class)
{
	return class == KINETO_UNKNOWN || kineto_is_left_out(class);
}

static bool keep_numbers(struct kineto_pairs *p, const struct kineto_event *e)
{
	for (unsigned field = KINETO_FIELD_PID; field < KINETO_FIELDS; field++) {
		bool drawn = field == KINETO_FIELD_TID && kineto_is_work(e->class);

		if (~e->said & 1ull << field)
			continue;
		if (!spill_room(p->numbers, p->n_numbers, p->numbers_cap))
			return false;
		p->numbers[p->n_numbers++] = drawn ? kineto_drawn(e) : kineto_number(e, field);
	}
	return true;
}

/* What counts of its texts is taken now: they are the next event's when that comes. */
static bool keep(struct kineto *k, const struct place *place, const struct kineto_event *e, bool begins)
{
	struct kineto_pairs *p = k->pairs;
	struct half half = {
		.place = e->place,
		.said = e->said,
		.ns = import_us_ns(e->begin),
		.numbers = p->n_numbers,
		.where = (uint32_t)(place - p->places),
		.link = NONE,
		.class = (uint8_t)e->class,
		.begins = begins,
	};

	if (begins && !says_nothing(e->class)) {
		half.name = kineto_name(k, e);
		if (kineto_process(k, e) == KINETO_NO_PROCESS)
			return false;
	}
	if (p->n_halves >= NONE || !spill_room(p->halves, p->n_halves, p->halves_cap) || !keep_numbers(p, e))
		return false;
	p->halves[p->n_halves++] = half;
	return true;
}

static struct kineto_event event_of(const struct kineto_pairs *p, const struct half *half)
{
	struct kineto_event e = { .place = half->place, .said = half->said, .class = half->class };
	const uint64_t *number = p->numbers + half->numbers;

	for (unsigned field = KINETO_FIELD_PID; field < KINETO_FIELDS; field++)
		if (e.said & 1ull << field)
			e.number[field - KINETO_FIELD_PID] = *number++;
	return e;
}

static bool is_pair(const struct half *begin, const struct half *end)
{
	return begin->ns <= end->ns;
}

/* An end closes the last that is open. Of a begin, and of an end that is alone, NULL. */
static struct half *nest(struct kineto_pairs *p, struct half *half)
{
	struct place *place = &p->places[half->where];
	struct half *begin;

	half->link = place->top;
	if (half->begins)
		place->top = (uint32_t)(half - p->halves);
	if (half->begins || half->link == NONE)
		return NULL;
	begin = &p->halves[half->link];
	place->top = begin->link;
	place->pairs += is_pair(begin, half);
	return begin;
}

static void nest_in_file(struct kineto_pairs *p, struct half *half)
{
	struct half *begin = nest(p, half);

	if (begin && begin->ns == half->ns)
		half->instant = begin->instant = true;
	if (!half->begins && (!begin || !is_pair(begin, half)))
		p->places[half->where].astray = true;
}

/* What the end says counts where the beginning had nothing. */
static void add_said(struct kineto_event *e, const struct kineto_event *end)
{
	for (unsigned field = KINETO_FIELD_ID; field < KINETO_FIELDS; field++)
		if (~e->said & end->said & 1ull << field) {
			e->number[field - KINETO_FIELD_PID] = end->number[field - KINETO_FIELD_PID];
			e->said |= 1ull << field;
		}
}

bool kineto_pair(struct kineto *k, const struct kineto_event *e)
{
	bool started = e->phase != 'B' && e->phase != 'E';
	bool begins = e->phase == 'B' || e->phase == 'b' || e->phase == 'S';
	struct place x, *place = NULL;

	if (!k->pairs) {
		k->pairs = calloc(1, sizeof(*k->pairs));
		if (!k->pairs)
			return false;
	}
	if (started && kineto_is_left_out(e->class)) /* whose ends have the category as well, and an id */
		return true;
	if (~e->said & KINETO_SAID(BEGIN) || (started && ~e->said & KINETO_SAID(ID))) {
		if (!kineto_is_left_out(e->class))
			kineto_lacks(k, e);
		return true;
	}
	if (begins && e->class == KINETO_UNKNOWN)
		kineto_other(k, e);
	x = said_place(e, started);
	if (started && !begins && e->class == KINETO_UNKNOWN && !e->category.bytes) /* it should say which */
		place = find(k->pairs, &x, true);
	if (!place)
		place = place_of(k->pairs, &x);
	if (!place || !keep(k, place, e, begins))
		return false;
	nest_in_file(k->pairs, &k->pairs->halves[k->pairs->n_halves - 1]);
	return true;
}

struct turn { /* of a half whose place is astray */
	int64_t ns;
	uint32_t where, half;
	uint8_t order; /* at one time: what ends, what takes none, what begins */
};

static int by_time(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->half < y->half ? -1 : x->half > y->half;
}

/* False: no memory. */
static bool find_turns(const struct kineto_pairs *p, struct turn **turns, size_t *n)
{
	size_t cap = 0;

	for (size_t i = 0; i < p->n_halves; i++) {
		const struct half *half = &p->halves[i];
		uint8_t order = half->instant ? 1 : half->begins ? 2 : 0;

		if (!p->places[half->where].astray)
			continue;
		if (!spill_room(*turns, *n, cap))
			return false;
		(*turns)[(*n)++] = (struct turn){ half->ns, half->where, (uint32_t)i, order };
	}
	return true;
}

static void start_again(struct kineto_pairs *p)
{
	for (size_t i = 0; i < p->n_places; i++)
		if (p->places[i].astray) {
			p->places[i].pairs_before = p->places[i].pairs;
			p->places[i].pairs = 0;
			p->places[i].top = NONE;
		}
}

/* Back to the order of the file, where the one of time pairs no more. */
static void nest_in_file_again(struct kineto_pairs *p)
{
	for (size_t i = 0; i < p->n_places; i++)
		p->places[i].astray &= p->places[i].pairs <= p->places[i].pairs_before;
	start_again(p);
	for (size_t i = 0; i < p->n_halves; i++)
		if (p->places[p->halves[i].where].astray)
			nest(p, &p->halves[i]);
}

static bool nest_by_time(struct kineto_pairs *p)
{
	struct turn *turns = NULL;
	size_t n = 0;
	bool fine = find_turns(p, &turns, &n);

	if (fine && n) {
		array_sort(turns, n, sizeof(*turns), by_time);
		start_again(p);
		for (size_t i = 0; i < n; i++)
			nest(p, &p->halves[turns[i].half]);
		nest_in_file_again(p);
	}
	spill_free(turns);
	return fine;
}

static bool tell_pair(struct kineto *k, const struct half *begin, const struct half *end)
{
	struct kineto_event e = event_of(k->pairs, begin), last = event_of(k->pairs, end);

	if (!is_pair(begin, end)) {
		kineto_lacks(k, &e);
		return true;
	}
	add_said(&e, &last);
	return kineto_complete(k, &e, begin->name, begin->ns, end->ns, k->pairs->places[begin->where].started);
}

static bool tell_end(struct kineto *k, const struct half *end)
{
	const struct half *begin = end->link == NONE ? NULL : &k->pairs->halves[end->link];
	struct kineto_event e;

	if (begin)
		return says_nothing(begin->class) || tell_pair(k, begin, end);
	if (!kineto_is_left_out(end->class)) {
		e = event_of(k->pairs, end);
		kineto_lacks(k, &e);
	}
	return true;
}

static bool tell_open(struct kineto *k, const struct half *half)
{
	struct kineto_event e = event_of(k->pairs, half);

	if (kineto_is_work(half->class)) /* nobody knows how long it went on */
		import_cut(k->b, half->ns);
	if (half->class == KINETO_ANNOTATION)
		return kineto_complete(k, &e, half->name, half->ns, INT64_MAX, k->pairs->places[half->where].started);
	if (!says_nothing(half->class))
		kineto_lacks(k, &e);
	return true;
}

bool kineto_pairs_end(struct kineto *k)
{
	struct kineto_pairs *p = k->pairs;
	bool fine = !p || nest_by_time(p);

	for (size_t i = 0; p && fine && i < p->n_halves; i++)
		if (!p->halves[i].begins)
			fine = tell_end(k, &p->halves[i]) && !import_failed(k->b);
	for (size_t i = 0; p && fine && i < p->n_places; i++)
		for (uint32_t at = p->places[i].top; fine && at != NONE; at = p->halves[at].link)
			fine = tell_open(k, &p->halves[at]);
	return fine;
}

void kineto_pairs_free(struct kineto *k)
{
	if (!k->pairs)
		return;
	spill_free(k->pairs->halves);
	spill_free(k->pairs->numbers);
	free(k->pairs->places);
	hash_free(&k->pairs->index);
	free(k->pairs);
	k->pairs = NULL;
}
