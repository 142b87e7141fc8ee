/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a trace: nothing crashes, and what comes out obeys the sums. The input is the compact form of
 * tests/support/gst_compact.h, or, behind a first byte of 0xff, a file as it is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gst_compact.h"
#include "timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_device(const struct device_timeline *d)
{
	int64_t sum = d->compute_ns + d->comm_ns + d->memset_ns, idle = 0, at = d->begin_ns;

	for (int i = 0; i < 8; i++)
		sum += d->copy_ns[i];
	for (size_t i = 0; i < d->n_gaps; i++) {
		require(d->gaps[i].begin_ns >= at && d->gaps[i].end_ns >= d->gaps[i].begin_ns);
		require(d->gaps[i].begin_error_ns >= 0 && d->gaps[i].end_error_ns >= 0);
		idle += d->gaps[i].end_ns - d->gaps[i].begin_ns;
		at = d->gaps[i].end_ns;
	}
	require(at <= d->end_ns);
	require(idle == d->idle_ns && sum + idle == d->end_ns - d->begin_ns);
	require(d->idle_error_ns >= 0 && d->unresolved_ns >= 0 && d->unresolved_ns <= d->end_ns - d->begin_ns);
	at = d->begin_ns;
	for (size_t i = 0; i < d->n_unresolved; i++) {
		require(d->unresolved[i].begin_ns >= at && d->unresolved[i].end_ns <= d->end_ns);
		at = d->unresolved[i].end_ns;
	}
	for (size_t i = 0; i < d->n_ops; i++)
		require(d->ops[i].begin_ns <= d->ops[i].end_ns);
}

static void analyse(const void *bytes, size_t len)
{
	struct trace *trace;
	struct run run = { .traces = &trace, .n_traces = 1, .count = 1 };
	struct timeline timeline;
	struct error e;

	if (trace_open_mem(&trace, bytes, len, "fuzz.gst", &e) != ERR_NONE)
		return;
	require(timeline_build(&timeline, &run, &e) == ERR_NONE);
	for (size_t i = 0; i < timeline.n_devices; i++)
		check_device(&timeline.devices[i]);
	timeline_free(&timeline);
	trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct gst_image image;

	if (len && data[0] == 0xff) {
		void *copy = malloc(len); /* on an 8-byte boundary, and exactly as long as it is */

		if (copy)
			memcpy(copy, data + 1, len - 1);
		if (copy)
			analyse(copy, len - 1);
		free(copy);
		return 0;
	}
	if (gst_expand(&image, data, len)) {
		analyse(image.bytes, image.len);
		gst_image_free(&image);
	}
	return 0;
}
