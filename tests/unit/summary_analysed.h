/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_analysed.h: the files of a run as text (tests/support/gst_text.h), and through the whole pipeline, from their bytes to the summary.
 * A file that cannot be opened is left out. */
#pragma once

#include <string.h>

#include "summary/summary.h"
#include "tests/support/gst_text.h"
#include "tests/unit/fewer.h"

#define FILES 8

struct analysed {
	struct gst_text text;
	struct trace *traces[FILES];
	struct host_trace *hosts[FILES];
	struct run run;
	struct timeline timeline;
	struct summary summary;
};

static inline void analysed_parse(struct analysed *a, const char *text)
{
	char error[256];

	memset(a, 0, sizeof(*a));
	if (!gst_text_parse(&a->text, text, error))
		fail_msg("%s", error);
	assert_true(a->text.n <= FILES);
}

/* Returns how many files could be opened; 0: there is no process to analyse, and nothing is built. fold: launches may be folded (launches.h). */
static inline size_t analysed_build_as(struct analysed *a, bool fold)
{
	enum err_kind (*open)(struct trace **, const void *, size_t, const char *, struct error *) =
		fold ? trace_open_mem_folded : trace_open_mem;
	struct error e;

	a->run = (struct run){ .traces = a->traces, .hosts = a->hosts, .count = 1 };
	for (size_t i = 0; i < a->text.n; i++) {
		const struct gst_text_file *f = &a->text.files[i];

		if (open(&a->traces[a->run.n_traces], f->image.bytes, f->image.len, f->name, &e) == ERR_NONE)
			a->run.n_traces++;
		else if (host_trace_open_mem(&a->hosts[a->run.n_hosts], f->image.bytes, f->image.len, f->name, &e) ==
			 ERR_NONE)
			a->run.n_hosts++;
		else
			assert_int_equal(e.kind, ERR_FORMAT);
	}
	if (!a->run.n_traces)
		return 0;
	assert_int_equal(timeline_build(&a->timeline, &a->run, &e), ERR_NONE);
	assert_int_equal(summary_build(&a->summary, &a->timeline, &e), ERR_NONE);
	return a->run.n_traces + a->run.n_hosts;
}

static inline size_t analysed_build(struct analysed *a)
{
	return analysed_build_as(a, false);
}

static inline void analysed_release(struct analysed *a)
{
	summary_free(&a->summary);
	timeline_free(&a->timeline);
	for (size_t i = 0; i < a->run.n_traces; i++)
		trace_free(a->traces[i]);
	for (size_t i = 0; i < a->run.n_hosts; i++)
		host_trace_free(a->hosts[i]);
}

static inline void analysed_free(struct analysed *a)
{
	gst_text_free(&a->text);
}
