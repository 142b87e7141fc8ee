/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <stdlib.h>
#include <string.h>

#define TEXT 512
#define FRAMES 64

static uint32_t own_number(const struct parser *p)
{
	return p->n_words > 1 ? (uint32_t)atoi(p->words[1]) : 0;
}

void text_object(struct parser *p)
{
	struct {
		struct gst_object r;
		char path[TEXT];
	} o = { .r = { .id = own_number(p),
		       .bias = word_number(p, "bias", 0),
		       .file_bytes = word_number(p, "bytes", 0),
		       .file_mtime_ns = word_number(p, "mtime", 0) } };
	const char *path = word_value(p, "path"), *id = word_value(p, "build-id");

	o.r.flags =
		(uint16_t)((word_flag(p, "program") ? GST_OBJECT_PROGRAM : 0) |
			   (word_flag(p, "vdso") ? GST_OBJECT_VDSO : 0) | (word_flag(p, "gone") ? GST_OBJECT_GONE : 0));
	for (; id && id[0] && id[1] && o.r.build_id_bytes < sizeof(o.r.build_id); id += 2) {
		const char hex[3] = { id[0], id[1] };

		o.r.build_id[o.r.build_id_bytes++] = (uint8_t)strtoul(hex, NULL, 16);
	}
	p->bad |= !path || strlen(path) >= TEXT;
	if (p->bad)
		return;
	o.r.path_bytes = (uint16_t)strlen(path);
	memcpy(o.r.path, path, o.r.path_bytes);
	record_add(p, GST_OBJECT, &o, sizeof(o.r) + o.r.path_bytes);
}

void text_code(struct parser *p)
{
	struct {
		struct gst_code r;
		char text[2 * TEXT];
	} c = { .r = { .id = own_number(p), .first_line = (uint32_t)word_number(p, "first", 1), .version = 0x030b } };
	const char *file = word_value(p, "file"), *name = word_value(p, "name");

	p->bad |= !file || !name || strlen(file) >= TEXT || strlen(name) >= TEXT;
	if (p->bad)
		return;
	c.r.file_bytes = (uint16_t)strlen(file);
	c.r.name_bytes = (uint16_t)strlen(name);
	memcpy(c.r.text, file, c.r.file_bytes);
	memcpy(c.r.text + c.r.file_bytes, name, c.r.name_bytes);
	record_add(p, GST_CODE, &c, sizeof(c.r) + c.r.file_bytes + c.r.name_bytes);
}

/* "python:2:41": kind, object or code, address or line */
static bool parse_frame(const char *word, struct gst_frame *f)
{
	static const char *const kinds[] = { "return", "exact", "python" };
	char *end;

	for (uint16_t kind = 0; kind < 3; kind++) {
		size_t n = strlen(kinds[kind]);

		if (strncmp(word, kinds[kind], n) != 0 || word[n] != ':')
			continue;
		f->kind = (uint16_t)(kind + GST_FRAME_RETURN);
		f->of = (uint32_t)strtoul(word + n + 1, &end, 10);
		f->at = *end == ':' ? strtoull(end + 1, &end, 0) : 0;
		return *end == 0;
	}
	return false;
}

void text_stack(struct parser *p)
{
	struct {
		struct gst_stack r;
		struct gst_frame frames[FRAMES];
	} s = { .r = { .id = own_number(p) } };
	char list[4096] = "", *save = NULL;

	if (word_value(p, "frames"))
		strncpy(list, word_value(p, "frames"), sizeof(list) - 1);
	for (char *word = strtok_r(list, ",", &save); word && s.r.count < FRAMES; word = strtok_r(NULL, ",", &save)) {
		struct gst_frame *f = &s.r.frames[s.r.count++];

		p->bad |= !parse_frame(word, f);
		s.r.flags |= f->kind == GST_FRAME_PYTHON ? GST_STACK_PYTHON : GST_STACK_NATIVE;
	}
	s.r.flags |= (uint16_t)((word_flag(p, "truncated") ? GST_STACK_TRUNCATED : 0) |
				(word_flag(p, "unmerged") ? GST_STACK_UNMERGED : 0));
	record_add(p, GST_STACK, &s, sizeof(s.r) + s.r.count * sizeof(s.r.frames[0]));
}

void text_taken(struct parser *p)
{
	static const char *const whys[] = { "none", "stall", "silence", "site", "sample", "look", NULL };
	struct gst_stack_at r = { .stack = (uint32_t)word_number(p, "stack", 0),
				  .tid = (uint32_t)word_number(p, "tid", p->tid),
				  .why = (uint16_t)word_choice(p, p->n_words > 1 ? p->words[1] : NULL, whys, 0),
				  .hook = 0xffff,
				  .weight = (uint32_t)word_number(p, "weight", 1) };

	word_span(p, &r.begin, &r.end);
	record_add(p, GST_STACK_AT, &r, sizeof(r));
}

void text_stack_cost(struct parser *p)
{
	struct gst_stack_cost r = { .taken_ticks = word_duration(p, "took", 0),
				    .taken = word_number(p, "taken", 0),
				    .looks = word_number(p, "looks", 0),
				    .passed = word_number(p, "passed", 0),
				    .failed = word_number(p, "failed", 0),
				    .budget_ppm = (uint32_t)word_number(p, "budget", 10000) };
	uint64_t end;

	word_span(p, &r.ticks, &end);
	record_add(p, GST_STACK_COST, &r, sizeof(r));
}
