/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_contexts.h"

#include "tools/alloc.h"

#include <stdlib.h>

#define CONTEXTS 64 /* of a process, more are not told apart */
#define NOWHERE 0xffff

struct memory_context {
	uint64_t handle;
	uint16_t device;
	bool in_use;
};

static uint32_t find(const struct memory_contexts *m, uint64_t handle)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->at[i].handle == handle)
			return i;
	return GST_NONE;
}

bool memory_contexts_build(struct memory_contexts *out, const struct trace *t)
{
	*out = (struct memory_contexts){ 0 };
	out->at = array_new(CONTEXTS, sizeof(*out->at));
	out->of_stream = array_new(t->n_streams, sizeof(*out->of_stream));
	for (size_t i = 0; out->at && out->of_stream && i < t->n_streams; i++) {
		const struct stream *s = &t->streams[i];
		uint32_t index = s->context ? find(out, s->context) : GST_NONE;

		if (s->context && index == GST_NONE && out->n < CONTEXTS) {
			index = (uint32_t)out->n++;
			out->at[index] = (struct memory_context){ .handle = s->context, .device = s->device };
		}
		out->of_stream[i] = index;
	}
	if (out->at && out->of_stream)
		return true;
	memory_contexts_free(out);
	return false;
}

void memory_contexts_free(struct memory_contexts *m)
{
	free(m->at);
	free(m->of_stream);
	*m = (struct memory_contexts){ 0 };
}

void memory_contexts_use(struct memory_contexts *m, const struct call *c)
{
	if (c->stream != GST_NONE && m->of_stream[c->stream] != GST_NONE)
		m->at[m->of_stream[c->stream]].in_use = true;
}

uint16_t memory_contexts_end(struct memory_contexts *m, const struct call *c)
{
	uint32_t index = find(m, c->args[0]);
	bool alone = m->n < CONTEXTS;

	if (index == GST_NONE)
		return NOWHERE;
	m->at[index].in_use = false;
	for (size_t i = 0; i < m->n; i++)
		alone = alone && !(m->at[i].in_use && m->at[i].device == m->at[index].device);
	return alone ? m->at[index].device : NOWHERE;
}
