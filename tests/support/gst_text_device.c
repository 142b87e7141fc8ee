/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <math.h>
#include <stdlib.h>

void text_busy(struct parser *p)
{
	uint64_t room[16] = { 0 };
	struct gst_busy *r = (void *)room;
	const char *streams = word_value(p, "streams");
	uint64_t end;

	word_span(p, &r->ticks, &end);
	while (streams && *streams && r->count < 24) {
		r->streams[r->count++] = (uint32_t)strtoul(streams, (char **)&streams, 10);
		streams += *streams == ',';
	}
	r->flags = (word_flag(p, "more") ? GST_BUSY_MORE : 0) | (word_flag(p, "left") ? GST_BUSY_LEFT : 0);
	record_add(p, GST_BUSY, r, sizeof(*r) + 4 * r->count);
}

void text_edge(struct parser *p)
{
	static const char *const kinds[] = { "",      "block",        "start",       "class",      "before",
					     "after", "burst-before", "burst-after", "burst-null", NULL };
	struct gst_edge r = { .edge = p->n_words > 1 ? (uint32_t)atoi(p->words[1]) : 0,
			      .stream = (uint32_t)word_number(p, "stream", 0),
			      .covers = (uint32_t)word_number(p, "covers", 0),
			      .device = (uint16_t)word_number(p, "device", 0),
			      .kind = (uint16_t)word_choice(p, word_value(p, "kind"), kinds, GST_EDGE_BLOCK),
			      .tid = p->tid,
			      .burst = (uint32_t)word_number(p, "burst", 0) };
	double device_ns = (double)word_instant(p, "fired") * (1 + p->drift);

	word_span(p, &r.begin, &r.end);
	if (r.edge == 0 || r.edge >= EDGES) {
		p->bad = true;
		return;
	}
	r.base = (uint32_t)word_number(p, "base", p->first_edge ? p->first_edge : r.edge);
	r.done = word_instant(p, "done");
	if (!p->first_edge)
		p->first_edge = r.edge;
	p->fired_ms[r.edge] = floor(device_ns / 500) * 500 / 1e6;
	if (r.base < EDGES && word_value(p, "fired"))
		r.elapsed_ms = (float)(p->fired_ms[r.edge] - p->fired_ms[r.base]);
	record_add(p, GST_EDGE, &r, sizeof(r));
}

void text_burst(struct parser *p)
{
	struct gst_burst r = { .burst = p->n_words > 1 ? (uint32_t)atoi(p->words[1]) : 0,
			       .submissions = (uint32_t)word_number(p, "submissions", 0),
			       .edges = (uint32_t)word_number(p, "edges", 0),
			       .passed = (uint32_t)word_number(p, "passed", 0),
			       .cost_ticks = word_duration(p, "cost", 0) };

	word_span(p, &r.begin, &r.end);
	record_add(p, GST_BURST, &r, sizeof(r));
}

void text_poll(struct parser *p)
{
	struct gst_poll r = { .stream = (uint32_t)word_number(p, "stream", 0),
			      .covers = (uint32_t)word_number(p, "covers", 0),
			      .ready = (uint32_t)word_number(p, "ready", 0) };

	word_span(p, &r.begin, &r.end);
	record_add(p, GST_POLL, &r, sizeof(r));
}

void text_activity(struct parser *p)
{
	static const char *const kinds[] = { "", "kernel", "copy", "memset", "graph", NULL };
	struct gst_activity r = { .stream = (uint32_t)word_number(p, "stream", GST_NONE),
				  .seq = (uint32_t)word_number(p, "seq", 0),
				  .node = word_number(p, "node", 0),
				  .bytes = word_number(p, "bytes", 0),
				  .name = record_name(p, GST_SPACE_KERNEL, word_value(p, "kernel")),
				  .error_ns = (uint32_t)word_duration(p, "error", 0),
				  .device = (uint16_t)word_number(p, "device", 0) };

	r.kind = (uint8_t)word_choice(p, word_value(p, "kind"), kinds, GST_ACTIVITY_KERNEL);
	r.copy = (uint8_t)word_choice(p, word_value(p, "copy"), word_copy_kinds, GST_COPY_UNKNOWN);
	word_span(p, &r.begin_ns, &r.end_ns);
	record_add(p, GST_ACTIVITY, &r, sizeof(r));
}

void text_level(struct parser *p)
{
	static const char *const levels[] = { "", "host", "edges", "bursts", "cupti", NULL };
	static const char *const whys[] = { "as-asked", "no-library", "held", "refused",
					    "yielded",  "forked",     "ends", NULL };
	struct gst_level r = { .level = word_choice(p, p->n_words > 1 ? p->words[1] : NULL, levels, GST_LEVEL_CUPTI),
			       .asked = GST_LEVEL_CUPTI };
	uint64_t end;

	word_span(p, &r.ticks, &end);
	r.why = word_choice(p, word_value(p, "why"), whys, GST_LEVEL_AS_ASKED);
	r.result = (int32_t)word_number(p, "result", 0);
	record_add(p, GST_LEVEL, &r, sizeof(r));
}
