/* SPDX-License-Identifier: BSD-2-Clause */
#include "reader_state.h"
#include "reader_types.h"
#include "tools/progress.h"

#include <errno.h>
#include <string.h>

const struct gst_file_header *reader_header(const struct reader *r)
{
	return &r->header;
}

const struct gst_counters *reader_counters(const struct reader *r)
{
	return &r->counters;
}

const struct damage *reader_damage(const struct reader *r)
{
	return r->damaged ? &r->damage : NULL;
}

void reader_rewind(struct reader *r)
{
	r->segment = 0;
	r->bytes = NULL;
	memset(&r->counts, 0, sizeof(r->counts));
}

struct reader_counts reader_counts(const struct reader *r)
{
	return r->counts;
}

/* The version is written before the counter is; so both are read again, the version first. */
enum err_kind reader_settle(struct reader *r, struct error *e)
{
	struct gst_counters now;
	enum err_kind kind;

	if (r->live && (kind = reader_check_header(r, e)))
		return kind;
	if (r->live && reader_file_get(&r->file, &now, sizeof(now), GST_COUNTERS_OFFSET) == (int64_t)sizeof(now)) {
		r->counters.recycled_until = now.recycled_until;
		r->counters.segments_recycled = now.segments_recycled;
		r->counters.records_recycled = now.records_recycled;
		r->counters.calls_recycled = now.calls_recycled;
	}
	if (r->header.version != GST_VERSION_RECYCLED)
		r->counters.recycled_until = 0;
	return ERR_NONE;
}

/* ---- one record ------------------------------------------------------------------------------------ */

/* Sets damage and returns false where the header at `at` cannot be trusted. */
static bool record_holds(struct reader *r, const struct gst_record *h, uint32_t at, uint32_t left, uint64_t byte)
{
	if (h->check != gst_record_check(h->type, h->size, at))
		reader_damage_set(r, r->good_ticks, byte, "the record's check value does not hold (type %u, size %u)",
				  h->type, h->size);
	else if (h->size % 8 == 0 && h->size > left && h->size <= GST_SEGMENT_BYTES - at)
		reader_damage_set(r, r->good_ticks, r->file.len, "the file ends inside a record of %u bytes", h->size);
	else if (h->size < sizeof(*h) || h->size % 8 || h->size > left)
		reader_damage_set(r, r->good_ticks, byte, "record of %u bytes, %u left", h->size, left);
	else if (h->commit != 0 && h->commit != GST_COMMIT)
		reader_damage_set(r, r->good_ticks, byte, "the record's commit field is 0x%04x", h->commit);
	else if (!record_fits(r->header.kind, h))
		reader_damage_set(r, r->good_ticks, byte, "record of type %u does not fit its %u bytes", h->type,
				  h->size);
	else
		return true;
	return false;
}

/* ---- one segment after another --------------------------------------------------------------------- */

static void next_segment(struct reader *r)
{
	r->segment++;
	r->bytes = NULL;
}

const struct gst_segment_header *reader_segment(const struct reader *r)
{
	return &r->segments[r->segment].header;
}

static bool in_kept(const struct reader *r)
{
	return r->segment >= r->n_own;
}

/* Reads the segment that is next. False: it is not there any more, or what there is of it is damaged. */
static bool enter_segment(struct reader *r)
{
	struct segment *s = &r->segments[r->segment];
	uint64_t byte;

	r->bytes = reader_file_segment(&r->file, s->header.index, s->open && r->live, &r->room);
	progress_add((uint64_t)GST_SEGMENT_BYTES * r->told);
	if (r->bytes && r->room >= sizeof(s->header) && !reader_is_gone(r, &s->header, r->bytes)) {
		r->offset = sizeof(s->header);
		r->segment_byte = GST_SEGMENTS_OFFSET + (uint64_t)GST_SEGMENT_BYTES * s->header.index;
		r->tid = s->header.tid;
		/* of a kept one nothing is lost that was work for the device */
		r->good_ticks = in_kept(r) ? UINT64_MAX : s->header.begin_ticks;
		r->skip = false;
		s->met = true;
		r->counts.segments++;
		return true;
	}
	byte = GST_SEGMENTS_OFFSET + (uint64_t)GST_SEGMENT_BYTES * s->header.index;
	if (!r->bytes)
		reader_damage_set(r, s->header.begin_ticks, byte, "segment %u cannot be read: %s", s->header.index,
				  strerror(errno));
	else if (r->room < sizeof(s->header))
		reader_damage_set(r, s->header.begin_ticks, byte + r->room, "the file ends before segment %u's records",
				  s->header.index);
	else if (r->live)
		r->counts.given_up++;
	else
		reader_damage_set(r, s->header.begin_ticks, byte, "segment %u changed while the file was read",
				  s->header.index);
	r->bytes = NULL;
	return false;
}

/* What follows was copied from a segment. If that was met itself, its own records count. */
static bool was_met(const struct reader *r, const struct gst_kept *kept)
{
	uint32_t place = r->place && kept->segment < GST_SEGMENT_CAPACITY ? r->place[kept->segment] : 0;

	return place && r->segments[place - 1].header.recycles == kept->recycles && r->segments[place - 1].met;
}

/* Eight zero bytes are room whose append never came to write its header: the thread was taken out of it (siglongjmp). Its later records
 * stand behind. Without any the segment has ended. */
static void pass_over_room(struct reader *r)
{
	uint32_t at = r->offset;
	uint64_t word = 0;

	for (; at + sizeof(word) <= r->room && word == 0; at += sizeof(word))
		memcpy(&word, r->bytes + at, sizeof(word));
	if (word == 0)
		return;
	at -= sizeof(word);
	r->counts.unfinished += at != r->offset;
	r->offset = at;
}

/* The record at r->offset, moved behind; NULL: none, the segment has ended. */
static const struct gst_record *step(struct reader *r)
{
	const struct gst_record *h = (const struct gst_record *)(const void *)(r->bytes + r->offset);
	uint32_t left = r->room - r->offset;
	uint64_t word, byte = r->segment_byte + r->offset;

	if (left < sizeof(*h)) {
		if (r->room < GST_SEGMENT_BYTES)
			reader_damage_set(r, r->good_ticks, r->file.len, "the file ends inside segment %u's records",
					  reader_segment(r)->index);
		return NULL;
	}
	memcpy(&word, h, sizeof(word));
	if (word == 0 || !record_holds(r, h, r->offset, left, byte))
		return NULL;
	r->offset += h->size;
	return h;
}

/* Is it one for the caller? */
static bool take(struct reader *r, const struct gst_record *h)
{
	if (h->commit != GST_COMMIT) {
		r->counts.unfinished++;
		return false;
	}
	if (!record_size(r->header.kind, h->type)) {
		r->counts.unknown++;
		return false;
	}
	if (h->type == GST_KEPT) {
		r->skip = was_met(r, (const struct gst_kept *)h);
		return false;
	}
	if (r->skip)
		return false;
	if (h->type == GST_THREAD)
		r->tid = ((const struct gst_thread *)h)->tid;
	if (record_ticks(h) > r->good_ticks)
		r->good_ticks = record_ticks(h);
	r->counts.records++;
	return true;
}

static void show(const struct reader *r, const struct gst_record *h, struct record_view *out)
{
	out->record = h;
	out->byte = r->segment_byte + (uint64_t)((const uint8_t *)h - r->bytes);
	out->segment = reader_segment(r)->index;
	out->tid = r->tid;
	out->kept = in_kept(r);
}

/* Most records are whole, of a plain type, and follow each other. False: none of these, whatever it is. */
static bool next_plain(struct reader *r, struct record_view *out)
{
	const struct gst_record *h = (const struct gst_record *)(const void *)(r->bytes + r->offset);
	const struct record_form *form;
	uint64_t ticks;

	if (r->room - r->offset < sizeof(*h) || h->type >= RECORD_FORMS || r->skip)
		return false;
	form = &r->forms[h->type];
	if (!form->plain || h->size != form->size || h->size > r->room - r->offset || h->commit != GST_COMMIT ||
	    h->check != gst_record_check(h->type, h->size, r->offset))
		return false;
	memcpy(&ticks, (const char *)h + form->ticks_at, sizeof(ticks));
	r->good_ticks = ticks > r->good_ticks ? ticks : r->good_ticks;
	r->offset += h->size;
	r->counts.records++;
	show(r, h, out);
	return true;
}

size_t reader_alike(struct reader *r, const struct record_view *last)
{
	const uint16_t type = last->record->type, size = last->record->size;
	const struct record_form *form = &r->forms[type];
	const uint8_t *bytes = r->bytes;
	uint64_t ticks = r->good_ticks;
	uint32_t at = r->offset;

	if (!form->plain || size != form->size || r->skip)
		return 0;
	for (; r->room - at >= size; at += size) {
		const struct gst_record *h = (const struct gst_record *)(const void *)(bytes + at);
		uint64_t its;

		if (h->type != type || h->size != size || h->commit != GST_COMMIT ||
		    h->check != gst_record_check(type, size, at))
			break;
		memcpy(&its, bytes + at + form->ticks_at, sizeof(its));
		ticks = its > ticks ? its : ticks;
	}
	r->counts.records += (at - r->offset) / size;
	r->good_ticks = ticks;
	at -= r->offset;
	r->offset += at;
	return at / size;
}

bool reader_next(struct reader *r, struct record_view *out)
{
	for (;;) {
		const struct gst_record *h;

		if (r->bytes && next_plain(r, out))
			return true;
		if (r->segment == r->n_own && !r->kept_found && !reader_find_kept(r))
			r->counts.no_memory = true;
		if (r->segment >= r->n_segments)
			return false;
		if (!r->bytes && !enter_segment(r)) {
			next_segment(r);
			continue;
		}
		pass_over_room(r);
		h = step(r);
		if (!h) {
			next_segment(r);
			continue;
		}
		if (!take(r, h))
			continue;
		show(r, h, out);
		return true;
	}
}
