/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_picture.h"

#include <stdlib.h>

#include "tools/alloc.h"

/* ---- a course --------------------------------------------------------------------------------------------------------------- */

#define OF_A_STRETCH 7 /* points of it that are kept, at most: two for each of three figures, and the last */

static uint64_t figure(const struct memory_point *p, int which)
{
	return which == 0 ? p->use.allocated : which == 1 ? p->use.reserved : p->use.largest_free;
}

static int by_index(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/* Of the points [first, end), in their order. */
static void keep(struct memory_point *out, size_t *kept, const struct memory_point *points, size_t first, size_t end)
{
	size_t chosen[OF_A_STRETCH];

	for (int which = 0; which < 3; which++) {
		size_t least = first, most = first;

		for (size_t i = first + 1; i < end; i++) {
			least = figure(&points[i], which) < figure(&points[least], which) ? i : least;
			most = figure(&points[i], which) > figure(&points[most], which) ? i : most;
		}
		chosen[2 * which] = least;
		chosen[2 * which + 1] = most;
	}
	chosen[OF_A_STRETCH - 1] = end - 1;
	qsort(chosen, OF_A_STRETCH, sizeof(chosen[0]), by_index);
	for (size_t i = 0; i < OF_A_STRETCH; i++)
		if (i == 0 || chosen[i] != chosen[i - 1])
			out[(*kept)++] = points[chosen[i]];
}

/* Which of so many equal parts of the whole it is in. */
static uint64_t part_of(uint64_t at, uint64_t whole, uint64_t parts)
{
	return whole ? (uint64_t)((unsigned __int128)at * parts / whole) : 0;
}

/* False: there are more than `most`. */
static bool thin(struct memory_point *out, size_t *kept, size_t most, const struct memory_point *points, size_t n,
		 uint64_t parts)
{
	uint64_t begin_ns = (uint64_t)points[0].time_ns, whole_ns = (uint64_t)points[n - 1].time_ns - begin_ns;

	*kept = 0;
	for (size_t first = 0, end; first < n; first = end) {
		uint64_t by_time = part_of((uint64_t)points[first].time_ns - begin_ns, whole_ns, parts),
			 by_number = part_of(first, n, parts);

		for (end = first + 1; end < n; end++)
			if (part_of((uint64_t)points[end].time_ns - begin_ns, whole_ns, parts) != by_time ||
			    part_of(end, n, parts) != by_number)
				break;
		if (*kept + OF_A_STRETCH > most)
			return false;
		keep(out, kept, points, first, end);
	}
	return true;
}

/* Half of the stretches are equally long, the other half have equally many points: seen whole it looks as it was, and where much happened there
 * is more to see. As many stretches as there is room for: most have fewer points that differ than they may keep. */
struct memory_point *memory_course(const struct memory_point *points, size_t n, size_t most, size_t *kept)
{
	const uint64_t least = most / OF_A_STRETCH / 2 - 1; /* these fit, whatever is in them */
	struct memory_point *out = array_new(n < most ? n : most, sizeof(*out));

	*kept = 0;
	if (out && n <= most)
		for (size_t i = 0; i < n; i++)
			out[(*kept)++] = points[i];
	else if (out)
		for (uint64_t parts = 4 * least; !thin(out, kept, most, points, n, parts) && parts > least;)
			parts -= least;
	return out;
}

/* ---- a map ------------------------------------------------------------------------------------------------------------------ */

struct extent {
	const struct memory_part *part;
	size_t first, end;
	uint64_t bytes;
	size_t order;
	bool has_largest; /* the largest free piece: it stays whatever goes */
};

struct extents {
	struct extent *at;
	size_t n, cap;
};

static bool list_ranges(struct extents *r, const struct memory_worst *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct memory_part *part = &w->parts[i];

		for (size_t first = 0, end; first < part->n; first = end) {
			const struct memory_piece *last;

			end = memory_range_end(part->pieces, part->n, first);
			last = &part->pieces[end - 1];
			if (!array_room(r->at, r->n, r->cap))
				return false;
			r->at[r->n] = (struct extent){ part, first,
						       end,  last->address + last->bytes - part->pieces[first].address,
						       r->n, false };
			r->n++;
		}
	}
	return true;
}

static int largest_first(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->has_largest != y->has_largest)
		return x->has_largest ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int in_order(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static uint64_t used_of(const struct memory_piece *p)
{
	return p->state == MEMORY_FREE ? 0 : p->bytes;
}

static const struct memory_piece *find_largest(const struct extents *r)
{
	const struct memory_piece *largest = NULL;
	struct extent *of = NULL;

	for (size_t i = 0; i < r->n; i++)
		for (size_t k = r->at[i].first; k < r->at[i].end; k++) {
			const struct memory_piece *p = &r->at[i].part->pieces[k];

			if (p->state != MEMORY_FREE || (largest && p->bytes <= largest->bytes))
				continue;
			largest = p;
			of = &r->at[i];
		}
	if (of)
		of->has_largest = true;
	return largest;
}

/* The smallest ones are left out. */
static void choose(struct extents *r, size_t most, struct memory_picture *out)
{
	if (r->n <= most)
		return;
	array_sort(r->at, r->n, sizeof(*r->at), largest_first);
	for (size_t i = most; i < r->n; i++) {
		out->rows_left_out++;
		out->bytes_left_out += r->at[i].bytes;
		for (size_t k = r->at[i].first; k < r->at[i].end; k++)
			out->used_left_out += used_of(&r->at[i].part->pieces[k]);
	}
	r->n = most;
	array_sort(r->at, r->n, sizeof(*r->at), in_order);
}

/* Small neighbours go together until they are no longer small. cells NULL: only how many there are. */
static size_t draw(const struct extent *r, uint64_t smallest, const struct memory_piece *largest,
		   struct memory_cell *cells)
{
	struct memory_cell cell = { 0 };
	size_t n = 0;

	for (size_t i = r->first; i < r->end; i++) {
		const struct memory_piece *p = &r->part->pieces[i];
		bool alone = p->bytes >= smallest || p == largest;

		if (cell.pieces && (alone || cell.bytes >= smallest)) {
			if (cells)
				cells[n] = cell;
			n++;
			cell = (struct memory_cell){ 0 };
		}
		cell.state = !cell.pieces || cell.state == p->state ? p->state : CELL_SEVERAL;
		cell.bytes += p->bytes;
		cell.used += used_of(p);
		cell.pieces++;
		cell.largest = p == largest;
		if (!alone)
			continue;
		if (cells)
			cells[n] = cell;
		n++;
		cell = (struct memory_cell){ 0 };
	}
	if (cell.pieces && cells)
		cells[n] = cell;
	return n + (cell.pieces != 0);
}

static size_t count(const struct extents *r, uint64_t smallest, const struct memory_piece *largest)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += draw(&r->at[i], smallest, largest, NULL);
	return n;
}

static uint64_t bytes_of(const struct extents *r)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < r->n; i++)
		if (__builtin_add_overflow(bytes, r->at[i].bytes, &bytes))
			return UINT64_MAX;
	return bytes;
}

static bool fill(struct memory_picture *out, const struct extents *r, const struct memory_piece *largest)
{
	out->cap_rows = r->n;
	out->rows = array_new(r->n, sizeof(*out->rows));
	out->cap_cells = count(r, out->smallest, largest);
	out->cells = array_new(out->cap_cells, sizeof(*out->cells));
	if (!out->rows || !out->cells)
		return false;
	for (size_t i = 0; i < r->n; i++) {
		const struct memory_piece *p = &r->at[i].part->pieces[r->at[i].first];
		struct memory_row *row = &out->rows[out->n_rows++];

		*row = (struct memory_row){ .process = r->at[i].part->process,
					    .source = p->source,
					    .address = p->address,
					    .bytes = r->at[i].bytes,
					    .owner = p->owner,
					    .first = out->n_cells };
		row->n = draw(&r->at[i], out->smallest, largest, &out->cells[out->n_cells]);
		out->n_cells += row->n;
		for (size_t k = row->first; k < out->n_cells; k++)
			row->used += out->cells[k].used;
	}
	return true;
}

bool memory_picture_build(struct memory_picture *out, const struct memory_worst *w, size_t most_rows, size_t most_cells)
{
	struct extents ranges = { 0 };
	const struct memory_piece *largest;
	bool ok = list_ranges(&ranges, w);

	*out = (struct memory_picture){ 0 };
	if (ok) {
		largest = find_largest(&ranges);
		choose(&ranges, most_rows, out);
		if (count(&ranges, 0, largest) > most_cells)
			for (out->smallest = bytes_of(&ranges) / most_cells + 1;
			     count(&ranges, out->smallest, largest) > most_cells && out->smallest < UINT64_MAX / 2;)
				out->smallest *= 2;
		ok = fill(out, &ranges, largest);
	}
	free(ranges.at);
	if (!ok)
		memory_picture_free(out);
	return ok;
}

void memory_picture_free(struct memory_picture *p)
{
	free(p->rows);
	free(p->cells);
	*p = (struct memory_picture){ 0 };
}
