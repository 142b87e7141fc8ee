/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_clock.h"

#include <stdlib.h>
#include <string.h>

#include "pack_format.h"
#include "pack_grid.h"
#include "shim/format.h"
#include "tools/alloc.h"

#define TICKS 8192 /* instants that show a clock's steps */

struct instants {
	uint64_t at[TICKS];
	size_t n;
	struct gst_anchor first, last; /* commit 0: none yet */
};

static void take_record(struct instants *i, const uint8_t *record, const struct gst_record *h)
{
	struct gst_call call;

	if (h->commit != GST_COMMIT)
		return;
	if (h->type == GST_CALL && h->size == sizeof(call) && i->n + 2 <= TICKS) {
		memcpy(&call, record, sizeof(call));
		i->at[i->n++] = call.begin;
		i->at[i->n++] = call.end;
	}
	if (h->type == GST_ANCHOR && h->size == sizeof(i->last)) {
		memcpy(&i->last, record, sizeof(i->last));
		if (!i->first.record.commit)
			i->first = i->last;
	}
}

static void take_segment(struct instants *i, const uint8_t *bytes, uint32_t room)
{
	uint32_t at = sizeof(struct gst_segment_header);
	struct gst_record h;

	while (at + sizeof(h) <= room) {
		memcpy(&h, bytes + at, sizeof(h));
		if (h.check != gst_record_check(h.type, h.size, at) || h.size < sizeof(h) || h.size > room - at)
			break;
		take_record(i, bytes + at, &h);
		at += h.size;
	}
}

/* Anchors half a second apart or more are enough: that is one in 10^5. */
static uint64_t pace_of(const struct instants *i)
{
	uint64_t ticks = i->last.ticks - i->first.ticks, ns = i->last.mono_ns - i->first.mono_ns;
	unsigned __int128 pace;

	if (ticks >> 48 || ticks == 0 || ns >> 48)
		return 0;
	pace = ((unsigned __int128)ns << 32) / ticks;
	return pace > PACK_PACE_MOST ? 0 : (uint64_t)pace;
}

bool pack_clock_find(struct pack_clock *clock, const struct reader_file *file)
{
	struct instants *i = calloc(1, sizeof(*i));
	uint8_t *bytes = array_new(GST_SEGMENT_BYTES, 1);
	bool ok = i && bytes;
	struct gst_file_header h;

	*clock = (struct pack_clock){ 0 };
	for (uint64_t at = GST_SEGMENTS_OFFSET; ok && i->n + 2 <= TICKS && at < file->len; at += GST_SEGMENT_BYTES) {
		int64_t got = reader_file_get(file, bytes, GST_SEGMENT_BYTES, at);

		if (got > 0)
			take_segment(i, bytes, (uint32_t)got);
	}
	if (ok && reader_file_get(file, &h, sizeof(h), 0) == (int64_t)sizeof(h)) {
		clock->pace = pace_of(i);
		clock->step = h.clock == GST_CLOCK_MONOTONIC ? 0 : pack_grid_find(i->at, i->n);
	}
	free(bytes);
	free(i);
	return ok;
}
