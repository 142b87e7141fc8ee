/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a trace, its launches each by itself and folded: nothing crashes, and what comes out obeys the sums. The input is the compact form of
 * tests/support/gst_compact.h, or, behind a first byte of 0xff, a file as it is. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "tests/support/gst_compact.h"

typedef enum err_kind opened(struct trace **out, const void *bytes, size_t len, const char *name, struct error *e);

static void analyse_as(opened *open, const void *bytes, size_t len)
{
	struct trace *trace;
	struct run run = { .traces = &trace, .n_traces = 1, .count = 1 };
	struct timeline timeline;
	struct error e;

	if (open(&trace, bytes, len, "fuzz.gst", &e) != ERR_NONE)
		return;
	require(timeline_build(&timeline, &run, &e) == ERR_NONE);
	for (size_t i = 0; i < timeline.n_devices; i++)
		fuzz_check_device(&timeline.devices[i]);
	timeline_free(&timeline);
	trace_free(trace);
}

static void analyse(const void *bytes, size_t len)
{
	analyse_as(trace_open_mem, bytes, len);
	analyse_as(trace_open_mem_folded, bytes, len);
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
