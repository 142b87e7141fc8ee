/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_split.h"

#include "tools/alloc.h"
#include "tools/pool.h"
#include "tools/spill.h"

#include <stdlib.h>
#include <string.h>

#define PARTS_MOST 64
#define PART_LEAST 32 /* segments: fewer are not worth a thread */
#define AHEAD 8       /* segments that are gone through before the others: most kernels are named there */

struct kept { /* then the record. None is of a kept segment: those are the reader's own, behind all parts */
	uint64_t byte;
	uint32_t tid, segment;
};

static bool keep(struct kept_records *k, const struct record_view *v)
{
	const struct kept head = { v->byte, v->tid, v->segment };
	size_t size = sizeof(head) + v->record->size;

	while (k->cap - k->n < size) {
		char *bytes = spill_grow(k->bytes, &k->cap, 1);

		if (!bytes)
			return false;
		k->bytes = bytes;
	}
	memcpy(k->bytes + k->n, &head, sizeof(head));
	memcpy(k->bytes + k->n + sizeof(head), v->record, v->record->size);
	k->n += size;
	return true;
}

static bool take(struct split_part *p, const struct record_view *v)
{
	enum launch_taken taken;

	p->types[v->record->type < TRACE_TYPES ? v->record->type : 0]++;
	switch (v->record->type) {
	case GST_CALL:
		taken = launch_rows_take(&p->rows, (const struct gst_call *)v->record, v);
		return taken == LAUNCH_NOT_TAKEN ? keep(&p->kept, v) : taken == LAUNCH_TAKEN;
	case GST_BLOCK:
		return trace_memory_add_block(&p->memory, (const struct gst_block *)v->record, v->tid, v->byte);
	case GST_NAME:
		launch_rows_named(&p->rows, (const struct gst_name *)v->record);
		break;
	default:
		break;
	}
	return keep(&p->kept, v);
}

/* Calls that lie one behind the other, `more` behind the first. */
static bool take_calls(struct split_part *p, struct record_view *v, size_t more)
{
	const struct gst_call *c = (const struct gst_call *)v->record;

	for (size_t at = 0; at <= more; at++) {
		size_t gone_on = launch_rows_go_on(&p->rows, c + at, more + 1 - at, v->tid, v->byte + at * sizeof(*c));
		struct record_view one = *v;

		p->types[GST_CALL] += gone_on;
		at += gone_on;
		one.record = &c[at].record;
		one.byte += at * sizeof(*c);
		if (at <= more && !take(p, &one))
			return false;
	}
	return true;
}

static enum err_kind read_part(void *parts, size_t i, struct error *e)
{
	struct split_part *p = (struct split_part *)parts + i;
	struct record_view v;

	while (reader_next(p->reader, &v)) {
		bool ok = v.record->type == GST_CALL ? take_calls(p, &v, reader_alike(p->reader, &v)) : take(p, &v);

		if (!ok)
			return err_no_memory(e, "");
	}
	return ERR_NONE;
}

/* How the segments are shared out. The first part begins with those that are read ahead. */
static bool share_out(struct trace_split *s, struct reader *reader, const struct clock *clock)
{
	size_t segments = reader_segments(reader), most = pool_threads(), n = segments / PART_LEAST + 1, at = 0;

	n = n < most ? n : most;
	n = n < PARTS_MOST ? n : PARTS_MOST;
	s->parts = array_new(n, sizeof(*s->parts));
	if (!s->parts)
		return false;
	for (s->n = 0; s->n < n; s->n++) {
		struct split_part *p = &s->parts[s->n];

		p->first = at;
		p->n = (segments - at) / (n - s->n);
		at += p->n;
	}
	s->parts[0].reader = reader_part(reader, 0, AHEAD < s->parts[0].n ? AHEAD : s->parts[0].n, 1);
	return s->parts[0].reader && launch_rows_begin(&s->parts[0].rows, 0, clock, NULL);
}

/* Behind what was read ahead. */
static bool begin_parts(struct trace_split *s, struct reader *reader, const struct clock *clock)
{
	struct split_part *first = &s->parts[0];
	size_t ahead = AHEAD < first->n ? AHEAD : first->n;

	reader_join(reader, first->reader);
	first->reader = reader_part(reader, ahead, first->n - ahead, s->n);
	for (size_t i = 1; i < s->n; i++) {
		struct split_part *p = &s->parts[i];

		p->reader = reader_part(reader, p->first, p->n, s->n);
		if (!p->reader || !launch_rows_begin(&p->rows, (uint16_t)i, clock, &first->rows))
			return false;
	}
	return first->reader != NULL;
}

bool trace_split_read(struct trace_split *s, struct reader *reader, const struct clock *clock)
{
	struct error e;
	bool ok;

	*s = (struct trace_split){ 0 };
	ok = share_out(s, reader, clock) && !read_part(s->parts, 0, &e) && begin_parts(s, reader, clock) &&
	     !pool_run(s->n, read_part, s->parts, &e);
	for (size_t i = 0; i < s->n; i++) {
		if (s->parts[i].reader)
			reader_join(reader, s->parts[i].reader);
		s->parts[i].reader = NULL;
	}
	reader_pass_own(reader);
	return ok;
}

void trace_split_free(struct trace_split *s)
{
	for (size_t i = 0; i < s->n; i++) {
		launch_rows_free(&s->parts[i].rows);
		trace_memory_free(&s->parts[i].memory);
		spill_free(s->parts[i].kept.bytes);
	}
	free(s->parts);
	*s = (struct trace_split){ 0 };
}

bool trace_split_next(struct trace_split *s, struct record_view *out)
{
	const struct kept_records *k;
	struct kept head;

	while (s->part < s->n && s->at == s->parts[s->part].kept.n) {
		s->part++;
		s->at = 0;
	}
	if (s->part == s->n)
		return false;
	k = &s->parts[s->part].kept;
	memcpy(&head, k->bytes + s->at, sizeof(head));
	*out = (struct record_view){ .record = (const void *)(k->bytes + s->at + sizeof(head)),
				     .byte = head.byte,
				     .segment = head.segment,
				     .tid = head.tid };
	s->at += sizeof(head) + out->record->size;
	return true;
}

void trace_split_rewind(struct trace_split *s)
{
	s->part = s->at = 0;
}

bool trace_split_settle(struct trace_split *s, size_t part, const struct clock *clock)
{
	struct split_part *p = &s->parts[part];

	trace_memory_settle_blocks(&p->memory, clock);
	return launch_rows_settle(&p->rows, clock);
}

bool trace_split_give_blocks(struct trace_split *s, struct trace *t)
{
	for (size_t i = 0; i < s->n; i++) {
		struct trace_memory *from = &s->parts[i].memory, *to = &t->memory;

		if (!to->n_blocks) {
			spill_free(to->blocks);
			to->blocks = from->blocks;
			to->n_blocks = from->n_blocks;
			to->cap_blocks = from->cap_blocks;
			from->blocks = NULL;
			continue;
		}
		while (to->cap_blocks - to->n_blocks < from->n_blocks) {
			struct block_event *blocks = spill_grow(to->blocks, &to->cap_blocks, sizeof(*blocks));

			if (!blocks)
				return false;
			to->blocks = blocks;
		}
		if (from->n_blocks)
			memcpy(to->blocks + to->n_blocks, from->blocks, from->n_blocks * sizeof(*from->blocks));
		to->n_blocks += from->n_blocks;
	}
	return true;
}
