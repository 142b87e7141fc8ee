/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <stdlib.h>
#include <string.h>

#define VALUES 8

/* The text with spaces for ~ and lines for ;, and its id. 0: there is none. */
static uint32_t text_id(struct parser *p, const char *word, bool lines)
{
	char text[120] = "";
	size_t n = 0;

	if (!word)
		return 0;
	for (; *word && n < sizeof(text) - 2; word++)
		text[n++] = *word == '~' ? ' ' : lines && *word == ';' ? '\n' : *word;
	if (lines)
		text[n++] = '\n';
	text[n] = 0;
	return record_name(p, GST_SPACE_NVTX, text);
}

static void payload(struct parser *p, uint32_t range)
{
	union {
		struct gst_range_data data;
		uint8_t bytes[sizeof(struct gst_range_data) + VALUES * sizeof(uint64_t)];
	} r = { .data = { .range = range, .schema = text_id(p, word_value(p, "schema"), true) } };
	const char *at = word_value(p, "values");
	uint64_t values[VALUES] = { 0 };
	size_t n = 0;

	for (char *end; at && n < VALUES; at = *end == ',' ? end + 1 : NULL)
		values[n++] = strtoull(at, &end, 0);
	r.data.bytes = r.data.kept = (uint32_t)(n * sizeof(values[0]));
	memcpy(r.data.data, values, r.data.kept);
	record_add(p, GST_RANGE_DATA, &r, sizeof(r.data) + r.data.kept);
}

void text_range(struct parser *p)
{
	static const char *const kinds[] = { "", "pushed", "started", "mark", NULL };
	static uint32_t last;
	struct gst_range r = { .domain = text_id(p, word_value(p, "domain"), false),
			       .name = p->n_words > 1 ? text_id(p, p->words[1], false) : 0,
			       .range = (uint32_t)word_number(p, "id", 0),
			       .tid = (uint32_t)word_number(p, "tid", p->tid),
			       .number = (uint32_t)word_number(p, "number", 0),
			       .category = (uint32_t)word_number(p, "category", 0),
			       .level = (uint16_t)word_number(p, "level", 0),
			       .kind = (uint8_t)word_choice(p, word_value(p, "kind"), kinds, GST_RANGE_PUSHED),
			       .payload = word_number(p, "payload", 0),
			       .payload_kind = word_value(p, "payload") != NULL,
			       .flags = word_value(p, "number") ? GST_RANGE_NUMBERED : 0 };

	if (!r.range)
		r.range = 1000000 + ++last;
	word_span(p, &r.begin, &r.end);
	if (r.begin == r.end && r.kind != GST_RANGE_MARK)
		r.end = 0;
	record_add(p, GST_RANGE, &r, sizeof(r));
	if (word_value(p, "schema"))
		payload(p, r.range);
}

void text_nvtx(struct parser *p)
{
	static const char *const what[] = { "", "ours", "taken", "off", "attached", "category", NULL };
	struct gst_nvtx r = { .what = word_choice(p, p->n_words > 1 ? p->words[1] : NULL, what, 0),
			      .domain = text_id(p, word_value(p, "domain"), false),
			      .number = (uint32_t)word_number(p, "number", 0),
			      .name = text_id(p, word_value(p, "name"), false) };
	uint64_t end;

	word_span(p, &r.ticks, &end);
	p->bad |= r.what == 0;
	record_add(p, GST_NVTX, &r, sizeof(r));
}
