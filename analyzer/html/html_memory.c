/* SPDX-License-Identifier: BSD-2-Clause */
/* html_memory.c: each device's memory over time, where there was no room, and where everything lay at the worst moment. */
#include "html.h"

#include <stdlib.h>

#include "gap/gap_view.h"
#include "html_pack.h"
#include "memory/memory_picture.h"
#include "report/report_memory.h"
#include "tools/text.h"

/* Of one device; all together have eight times as many. */
#define MOST_POINTS 4000
#define MOST_ROWS 500
#define MOST_CELLS 6000
#define MOST_MARKS 400 /* the first half and the last half */
#define DEVICES 8

struct drawn { /* a device that is being written */
	struct html *h;
	const struct memory_device *d;
	const struct memory_worst *worst;
	size_t index; /* in memory.devices */
	uint32_t clock;
	size_t share; /* of what one device may have: 1 in so many */
	struct error *e;
};

static void key_bytes(struct json *j, const char *key, uint64_t bytes)
{
	json_key_int(j, key, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
}

/* That of whoever has it: those of one device are on one host. */
static uint32_t clock_of(const struct html *h, const struct memory_device *d)
{
	for (size_t i = 0; i < h->s->n_devices; i++)
		if (h->s->devices[i].memory == d)
			return html_clock_of_device(h, i);
	return html_clock_of_trace(h, d->trace);
}

/* ---- columns ---- */

typedef uint64_t column_value(const struct drawn *x, const void *rows, size_t i);

static enum err_kind column(const struct drawn *x, const char *key, enum pack_type type, const void *rows, size_t n,
			    column_value *value)
{
	struct pack p;

	pack_begin(&p, type);
	for (size_t i = 0; i < n; i++)
		pack_add(&p, value(x, rows, i));
	json_key(&x->h->json, key);
	return pack_end(&p, &x->h->json, x->e);
}

struct column {
	const char *key;
	enum pack_type type;
	column_value *value;
};

static enum err_kind columns(const struct drawn *x, const struct column *list, size_t n_list, const void *rows,
			     size_t n)
{
	enum err_kind kind = ERR_NONE;

	json_key_int(&x->h->json, "n", (int64_t)n);
	for (size_t i = 0; !kind && i < n_list; i++)
		kind = column(x, list[i].key, list[i].type, rows, n, list[i].value);
	return kind;
}

/* ---- over time ---- */

static uint64_t when(const struct drawn *x, const void *rows, size_t i)
{
	return html_ns(x->h, x->clock, ((const struct memory_point *)rows)[i].time_ns);
}

static uint64_t allocated(const struct drawn *x, const void *rows, size_t i)
{
	(void)x;
	return ((const struct memory_point *)rows)[i].use.allocated;
}

static uint64_t reserved(const struct drawn *x, const void *rows, size_t i)
{
	(void)x;
	return ((const struct memory_point *)rows)[i].use.reserved;
}

static uint64_t largest_free(const struct drawn *x, const void *rows, size_t i)
{
	(void)x;
	return ((const struct memory_point *)rows)[i].use.largest_free;
}

static enum err_kind course(const struct drawn *x)
{
	static const struct column list[] = { { "t", PACK_DELTA, when },
					      { "a", PACK_VARINT, allocated },
					      { "r", PACK_VARINT, reserved },
					      { "l", PACK_VARINT, largest_free } }; /* last: may not be known */
	size_t most = MOST_POINTS / x->share, kept;
	struct memory_point *points = memory_course(x->d->points, x->d->n_points, most < 64 ? 64 : most, &kept);
	enum err_kind kind;

	if (!points)
		return err_set(x->e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	json_key_map(&x->h->json, "course");
	json_key_int(&x->h->json, "points", (int64_t)x->d->n_points);
	kind = columns(x, list, x->d->framework.told ? 3 : 4, points, kept);
	json_map_end(&x->h->json);
	free(points);
	return kind;
}

/* ---- where there was no room ---- */

static void use(const struct drawn *x, const struct memory_use *u)
{
	struct json *j = &x->h->json;

	key_bytes(j, "allocated", u->allocated);
	key_bytes(j, "reserved", u->reserved);
	if (!x->d->framework.told)
		key_bytes(j, "largest_free", u->largest_free);
}

static void mark(const struct drawn *x, const struct memory_story *s)
{
	const struct frame *from = memory_asked_from(s);
	struct json *j = &x->h->json;
	char words[FRAME_WORDS] = "";

	if (from)
		frame_words(words, sizeof(words), from);
	json_map(j);
	json_key(j, "failed");
	json_bool(j, s->outcome == MEMORY_FAILED);
	json_key_uint(j, "t", html_ns(x->h, html_clock_of_trace(x->h, s->trace), s->begin_ns));
	json_key_uint(j, "until", html_ns(x->h, html_clock_of_trace(x->h, s->trace), s->end_ns));
	json_key_int(j, "pid", s->trace->header.pid);
	json_key_int(j, "tid", s->tid);
	json_key_text(j, "by", s->block ? "framework" : "driver");
	json_key_int(j, "call", html_string(&x->h->strings, s->first ? call_name(s->trace, s->first) : ""));
	json_key_int(j, "from", html_string(&x->h->strings, words));
	key_bytes(j, "asked", s->asked);
	key_bytes(j, "given_back", s->given_back);
	json_key_int(j, "refusals", (int64_t)(s->refusals & INT64_MAX));
	use(x, &s->at);
	if (s->left) {
		key_bytes(j, "device_free", s->left->free);
		key_bytes(j, "device_total", s->left->total);
	}
	json_key(j, "enough");
	json_bool(j, memory_story_enough(s));
	json_map_end(j);
}

static void marks(const struct drawn *x)
{
	const struct memory_stories *all = &x->h->s->memory.stories;
	size_t n = 0, at = 0, half = MOST_MARKS / x->share / 2 + 1;

	for (size_t i = 0; i < all->n; i++)
		n += all->at[i].device == x->index;
	json_key_int(&x->h->json, "marks_left_out", (int64_t)(n > 2 * half ? n - 2 * half : 0));
	json_key_array(&x->h->json, "marks");
	for (size_t i = 0; i < all->n; i++) {
		if (all->at[i].device != x->index)
			continue;
		if (at < half || at + half >= n)
			mark(x, &all->at[i]);
		at++;
	}
	json_array_end(&x->h->json);
}

/* ---- the map ---- */

static uint64_t cell_bytes(const struct drawn *x, const void *rows, size_t i)
{
	(void)x;
	return ((const struct memory_cell *)rows)[i].bytes;
}

static uint64_t cell_used(const struct drawn *x, const void *rows, size_t i)
{
	(void)x;
	return ((const struct memory_cell *)rows)[i].used;
}

static uint64_t cell_pieces(const struct drawn *x, const void *rows, size_t i)
{
	(void)x;
	return ((const struct memory_cell *)rows)[i].pieces;
}

/* enum memory_cell_state, and 4 of the largest free piece. */
static uint64_t cell_kind(const struct drawn *x, const void *rows, size_t i)
{
	const struct memory_cell *c = &((const struct memory_cell *)rows)[i];

	(void)x;
	return c->largest ? 4 : c->state;
}

static void row(const struct drawn *x, const struct memory_row *r)
{
	struct json *j = &x->h->json;
	char address[TEXT_SHORT];

	snprintf(address, sizeof(address), "0x%llx",
		 (unsigned long long)r->address); /* may be more than a double holds */
	json_map(j);
	json_key_text(j, "address", address);
	json_key_text(j, "source", memory_source_name(r->source));
	if (r->source == MEMORY_POOLED)
		json_key_int(j, "pool", (int64_t)(r->owner & INT64_MAX));
	json_key_int(j, "pid", x->h->s->run->traces[r->process]->header.pid);
	key_bytes(j, "bytes", r->bytes);
	key_bytes(j, "used", r->used);
	json_key_int(j, "cells", (int64_t)r->n);
	json_map_end(j);
}

static enum err_kind picture(const struct drawn *x, const struct memory_picture *p)
{
	static const struct column list[] = { { "b", PACK_VARINT, cell_bytes },
					      { "u", PACK_VARINT, cell_used },
					      { "c", PACK_VARINT, cell_pieces },
					      { "k", PACK_U8, cell_kind } };
	struct json *j = &x->h->json;
	enum err_kind kind;

	json_key_int(j, "rows_left_out", (int64_t)p->rows_left_out);
	key_bytes(j, "bytes_left_out", p->bytes_left_out);
	key_bytes(j, "used_left_out", p->used_left_out);
	key_bytes(j, "smallest", p->smallest);
	json_key_array(j, "rows");
	for (size_t i = 0; i < p->n_rows; i++)
		row(x, &p->rows[i]);
	json_array_end(j);
	json_key_map(j, "cells");
	kind = columns(x, list, 4, p->cells, p->n_cells);
	json_map_end(j);
	return kind;
}

static enum err_kind worst(const struct drawn *x)
{
	const struct memory_worst *w = x->worst;
	size_t rows = MOST_ROWS / x->share + 1;
	struct json *j = &x->h->json;
	struct memory_picture p;
	enum err_kind kind;

	if (!w->found)
		return ERR_NONE;
	if (!memory_picture_build(&p, w, rows, 2 * rows + MOST_CELLS / x->share))
		return err_set(x->e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	json_key_map(j, "worst");
	json_key_uint(j, "t", html_ns(x->h, x->clock, w->time_ns));
	json_key_text(j, "why", w->story ? "out-of-memory" : "fragmentation");
	if (w->story)
		key_bytes(j, "asked", w->story->asked);
	use(x, &w->use);
	if (!x->d->framework.told)
		json_key_double(j, "fragmentation", memory_fragmentation(&w->use));
	key_bytes(j, "unplaced", w->unplaced);
	kind = picture(x, &p);
	json_map_end(j);
	memory_picture_free(&p);
	return kind;
}

/* ---- the whole ---- */

static enum err_kind device(const struct drawn *x)
{
	struct json *j = &x->h->json;
	enum err_kind kind;

	json_map(j);
	json_key_int(j, "device", report_memory_number(x->h->s, x->d));
	json_key_int(j, "name", html_string(&x->h->strings, x->d->device.name));
	key_bytes(j, "total", x->d->device.memory_bytes);
	key_bytes(j, "peak_allocated", x->d->peak_allocated);
	key_bytes(j, "peak_reserved", x->d->peak_reserved);
	if (x->d->framework.told)
		key_bytes(j, "before", x->d->framework.before);
	kind = course(x);
	if (!kind) {
		marks(x);
		kind = worst(x);
	}
	json_map_end(j);
	return kind;
}

enum err_kind html_memory(struct html *h, struct error *e)
{
	const struct memory *m = &h->s->memory;
	struct memory_worst *all;
	enum err_kind kind = memory_worst_build(&all, m, h->s->run, e);

	if (kind)
		return kind;
	json_key_array(&h->json, "memory");
	for (size_t i = 0; !kind && i < m->n_devices; i++) {
		const struct memory_device *d = &m->devices[i];
		const struct drawn x = { .h = h,
					 .d = d,
					 .worst = &all[i],
					 .index = i,
					 .clock = clock_of(h, d),
					 .share = (m->n_devices + DEVICES - 1) / DEVICES,
					 .e = e };

		if (d->peak_reserved || d->out_of_memory || d->retries)
			kind = device(&x);
	}
	json_array_end(&h->json);
	memory_worst_free(all, m->n_devices);
	return kind;
}
