/* SPDX-License-Identifier: BSD-2-Clause */
#include "reader_state.h"

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

/* The size a type must have; 0 for a type that is not known here. A name or list is longer than its smallest. */
static uint16_t type_size(uint16_t type)
{
	static const uint16_t size[] = {
		[GST_CALL] = sizeof(struct gst_call),
		[GST_NAME] = sizeof(struct gst_name),
		[GST_STREAM] = sizeof(struct gst_stream),
		[GST_DEVICE] = sizeof(struct gst_device),
		[GST_ANCHOR] = sizeof(struct gst_anchor),
		[GST_EDGE] = sizeof(struct gst_edge),
		[GST_POLL] = sizeof(struct gst_poll),
		[GST_SAMPLE] = sizeof(struct gst_sample),
		[GST_USAGE] = sizeof(struct gst_usage),
		[GST_THREAD] = sizeof(struct gst_thread),
		[GST_GRAPH] = sizeof(struct gst_graph),
		[GST_GRAPH_NODES] = sizeof(struct gst_graph_list),
		[GST_GRAPH_EDGES] = sizeof(struct gst_graph_list),
		[GST_BUSY] = sizeof(struct gst_busy),
		[GST_KEPT] = sizeof(struct gst_kept),
		[GST_ACTIVITY] = sizeof(struct gst_activity),
		[GST_BURST] = sizeof(struct gst_burst),
		[GST_LEVEL] = sizeof(struct gst_level),
		[GST_COMM] = sizeof(struct gst_comm),
		[GST_NCCL] = sizeof(struct gst_nccl),
		[GST_RANGE] = sizeof(struct gst_range),
		[GST_RANGE_DATA] = sizeof(struct gst_range_data),
		[GST_NVTX] = sizeof(struct gst_nvtx),
		[GST_STACK] = sizeof(struct gst_stack),
		[GST_STACK_AT] = sizeof(struct gst_stack_at),
		[GST_OBJECT] = sizeof(struct gst_object),
		[GST_CODE] = sizeof(struct gst_code),
		[GST_STACK_COST] = sizeof(struct gst_stack_cost),
		[GST_BLOCK] = sizeof(struct gst_block),
		[GST_MAPPING] = sizeof(struct gst_mapping),
		[GST_POOL] = sizeof(struct gst_pool),
		[GST_MEMORY_LEFT] = sizeof(struct gst_memory_left),
	};

	return type < sizeof(size) / sizeof(size[0]) ? size[type] : 0;
}

/* When the record was complete, as far as it says so itself; 0 where it does not. */
static uint64_t record_ticks(const struct gst_record *h)
{
	switch (h->type) {
	case GST_CALL:
		return ((const struct gst_call *)h)->end;
	case GST_POLL:
		return ((const struct gst_poll *)h)->end;
	case GST_USAGE:
		return ((const struct gst_usage *)h)->ticks;
	case GST_SAMPLE:
		return ((const struct gst_sample *)h)->ticks;
	case GST_GRAPH:
		return ((const struct gst_graph *)h)->end;
	case GST_COMM:
		return ((const struct gst_comm *)h)->ticks;
	case GST_BUSY:
		return ((const struct gst_busy *)h)->ticks;
	case GST_NCCL:
		return ((const struct gst_nccl *)h)->end;
	case GST_BURST:
		return ((const struct gst_burst *)h)->end;
	case GST_RANGE:
		return ((const struct gst_range *)h)->end ? ((const struct gst_range *)h)->end
							  : ((const struct gst_range *)h)->begin;
	case GST_NVTX:
		return ((const struct gst_nvtx *)h)->ticks;
	case GST_BLOCK:
		return ((const struct gst_block *)h)->ticks;
	case GST_MAPPING:
		return ((const struct gst_mapping *)h)->ticks;
	case GST_POOL:
		return ((const struct gst_pool *)h)->ticks;
	case GST_MEMORY_LEFT:
		return ((const struct gst_memory_left *)h)->ticks;
	default:
		return 0;
	}
}

static bool list_fits(const struct gst_record *h, size_t each)
{
	return h->size >= sizeof(struct gst_graph_list) &&
	       (!h->commit ||
		((const struct gst_graph_list *)h)->count == (h->size - sizeof(struct gst_graph_list)) / each);
}

/* Of a record with text or entries behind it: do they lie inside? */
static bool rest_fits(const struct gst_record *h, uint16_t size, size_t rest)
{
	return h->size >= size && (!h->commit || rest <= (size_t)(h->size - size));
}

/* Does the payload's size suit the type? A name's text and a list's entries lie inside their record, everything else has one size. */
static bool size_suits_type(const struct gst_record *h)
{
	uint16_t size = type_size(h->type);

	if (h->type == GST_NAME)
		return h->size >= size && (!h->commit || ((const struct gst_name *)h)->length <= h->size - size);
	if (h->type == GST_BUSY)
		return h->size >= size &&
		       (!h->commit || ((const struct gst_busy *)h)->count <= (h->size - (uint32_t)size) / 4);
	if (h->type == GST_RANGE_DATA)
		return h->size >= size &&
		       (!h->commit || ((const struct gst_range_data *)h)->kept <= h->size - (uint32_t)size);
	if (h->type == GST_STACK)
		return rest_fits(h, size, ((const struct gst_stack *)h)->count * sizeof(struct gst_frame));
	if (h->type == GST_OBJECT)
		return rest_fits(h, size, ((const struct gst_object *)h)->path_bytes);
	if (h->type == GST_CODE)
		return rest_fits(h, size,
				 (size_t)((const struct gst_code *)h)->file_bytes +
					 ((const struct gst_code *)h)->name_bytes);
	if (h->type == GST_GRAPH_NODES)
		return list_fits(h, sizeof(struct gst_graph_node));
	if (h->type == GST_GRAPH_EDGES)
		return list_fits(h, sizeof(struct gst_graph_edge));
	return size == 0 || h->size == size;
}

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
	else if (!size_suits_type(h))
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
	if (r->bytes && r->room >= sizeof(s->header) && !reader_is_gone(r, &s->header, r->bytes)) {
		r->offset = sizeof(s->header);
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
	uint64_t word, byte = GST_SEGMENTS_OFFSET + (uint64_t)GST_SEGMENT_BYTES * reader_segment(r)->index + r->offset;

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
	if (!type_size(h->type)) {
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

bool reader_next(struct reader *r, struct record_view *out)
{
	for (;;) {
		const struct gst_record *h;

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
		out->record = h;
		out->byte = GST_SEGMENTS_OFFSET + (uint64_t)GST_SEGMENT_BYTES * reader_segment(r)->index +
			    (uint64_t)((const uint8_t *)h - r->bytes);
		out->segment = reader_segment(r)->index;
		out->tid = r->tid;
		out->kept = in_kept(r);
		return true;
	}
}
