/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch_rows.h"

#include "comm_kernels.h"
#include "launch_cuts.h"
#include "tools/alloc.h"
#include "tools/fnv.h"
#include "tools/hash_index.h"
#include "tools/spill.h"

#include <stdlib.h>
#include <string.h>

#define SILENT_NS 100000       /* between two launches: there a gap may be, so a row ends */
#define LONG_NS 100000         /* a launch that takes longer stands for itself: something may be said of it */
#define KERNELS_MAX (1u << 20) /* ids beyond are those of a damaged file */

static bool room_for(struct launch_rows *r, uint32_t id)
{
	size_t had = r->n_kernels;

	if (id >= KERNELS_MAX)
		return false;
	while (r->n_kernels <= id)
		if (!array_room(r->kernels, r->n_kernels, r->n_kernels))
			return false;
	if (r->n_kernels > had)
		memset(r->kernels + had, 0, (r->n_kernels - had) * sizeof(*r->kernels));
	return true;
}

bool launch_rows_begin(struct launch_rows *r, uint16_t part, const struct clock *clock, const struct launch_rows *like)
{
	*r = (struct launch_rows){ .part = part,
				   .silent = clock_is_ns(clock) ? SILENT_NS : INT32_MAX,
				   .longest = clock_is_ns(clock) ? LONG_NS : LAUNCH_LONGEST };
	if (!room_for(r, like ? (uint32_t)like->n_kernels - 1 : 0))
		return false;
	if (like)
		memcpy(r->kernels, like->kernels, like->n_kernels * sizeof(*r->kernels));
	r->kernels[0].plain = true; /* without a name */
	for (size_t i = 0; i < LAUNCHES_KNOWN; i++)
		r->known[i].shape = LAUNCH_SHAPES;
	return true;
}

void launch_rows_free(struct launch_rows *r)
{
	hash_free(&r->index);
	free(r->kernels);
	spill_free(r->at);
	spill_free(r->launches.at);
	spill_free(r->launches.places);
	free(r->launches.shapes);
	*r = (struct launch_rows){ 0 };
}

void launch_rows_named(struct launch_rows *r, const struct gst_name *name)
{
	char text[UINT16_MAX + 1];

	if (name->space != GST_SPACE_KERNEL || !name->id || !room_for(r, name->id))
		return;
	memcpy(text, name->text, name->length);
	text[name->length] = 0;
	r->kernels[name->id].plain = !comm_kernel(text);
}

/* ---- collecting ---- */

static bool same_shape(const struct launch_shape *a, const struct launch_shape *b)
{
	return a->name == b->name && a->args[0] == b->args[0] && a->args[1] == b->args[1];
}

/* HASH_NONE: no memory; LAUNCH_SHAPES: there are too many. */
static uint32_t find_shape(struct launch_rows *r, const struct launch_shape *s)
{
	const uint64_t key[] = { s->args[0], s->args[1], s->name };
	uint64_t hash = fnv1a(FNV_BEGIN, key, sizeof(key));
	struct launch_part *all = &r->launches;
	uint32_t number;

	for (size_t at = 0; (number = hash_next(&r->index, hash, &at)) != HASH_NONE;)
		if (same_shape(&all->shapes[number], s))
			return number;
	if (all->n_shapes == LAUNCH_SHAPES)
		return LAUNCH_SHAPES;
	if (!array_room(all->shapes, all->n_shapes, all->cap_shapes) ||
	    !hash_add(&r->index, hash, (uint32_t)all->n_shapes))
		return HASH_NONE;
	all->shapes[all->n_shapes] = *s;
	return (uint32_t)all->n_shapes++;
}

_Static_assert(LAUNCHES_KNOWN == 1 << (32 - 22), "known_at");

/* By kernel and width of the grid. */
static inline size_t known_at(const struct gst_call *c)
{
	return (c->name * 0x9e3779b1u + (uint32_t)c->args[0] * 0x85ebca6bu) >> 22;
}

/* The next launch. False: no memory. */
static bool lies_at(struct launch_rows *r, uint64_t byte)
{
	struct launch_part *all = &r->launches;
	struct launch_place *last = all->n_places ? &all->places[all->n_places - 1] : NULL;

	if (last && byte == last->byte + (all->n - last->launch) * sizeof(struct gst_call))
		return true;
	if (last && last->launch == all->n) {
		last->byte = byte;
		return true;
	}
	if (!spill_room(all->places, all->n_places, all->cap_places))
		return false;
	all->places[all->n_places++] = (struct launch_place){ all->n, byte };
	return true;
}

static bool begin_row(struct launch_rows *r, const struct gst_call *c, const struct record_view *v)
{
	if (!spill_room(r->at, r->n, r->cap))
		return false;
	r->at[r->n++] = (struct launch_row){ .begin_ns = (int64_t)c->begin,
					     .end_ns = (int64_t)c->begin,
					     .first = r->launches.n,
					     .tid = v->tid,
					     .stream = c->stream,
					     .seq = c->seq,
					     .hook = c->hook,
					     .device = c->device,
					     .part = r->part };
	r->open = true;
	return true;
}

/* One that may be a kernel's first stands for itself: gap_view_first_launch compares it with that. */
static inline bool is_plain(struct launch_rows *r, struct launch_kernel *known, const struct gst_call *c, uint32_t tid)
{
	bool first = !known->launched || known->tid != tid;

	known->tid = tid;
	known->launched = true;
	return !first && known->plain && c->flags == GST_SUBMISSION && c->result == 0 && c->stream != GST_NONE &&
	       c->hook < GST_HOOK_MAX && c->end >= c->begin && c->end - c->begin <= r->longest &&
	       c->end < (uint64_t)CLOCK_MAX_NS - INT32_MAX;
}

enum launch_taken launch_rows_take(struct launch_rows *r, const struct gst_call *c, const struct record_view *v)
{
	const struct launch_shape shape = { { c->args[0], c->args[1] }, c->name };
	struct launch_kernel *kernel = c->name < r->n_kernels ? &r->kernels[c->name] : NULL;
	struct launch_known known = { { c->args[0], c->args[1] }, c->name, v->tid, LAUNCH_SHAPES };

	if (c->family == GST_FAMILY_LAUNCH && kernel && is_plain(r, kernel, c, v->tid))
		known.shape = find_shape(r, &shape);
	if (known.shape == LAUNCH_SHAPES) {
		r->open = false;
		return LAUNCH_NOT_TAKEN;
	}
	if (known.shape == HASH_NONE || !spill_room(r->launches.at, r->launches.n, r->launches.cap))
		return LAUNCH_NO_MEMORY;
	r->known[known_at(c)] = known;
	if (launch_rows_go_on(r, c, 1, v->tid, v->byte))
		return LAUNCH_TAKEN;
	return begin_row(r, c, v) && launch_rows_go_on(r, c, 1, v->tid, v->byte) ? LAUNCH_TAKEN : LAUNCH_NO_MEMORY;
}

/* ---- most launches ---- */

/* What all launches of a row have in common: hook, family and flags; result and stream. */
struct call_kind {
	uint32_t what;
	uint64_t where;
};

static inline struct call_kind kind_of(const struct gst_call *c)
{
	struct call_kind k;

	memcpy(&k.what, &c->hook, sizeof(k.what));
	memcpy(&k.where, &c->result, sizeof(k.where));
	return k;
}

static inline bool is_of_row(const struct gst_call *c, struct call_kind kind, uint32_t seq, uint16_t device)
{
	const struct call_kind its = kind_of(c);

	return its.what == kind.what && its.where == kind.where && c->seq == seq && c->device == device;
}

/* NULL: it was not launched like this lately. */
static inline const struct launch_known *find_known(const struct launch_rows *r, const struct gst_call *c, uint32_t tid)
{
	const struct launch_known *known = &r->known[known_at(c)];

	return known->args[0] == c->args[0] && known->args[1] == c->args[1] && known->name == c->name &&
			       known->tid == tid && known->shape != LAUNCH_SHAPES
		       ? known
		       : NULL;
}

static inline uint32_t longer(uint32_t ticks, int64_t other)
{
	return other > ticks ? (uint32_t)other : ticks;
}

size_t launch_rows_go_on(struct launch_rows *r, const struct gst_call *c, size_t n, uint32_t tid, uint64_t byte)
{
	struct launch_part *all = &r->launches;
	struct launch_row *row = r->open ? &r->at[r->n - 1] : NULL;
	struct launch *out;
	int64_t row_begin, last_end;
	struct call_kind kind;
	size_t i;

	n = n < all->cap - all->n ? n : all->cap - all->n;
	if (!row || row->tid != tid || !lies_at(r, byte) || !n)
		return 0;
	out = all->at + all->n;
	kind = kind_of(&(struct gst_call){
		.hook = row->hook, .family = GST_FAMILY_LAUNCH, .flags = GST_SUBMISSION, .stream = row->stream });
	row_begin = row->begin_ns;
	last_end = row->end_ns;
	for (i = 0; i < n && is_of_row(c, kind, row->seq + row->n, row->device); i++, c++) {
		int64_t begin = (int64_t)c->begin, end = (int64_t)c->end, silence = begin - last_end;
		uint64_t took = c->end - c->begin;
		const struct launch_known *known = find_known(r, c, tid);

		if (!known || begin < last_end || end - row_begin >= INT32_MAX || took > r->longest ||
		    silence > r->silent)
			break;
		out[i] = (struct launch){ (uint32_t)(begin - row_begin), (uint32_t)took, known->shape };
		row->silence = longer(row->silence, silence);
		row->longest = longer(row->longest, (int64_t)took);
		row->n++;
		last_end = end;
	}
	all->n += i;
	row->end_ns = last_end;
	return i;
}

/* ---- nanoseconds ---- */

/* The row's launches from `at` on are one that begins there. */
static bool begin_again(struct launch_rows *r, const struct launch_row *row, uint32_t at)
{
	struct launch_row rest = *row;

	if (!spill_room(r->at, r->n, r->cap))
		return false;
	rest.first += at;
	rest.seq += at;
	rest.n = 0;
	r->at[r->n++] = rest;
	return true;
}

/* Is none of its launches long, no silence between two, and the clock even for all of its time? */
static bool is_even(const struct launch_row *row, const struct clock_line *line)
{
	return clock_line_is_short(line, (uint64_t)row->begin_ns, (uint64_t)row->end_ns) &&
	       clock_line_short(line, (uint64_t)row->end_ns) - clock_line_short(line, (uint64_t)row->begin_ns) <
		       INT32_MAX &&
	       row->longest * line->rate < LONG_NS - 1 && row->silence * line->rate < SILENT_NS - 1;
}

static bool settle_even(struct launch_rows *r, const struct clock_line *line, struct launch_row row)
{
	struct launch *all = &r->launches.at[row.first];
	uint64_t begin_ticks = (uint64_t)row.begin_ns;
	int64_t base_ns = clock_line_short(line, begin_ticks);

	if (!spill_room(r->at, r->n, r->cap))
		return false;
	row.end_ns = clock_line_short(line, (uint64_t)row.end_ns);
	row.begin_ns = row.base_ns = base_ns;
	for (uint32_t i = 0; i < row.n; i++) {
		uint64_t at = begin_ticks + all[i].begin;
		int64_t begin_ns = clock_line_short(line, at);

		all[i].took = (uint32_t)(clock_line_short(line, at + all[i].took) - begin_ns);
		all[i].begin = (uint32_t)(begin_ns - base_ns);
	}
	r->at[r->n++] = row;
	return true;
}

/* Of a row in ticks: where a launch is long or a silence is, or the row becomes long, another one begins. */
static bool settle_row(struct launch_rows *r, const struct clock *clock, struct clock_line *line, struct launch_row row)
{
	struct launch *all = &r->launches.at[row.first];
	uint64_t begin_ticks = (uint64_t)row.begin_ns;
	int64_t base_ns = 0, end_ns = 0;
	bool own = false;

	for (uint32_t i = 0; i < row.n; i++) {
		uint64_t at = begin_ticks + all[i].begin, until = at + all[i].took;
		int64_t begin_ns, until_ns;
		struct launch_row *last;
		bool is_long;

		if (at < line->from || at >= line->until)
			*line = clock_line_at(clock, at);
		begin_ns = clock_line_ns(line, at);
		if (until >= line->until)
			*line = clock_line_at(clock, until);
		until_ns = clock_line_ns(line, until);
		is_long = until_ns - begin_ns > LONG_NS;
		if (!i || own || is_long || begin_ns - end_ns > SILENT_NS || begin_ns - base_ns >= INT32_MAX) {
			if (!begin_again(r, &row, i))
				return false;
			base_ns = begin_ns;
		}
		own = is_long;
		last = &r->at[r->n - 1];
		last->begin_ns = last->base_ns = base_ns;
		all[i].begin = (uint32_t)(begin_ns - base_ns);
		all[i].took = is_long ? LAUNCH_LONGEST : (uint32_t)(until_ns - begin_ns);
		last->n++;
		last->end_ns = end_ns = until_ns;
	}
	return true;
}

bool launch_rows_settle(struct launch_rows *r, const struct clock *clock)
{
	struct launch_row *rows = r->at;
	struct clock_line line = { 0 };
	size_t n = r->n;
	bool ok = true;

	if (clock_is_ns(clock)) {
		for (size_t i = 0; i < n; i++)
			r->at[i].base_ns = r->at[i].begin_ns;
		return true;
	}
	r->at = NULL;
	r->n = r->cap = 0;
	for (size_t i = 0; i < n && ok; i++) {
		uint64_t ticks = (uint64_t)rows[i].begin_ns;

		if (ticks < line.from || ticks >= line.until)
			line = clock_line_at(clock, ticks);
		ok = is_even(&rows[i], &line) ? settle_even(r, &line, rows[i]) : settle_row(r, clock, &line, rows[i]);
	}
	spill_free(rows);
	return ok;
}
