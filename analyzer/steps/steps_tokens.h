/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_tokens.h: what a process put into its streams, as a sequence of small numbers: one for each kernel's name, kind and size of copy,
 * shape of graph. Sizes of grids are no part of it: they change with the batch. But of a kernel without a name they are all there is. */
#pragma once

#include "trace/trace.h"

enum token_kind { TOKEN_OTHER, TOKEN_KERNEL, TOKEN_GRAPH, TOKEN_H2D, TOKEN_D2H };

struct token_about {
	uint8_t kind;   /* enum token_kind */
	bool optimizer; /* its name says that it changes parameters */
	uint16_t work;  /* kernels that it launches */
};

struct step_tokens {
	const struct trace *trace;
	uint32_t *ids;   /* below n_about */
	uint32_t *calls; /* index into trace->calls */
	uint32_t *in;    /* of one that is folded: which launch (launches.h); NULL: none is */
	size_t n;
	struct token_about *about; size_t n_about;
	uint32_t tid; /* the thread that submits first of those that submit much */
};

#define TOKENS_MAX 60000 /* different ones; what comes later is one more */

/* Of all threads that launch much, in the order in which calls begin, or of the one alone that launches most. n 0: nothing, or more than
 * is counted. False: no memory. */
bool step_tokens_take(struct step_tokens *out, const struct trace *t, bool one_thread);
void step_tokens_free(struct step_tokens *s);

static inline const struct call *token_call(const struct step_tokens *s, size_t i)
{
	return &s->trace->calls[s->calls[i]];
}

/* Its own entry and return, though its call may be told with others. */
int64_t token_begin_ns(const struct step_tokens *s, size_t i);
int64_t token_end_ns(const struct step_tokens *s, size_t i);

/* Kernels that are launched there; of a copy none. */
static inline uint16_t token_work(const struct step_tokens *s, size_t i)
{
	return s->about[s->ids[i]].work;
}

/* Until the device is done, or an event. */
static inline bool call_waits(const struct call *c)
{
	return c->family == GST_FAMILY_SYNC_STREAM || c->family == GST_FAMILY_SYNC_CONTEXT || c->family == GST_FAMILY_SYNC_EVENT;
}

/* How long nothing was submitted before it, nor waited for. */
int64_t token_pause(const struct step_tokens *s, size_t i);
