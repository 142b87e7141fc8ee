/* SPDX-License-Identifier: BSD-2-Clause */
#include "common_random_lane.h"

#include <string.h>

void lane_check(struct worker *w, const uint8_t *got, const uint8_t *expect, size_t bytes)
{
	if (memcmp(got, expect, bytes)) {
		fprintf(stderr, "wrong data from the device, %zu bytes\n", bytes);
		_exit(1);
	}
	w->checksum +=
		random_hash(bytes, got, bytes); /* a sum: when a copy is checked depends on when the device was done */
}

void lane_settled(struct worker *w, struct lane *l)
{
	for (unsigned i = 0; i < l->readbacks; i++) {
		lane_check(w, l->readback[i].at, l->readback[i].expect, l->readback[i].bytes);
		free(l->readback[i].expect);
	}
	l->readbacks = l->slots_used = 0;
}

void lane_synchronize(struct worker *w, struct lane *l)
{
	MUST(CU_WAITS(cuStreamSynchronize, l->stream));
	lane_settled(w, l);
}

uint8_t *lane_slot(struct worker *w, struct lane *l)
{
	if (l->slots_used == SLOTS)
		lane_synchronize(w, l);
	return l->pinned + (size_t)l->slots_used++ * SLOT_BYTES;
}

void lane_open(struct worker *w, unsigned i)
{
	struct lane *l = &w->lanes[i];

	switch (i) {
	case 0:
		l->stream = w->index == 0 ? NULL : CU_STREAM_PER_THREAD;
		break;
	case 1:
		MUST(CU(cuStreamCreate, &l->stream, CU_STREAM_DEFAULT));
		break;
	case 2:
		MUST(CU(cuStreamCreateWithPriority, &l->stream, CU_STREAM_NON_BLOCKING, -1));
		break;
	default:
		MUST(CU(cuStreamCreate, &l->stream, CU_STREAM_NON_BLOCKING));
		break;
	}
	MUST(CU(cuMemAlloc_v2, &l->buffer, BUFFER_BYTES));
	MUST(CU(cuMemAllocHost_v2, (void **)&l->pinned, SLOTS * SLOT_BYTES));
	MUST(CU(cuEventCreate, &l->event, i % 2 ? CU_EVENT_DISABLE_TIMING : CU_EVENT_DEFAULT));
	l->expect = memory(BUFFER_BYTES);
	MUST(CU(cuMemsetD8Async, l->buffer, 0, BUFFER_BYTES, l->stream));
}

void lane_close(struct lane *l, bool created)
{
	MUST(CU(cuEventDestroy_v2, l->event));
	if (created)
		MUST(CU(cuStreamDestroy_v2, l->stream));
	MUST(CU(cuMemFree_v2, l->buffer));
	MUST(CU(cuMemFreeHost, l->pinned));
	free(l->expect);
}
