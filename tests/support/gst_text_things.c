/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <stdio.h>
#include <stdlib.h>

void text_entry(struct parser *p)
{
	char text[96];

	snprintf(text, sizeof(text), "%s 13010 2", p->n_words > 1 ? p->words[1] : "");
	gst_image_counters(&p->file->image)->entry_points_unknown++;
	record_name(p, GST_SPACE_ENTRY, text);
}

void text_device(struct parser *p)
{
	struct gst_device r = { .device = p->n_words > 1 ? (uint32_t)atoi(p->words[1]) : 0,
				.memory_bytes = 1ull << 34 };
	const char *name = word_value(p, "name");

	r.uuid[0] = (uint8_t)word_number(p, "uuid", r.device + 1);
	snprintf(r.name, sizeof(r.name), "%s", name ? name : "device");
	record_add(p, GST_DEVICE, &r, sizeof(r));
}

void text_stream(struct parser *p)
{
	static const char *const kinds[] = { "created", "legacy", "per-thread", NULL };
	struct gst_stream r = { .id = p->n_words > 1 ? (uint32_t)atoi(p->words[1]) : 0,
				.device = (uint16_t)word_number(p, "device", 0),
				.kind = (uint16_t)word_choice(p, word_value(p, "kind"), kinds, 0),
				.context = word_number(p, "context", 7) };

	r.handle = 0x5000 + r.id;
	r.flags = (uint32_t)word_number(p, "flags", r.kind == GST_STREAM_CREATED);
	record_add(p, GST_STREAM, &r, sizeof(r));
}
