/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <string.h>

static uint64_t at(struct parser *p)
{
	uint64_t begin, end;

	word_span(p, &begin, &end);
	return end;
}

void text_block(struct parser *p)
{
	static const char *const kinds[] = { "", "taken", "given", "refused", NULL };
	struct gst_block r = { .ticks = at(p),
			       .address = word_number(p, "address", 0),
			       .bytes = word_number(p, "bytes", 0),
			       .allocated = word_number(p, "allocated", 0),
			       .reserved = word_number(p, "reserved", 0),
			       .device = (uint16_t)word_number(p, "device", 0),
			       .device_type = 1 };

	r.kind = (uint8_t)word_choice(p, p->n_words > 1 ? p->words[1] : NULL, kinds, 0);
	record_add(p, GST_BLOCK, &r, sizeof(r));
}

void text_mapping(struct parser *p)
{
	struct gst_mapping r = { .ticks = at(p),
				 .address = word_number(p, "address", 0),
				 .bytes = word_number(p, "bytes", 0),
				 .handle = word_number(p, "handle", 0),
				 .offset = word_number(p, "offset", 0) };

	record_add(p, GST_MAPPING, &r, sizeof(r));
}

void text_pool_state(struct parser *p)
{
	struct gst_pool r = { .ticks = at(p),
			      .handle = word_number(p, "handle", 0x50),
			      .reserved = word_number(p, "reserved", 0),
			      .used = word_number(p, "used", 0),
			      .pool = (uint32_t)word_number(p, "pool", 1),
			      .device = (uint16_t)word_number(p, "device", 0) };

	r.reserved_high = word_number(p, "reserved-high", r.reserved);
	r.used_high = word_number(p, "used-high", r.used);
	record_add(p, GST_POOL, &r, sizeof(r));
}

void text_left(struct parser *p)
{
	struct gst_memory_left r = { .ticks = at(p),
				     .free = word_number(p, "free", 0),
				     .total = word_number(p, "total", 0),
				     .device = (uint16_t)word_number(p, "device", 0) };

	record_add(p, GST_MEMORY_LEFT, &r, sizeof(r));
}
