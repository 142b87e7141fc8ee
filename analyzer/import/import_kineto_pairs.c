/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_pairs.c: events in two halves. B and E nest within a thread (Trace Event Format, "Duration Events"). b and e (S and F, as they once
 * were called) have an id, which is one of a category (ibid., "Async Events"), and may begin and end anywhere.
 *
 * Halves of one thread, or of one id, should come in the order of time; where a file was written in blocks, or one half is astray, they do not. So
 * all wait for the end of the file: 56 bytes for each, and 8 for each number that it says, where records are kept (spill.h). An end closes the last
 * that began before it in the file, whatever comes between: kernels of one stream may overlap, and a pair may lie around whole ones.
 *
 * What fits nothing then (ends that are alone or before their begin, and begins) is nested among itself in the order of time. Such a pair counts
 * unless one of its halves closed another in the file, at a wrong time, and that other finds nothing: then it is one event of a wrong time, and what
 * would have taken its half stays alone; both are counted as lacking.
 * All of a thread is nested by time, as viewers do it, only where this pairs more than the two together, or as many in less time where the second
 * gave any; and it must undo few of their pairs: at most four for each end that was alone or before its begin, and at most half of all, and one for
 * each end alone. So a file in blocks is put together, and kernels that overlap stay as they are. */
#include <stdlib.h>

#include "import_kineto_parts.h"
#include "tools/fnv.h"
#include "tools/spill.h"

#define NONE UINT32_MAX

enum order { IN_FILE, IN_TIME, ORDERS };

struct half {
	uint64_t place, said; /* kineto_event's */
	int64_t ns;
	size_t numbers; /* the first of its own, one for each field that is said */
	struct kineto_name name;
	uint32_t where; /* of places */
	/* By order. Of one that is closed: its other half; of a begin that is open: the one that was when it came. NONE */
	uint32_t link[ORDERS];
	uint8_t class;
	bool begins;
	bool closed[ORDERS];
};

_Static_assert(sizeof(struct half) == 56, "as said above");

struct sum {
	size_t pairs; /* whose end is not before its begin */
	uint64_t ns;
};

struct place { /* a thread; or an id, which is one of a process and category */
	uint64_t process, number;
	enum kineto_class class; /* the category's */
	bool started;
	uint32_t top;  /* the last half that is open; NONE */
	size_t alone;  /* ends that close nothing in the file */
	size_t wrong;  /* ends before their begin there */
	size_t undone; /* pairs that are others in the order of time */
	size_t left;   /* pairs of what fits nothing in the file; its sum has them */
	struct sum sum[ORDERS];
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
		.link = { NONE, NONE },
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
	size_t at = half->numbers;

	for (unsigned field = KINETO_FIELD_PID; field < KINETO_FIELDS; field++)
		if (e.said & 1ull << field)
			e.number[field - KINETO_FIELD_PID] = p->numbers[at++];
	return e;
}

static bool is_pair(const struct half *begin, const struct half *end)
{
	return begin->ns <= end->ns;
}

/* An end closes the last that is open. Of a begin, and of an end that is alone, NULL. */
static struct half *nest(struct kineto_pairs *p, struct half *half, enum order order)
{
	struct place *place = &p->places[half->where];
	uint32_t this = (uint32_t)(half - p->halves), top = place->top;
	struct half *begin;

	half->link[order] = top;
	half->closed[order] = !half->begins && top != NONE;
	if (half->begins)
		place->top = this;
	if (!half->closed[order])
		return NULL;
	begin = &p->halves[top];
	place->top = begin->link[order];
	begin->link[order] = this;
	begin->closed[order] = true;
	if (is_pair(begin, half)) {
		place->sum[order].pairs++;
		place->sum[order].ns += (uint64_t)half->ns - (uint64_t)begin->ns;
	}
	return begin;
}

static void nest_in_file(struct kineto_pairs *p, struct half *half)
{
	struct half *begin = nest(p, half, IN_FILE);
	struct place *place = &p->places[half->where];

	place->alone += !half->begins && !begin;
	place->wrong += begin && !is_pair(begin, half);
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

static bool is_astray(const struct place *place)
{
	return place->alone || place->wrong;
}

static bool fits(const struct kineto_pairs *p, const struct half *half)
{
	const struct half *other = half->closed[IN_FILE] ? &p->halves[half->link[IN_FILE]] : NULL;

	return other && (half->begins ? is_pair(half, other) : is_pair(other, half));
}

static bool is_instant(const struct kineto_pairs *p, const struct half *half)
{
	return half->closed[IN_FILE] && p->halves[half->link[IN_FILE]].ns == half->ns;
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
		uint8_t order = is_instant(p, half) ? 1 : half->begins ? 2 : 0;

		if (!is_astray(&p->places[half->where]))
			continue;
		if (!spill_room(*turns, *n, cap))
			return false;
		(*turns)[(*n)++] = (struct turn){ half->ns, half->where, (uint32_t)i, order };
	}
	return true;
}

/* In the order of time; what that gave before counts with what the file's gave. */
static void start_again(struct kineto_pairs *p)
{
	for (size_t i = 0; i < p->n_places; i++) {
		struct place *place = &p->places[i];

		place->left = place->sum[IN_TIME].pairs;
		place->sum[IN_FILE].pairs += place->left;
		place->sum[IN_FILE].ns += place->sum[IN_TIME].ns;
		place->sum[IN_TIME] = (struct sum){ 0 };
		place->top = NONE;
	}
}

/* Of one that does not fit: it closed nothing in the file, or what it closed finds another by time. */
static bool is_free(const struct kineto_pairs *p, const struct half *half)
{
	return !half->closed[IN_FILE] || p->halves[half->link[IN_FILE]].closed[IN_TIME];
}

static void take(struct kineto_pairs *p, struct half *half)
{
	if (half->closed[IN_FILE])
		p->halves[half->link[IN_FILE]].closed[IN_FILE] = false;
	half->link[IN_FILE] = half->link[IN_TIME];
	half->closed[IN_FILE] = true;
}

static void nest_leftovers(struct kineto_pairs *p, const struct turn *turns, size_t n)
{
	start_again(p);
	for (size_t i = 0; i < n; i++)
		if (!fits(p, &p->halves[turns[i].half]))
			nest(p, &p->halves[turns[i].half], IN_TIME);
	for (size_t i = 0; i < n; i++) {
		struct half *end = &p->halves[turns[i].half], *begin;

		if (end->begins || fits(p, end) || !end->closed[IN_TIME])
			continue;
		begin = &p->halves[end->link[IN_TIME]];
		if (!is_free(p, begin) || !is_free(p, end))
			continue;
		take(p, begin);
		take(p, end);
	}
}

static bool better_by_time(const struct place *place)
{
	const struct sum *file = &place->sum[IN_FILE], *time = &place->sum[IN_TIME];
	bool shorter = place->left && time->pairs == file->pairs && time->ns < file->ns;

	return (shorter || time->pairs > file->pairs) && place->undone <= 4 * (place->alone + place->wrong) &&
	       2 * place->undone <= file->pairs + 2 * place->alone;
}

static void nest_by_time(struct kineto_pairs *p, const struct turn *turns, size_t n)
{
	start_again(p);
	for (size_t i = 0; i < n; i++)
		nest(p, &p->halves[turns[i].half], IN_TIME);
	for (size_t i = 0; i < n; i++) {
		const struct half *half = &p->halves[turns[i].half];

		p->places[half->where].undone +=
			!half->begins && fits(p, half) && half->link[IN_TIME] != half->link[IN_FILE];
	}
	for (size_t i = 0; i < n; i++) {
		struct half *half = &p->halves[turns[i].half];

		if (!better_by_time(&p->places[half->where]))
			continue;
		half->link[IN_FILE] = half->link[IN_TIME];
		half->closed[IN_FILE] = half->closed[IN_TIME];
	}
}

/* False: no memory. */
static bool mend(struct kineto_pairs *p)
{
	struct turn *turns = NULL;
	size_t n = 0;
	bool fine = find_turns(p, &turns, &n);

	if (fine && n) {
		array_sort(turns, n, sizeof(*turns), by_time);
		nest_leftovers(p, turns, n);
		nest_by_time(p, turns, n);
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
	const struct half *begin = end->closed[IN_FILE] ? &k->pairs->halves[end->link[IN_FILE]] : NULL;
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
	bool fine = !p || mend(p);

	for (size_t i = 0; p && fine && i < p->n_halves; i++)
		if (!p->halves[i].begins)
			fine = tell_end(k, &p->halves[i]) && !import_failed(k->b);
	for (size_t i = 0; p && fine && i < p->n_halves; i++)
		if (p->halves[i].begins && !p->halves[i].closed[IN_FILE])
			fine = tell_open(k, &p->halves[i]) && !import_failed(k->b);
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
