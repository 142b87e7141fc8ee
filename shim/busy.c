/* SPDX-License-Identifier: BSD-2-Clause */
#include "busy.h"

#include "clock.h"
#include "stream.h"

#define NAMED_MAX 512u

struct named {
	struct gst_busy record;
	uint32_t streams[NAMED_MAX + 1]; /* one more, to pad */
};

static void name(struct stream *s, void *arg)
{
	struct named *n = arg;

	if (n->record.count < NAMED_MAX)
		n->streams[n->record.count++] = s->id;
	else
		n->record.flags |= GST_BUSY_MORE;
}

void busy_write(struct ring *r)
{
	struct named n;

	n.record = (struct gst_busy){ .ticks = clock_ticks() };
	__sync_synchronize(); /* the tick first */
	streams_each_busy(name, &n);
	if (streams_left_busy()) /* behind the others: a stream that left meanwhile is not missed */
		n.record.flags |= GST_BUSY_LEFT;
	n.streams[n.record.count] = 0;
	ring_append(r, GST_BUSY, (uint16_t)(sizeof(n.record) + (n.record.count + 1) / 2 * 8), &n);
}
