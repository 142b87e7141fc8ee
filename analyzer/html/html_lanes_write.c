/* SPDX-License-Identifier: BSD-2-Clause */
/* html_lanes_write.c: the lanes as the page reads them, in columns (html_pack.h). Of each item, where a column has anything to say:
 *   b begin, d length, k class, s name, c how many it stands for, e how much of its length is empty, g number of its gap + 1,
 *   a what else is said, l 1 + time since its launch, o 1 + lane of the thread that launched it (its first row),
 *   v of how many at once it tells, times 16: the mean.
 * Where items stand for several slices, names has all that those are called: [name, how many, begin and length of the longest]. */
#include "html_lanes.h"

#include <stdlib.h>

#include "html_pack.h"
#include "tools/alloc.h"

static const char *const kinds[] = {
	[LANE_STEPS] = "steps",   [LANE_IDLE] = "idle",     [LANE_UNRESOLVED] = "unresolved", [LANE_NCCL] = "nccl",
	[LANE_STREAM] = "stream", [LANE_RANGES] = "ranges", [LANE_THREAD] = "thread",         [LANE_STATE] = "state",
	[LANE_WORKER] = "worker", [LANE_IO] = "io"
};

struct said { /* of an item, as the page has it */
	uint64_t launched_ns;
	uint32_t name, args, launcher;
};

struct writer {
	struct lanes *x;
	const struct lane_row **shown; /* all rows with items, as on the page */
	size_t n_shown;
	struct said *said; /* of the row that is being written */
	const struct trace *last_trace;
	uint32_t last_tid, last_launcher;
};

/* ---- what is said of the items ---- */

/* 1 + the lane of that thread's calls; 0: it has none. Most work of a row is one thread's. */
static uint32_t launcher(struct writer *w, const struct trace *t, uint32_t tid)
{
	const struct lanes *x = w->x;

	if (w->last_trace == t && w->last_tid == tid)
		return w->last_launcher;
	w->last_trace = t;
	w->last_tid = tid;
	w->last_launcher = 0;
	for (size_t i = 0; i < w->n_shown; i++) {
		const struct track *track = &x->places.at[w->shown[i]->track];

		if (!w->shown[i]->place && track->owner == t->calls && track->id == tid) {
			w->last_launcher = 1 + (uint32_t)i;
			break;
		}
	}
	return w->last_launcher;
}

static bool say(struct writer *w, const struct lane_row *row)
{
	struct lanes *x = w->x;
	const struct lane_track *track = &x->tracks[row->track];

	free(w->said);
	w->said = array_new(row->merge.n, sizeof(*w->said));
	for (size_t i = 0; w->said && track->describe && i < row->merge.n; i++) {
		const struct lane_item *item = &row->merge.items[i];
		struct lane_words words;

		if (!item->of)
			continue;
		words.name = words.args = NULL;
		words.launched_ns = 0;
		words.launch = NULL;
		words.name_room[0] = words.args_room[0] = 0;
		track->describe(x, track, item, &words);
		w->said[i].name = words.name ? html_string(&x->h->strings, words.name) : 0;
		if (item->count > 1)
			continue; /* what is said of one is not true of all */
		w->said[i].args = words.args ? html_string(&x->h->strings, words.args) : 0;
		w->said[i].launched_ns = words.launched_ns;
		w->said[i].launcher = words.launch ? launcher(w, words.launched_by, words.launch->tid) : 0;
	}
	return w->said;
}

/* ---- columns ---- */

enum column { BEGIN, LENGTH, CLASS, NAME, COUNT, EMPTY, GAP, ARGS, LAUNCHED, LAUNCHER, WEIGHT, COLUMNS };

static const struct {
	const char *key;
	enum pack_type type;
	uint64_t unless; /* … all are that: then it is left out. UINT64_MAX: never */
} columns[COLUMNS] = {
	[BEGIN] = { "b", PACK_DELTA, UINT64_MAX },
	[LENGTH] = { "d", PACK_VARINT, UINT64_MAX },
	[CLASS] = { "k", PACK_U8, UINT64_MAX },
	[NAME] = { "s", PACK_VARINT, 0 },
	[COUNT] = { "c", PACK_VARINT, 1 },
	[EMPTY] = { "e", PACK_VARINT, 0 },
	[GAP] = { "g", PACK_DELTA, 0 },
	[ARGS] = { "a", PACK_VARINT, 0 },
	[LAUNCHED] = { "l", PACK_VARINT, 0 },
	[LAUNCHER] = { "o", PACK_VARINT, 0 },
	[WEIGHT] = { "v", PACK_VARINT, 0 },
};

static uint64_t value(const struct writer *w, const struct lane_row *row, enum column column, size_t i)
{
	const struct lane_item *item = &row->merge.items[i];
	uint64_t busy;

	switch (column) {
	case BEGIN:
		return item->begin_ns;
	case LENGTH:
		return item->length_ns;
	case CLASS:
		return item->class;
	case NAME:
		return w->said[i].name;
	case COUNT:
		return item->count;
	case EMPTY:
		return item->empty_ns;
	case GAP:
		return w->x->tracks[row->track].kind == LANE_IDLE ? item->number : 0;
	case ARGS:
		return w->said[i].args;
	case LAUNCHED:
		return w->said[i].launched_ns;
	case LAUNCHER:
		return w->said[i].launcher;
	case WEIGHT:
		busy = item->length_ns - item->empty_ns;
		return item->weight_ns / (busy >= 16 ? busy / 16 : 1);
	default:
		return 0;
	}
}

static enum err_kind column_write(struct writer *w, const struct lane_row *row, enum column column, struct error *e)
{
	struct json *j = &w->x->h->json;
	struct pack *p;
	enum err_kind kind;
	size_t i = 0;

	while (i < row->merge.n && value(w, row, column, i) == columns[column].unless)
		i++;
	if (i == row->merge.n)
		return ERR_NONE;
	p = array_new(1, sizeof(*p));
	if (!p)
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	json_key(j, columns[column].key);
	pack_begin(p, columns[column].type);
	for (i = 0; i < row->merge.n; i++)
		pack_add(p, value(w, row, column, i));
	kind = pack_end(p, j, e);
	free(p);
	return kind;
}

/* "names": of each how often it comes, and when it lasts longest. */
static void names_write(struct writer *w, const struct lane_row *row)
{
	const struct lane_track *track = &w->x->tracks[row->track];
	struct json *j = &w->x->h->json;

	json_key_array(j, "names");
	for (size_t i = 0; i < row->names.n; i++) {
		const struct lane_name *name = &row->names.at[i];
		struct lane_item item = { .of = name->longest.of, .count = 1 };
		struct lane_words words = { 0 };

		if (!name->count)
			continue;
		track->describe(w->x, track, &item, &words);
		json_array(j);
		json_int(j, words.name ? html_string(&w->x->h->strings, words.name) : 0);
		json_int(j, (int64_t)(name->count < INT64_MAX ? name->count : INT64_MAX));
		json_uint(j, name->longest.begin_ns);
		json_uint(j, name->longest.length_ns);
		json_array_end(j);
	}
	json_array_end(j);
}

static enum err_kind row_write(struct writer *w, const struct lane_row *row, struct error *e)
{
	const struct lane_track *track = &w->x->tracks[row->track];
	struct json *j = &w->x->h->json;
	enum err_kind kind = ERR_NONE;

	if (!say(w, row))
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	json_map(j);
	json_key_int(j, "group", html_string(&w->x->h->strings, track->group));
	json_key_int(j, "name", html_string(&w->x->h->strings, track->name));
	json_key_text(j, "kind", kinds[track->kind]);
	if (track->device >= 0)
		json_key_int(j, "device", w->x->h->s->devices[track->device].number);
	json_key_int(j, "row", row->place);
	json_key_int(j, "slices", (int64_t)row->levels.n);
	json_key_int(j, "merged_ns", row->merge.level ? (int64_t)1 << row->merge.level : 0);
	if (row->names.n)
		names_write(w, row);
	json_key_map(j, "items");
	json_key_int(j, "n", (int64_t)row->merge.n);
	for (enum column c = 0; c < COLUMNS && !kind; c++)
		kind = column_write(w, row, c, e);
	json_map_end(j);
	json_map_end(j);
	return kind;
}

/* ---- in which order ---- */

struct place {
	uint64_t order;
	uint32_t track, row;
	const struct lane_row *of;
};

static int by_order(const void *a, const void *b)
{
	const struct place *p = a, *q = b;

	if (p->order != q->order)
		return p->order < q->order ? -1 : 1;
	if (p->track != q->track)
		return p->track < q->track ? -1 : 1;
	return (p->row > q->row) - (p->row < q->row);
}

static bool set_order(struct writer *w)
{
	const struct lanes *x = w->x;
	struct place *places = array_new(x->n_rows, sizeof(*places));

	w->shown = array_new(x->n_rows, sizeof(*w->shown));
	for (size_t i = 0; places && w->shown && i < x->n_rows; i++) {
		const struct lane_row *row = &x->rows[i];

		if (row->merge.n)
			places[w->n_shown++] =
				(struct place){ x->tracks[row->track].order, row->track, row->place, row };
	}
	if (places && w->shown) {
		qsort(places, w->n_shown, sizeof(*places), by_order);
		for (size_t i = 0; i < w->n_shown; i++)
			w->shown[i] = places[i].of;
	}
	free(places);
	return places && w->shown;
}

enum err_kind lanes_write(struct lanes *x, struct error *e)
{
	struct writer w = { .x = x };
	enum err_kind kind = ERR_NONE;

	if (!set_order(&w))
		kind = err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	json_key_int(&x->h->json, "lanes_left_out", (int64_t)(x->left_out < INT64_MAX ? x->left_out : INT64_MAX));
	json_key_array(&x->h->json, "lanes");
	for (size_t i = 0; i < w.n_shown && !kind; i++)
		kind = row_write(&w, w.shown[i], e);
	json_array_end(&x->h->json);
	free(w.said);
	free(w.shown);
	return kind;
}
