/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_contexts.h: whose memory goes when a context is destroyed. Calls say on which device they took memory, and not in which context: only
 * where the context was the one that was in use there, all of it goes with it. */
#pragma once

#include "trace/trace.h"

struct memory_contexts { /* of one process, by what its streams say */
	struct memory_context *at;
	size_t n;
	uint32_t *of_stream; /* index into at, by stream */
};

/* False: no memory. */
bool memory_contexts_build(struct memory_contexts *out, const struct trace *t);
void memory_contexts_free(struct memory_contexts *m);

/* Call after call, by begin: what one uses is there. */
void memory_contexts_use(struct memory_contexts *m, const struct call *c);
/* This call destroys its context. The device that had no other one, 0xffff: none, or not known. */
uint16_t memory_contexts_end(struct memory_contexts *m, const struct call *c);
