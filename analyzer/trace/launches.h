/* SPDX-License-Identifier: BSD-2-Clause */
/* launches.h: plain launches, told in rows of 8 bytes, and folded.
 *
 * Nine calls in ten put a kernel into a stream and do nothing else (trace_rare.h), one right behind the other. Nothing that the analysis asks tells
 * one in the middle of such a row from its neighbours. So a trace that is read to be reported has such a middle as one call, which is *folded*: it is the
 * first of them, call.folded more stand behind it in the same stream, thread and hook, numbered one by one, and it ends when the last one does.
 *
 * What is folded has no other record of the process in its time, but for memory blocks and ranges, and no number that any record names. Before and behind
 * it stand FOLD_MARGIN launches of the same row by themselves: so whatever begins or ends between two records, or is covered by one, is told of these.
 *
 *   launches   L L L L L L L L L … L L L L      another record      L L …
 *   calls      L L [ L, folded more ] L L       another record      L L …
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLD_MARGIN 1
#define FOLD_LEAST 17 /* fewer stay by themselves: more than held_up.c takes for one piece of work */

struct call;
struct trace;

#define LAUNCH_TOOK_BITS 20
#define LAUNCH_SHAPES (1u << (32 - LAUNCH_TOOK_BITS)) /* of a part; launches of others stand for themselves */
#define LAUNCH_LONGEST ((1u << LAUNCH_TOOK_BITS) - 1)

struct launch { /* ns */
	uint32_t begin; /* relative to the row's base, which only differences are made of */
	uint32_t took : LAUNCH_TOOK_BITS;
	uint32_t shape : 32 - LAUNCH_TOOK_BITS; /* index into its part's shapes */
};

struct launch_shape { /* a kernel, and what it was launched with */
	uint64_t args[2];
	uint32_t name;
};

struct launch_place { /* launches from this one on lie one right behind the other in the file, from this byte on */
	size_t launch;
	uint64_t byte;
};

struct launch_part { /* of the file, that was gone through by itself */
	struct launch *at;           size_t n, cap;
	struct launch_shape *shapes; size_t n_shapes, cap_shapes;
	struct launch_place *places; size_t n_places, cap_places;
};

struct launches { /* of a trace */
	struct launch_part *parts; size_t n_parts;
	uint64_t folded; /* launches that stand in other calls: trace.n_calls and these are all */
};

/* Where a launch is told, as a folded call has it in args[0]. */
static inline uint64_t launch_ref(size_t part, size_t launch)
{
	return (uint64_t)part << 48 | launch;
}

static inline const struct launch_part *launch_part_of(const struct launches *l, uint64_t ref)
{
	return &l->parts[ref >> 48];
}

static inline size_t launch_index(uint64_t ref)
{
	return ref & (((uint64_t)1 << 48) - 1);
}

static inline const struct launch *launch_at(const struct launches *l, uint64_t ref)
{
	return &launch_part_of(l, ref)->at[launch_index(ref)];
}

/* The same call, though one of them may be a copy of what is folded? Of one trace. */
bool call_same(const struct call *a, const struct call *b);

/* Of a folded call, the i-th launch, from 0 (the call's own) to call.folded, as it would stand in trace.calls. near: where in the file is looked for first;
 * 0, and kept from one to the next by who asks for many near each other. */
struct call launch_call(const struct trace *t, const struct call *c, uint32_t i, size_t *near);
/* … but for where it lies in the file. */
struct call launch_elsewhere(const struct trace *t, const struct call *c, uint32_t i);
int64_t launch_begin_ns(const struct trace *t, const struct call *c, uint32_t i);
int64_t launch_end_ns(const struct trace *t, const struct call *c, uint32_t i);
uint64_t launch_byte(const struct launches *l, uint64_t ref, size_t *near);
/* … n of them from the i-th on: one by itself, or a folded call. */
struct call launches_part(const struct trace *t, const struct call *c, uint32_t i, uint32_t n, size_t *near);
/* … which of its launches began last by then; the call began by then. */
uint32_t launch_begun_by(const struct trace *t, const struct call *c, int64_t ns);

/* All calls by themselves, for who shows or exports them. False: no memory, and nothing is changed. */
bool trace_unfold(struct trace *t);
void launches_free(struct launches *l);
