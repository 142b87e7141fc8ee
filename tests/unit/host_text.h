/* SPDX-License-Identifier: BSD-2-Clause */
/* host_text.h: a file of host probes as text (tests/support/gst_text.h), decoded. One at a time. */
#pragma once

#include <stdlib.h>

#include "host/host_trace.h"
#include "tests/support/gst_text.h"

static struct gst_text text;

static inline void parse(const char *lines)
{
	char error[256];

	if (!gst_text_parse(&text, lines, error))
		fail_msg("%s", error);
}

static inline struct host_trace *trace_of(const char *lines)
{
	struct host_trace *t;
	struct error e;

	parse(lines);
	assert_int_equal(host_trace_open_mem(&t, text.files[0].image.bytes, text.files[0].image.len, "x.host.gst", &e),
			 ERR_NONE);
	return t;
}

static inline void done(struct host_trace *t)
{
	host_trace_free(t);
	gst_text_free(&text);
}

/* Times of the text begin a second after the clock's zero. */
#define US(t) (1000000000 + (int64_t)((t)*1000))

static inline const struct host_task *task_of(const struct host_trace *t, uint32_t tid, double at_us)
{
	uint32_t at = host_trace_task(t, tid, US(at_us));

	assert_int_not_equal(at, HOST_NOBODY);
	return &t->tasks[at];
}

#define FAMILY                                                           \
	"host 100 end=9ms how=ebpf lost=3 tasks-lost=1 sample=10ms\n"    \
	"task 100 t=0us flags=root,there name=python start=0us ns=77\n"  \
	"task 101 pid=100 t=10us creator=100 name=pin own=2 own-pid=1\n" \
	"task 200 t=20us creator=100 name=python\n"                      \
	"task 200 t=30us flags=exec name=loader\n"                       \
	"task-end 200 t=8ms\n"
