/* SPDX-License-Identifier: BSD-2-Clause */
/* report_memory_json.c: the key `memory`: one entry for each device, those with work first, as they stand in `devices`. */
#include "report_memory.h"

#include "gap/gap_view.h"
#include "import/import.h"
#include "report_json.h"
#include "tools/text.h"

#define POINTS 256 /* of a device's course, at most */

static void key_bytes(struct json *j, const char *key, uint64_t bytes)
{
	json_key_int(j, key, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
}

static void key_address(struct json *j, const char *key, uint64_t address)
{
	char text[TEXT_SHORT];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	json_key_text(j, key, text);
}

/* scattered: how what is free lies is known; else what follows from it is null. */
static void largest_free(struct json *j, const struct memory_use *u, bool scattered)
{
	if (scattered)
		json_int(j, (int64_t)(u->largest_free & INT64_MAX));
	else
		json_number(j, "null");
}

static void key_largest_free(struct json *j, const struct memory_use *u, bool scattered)
{
	json_key(j, "largest_free_bytes");
	largest_free(j, u, scattered);
}

static void key_fragmentation(struct json *j, const struct memory_use *u, bool scattered)
{
	json_key(j, "fragmentation");
	if (scattered)
		json_double(j, memory_fragmentation(u));
	else
		json_number(j, "null");
}

static void use(struct json *j, const struct memory_use *u, bool scattered)
{
	key_bytes(j, "allocated_bytes", u->allocated);
	key_bytes(j, "reserved_bytes", u->reserved);
	key_bytes(j, "free_bytes", u->reserved - u->allocated);
	key_largest_free(j, u, scattered);
	key_fragmentation(j, u, scattered);
}

static void point(struct json *j, const struct memory_point *p, bool scattered)
{
	json_array(j);
	json_int(j, p->time_ns);
	json_int(j, (int64_t)(p->use.allocated & INT64_MAX));
	json_int(j, (int64_t)(p->use.reserved & INT64_MAX));
	largest_free(j, &p->use, scattered);
	json_array_end(j);
}

/* Of each stretch of many points the one with most allocated: its peak is not lost. */
static void course(struct json *j, const struct memory_device *d)
{
	size_t stretch = d->n_points / POINTS + 1;

	json_key_array(j, "course");
	for (size_t i = 0; i < d->n_points; i += stretch) {
		size_t best = i;

		for (size_t k = i; k < i + stretch && k < d->n_points; k++)
			if (d->points[k].use.allocated > d->points[best].use.allocated)
				best = k;
		point(j, &d->points[best], !d->framework.told);
	}
	json_array_end(j);
}

static void pools(struct json *j, const struct summary *s, size_t device)
{
	json_key_array(j, "pools");
	for (size_t i = 0; i < s->memory.n_pools; i++) {
		const struct memory_pooled *p = &s->memory.pools[i];

		if (p->device != device || !p->last.time_ns)
			continue;
		json_map(j);
		json_key_int(j, "pid", s->run->traces[p->process]->header.pid);
		json_key_int(j, "pool", p->pool);
		key_bytes(j, "reserved_bytes", p->last.reserved);
		key_bytes(j, "peak_reserved_bytes", p->last.reserved_high);
		key_bytes(j, "used_bytes", p->last.used);
		key_bytes(j, "peak_used_bytes", p->last.used_high);
		json_map_end(j);
	}
	json_array_end(j);
}

const char *memory_source_name(uint8_t source)
{
	static const char *const names[MEMORY_SOURCES] = { "allocated", "mapped", "pooled", "unseen" };

	return source < MEMORY_SOURCES ? names[source] : "";
}

/* Ranges with what is in them: [offset, bytes, 1 used 0 free]. */
static void map(struct json *j, const struct memory_story *s)
{
	json_key_array(j, "map");
	for (size_t i = 0; i < s->n_pieces;) {
		size_t first = i, end = memory_range_end(s->pieces, s->n_pieces, i);
		const struct memory_piece *last = &s->pieces[end - 1];

		json_map(j);
		key_address(j, "address", s->pieces[first].address);
		key_bytes(j, "bytes", last->address + last->bytes - s->pieces[first].address);
		json_key_text(j, "source", memory_source_name(s->pieces[first].source));
		json_key_array(j, "pieces");
		for (; i < end; i++) {
			json_array(j);
			json_int(j, (int64_t)(s->pieces[i].address - s->pieces[first].address));
			json_int(j, (int64_t)(s->pieces[i].bytes & INT64_MAX));
			json_int(j, s->pieces[i].state != MEMORY_FREE);
			json_array_end(j);
		}
		json_array_end(j);
		json_map_end(j);
	}
	json_array_end(j);
	json_key_int(j, "map_left_out", (int64_t)s->pieces_left_out);
}

static void story(struct json *j, const struct memory_story *s, bool scattered, bool page)
{
	const struct frame *from = memory_asked_from(s);
	char place[48 + PLACE_TEXT], where[PLACE_TEXT], words[FRAME_WORDS] = "";

	if (from)
		frame_words(words, sizeof(words), from);
	json_map(j);
	json_key_text(j, "outcome", s->outcome == MEMORY_FAILED ? "out-of-memory" : "retried");
	json_key_int(j, "begin_ns", s->begin_ns);
	json_key_int(j, "end_ns", s->end_ns);
	json_key_int(j, "pid", s->trace->header.pid);
	json_key_int(j, "tid", s->tid);
	json_key_text(j, "by", s->block ? "framework" : "driver");
	json_key_text(j, "call", s->first ? call_name(s->trace, s->first) : "");
	json_key_text(j, "asked_from", words);
	key_bytes(j, "asked_bytes", s->asked);
	json_key_int(j, "refusals", (int64_t)s->refusals);
	json_key_int(j, "ranges_given_back", (int64_t)s->ranges_given_back);
	key_bytes(j, "given_back_bytes", s->given_back);
	json_key_map(j, "before");
	use(j, &s->before, scattered);
	json_map_end(j);
	use(j, &s->at, scattered);
	if (s->left) {
		key_bytes(j, "device_free_bytes", s->left->free);
		key_bytes(j, "device_total_bytes", s->left->total);
	}
	json_key(j, "enough_if_defragmented");
	json_bool(j, memory_story_enough(s));
	json_key_array(j, "evidence");
	snprintf(place, sizeof(place), "%.40s %s", text_base(s->trace->path),
		 import_place_text(where, sizeof(where), s->trace, s->block ? s->block->byte : s->last->byte));
	json_text(j, place);
	json_array_end(j);
	if (s->outcome == MEMORY_FAILED && !page)
		map(j, s);
	json_map_end(j);
}

static void stories(struct json *j, const struct summary *s, size_t device, const struct report_scope *scope)
{
	size_t left = report_rows(scope, s->memory.stories.n);

	json_key_array(j, "stories");
	for (size_t i = 0; i < s->memory.stories.n; i++) {
		const struct memory_story *one = &s->memory.stories.at[i];

		if (one->device == device && left) {
			story(j, one, !s->memory.devices[device].framework.told, scope->page);
			left--;
		}
	}
	json_array_end(j);
}

static void framework(struct json *j, const struct memory_framework *f)
{
	json_key_map(j, "framework");
	json_key_int(j, "blocks_taken", (int64_t)f->taken);
	json_key_int(j, "blocks_given", (int64_t)f->given);
	json_key_int(j, "refused", (int64_t)f->refused);
	json_key_int(j, "blocks_outside", (int64_t)f->strays);
	key_bytes(j, "allocated_bytes", f->allocated);
	key_bytes(j, "reserved_bytes", f->reserved);
	if (f->told) {
		key_bytes(j, "before_bytes", f->before);
		key_bytes(j, "before_left_bytes", f->before_left);
	}
	json_map_end(j);
}

static void entry(struct json *j, const struct summary *s, uint32_t number, const struct memory_device *d,
		  const struct report_scope *scope)
{
	static const struct memory_device nothing;
	size_t index = d ? (size_t)(d - s->memory.devices) : s->memory.n_devices; /* which has none */

	if (!d)
		d = &nothing;
	json_map(j);
	json_key_int(j, "device", number);
	key_bytes(j, "peak_allocated_bytes", d->peak_allocated);
	key_bytes(j, "peak_reserved_bytes", d->peak_reserved);
	key_fragmentation(j, &d->worst.use, !d->framework.told);
	json_key_int(j, "out_of_memory", (int64_t)d->out_of_memory);
	json_key_int(j, "retries", (int64_t)d->retries);
	json_key_int(j, "peak_allocated_ns", d->peak_allocated_ns);
	json_key_int(j, "peak_reserved_ns", d->peak_reserved_ns);
	json_key_int(j, "fragmentation_ns", d->worst.time_ns);
	key_bytes(j, "free_bytes", d->worst.use.reserved - d->worst.use.allocated);
	key_largest_free(j, &d->worst.use, !d->framework.told);
	json_key_map(j, "end");
	use(j, &d->now, !d->framework.told);
	json_map_end(j);
	framework(j, &d->framework);
	pools(j, s, index);
	if (!scope->page)
		course(j, d);
	stories(j, s, index, scope);
	json_map_end(j);
}

void report_memory_json(struct json *j, const struct summary *s, const struct report_scope *scope)
{
	json_key_array(j, "memory");
	for (size_t i = 0; i < s->n_devices; i++)
		entry(j, s, s->devices[i].number, s->devices[i].memory, scope);
	for (size_t i = 0; i < s->memory.n_devices; i++) {
		const struct memory_device *d = &s->memory.devices[i];
		bool listed = false;

		for (size_t k = 0; k < s->n_devices; k++)
			listed |= s->devices[k].memory == d;
		if (!listed)
			entry(j, s, report_memory_number(s, d), d, scope);
	}
	json_array_end(j);
}
