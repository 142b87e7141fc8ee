/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_kineto_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_json.h"
#include "import_kineto_words.h"
#include "import_whole.h"
#include "tools/alloc.h"
#include "tools/fnv.h"

#define TEXTS ((size_t)64 << 10) /* what of an event's texts has no room is cut off */
_Static_assert(KINETO_FIELDS <= 64, "kineto_event.said");

struct reader {
	const struct kineto_calls *calls;
	void *to;
	enum where where;
	enum kineto_field key;      /* whose value comes next */
	unsigned skipped;           /* open brackets of what is not read */
	bool bare;                  /* the outermost value is the list of events */
	bool listed;                /* events were */
	bool unheard;               /* what the event says matters to nobody */
	uint64_t mended, mended_at; /* places that were no JSON; the byte of the first */
	struct kineto_event *event; /* the one that is read: `own`, or the next of `events` */
	struct kineto_event own;
	struct reader_device {
		uint64_t id, memory;
		struct import_text name;
	} device;
	uint64_t rank, ranks;
	bool ranked;
	struct kineto_words words;
	size_t used; /* bytes of the event's texts */
	char *texts; /* those that lie nowhere else: of the event, or of all in a piece */
	size_t n_texts, texts_room;
	/* One that reads ahead: all events of a piece, to be joined to others. */
	bool aside;
	struct kineto_event *events;
	size_t n_events, events_cap;
	const char *piece; /* texts that stand in it as they are need no copy */
	size_t piece_bytes;
};

static struct import_text keep(struct reader *r, const char *at, size_t bytes)
{
	struct import_text t = { at, bytes < TEXTS - r->used ? bytes : TEXTS - r->used };

	r->used += t.bytes;
	if ((uintptr_t)at - (uintptr_t)r->piece < r->piece_bytes)
		return t;
	t.at = r->texts + r->n_texts;
	memcpy(r->texts + r->n_texts, at, t.bytes);
	r->n_texts += t.bytes;
	return t;
}

/* Of a name that stands for a number: always the same one, and none that a file would have by itself. */
static uint64_t number_of_letters(const char *at, size_t bytes)
{
	return (fnv1a(FNV_BEGIN, at, bytes) & INT64_MAX) | 1ull << 62;
}

/* Of the key, whether its value stood there as a number or as a text. */
static void take_number(struct reader *r, enum kineto_field key, const char *at, size_t bytes)
{
	struct kineto_event *e = r->event;
	bool there;

	if (key == KINETO_FIELD_BEGIN)
		there = import_us_read(&e->begin, at, bytes);
	else if (key == KINETO_FIELD_DURATION)
		there = import_us_read(&e->duration, at, bytes);
	else
		there = key >= KINETO_FIELD_PID && import_whole(&e->number[key - KINETO_FIELD_PID], at, bytes);
	if (there)
		e->said |= 1ull << key;
}

/* Flows, counters and steps in between say nothing here; an event without a phase is one that is lost. */
static bool is_told(char phase)
{
	return !phase || strchr("XBEbeSFMiI", phase);
}

static bool take_text(struct reader *r, enum kineto_field key, const char *at, size_t bytes)
{
	struct kineto_event *e = r->event;

	switch (key) {
	case KINETO_FIELD_PHASE:
		e->phase = bytes ? *at : 0;
		r->unheard = !is_told(e->phase);
		break;
	case KINETO_FIELD_CATEGORY:
		e->class = (enum kineto_class)kineto_word(&r->words, CATEGORIES, at, bytes);
		if (e->class == KINETO_UNKNOWN)
			e->category = keep(r, at, bytes);
		break;
	case KINETO_FIELD_NAME:
		e->name = keep(r, at, bytes);
		break;
	case KINETO_FIELD_LABEL:
		e->label = keep(r, at, bytes);
		break;
	case KINETO_FIELD_PID:
	case KINETO_FIELD_TID:
	case KINETO_FIELD_ID:
		if (!import_whole(&e->number[key - KINETO_FIELD_PID], at, bytes))
			e->number[key - KINETO_FIELD_PID] = number_of_letters(at, bytes);
		if (key != KINETO_FIELD_ID)
			*(key == KINETO_FIELD_PID ? &e->pid : &e->tid) = keep(r, at, bytes);
		e->said |= 1ull << key;
		break;
	case KINETO_FIELD_COLLECTIVE:
	case KINETO_FIELD_GROUP:
	case KINETO_FIELD_GROUP_RANKS:
	case KINETO_FIELD_DTYPE:
		e->words[key - KINETO_FIELD_COLLECTIVE] = keep(r, at, bytes);
		e->said |= 1ull << key;
		break;
	case KINETO_FIELD_STREAM: /* HIP's calls have its address, which is no number of a stream */
		if (bytes < 2 || at[1] != 'x')
			take_number(r, key, at, bytes);
		break;
	case KINETO_FIELD_DEVICE_NAME:
		r->device.name = keep(r, at, bytes);
		break;
	case KINETO_FIELD_HOST:
		return r->calls->host(r->to, (struct import_text){ at, bytes });
	default:
		take_number(r, key, at, bytes);
	}
	return true;
}

static bool take_of_file(struct reader *r, enum kineto_field key, const char *at, size_t bytes)
{
	uint64_t n;

	if (!import_whole(&n, at, bytes))
		return true;
	switch (key) {
	case KINETO_FIELD_BASE:
		return n > INT64_MAX || r->calls->base(r->to, (int64_t)n);
	case KINETO_FIELD_DEVICE_ID:
		r->device.id = n;
		break;
	case KINETO_FIELD_DEVICE_MEMORY:
		r->device.memory = n;
		break;
	case KINETO_FIELD_RANK:
		r->rank = n;
		r->ranked = true;
		break;
	case KINETO_FIELD_RANKS:
		r->ranks = n;
		break;
	default:
		break;
	}
	return true;
}

static bool on_number(void *reader, const char *at, size_t bytes)
{
	struct reader *r = reader;

	if (r->skipped || !r->key)
		return true;
	if (r->key < KINETO_FIELD_PHASE)
		return take_of_file(r, r->key, at, bytes);
	if (!r->unheard)
		take_number(r, r->key, at, bytes);
	return true;
}

static bool on_text(void *reader, const char *at, size_t bytes)
{
	struct reader *r = reader;

	if (r->skipped)
		return true;
	if (r->where == NOTES)
		return r->calls->note(r->to, (struct import_text){ at, bytes });
	if (!r->key)
		return true;
	if (r->key < KINETO_FIELD_PHASE && r->key != KINETO_FIELD_DEVICE_NAME && r->key != KINETO_FIELD_HOST)
		return take_of_file(r, r->key, at, bytes);
	return take_text(r, r->key, at, bytes);
}

static bool on_word(void *reader, int word)
{
	(void)reader;
	(void)word;
	return true;
}

static bool on_key(void *reader, const char *at, size_t bytes)
{
	struct reader *r = reader;

	if (!r->skipped)
		r->key = (enum kineto_field)kineto_word(&r->words, r->where, at, bytes);
	return true;
}

/* What opens here; NOTHING where it is not read. */
static enum where inner(const struct reader *r, bool map)
{
	switch (r->where) {
	case TOP:
		return r->key == KINETO_FIELD_EVENTS && !map       ? EVENTS
		       : r->key == KINETO_FIELD_DEVICES && !map    ? DEVICES
		       : r->key == KINETO_FIELD_DISTRIBUTED && map ? DISTRIBUTED
		       : r->key == KINETO_FIELD_NOTES && !map      ? NOTES
								   : NOTHING;
	case EVENTS:
		return map ? EVENT : NOTHING;
	case EVENT:
		return map && r->key == KINETO_FIELD_ARGS ? ARGS : NOTHING;
	case DEVICES:
		return map ? DEVICE : NOTHING;
	default:
		return NOTHING;
	}
}

/* Its numbers are those that it says. */
static bool begin_event(struct reader *r, uint64_t byte)
{
	struct kineto_event *e;

	if (r->aside && !array_room(r->events, r->n_events, r->events_cap))
		return false;
	e = r->event = r->aside ? &r->events[r->n_events] : &r->own;
	r->unheard = false;
	e->place = byte;
	e->said = 0;
	e->phase = 0;
	e->class = KINETO_UNKNOWN;
	e->name = e->category = e->label = e->pid = e->tid = (struct import_text){ "", 0 };
	return true;
}

static bool enter(struct reader *r, enum where where, uint64_t byte)
{
	r->where = where;
	r->key = KINETO_FIELD_NONE;
	if (where == EVENTS)
		r->listed = true;
	if (where == EVENT || where == DEVICE)
		r->used = 0;
	if ((where == EVENT || where == DEVICE) && !r->aside)
		r->n_texts = 0;
	if (where == DEVICE)
		r->device = (struct reader_device){ .name = { "", 0 } };
	return where != EVENT || begin_event(r, byte);
}

static bool end_event(struct reader *r)
{
	if (!is_told(r->event->phase))
		return true;
	if (!r->aside)
		return r->calls->event(r->to, r->event);
	r->n_events++;
	return true;
}

static bool on_open(void *reader, bool map, uint64_t byte)
{
	struct reader *r = reader;
	enum where where;

	if (r->skipped) {
		r->skipped++;
		return true;
	}
	if (r->where == NOTHING) /* the outermost */
		where = map ? TOP : EVENTS;
	else
		where = inner(r, map);
	r->bare |= r->where == NOTHING && !map;
	if (where == NOTHING)
		r->skipped = 1;
	return where == NOTHING || enter(r, where, byte);
}

static bool on_close(void *reader)
{
	struct reader *r = reader;
	enum where left = r->where;

	if (r->skipped) {
		r->skipped--;
		return true;
	}
	r->key = KINETO_FIELD_NONE;
	switch (left) {
	case ARGS:
		r->where = EVENT;
		return true;
	case EVENT:
		r->where = EVENTS;
		return end_event(r);
	case DEVICE:
		r->where = DEVICES;
		return r->calls->device(r->to, r->device.id, r->device.name, r->device.memory);
	case DISTRIBUTED:
		r->where = TOP;
		return !r->ranked || r->calls->rank(r->to, r->rank, r->ranks);
	default:
		r->where = r->bare || left == TOP ? NOTHING : TOP;
		return true;
	}
}

/* ---- readers ---------------------------------------------------------------------------------------------- */

static bool texts_room(struct reader *r, size_t bytes)
{
	char *larger = bytes <= r->texts_room ? r->texts : realloc(r->texts, bytes);

	if (!larger)
		return false;
	r->texts = larger;
	r->texts_room = bytes > r->texts_room ? bytes : r->texts_room;
	return true;
}

static void reader_free(void *reader)
{
	struct reader *r = reader;

	if (!r)
		return;
	free(r->texts);
	free(r->events);
	free(r);
}

static struct reader *reader_new(const struct kineto_calls *calls, void *to)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r || !texts_room(r, TEXTS)) {
		reader_free(r);
		return NULL;
	}
	r->calls = calls;
	r->to = to;
	r->where = NOTHING;
	kineto_words_place(&r->words);
	return r;
}

static bool in_list(const void *reader)
{
	const struct reader *r = reader;

	return r->where == EVENTS && !r->skipped;
}

static void *reader_aside(void *reader)
{
	const struct reader *to = reader;
	struct reader *r = reader_new(to->calls, NULL);

	if (r)
		r->aside = true;
	return r;
}

static bool begin_piece(void *reader, const char *at, size_t bytes)
{
	struct reader *r = reader;

	r->where = EVENTS;
	r->key = KINETO_FIELD_NONE;
	r->skipped = 0;
	r->n_events = r->n_texts = 0;
	r->piece = at;
	r->piece_bytes = bytes;
	return texts_room(r, bytes);
}

static bool join(void *reader, void *aside)
{
	const struct reader *r = reader, *from = aside;

	for (size_t i = 0; i < from->n_events; i++)
		if (!r->calls->event(r->to, &from->events[i]))
			return false;
	return true;
}

static void on_mended(void *reader, uint64_t byte)
{
	struct reader *r = reader;

	if (!r->mended++)
		r->mended_at = byte;
}

static bool note_mended(struct reader *r)
{
	char words[128];
	int n = snprintf(
		words, sizeof(words),
		"it is no JSON in %llu place%s (NaN, inf, characters that a text may not hold), first at byte %llu",
		(unsigned long long)r->mended, r->mended == 1 ? "" : "s", (unsigned long long)r->mended_at);

	return !r->mended || r->calls->note(r->to, (struct import_text){ words, (size_t)n });
}

enum err_kind kineto_read(const char *path, const struct kineto_calls *calls, void *to, bool *events,
			  struct error *damage, struct error *e)
{
	static const struct import_json_calls json = {
		on_open, on_close, on_key, on_text, on_number, on_word, on_mended
	};
	static const struct import_json_ahead ahead = { in_list, reader_aside, begin_piece, join, reader_free };
	struct reader *r = reader_new(calls, to);
	enum err_kind kind;

	*events = false;
	if (!r)
		return err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "out of memory");
	kind = import_json_read(path, &json, &ahead, r, damage, e);
	if (kind == ERR_NONE && !note_mended(r))
		kind = err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "out of memory");
	*events = r->listed;
	reader_free(r);
	return kind;
}
