/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.h: per-stream bookkeeping (level L0): how much was put in, how much of it is marked by an edge, how much is known to
 * have finished. Lock-free but for the first sight of a stream. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hooks.h"
#include "thread.h"

#define STREAM_TABLE 4096

enum stream_state { STREAM_FREE, STREAM_LIVE, STREAM_DEAD };

struct stream {
	uint64_t handle; /* normalised: CU_STREAM_LEGACY and CU_STREAM_PER_THREAD for the two defaults */
	uint64_t context;
	uint32_t tid; /* of a per-thread default stream, else 0 */
	uint32_t id;
	uint32_t state; /* enum stream_state */
	uint16_t device;
	uint16_t kind;           /* enum gst_stream_kind */
	struct bias bias;        /* of the two counters */
	uint64_t entered;        /* submissions given a number */
	uint64_t returned;       /* … whose driver call has returned */
	uint64_t marked;         /* all up to here lie before an edge */
	uint64_t done;           /* all up to here are known to have finished */
	uint64_t last_submit;    /* ticks */
	uint64_t pairs_until;    /* ticks; edge_pair_take() */
	uint64_t waits_until;    /* ticks; edge_wait_take() */
	uint64_t plain_from;     /* with so many entered no kernel begins any more before the one in front has ended */
	uint32_t last_class;     /* of its last submission: a large copy's kind, EDGE_PROGRAMMATIC, or 0; EDGE_WANTED */
	uint32_t others;         /* what was put into it that is no submission: waits, events, roughly counted */
	uint32_t unfired;        /* harvester's own: the harvest that last met an edge of it that has not fired */
	bool pair_begun;         /* a run of large copies goes on, and its end may have an edge */
	bool programmatic;       /* it has had an EDGE_PROGRAMMATIC launch */
} __attribute__((aligned(128))); /* two lines: processors fetch them in pairs */

/* What tells one stream from another: a handle means different default streams in different contexts and threads. */
struct stream_key {
	uint64_t handle;  /* normalised, as in struct stream */
	uint64_t context; /* of a default stream, else 0 */
	uint32_t tid;     /* of a per-thread default stream, else 0 */
};
struct stream_key stream_key_of(struct thread *t, CUstream handle);

/* The stream this thread used last, if the handle still means it. */
static inline struct stream *stream_again(struct thread *t, CUstream handle)
{
	struct stream *s = t->last_stream;

	if (s && t->last_handle == (uintptr_t)handle && __atomic_load_n(&s->state, __ATOMIC_RELAXED) == STREAM_LIVE &&
	    (s->kind == GST_STREAM_CREATED ? s->handle == (uintptr_t)handle
					   : t->context_known && s->context == t->context))
		return s;
	return NULL;
}

/* The stream the program means by this handle, now. NULL: no context, or the table is full (counted). */
struct stream *stream_look_up(struct thread *t, CUstream handle);
static inline struct stream *stream_get(struct thread *t, CUstream handle)
{
	struct stream *s = stream_again(t, handle);

	return __builtin_expect(s != NULL, 1) ? s : stream_look_up(t, handle);
}

/* The stream if it has been seen, without asking the driver anything. */
struct stream *stream_find(struct thread *t, CUstream handle);

/* The number up to which every submission has certainly been accepted by the driver; 0 when another thread is at it right now. */
static inline uint64_t stream_covers(const struct stream *s)
{
	uint64_t returned = __atomic_load_n(&s->returned, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&s->entered, __ATOMIC_ACQUIRE) == returned ? returned : 0;
}

static inline bool stream_is_empty(const struct stream *s)
{
	return __atomic_load_n(&s->done, __ATOMIC_RELAXED) == __atomic_load_n(&s->entered, __ATOMIC_RELAXED);
}

/* The helper may ask for an edge at any time. */
static inline uint32_t stream_last_class(const struct stream *s)
{
	return __atomic_load_n(&s->last_class, __ATOMIC_RELAXED);
}

/* The next submission's number; its driver call has returned. */
static inline uint64_t stream_enter(struct thread *t, struct stream *s)
{
	return bias_count(&s->bias, t->slot, &s->entered);
}

static inline void stream_return(struct thread *t, struct stream *s)
{
	bias_count(&s->bias, t->slot, &s->returned);
}

/* Something was put into it that is no submission. */
static inline void stream_others(struct stream *s)
{
	__atomic_store_n(&s->others, __atomic_load_n(&s->others, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

/* Everything up to covers has finished. */
void stream_finished(struct stream *s, uint64_t covers);
/* Everything up to covers lies before an edge. */
void stream_marked(struct stream *s, uint64_t covers);
/* It has work in it, as yet unmarked. */
void stream_submitted(struct stream *s);

/* Calls f(s, arg) for each live stream with unmarked work. */
void streams_each_unmarked(void (*f)(struct stream *s, void *arg), void *arg);
bool streams_any_unmarked(void);
/* Is there one with work that is not known to have finished? */
bool streams_any_busy(void);

/* Calls f(s, arg) for each live stream with work that is not known to have finished. A stream is among them before the record of the
 * call is written that put work into it. */
void streams_each_busy(void (*f)(struct stream *s, void *arg), void *arg);
/* A stream has gone with such work in it, and no synchronise of its context has shown since that it is done. */
bool streams_left_busy(void);

/* The thread is about to put a wait for a value or a semaphore into s. */
void stream_value_awaited(const struct thread *t, const struct stream *s);
/* Has another thread, ever, into one that is ordered against the legacy stream? Such waits and events there could stand in a circle, of which
 * each waits for the next. */
bool streams_value_beside(const struct thread *t);

/* Has another thread put work into a stream that is ordered against `legacy` since then (ticks), or is it about to? Or
 * streams_value_beside(). */
bool streams_used_beside(const struct thread *t, const struct stream *legacy, uint64_t since);

/* The stream with this handle goes: the handle may come back as another stream. */
void stream_retire(uint64_t handle);
/* All of a context go; or, with context 0, the default stream of a thread that ended. */
void streams_retire(uint64_t context, uint32_t tid);
/* A context synchronise that began at `begin` (ticks) has returned: what was submitted before it has finished. */
void streams_finished_context(uint64_t context, uint64_t begin);

/* The ordinal of the context's device; 0xffff: it has no stream that is known. */
uint16_t streams_device(uint64_t context);

void streams_forget(void);
