/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_ranges.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "names.h"
#include "range_ends.h"
#include "tools/alloc.h"
#include "tools/spill.h"
#include "tools/text_put.h"
#include "trace.h"

#define DETAILS_BYTES 512
#define FIELDS 64        /* lines of a schema that are looked at, the recorder describes 32 … */
#define FIELD_BYTES 1024 /* … and bytes of each, of which it writes at most 608 */

struct category {
	uint32_t domain, number, name; /* names in space NVTX but for the number */
	size_t order;                  /* of several names of one */
};

struct details { /* of one range */
	uint32_t range;
	size_t text; /* in ranges_room.text */
};

struct ranges_room {
	struct range *all;
	size_t n, cap;
	struct category *categories;
	size_t n_categories, categories_cap;
	bool categories_sorted;
	struct details *details;
	size_t n_details, details_cap;
	char *text;
	size_t text_n, text_cap;
	struct gst_nvtx slot;
	uint32_t copies;
};

bool ranges_new(struct ranges_room **out)
{
	*out = calloc(1, sizeof(**out));
	return *out != NULL;
}

void ranges_free(struct ranges_room *room)
{
	if (!room)
		return;
	spill_free(room->all);
	free(room->categories);
	free(room->details);
	free(room->text);
	free(room);
}

bool ranges_said(struct ranges_room *room, const struct gst_nvtx *r)
{
	switch (r->what) {
	case GST_NVTX_OURS:
	case GST_NVTX_TAKEN:
	case GST_NVTX_OFF:
		room->slot = *r;
		return true;
	case GST_NVTX_ATTACHED:
		room->copies = r->number > room->copies ? r->number : room->copies;
		return true;
	case GST_NVTX_CATEGORY:
		if (!array_room(room->categories, room->n_categories, room->categories_cap))
			return false;
		room->categories[room->n_categories] =
			(struct category){ r->domain, r->number, r->name, room->n_categories };
		room->n_categories++;
		room->categories_sorted = false;
		return true;
	default:
		return true;
	}
}

static int by_category(const void *a, const void *b)
{
	const struct category *x = a, *y = b;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static bool up_to(const void *element, const void *key)
{
	return by_category(element, key) <= 0;
}

/* The last name counts. */
static const char *category_name(struct ranges_room *room, uint32_t domain, uint32_t number, const struct names *names,
				 const struct trace *t)
{
	const struct category key = { domain, number, 0, SIZE_MAX };
	size_t behind;

	if (!number || !room->n_categories)
		return NULL;
	if (!room->categories_sorted)
		array_sort(room->categories, room->n_categories, sizeof(*room->categories), by_category);
	room->categories_sorted = true;
	behind = array_first(room->categories, room->n_categories, sizeof(*room->categories), up_to, &key);
	if (!behind || room->categories[behind - 1].domain != domain || room->categories[behind - 1].number != number)
		return NULL;
	return names_of(names, t, GST_SPACE_NVTX, room->categories[behind - 1].name);
}

bool ranges_add(struct ranges_room *room, const struct gst_range *r, uint32_t tid, const struct names *names,
		const struct trace *t, struct clock *clock)
{
	int64_t begin = clock_ns(clock, r->begin), end = r->end ? clock_ns(clock, r->end) : INT64_MAX;

	if ((r->end ? end : begin) > t->seen_ns)
		return true;
	if (!spill_room(room->all, room->n, room->cap))
		return false;
	room->all[room->n++] =
		(struct range){ .begin_ns = begin,
				.end_ns = end < begin ? begin : end,
				.payload = r->payload,
				.domain = r->domain ? names_of(names, t, GST_SPACE_NVTX, r->domain) : NULL,
				.name = r->name ? names_of(names, t, GST_SPACE_NVTX, r->name) : NULL,
				.category = category_name(room, r->domain, r->category, names, t),
				.id = r->range,
				.tid = r->tid,
				.ended_by = r->end ? tid : r->tid,
				.number = r->number,
				.level = r->level,
				.kind = r->kind,
				.payload_kind = r->payload_kind,
				.numbered = r->flags & GST_RANGE_NUMBERED };
	return true;
}

/* ---- structured payloads ------------------------------------------------------------------------------------------------ */

struct field { /* a line of a schema: "16 u32 label\t0=Sum\t1=Product" */
	unsigned long offset, bits;
	char letter;
	const char *label, *values; /* values: NULL, or from the first tab on */
	size_t label_bytes, values_bytes;
};

/* False: the line is none. */
static bool parse_field(struct field *f, const char *line, size_t length)
{
	const char *end = line + length, *tab;
	char *at;

	f->offset = strtoul(line, &at, 10);
	if (at == line || at >= end || *at != ' ')
		return false;
	f->letter = at[1];
	f->bits = strtoul(at + 2, &at, 10);
	if (at >= end || *at != ' ' || !strchr("uif", f->letter) || f->bits % 8 || f->bits < 8 || f->bits > 64)
		return false;
	f->label = at + 1;
	tab = memchr(f->label, '\t', (size_t)(end - f->label));
	f->label_bytes = (size_t)((tab ? tab : end) - f->label);
	f->values = tab;
	f->values_bytes = tab ? (size_t)(end - tab) : 0;
	return true;
}

/* Of an enumeration what the value is called; NULL: not there. */
static const char *value_name(const struct field *f, uint64_t value, size_t *bytes)
{
	const char *at = f->values, *end = at ? at + f->values_bytes : NULL;

	while (at && at < end) {
		const char *tab = memchr(at + 1, '\t', (size_t)(end - at - 1)), *stop = tab ? tab : end;
		char *equals;

		if (strtoull(at + 1, &equals, 10) == value && equals < stop && *equals == '=') {
			*bytes = (size_t)(stop - equals - 1);
			return equals + 1;
		}
		at = tab;
	}
	return NULL;
}

static void say_value(char *buf, size_t size, const struct field *f, uint64_t raw)
{
	unsigned unused = 64 - (unsigned)f->bits;
	size_t bytes;
	const char *called = value_name(f, raw, &bytes);
	double d;
	float s;

	if (called)
		snprintf(buf, size, "%.*s", (int)bytes, called);
	else if (f->letter == 'f' && f->bits == 64)
		snprintf(buf, size, "%g", (memcpy(&d, &raw, sizeof(d)), d));
	else if (f->letter == 'f' && f->bits == 32)
		snprintf(buf, size, "%g", (double)(memcpy(&s, &raw, sizeof(s)), s));
	else if (f->letter == 'i')
		snprintf(buf, size, "%" PRId64, (int64_t)(raw << unused) >> unused);
	else if (raw >> 40) /* a hash, an address */
		snprintf(buf, size, "0x%" PRIx64, raw);
	else
		snprintf(buf, size, "%" PRIu64, raw);
}

static void decode(char out[DETAILS_BYTES], const char *schema, const uint8_t *data, size_t bytes)
{
	size_t used = 0, lines = 0;

	out[0] = 0;
	for (const char *line = schema, *end; lines < FIELDS && (end = memchr(line, '\n', strnlen(line, FIELD_BYTES)));
	     line = end + 1, lines++) {
		struct field f;
		uint64_t raw = 0;
		char value[96];
		int n;

		if (!parse_field(&f, line, (size_t)(end - line)) || f.offset > bytes || f.bits / 8 > bytes - f.offset)
			continue;
		memcpy(&raw, data + f.offset, f.bits / 8);
		say_value(value, sizeof(value), &f, raw);
		n = snprintf(out + used, DETAILS_BYTES - used, "%s%.*s%s%s", used ? ", " : "", (int)f.label_bytes,
			     f.label, f.label_bytes ? " " : "", value);
		if (n < 0 || (size_t)n >= DETAILS_BYTES - used) {
			out[used] = 0;
			return;
		}
		used += (size_t)n;
	}
}

bool ranges_add_data(struct ranges_room *room, const struct gst_range_data *r, const struct names *names,
		     const struct trace *t)
{
	const char *schema = r->schema ? names_of(names, t, GST_SPACE_NVTX, r->schema) : NULL;
	char text[DETAILS_BYTES];
	size_t bytes;

	if (!schema)
		return true;
	decode(text, schema, r->data, r->kept);
	bytes = strlen(text) + 1;
	while (room->text_cap < room->text_n + bytes) {
		char *bigger = array_grow(room->text, &room->text_cap, 1);

		if (!bigger)
			return false;
		room->text = bigger;
	}
	if (!array_room(room->details, room->n_details, room->details_cap))
		return false;
	room->details[room->n_details++] = (struct details){ r->range, room->text_n };
	memcpy(room->text + room->text_n, text, bytes);
	room->text_n += bytes;
	return true;
}

/* ---- together ------------------------------------------------------------------------------------------------------------ */

/* By number; of one number first the one that has ended. */
static int by_id(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static bool lower_range(const void *element, const void *key)
{
	return ((const struct range *)element)->id < *(const uint32_t *)key;
}

static void join_details(struct ranges_room *room)
{
	for (size_t i = 0; i < room->n_details; i++) {
		uint32_t id = room->details[i].range;
		size_t at = array_first(room->all, room->n, sizeof(*room->all), lower_range, &id);

		if (at < room->n && room->all[at].id == id && !room->all[at].details)
			room->all[at].details = room->text + room->details[i].text;
	}
}

void ranges_publish(struct ranges_room *room, const struct names *names, struct trace *t)
{
	size_t kept = 0;

	array_sort(room->all, room->n, sizeof(*room->all), by_id);
	for (size_t i = 0; i < room->n; i++)
		if (!kept || room->all[kept - 1].id != room->all[i].id)
			room->all[kept++] = room->all[i];
	room->n = kept;
	join_details(room);
	range_ends_find(room->all, room->n);
	array_sort(room->all, room->n, sizeof(*room->all), by_time);
	t->ranges = room->all;
	t->n_ranges = room->n;
	t->range_text = room->text;
	room->all = NULL;
	room->text = NULL;
	t->nvtx = (struct nvtx_slot){ .what = room->slot.what, .copies = room->copies };
	if (room->slot.what == GST_NVTX_TAKEN)
		t->nvtx.tool = names_of(names, t, GST_SPACE_NVTX, room->slot.name);
}

const char *range_name(char *buf, size_t size, const struct range *r)
{
	struct text_put p = text_put_begin(buf, size);

	put_text(&p, r->name ? r->name : "range");
	if (r->name && r->numbered)
		put_uint(&p, r->number);
	return buf;
}
