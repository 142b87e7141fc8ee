/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <stdlib.h>
#include <string.h>

void text_sample(struct parser *p)
{
	static const char *const kinds[] = { "none", "file", "pipe", "socket", "other", "network", NULL };
	const char *state = word_value(p, "state");
	struct gst_sample r = { .tid = (uint32_t)word_number(p, "tid", p->tid),
				.arg = word_number(p, "arg", 0),
				.fd_kind = (uint16_t)word_choice(p, word_value(p, "fd"), kinds, GST_FD_NONE),
				.state = state ? *state : 'S',
				.flags = word_number(p, "holds", 0) ? GST_SAMPLE_HOLDS : 0 };
	const char *number_text = word_value(p, "syscall");
	uint64_t end;

	r.syscall = number_text ? atoi(number_text) : -3;
	word_span(p, &r.ticks, &end);
	r.file = record_name(p, GST_SPACE_FILE, word_value(p, "file"));
	record_add(p, GST_SAMPLE, &r, sizeof(r));
}

void text_usage(struct parser *p)
{
	const char *delay = word_value(p, "delay");
	struct gst_usage r = { .cpu_ns = word_duration(p, "cpu", 0),
			       .run_delay_ns = delay && strcmp(delay, "unknown") == 0 ? UINT64_MAX
										      : word_duration(p, "delay", 0),
			       .voluntary = (uint32_t)word_number(p, "voluntary", 0),
			       .involuntary = (uint32_t)word_number(p, "involuntary", 0),
			       .major_faults = (uint32_t)word_number(p, "faults", 0),
			       .throttled = (uint32_t)word_number(p, "throttled", 0) };
	uint64_t end;

	word_span(p, &r.ticks, &end);
	record_add(p, GST_USAGE, &r, sizeof(r));
}
