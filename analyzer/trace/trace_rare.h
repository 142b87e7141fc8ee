/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_rare.h: nine calls in ten put a kernel into a stream and do nothing else. Who asks for any other need not look at these:
 *
 *   for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1))
 *           … t->calls[i] …          every call that is no plain launch, in their order
 */
#pragma once

#include "trace.h"

/* A kernel's launch in a known stream that was accepted, blocked nobody and went to the device. */
static inline bool is_plain_launch(const struct call *c)
{
	return c->family == GST_FAMILY_LAUNCH && c->flags == GST_SUBMISSION && c->result == 0 && c->stream != GST_NONE;
}

/* Notes which calls are none of these; again whenever calls were left out. Without memory for it every call counts as rare. */
void trace_rare_mark(struct trace *t);

/* The same in a pass that somebody makes anyway: first trace_rare_begin, then this of each call. */
void trace_rare_begin(struct trace *t);

static inline void trace_rare_note(struct trace *t, size_t i)
{
	if (t->rare && !is_plain_launch(&t->calls[i]))
		t->rare[i / 64] |= 1ull << i % 64;
}

/* The first rare call at or behind i; n_calls: there is none. */
static inline size_t trace_rare(const struct trace *t, size_t i)
{
	if (!t->rare)
		return i;
	while (i < t->n_calls) {
		uint64_t word = t->rare[i / 64] >> i % 64;

		if (word)
			return i + (size_t)__builtin_ctzll(word);
		i = (i / 64 + 1) * 64;
	}
	return t->n_calls;
}
