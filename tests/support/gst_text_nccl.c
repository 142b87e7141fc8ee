/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <stdlib.h>
#include <string.h>

/* The kind's name in format.h, in small letters with dashes. */
static bool kind_is(const char *word, const char *name)
{
	for (; *word && *name; word++, name++)
		if (*word != (*name == '_' ? '-' : *name + ('a' - 'A')))
			return false;
	return !*word && !*name;
}

static uint8_t nccl_kind(struct parser *p, const char *word)
{
#define KIND(name, value)         \
	if (kind_is(word, #name)) \
		return value;
	GST_NCCL_KINDS(KIND)
	p->bad = true;
	return GST_NCCL_OTHER;
}

void text_comm(struct parser *p)
{
	static const char *const how[] = { "init", "split", "shrink", "grow", NULL };
	const char *name = word_value(p, "name");
	struct gst_comm r = { .comm = p->n_words > 1 ? (uint32_t)atoi(p->words[1]) : 0,
			      .hash = word_number(p, "hash", 0),
			      .also = word_number(p, "also", 0),
			      .parent = (uint32_t)word_number(p, "parent", 0),
			      .rank = (uint32_t)word_number(p, "rank", GST_NONE),
			      .size = (uint32_t)word_number(p, "size", GST_NONE),
			      .version = (uint32_t)word_number(p, "version", 22809),
			      .device = (uint16_t)word_number(p, "device", 0),
			      .made = (uint8_t)(GST_NCCL_INIT + word_choice(p, word_value(p, "made"), how, 0)) };
	uint64_t end;

	word_span(p, &r.ticks, &end);
	r.flags = (uint8_t)((word_flag(p, "nonblocking") ? GST_COMM_NONBLOCKING : 0) |
			    (word_flag(p, "all") ? GST_COMM_ALL : 0));
	r.library = record_name(p, GST_SPACE_LIBRARY, word_value(p, "library"));
	if (name)
		p->bad |= gst_image_name(&p->file->image, GST_SPACE_COMM, r.comm, name, strlen(name)) == 0;
	record_add(p, GST_COMM, &r, sizeof(r));
}

void text_nccl(struct parser *p)
{
	static const char *const types[] = { "int8",        "uint8",       "int32",   "uint32",  "int64",
					     "uint64",      "float16",     "float32", "float64", "bfloat16",
					     "float8_e4m3", "float8_e5m2", NULL };
	static const char *const ops[] = { "sum", "prod", "max", "min", "avg", NULL };
	const char *hook = word_value(p, "hook");
	struct gst_nccl r = { .comm = (uint32_t)word_number(p, "comm", 0),
			      .kind = nccl_kind(p, p->n_words > 1 ? p->words[1] : ""),
			      .flags = (uint8_t)((word_flag(p, "inner") ? GST_NCCL_INNER : 0) |
						 (word_flag(p, "ours") ? GST_NCCL_OURS : 0)),
			      .result = (int32_t)word_number(p, "result", 0),
			      .stream = (uint32_t)word_number(p, "stream", GST_NONE),
			      .group = (uint32_t)word_number(p, "group", 0),
			      .seq = (uint32_t)word_number(p, "seq", 0),
			      .peer = (int32_t)word_number(p, "peer", UINT32_MAX),
			      .op = (uint16_t)word_choice(p, word_value(p, "op"), ops, 0xffff),
			      .datatype = (uint8_t)word_choice(p, word_value(p, "type"), types, 0xff) };

	word_span(p, &r.begin, &r.end);
	r.count = word_number(p, "count", 0);
	if (word_value(p, "opened"))
		r.count = word_instant(p, "opened");
	r.hook = (uint16_t)record_name(p, GST_SPACE_NCCL, hook ? hook : p->words[1]);
	p->bad |= r.hook >= GST_NCCL_MAX;
	record_add(p, GST_NCCL, &r, sizeof(r));
}
