/* SPDX-License-Identifier: BSD-2-Clause */
/* recycle_model.h: what recycling must leave in the file, against a naive model: every record that was written after the instant it names, and
 * everything those refer to, each once. */
#pragma once

#include "shim_trace.h"

#define TYPE 77 /* unknown to everybody */
#define NAME_SPACE 88

static inline void limit_to(uint32_t segments)
{
	settings.limit_bytes = GST_SEGMENTS_OFFSET + (uint64_t)segments * GST_SEGMENT_BYTES;
}

struct numbered {
	struct gst_record record;
	uint64_t number, ticks;
	uint64_t filler[29];
};
#define PER_SEGMENT ((GST_SEGMENT_BYTES - 64) / sizeof(struct numbered))

/* False: dropped. */
static inline bool append(struct ring *r, uint64_t number)
{
	struct numbered *n = ring_reserve(r, TYPE, sizeof(*n));

	if (!n)
		return false;
	n->number = number;
	n->ticks = clock_ticks();
	ring_commit(n);
	return true;
}

static inline bool define(struct ring *r, uint32_t id)
{
	struct gst_name *n = ring_reserve(r, GST_NAME, sizeof(*n) + 48);

	if (!n)
		return false;
	n->id = id;
	n->space = NAME_SPACE;
	n->length = 48;
	memset(n->text, 'a' + (int)(id % 26), 48);
	ring_commit(n);
	return true;
}

/* ---- what the file must hold ------------------------------------------------------------------------------------------ */

#define NUMBERS 400000u

static struct {
	uint64_t ticks[NUMBERS]; /* read before it was appended; 0 never, or dropped */
	uint8_t seen[NUMBERS];
	uint8_t defined[NUMBERS], defined_seen[NUMBERS];
} model;

static inline void tick_off(const struct gst_record *r, uint32_t segment, void *arg)
{
	const struct numbered *n = (const struct numbered *)r;
	const struct gst_name *name = (const struct gst_name *)r;

	(void)segment;
	(void)arg;
	if (r->type == GST_NAME) {
		assert_int_equal(name->space, NAME_SPACE);
		assert_true(name->id < NUMBERS && model.defined[name->id]);
		assert_int_equal(name->text[47], 'a' + (int)(name->id % 26));
		assert_int_equal(model.defined_seen[name->id]++, 0);
		return;
	}
	assert_int_equal(r->type, TYPE);
	assert_true(n->number < NUMBERS && model.ticks[n->number]);
	assert_int_equal(model.seen[n->number]++, 0);
}

static inline void links_hold(const uint8_t *bytes)
{
	for (uint32_t i = 0; i < 4096; i++) {
		const struct gst_segment_header *s = segment_at(bytes, i), *before;

		if (!s || s->previous == GST_NONE || !is_there(bytes, s->previous, s->previous_recycles))
			continue;
		before = segment_at(bytes, s->previous);
		assert_int_equal(before->thread_seq + 1, s->thread_seq);
		assert_int_equal(before->flags, s->flags);
	}
}

static inline void header_holds(const uint8_t *bytes, uint32_t version)
{
	const struct gst_file_header *h = (const struct gst_file_header *)bytes;

	assert_int_equal(h->version, version);
	assert_int_equal(h->check, gst_hash32(h, sizeof(*h), offsetof(struct gst_file_header, check)));
}

/* The whole file against the model. definitions: of those that were written, as many may be missing as are counted. */
static inline void check_file(void)
{
	const struct gst_counters *c = file_counters();
	uint64_t lost = 0, after = 0;
	size_t size;
	uint8_t *bytes = slurp(&size);

	assert_true(size <= settings.limit_bytes);
	memset(model.seen, 0, sizeof(model.seen));
	memset(model.defined_seen, 0, sizeof(model.defined_seen));
	each_record(bytes, size, tick_off, NULL);
	for (uint32_t i = 0; i < NUMBERS; i++) {
		if (model.ticks[i] > c->recycled_until) {
			after++;
			if (!model.seen[i])
				fail_msg("record %u, written after the instant that the file names, is missing", i);
		}
		lost += model.defined[i] && !model.defined_seen[i];
	}
	assert_int_equal(lost, c->definitions_lost);
	assert_true(after > 0);
	links_hold(bytes);
	header_holds(bytes, c->segments_recycled ? GST_VERSION_RECYCLED : GST_VERSION);
	free(bytes);
}

static inline void write_down(struct ring *r, uint32_t number)
{
	uint64_t now = clock_ticks();

	if (append(r, number))
		model.ticks[number] = now;
	if (number % 97 == 0 && define(r, number))
		model.defined[number] = 1;
}

static inline int begin(void **state)
{
	memset(&model, 0, sizeof(model));
	return set_up(state);
}

/* Definitions that fill all but a little of a segment. */
static inline void define_most(struct ring *r, uint32_t id)
{
	uint32_t end = id + (GST_SEGMENT_BYTES - 16384) / (sizeof(struct gst_name) + 48);

	for (; id < end; id++)
		model.defined[id] = define(r, id);
}

static inline void write_numbers(struct ring *r, uint32_t number, uint32_t n)
{
	for (uint32_t end = number + n; number < end; number++) {
		uint64_t now = clock_ticks();

		if (append(r, number))
			model.ticks[number] = now;
	}
}
