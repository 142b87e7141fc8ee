/* SPDX-License-Identifier: BSD-2-Clause */
/* bursts.h: what the tests of bursts share: launches through the recorder's own parts, on shim_driver.h's few lines, and what came of them. Who
 * includes it has included cmocka. */
#pragma once

#include "shim/burst.c" /* whether one is on is looked up and set here */
#include "shim/segment.h"
#include "tests/unit/shim_driver.h"

#define WHOLE (2u * SUBMISSIONS + 1) /* edges of a burst in a program of one stream */

static int set_up_bursts(void **state)
{
	set_up(state);
	bursts_forget();
	memset(&me->burst, 0, sizeof(me->burst));
	me->until_burst = 0;
	file_counters()->injected[HOOK_cuEventRecord] = 0;
	settings.level = GST_LEVEL_BURSTS;
	return 0;
}

static bool is_on(void)
{
	return left_of(window) || inside_of(window);
}

/* What hooks.def makes of cuLaunchKernel. */
static CUresult launch_whole(CUstream handle, CUresult rc)
{
	struct call c;

	call_enter(&c, HOOK_cuLaunchKernel, GST_FAMILY_LAUNCH);
	launch_kernel(&c, handle, NULL, 1, 1, 1, 1);
	fake_record(NULL, handle);
	call_exit(&c, rc);
	return rc;
}

/* Launches until one is on that takes so many submissions (0 any). The launch that begins it is the last in the log. */
static void launch_until_burst(CUstream handle, uint32_t left)
{
	for (unsigned i = 0; i < 100000; i++) {
		forget_recorded();
		launch_whole(handle, CUDA_SUCCESS);
		if (left_of(window) >= (left ? left : 1))
			return;
	}
	fail_msg("no burst in 100000 launches");
}

/* The log since then: E an event, L a launch. */
static const char *log_text(void)
{
	static char text[256];
	unsigned n = driver.n_recorded < sizeof(text) - 1 ? driver.n_recorded : sizeof(text) - 1;

	for (unsigned i = 0; i < n; i++)
		text[i] = driver.recorded[i].event ? 'E' : 'L';
	text[n] = 0;
	return text;
}

/* The last one of a segment; .burst 0: it has none. */
static struct gst_burst last_burst_of(const uint8_t *segment, uint32_t end)
{
	struct gst_burst found = { 0 };

	for (uint32_t at = sizeof(struct gst_segment_header); at + sizeof(struct gst_record) <= end;) {
		const struct gst_record *r = (const void *)(segment + at);

		if (r->size == 0)
			break;
		if (r->type == GST_BURST)
			memcpy(&found, r, sizeof(found));
		at += r->size;
	}
	return found;
}

/* The last one written down by this thread: wherever it began, a segment may have been full since. */
static struct gst_burst last_burst(void)
{
	struct gst_burst found = last_burst_of(me->ring.segment, me->ring.at);
	struct gst_segment_header header;

	memcpy(&header, me->ring.segment, sizeof(header));
	while (!found.burst && header.previous != GST_NONE) {
		struct segment before = { .index = header.previous };

		assert_int_equal(segment_map(&before, false), 0);
		found = last_burst_of(before.base, GST_SEGMENT_BYTES);
		memcpy(&header, before.base, sizeof(header));
		segment_release(before.base);
	}
	return found;
}
