/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_lanes.h"

#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/progress.h"

/* ---- tracks and rows ---- */

static bool full(const struct lanes *x)
{
	return x->shown >= x->limit;
}

/* Rows have the number of their lane. One that finds no room has its number, too, and takes nothing. */
static void row_new(struct lanes *x, size_t track, size_t place)
{
	bool hidden = full(x) || place >= LANE_TRACK_ROWS;

	x->shown += !hidden;
	if (x->keep)
		return; /* it is there from the first time */
	if (array_room(x->rows, x->n_rows, x->cap_rows))
		x->rows[x->n_rows++] =
			(struct lane_row){ .track = (uint32_t)track, .place = (uint32_t)place, .hidden = hidden };
	else
		x->failed = true;
}

static size_t known_track(const struct lanes *x, const void *owner, uint64_t id)
{
	const struct track *track = tracks_known(&x->places, owner, id);

	return track ? (size_t)(track - x->places.at) : NO_TRACK;
}

/* The second time the same tracks and rows are met in the same order: their numbers are the same. */
size_t lanes_track(struct lanes *x, const void *owner, uint64_t id, const struct lane_track *like)
{
	uint32_t tid = x->places.next_tid;
	struct track *track;
	bool is_new;
	size_t index;

	if (x->failed || full(x))
		return x->failed ? NO_TRACK : known_track(x, owner, id);
	track = tracks_find(&x->places, owner, id, tid, &is_new);
	if (!track || (is_new && !x->keep && !array_room(x->tracks, x->n_tracks, x->cap_tracks))) {
		x->failed = true;
		return NO_TRACK;
	}
	index = (size_t)(track - x->places.at);
	if (is_new) {
		x->places.next_tid++;
		if (!x->keep)
			x->tracks[x->n_tracks++] = *like;
		row_new(x, index, 0);
	}
	return index;
}

/* What of it is on the page: length is what its own clock counted, so that sums are the report's own. */
static bool slice_on_page(const struct lanes *x, uint32_t clock, int64_t begin_ns, int64_t end_ns, struct lane_slice *s)
{
	uint64_t begin = html_ns(x->h, clock, begin_ns), end = html_ns(x->h, clock, end_ns);
	uint64_t own = end_ns > begin_ns ? (uint64_t)end_ns - (uint64_t)begin_ns : 0;
	uint64_t drawn = end > begin ? end - begin : 0;

	s->begin_ns = begin;
	s->length_ns = drawn < own - own / 1000 ? drawn : own; /* cut by the page's end; clocks differ by much less */
	return drawn || !own;
}

static void count(struct lanes *x, struct lane_row *row, const struct lane_slice *s)
{
	struct lane_window *window = lane_windows_at(&x->windows, &row->window, s->begin_ns);

	lane_levels_add(&row->levels, s->begin_ns, s->length_ns);
	if (window)
		window->slices++;
}

static void keep(struct lanes *x, struct lane_row *row, const struct lane_slice *s)
{
	const struct lane_window *window = lane_windows_at(&x->windows, &row->window, s->begin_ns);

	if (row->names.n)
		lane_names_add(&row->names, x->tracks[row->track].key(s->of), s);
	if (!lane_merge_add(&row->merge, s, window && window->whole))
		x->failed = true;
}

void lanes_put(struct lanes *x, size_t track, int64_t begin_ns, int64_t end_ns, enum html_class class, const void *of,
	       uint64_t number)
{
	struct lane_slice s = { .number = number, .of = of, .class = (uint8_t) class };
	struct track *places;
	struct lane *lane;
	bool is_new;

	if (x->failed)
		return;
	if (track == NO_TRACK) {
		x->left_out += !x->keep;
		return;
	}
	if (!slice_on_page(x, x->tracks[track].clock, begin_ns, end_ns, &s))
		return;
	places = &x->places.at[track];
	lane = track_lane(&x->places, places, false, &begin_ns, &end_ns, &is_new);
	if (!lane) {
		x->failed = true;
		return;
	}
	if (is_new)
		row_new(x, track, places->n - 1);
	if (x->failed)
		return;
	if (x->rows[lane->tid].hidden) {
		x->left_out += !x->keep;
		return;
	}
	s.weight = x->tracks[track].kind == LANE_IO ? (uint32_t)number : 0;
	if (x->failed || !slice_on_page(x, x->tracks[track].clock, begin_ns, end_ns, &s))
		return; /* it was cut to nothing: there are too many at once */
	if (!x->keep)
		count(x, &x->rows[lane->tid], &s);
	else
		keep(x, &x->rows[lane->tid], &s);
}

/* ---- all of it, twice ---- */

/* The next of so many gets its part of the rows up to that one; what it leaves is the others'. */
static void share(struct lanes *x, uint32_t until, size_t of)
{
	uint32_t part = x->shown < until ? (uint32_t)((until - x->shown) / of) : 0;

	x->limit = x->shown + (part ? part : x->shown < until);
}

static void put_all(struct lanes *x)
{
	const struct summary *s = x->h->s;

	tracks_free(&x->places);
	x->shown = 0;
	for (size_t i = 0; i < x->n_rows; i++)
		x->rows[i].window = 0;
	for (size_t i = 0; i < s->n_devices; i++) {
		share(x, LANE_ROWS_DEVICES, s->n_devices - i);
		lanes_device(x, i);
	}
	for (size_t i = 0; i < s->run->n_traces; i++) {
		share(x, LANE_ROWS_PROCESSES, s->run->n_traces - i);
		lanes_process(x, i);
	}
	for (size_t i = 0; i < s->run->n_hosts; i++) {
		share(x, LANE_ROWS, s->run->n_hosts - i);
		lanes_host(x, i);
	}
}

static bool of_idle(const struct lanes *x, const struct lane_row *row)
{
	return x->tracks[row->track].kind == LANE_IDLE;
}

/* Rows of few items keep them whatever the level is: they would save nothing. */
static unsigned level_of(const struct lane_row *row, unsigned level, uint64_t share)
{
	return row->levels.n <= share ? 0 : level;
}

/* Items of those rows at that level; share: see level_of. */
static uint64_t items_at(const struct lanes *x, bool idle, unsigned level, uint64_t share)
{
	uint64_t items = 0;

	for (size_t i = 0; i < x->n_rows; i++) {
		if (of_idle(x, &x->rows[i]) == idle)
			items += lane_levels_items(&x->rows[i].levels, level_of(&x->rows[i], level, share));
	}
	return items;
}

/* The least level at which all fit, and one less for the first rows, as long as there is room. Returns how many items there are then. */
static uint64_t choose_levels(struct lanes *x, bool idle, uint64_t budget)
{
	uint64_t share, items;
	size_t rows = 0;
	unsigned level = 0;

	for (size_t i = 0; i < x->n_rows; i++)
		rows += of_idle(x, &x->rows[i]) == idle;
	share = rows ? budget / rows : 0;
	while ((items = items_at(x, idle, level, share)) > budget && level < LANE_LEVELS - 1)
		level++;
	for (size_t i = 0; i < x->n_rows; i++) {
		struct lane_row *row = &x->rows[i];
		unsigned own = level_of(row, level, share);
		uint64_t more =
			own ? lane_levels_items(&row->levels, own - 1) - lane_levels_items(&row->levels, own) : 0;

		if (of_idle(x, row) != idle)
			continue;
		if (own && items + more <= budget) {
			own--;
			items += more;
		}
		x->failed = x->failed || !lane_merge_begin(&row->merge, own);
	}
	return items;
}

static void list_names(struct lanes *x)
{
	size_t left = LANE_NAMES;

	for (size_t i = 0; i < x->n_rows; i++) {
		struct lane_row *row = &x->rows[i];
		const struct lane_track *track = &x->tracks[row->track];

		if (!row->merge.level || !track->key || track->n_keys > left)
			continue;
		left -= track->n_keys;
		if (!lane_names_begin(&row->names, track->n_keys))
			x->failed = true;
	}
}

/* Of all rows: what the page has room for besides what is in it already, and what comes behind. */
static uint64_t room_for(struct html *h)
{
	uint64_t written = html_written(h) + LANE_REST_BYTES;
	uint64_t items = written < LANE_PAGE_BYTES ? (LANE_PAGE_BYTES - written) / LANE_ITEM_BYTES : 0;

	return items < LANE_LEAST_ITEMS ? LANE_LEAST_ITEMS : items < LANE_ITEMS ? items : LANE_ITEMS;
}

enum err_kind html_lanes(struct html *h, struct error *e)
{
	struct lanes x = { .h = h };
	enum err_kind kind = ERR_NONE;
	uint64_t room = room_for(h), most_idle = room - room / 5, left, used;

	x.failed = !lane_windows_build(&x.windows, h);
	put_all(&x);
	progress_add(LANES_PASS);
	x.failed = x.failed || !lane_windows_choose(&x.windows, LANE_WHOLE_ITEMS);
	if (!x.failed) {
		used = choose_levels(&x, true, most_idle < LANE_IDLE_ITEMS ? most_idle : LANE_IDLE_ITEMS);
		left = used < room ? room - used : 0;
		choose_levels(&x, false,
			      left < LANE_LEAST_ITEMS  ? LANE_LEAST_ITEMS
			      : left > LANE_BUSY_ITEMS ? LANE_BUSY_ITEMS
						       : left);
		list_names(&x);
		x.keep = true;
		put_all(&x);
		progress_add(LANES_PASS);
	}
	for (size_t i = 0; i < x.n_rows; i++)
		lane_merge_end(&x.rows[i].merge);
	kind = x.failed ? err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory") : lanes_write(&x, e);
	for (size_t i = 0; i < x.n_rows; i++) {
		lane_merge_free(&x.rows[i].merge);
		lane_names_free(&x.rows[i].names);
	}
	lane_windows_free(&x.windows);
	tracks_free(&x.places);
	free(x.tracks);
	free(x.rows);
	return kind;
}
