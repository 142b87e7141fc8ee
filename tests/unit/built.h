/* SPDX-License-Identifier: BSD-2-Clause */
/* built.h: a timeline made of traces as text (tests/support/gst_text.h). Include cmocka before it. */
#pragma once

#include <stdlib.h>

#include "tests/support/gst_text.h"
#include "timeline/timeline.h"

#define US 1000
#define EPOCH 1000000000

struct built {
	struct gst_text text;
	struct trace *traces[4];
	struct run run;
	struct timeline timeline;
};

static struct built *build(const char *text)
{
	struct built *b = calloc(1, sizeof(*b));
	char error[256];
	struct error e;

	assert_non_null(b);
	if (!gst_text_parse(&b->text, text, error))
		fail_msg("%s", error);
	for (size_t i = 0; i < b->text.n; i++)
		assert_int_equal(trace_open_mem(&b->traces[i], b->text.files[i].image.bytes, b->text.files[i].image.len,
						b->text.files[i].name, &e),
				 ERR_NONE);
	b->run = (struct run){ .traces = b->traces, .n_traces = b->text.n, .count = 1 };
	assert_int_equal(timeline_build(&b->timeline, &b->run, &e), ERR_NONE);
	return b;
}

static void finish(struct built *b)
{
	timeline_free(&b->timeline);
	for (size_t i = 0; i < b->text.n; i++)
		trace_free(b->traces[i]);
	gst_text_free(&b->text);
	free(b);
}
