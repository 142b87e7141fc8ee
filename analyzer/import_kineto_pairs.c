/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_pairs.c: events in two halves. B and E nest within a thread, and come in the order of time there (Trace Event Format, "Duration
 * Events"): one that does not has its place among the others all the same, but of its pair nobody knows when it was. b and e (S and F, as they once were called) have an id, which is one
 * of a category (ibid., "Async Events"), and may begin and end anywhere. */
#include <stdlib.h>

#include "alloc.h"
#include "fnv.h"
#include "import_kineto_parts.h"

#define NONE UINT32_MAX

struct half {
	struct kineto_event event; /* without its texts */
	struct kineto_name name;
	bool late;      /* one of its thread that came before it was later */
	uint32_t below; /* number of the one that began before it there; of free ones the next */
};

struct place { /* a thread; or an id, which is one of a process and category */
	uint64_t process, number;
	enum kineto_class class; /* the category's */
	bool started;
	uint32_t top;    /* the last that began; NONE */
	int64_t last_ns; /* when the last half was */
};

struct kineto_pairs {
	struct half *halves;
	size_t n_halves, halves_cap;
	struct place *places;
	size_t n_places, places_cap;
	struct hash_index index;
	uint32_t free;
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
		.last_ns = INT64_MIN,
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

/* The texts are the next event's by the time this one ends: what they say is taken now. */
static void leave_texts(struct kineto_event *e)
{
	const struct import_text none = { "", 0 };

	if (e->said & KINETO_SAID(TID))
		e->number[KINETO_FIELD_TID - KINETO_FIELD_PID] =
			kineto_is_work(e->class) ? kineto_drawn(e) : kineto_number(e, KINETO_FIELD_TID);
	e->name = e->category = e->label = e->pid = e->tid = none;
}

static bool is_late(struct place *place, const struct kineto_event *e)
{
	int64_t ns = import_us_ns(e->begin);

	if (!place->started && ns < place->last_ns)
		return true;
	place->last_ns = ns;
	return false;
}

static bool begin(struct kineto *k, struct place *place, const struct kineto_event *e)
{
	struct kineto_pairs *p = k->pairs;
	uint32_t i = p->free;

	if (i != NONE) {
		p->free = p->halves[i].below;
	} else {
		if (p->n_halves >= NONE - 1 || !array_room(p->halves, p->n_halves, p->halves_cap))
			return false;
		i = (uint32_t)p->n_halves++;
	}
	p->halves[i] = (struct half){ .event = *e, .late = is_late(place, e), .below = place->top };
	if (!says_nothing(e->class))
		p->halves[i].name = kineto_name(k, e);
	leave_texts(&p->halves[i].event);
	place->top = i;
	return true;
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

static bool end(struct kineto *k, struct place *place, const struct kineto_event *e, bool started)
{
	struct kineto_pairs *p = k->pairs;
	uint32_t i = place->top;
	struct half *half;
	int64_t begin_ns, end_ns = import_us_ns(e->begin);
	bool late = is_late(place, e);

	if (i == NONE) {
		if (!kineto_is_left_out(e->class))
			kineto_lacks(k, e);
		return true;
	}
	half = &p->halves[i];
	place->top = half->below;
	half->below = p->free;
	p->free = i;
	begin_ns = import_us_ns(half->event.begin);
	if (says_nothing(half->event.class))
		return true;
	if (late || half->late || end_ns < begin_ns) {
		kineto_lacks(k, &half->event);
		return true;
	}
	add_said(&half->event, e);
	return kineto_complete(k, &half->event, half->name, begin_ns, end_ns, started);
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
		k->pairs->free = NONE;
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
	if (!place)
		return false;
	return begins ? begin(k, place, e) : end(k, place, e, started);
}

void kineto_pairs_end(struct kineto *k)
{
	struct kineto_pairs *p = k->pairs;

	for (size_t i = 0; p && i < p->n_places; i++)
		for (uint32_t at = p->places[i].top; at != NONE; at = p->halves[at].below) {
			const struct half *half = &p->halves[at];

			if (half->event.class == KINETO_ANNOTATION && !half->late)
				kineto_complete(k, &half->event, half->name, import_us_ns(half->event.begin), INT64_MAX,
						p->places[i].started);
			else if (!says_nothing(half->event.class))
				kineto_lacks(k, &half->event);
			if (kineto_is_work(half->event.class)) /* nobody knows how long it went on */
				import_cut(k->b, import_us_ns(half->event.begin));
		}
}

void kineto_pairs_free(struct kineto *k)
{
	if (!k->pairs)
		return;
	free(k->pairs->halves);
	free(k->pairs->places);
	hash_free(&k->pairs->index);
	free(k->pairs);
	k->pairs = NULL;
}
