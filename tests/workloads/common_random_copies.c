/* SPDX-License-Identifier: BSD-2-Clause */
#include "common_random_acts.h"

#include <string.h>

struct part {
	size_t at, bytes;
};

static struct part any_part(struct worker *w, size_t limit)
{
	struct part p = { .bytes = 4 * (1 + random_below(&w->random, (unsigned)(limit / 4))) };

	p.at = 4 * random_below(&w->random, (unsigned)((BUFFER_BYTES - p.bytes) / 4 + 1));
	return p;
}

void random_to_device_pageable(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, BUFFER_BYTES);

	random_fill(&w->random, w->pageable, p.bytes);
	memcpy(l->expect + p.at, w->pageable, p.bytes);
	if (l == default_lane(w) && random_below(&w->random, 2))
		MUST(CU(cuMemcpyHtoD_v2, l->buffer + p.at, w->pageable, p.bytes));
	else
		MUST(CU(cuMemcpyHtoDAsync_v2, l->buffer + p.at, w->pageable, p.bytes, l->stream));
	memset(w->pageable, 0xee, p.bytes); /* ours again, whether or not the device has it */
}

void random_to_device_pinned(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, SLOT_BYTES);
	uint8_t *slot = lane_slot(w, l);

	random_fill(&w->random, slot, p.bytes);
	memcpy(l->expect + p.at, slot, p.bytes);
	if (l == default_lane(w) && random_below(&w->random, 3) == 0)
		MUST(CU_WAITS(cuMemcpyHtoD_v2, l->buffer + p.at, slot, p.bytes));
	else
		MUST(CU(cuMemcpyHtoDAsync_v2, l->buffer + p.at, slot, p.bytes, l->stream));
}

void random_to_host_pageable(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, BUFFER_BYTES);

	if (l == default_lane(w) && random_below(&w->random, 2))
		MUST(CU_WAITS(cuMemcpyDtoH_v2, w->pageable, l->buffer + p.at, p.bytes));
	else
		MUST(CU_WAITS(cuMemcpyDtoHAsync_v2, w->pageable, l->buffer + p.at, p.bytes, l->stream));
	lane_check(w, w->pageable, l->expect + p.at, p.bytes);
}

void random_to_host_pinned(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, SLOT_BYTES);
	uint8_t *slot = lane_slot(w, l), *expect = memory(p.bytes);

	memcpy(expect, l->expect + p.at, p.bytes);
	MUST(CU(cuMemcpyDtoHAsync_v2, slot, l->buffer + p.at, p.bytes, l->stream));
	l->readback[l->readbacks++] = (struct readback){ slot, expect, p.bytes };
}

void random_on_device(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, BUFFER_BYTES / 4);
	size_t to = (p.at + BUFFER_BYTES / 2) % (BUFFER_BYTES - p.bytes + 1) & ~(size_t)3;

	if (to < p.at + p.bytes && p.at < to + p.bytes)
		return; /* overlapping copies are undefined */
	memcpy(l->expect + to, l->expect + p.at, p.bytes);
	if (l == default_lane(w) && random_below(&w->random, 2))
		MUST(CU(cuMemcpyDtoD_v2, l->buffer + to, l->buffer + p.at, p.bytes));
	else
		MUST(CU(cuMemcpyDtoDAsync_v2, l->buffer + to, l->buffer + p.at, p.bytes, l->stream));
}

void random_memset(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, BUFFER_BYTES);
	uint32_t value = (uint32_t)random_next(&w->random);

	if (random_below(&w->random, 2)) {
		for (size_t i = 0; i < p.bytes; i += 4)
			memcpy(l->expect + p.at + i, &value, 4);
		MUST(CU(cuMemsetD32Async, l->buffer + p.at, value, p.bytes / 4, l->stream));
		return;
	}
	memset(l->expect + p.at, (int)(value & 0xff), p.bytes);
	if (l == default_lane(w) && value & 0x100)
		MUST(CU(cuMemsetD8_v2, l->buffer + p.at, value & 0xff, p.bytes));
	else
		MUST(CU(cuMemsetD8Async, l->buffer + p.at, value & 0xff, p.bytes, l->stream));
}
