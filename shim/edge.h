/* SPDX-License-Identifier: BSD-2-Clause */
/* edge.h: timing level L1. A timing event where the device's state changes from the host's point of view: before the host
 * blocks, on a stream known to be empty, around large copies and host functions. Never around every launch.
 *
 * An edge is recorded by the program's own thread and read later: by the helper thread, before a context goes, at exit, or where a
 * new one finds no room. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "settings.h"
#include "stream.h"
#include "thread.h"

/* Puts an edge into s that covers everything up to covers. False: it did not; never at level `host`, during a capture, on another
 * context's stream. */
bool edge_record(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers);

/* The same right behind a wait that may last until this very thread ends it. While one does, few edges stand in any stream: they must not be
 * what fills the driver's queue, where the thread would be held up before it comes to that. */
bool edge_record_stalls(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers);

/* The same with an event that exists already, or not at all: where the program's own event is named in the call at hand, a new one could
 * get the handle of one that it destroyed. */
void edge_record_warm(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers);

/* The same as part of a burst. *ref: this edge, if it was recorded. False: it was not. */
bool edge_record_in(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers, uint32_t burst,
		    struct edge_ref *ref);
/* The driver says just now that it has not fired. */
bool edge_is_pending(struct thread *t, const struct edge_ref *ref);
/* Could this thread record one in it at all? The event must be of the stream's context, and that context the current one. */
bool edge_may_touch(struct thread *t, const struct stream *s);
/* Behind an event in the legacy stream all blocking ones wait for all that was put into them before it: as behind the program's own call
 * beside it, but for what another thread puts in between. False: one may. */
#define IN_USE_NS 1000000000ull /* a stream, until so long after the last submission to it */
bool edge_may_stand(const struct thread *t, const struct stream *s);
/* So many events are there, then, for the stream's context. */
void edges_reserve(struct thread *t, const struct stream *s, uint32_t count);

/* Has the program put work into more than one context? */
bool edges_several_contexts(void);

/* The host is about to wait for `awaited` (NULL: for the whole context): an edge on every stream with unmarked work, on the
 * legacy default stream only if it is itself awaited. */
void edges_before_block(struct thread *t, const struct stream *awaited);
/* How many streams with unmarked work blocking calls have met so far. */
uint64_t edges_blocks(void);

/* Around a kernel that NCCL launches one has been made: they cost little beside what NCCL takes to launch it, and are not of the share of all
 * submissions that bursts keep within. */
void edges_count_nccl(void);
uint64_t edges_of_nccl(void);

/* Large copies, host functions and waits may come as often as launches. Each stream has two edges for one of them in a
 * millisecond, for four of them at once. False: it has had them. */
bool edge_pair_take(struct stream *s);
/* Of waits for events of other contexts it has some more, saved up while there are few: a program that works ahead puts many in at once, and
 * each may be what its device stands idle for. */
bool edge_wait_take(struct stream *s);

/* Work is about to be put into s. large: a copy big enough to be told apart from its neighbours, as its copy kind. Most work is put
 * behind other work of its kind, and needs none. A kernel that may begin before the one in front of it ends (EDGE_PROGRAMMATIC) must
 * have none before it, nor may its stream get any that is not behind all its work (edge_parts), as the next may be such a one too. */
#define EDGE_PROGRAMMATIC 0x100u
#define EDGE_PLAIN_AGAIN 64 /* … until so many others have been put in behind it */
static inline bool edge_parts(const struct stream *s)
{
	return stream_last_class(s) == EDGE_PROGRAMMATIC ||
	       __atomic_load_n(&s->entered, __ATOMIC_RELAXED) < __atomic_load_n(&s->plain_from, __ATOMIC_RELAXED);
}
void edge_before_change(struct thread *t, struct stream *s, uint32_t large);
static inline void edge_before_submit(struct thread *t, struct stream *s, uint32_t large)
{
	if (settings.level >= GST_LEVEL_EDGES && (stream_is_empty(s) || large != stream_last_class(s)))
		edge_before_change(t, s, large);
}

/* Where a context's streams have got work and no edge for two seconds, the next submission to each brings one: the device's clock is never
 * far from a base. Any thread. */
#define EDGE_WANTED UINT32_MAX /* stream.last_class: as if the next submission were of another kind */
void edges_want(void);

/* Reads the edges that have fired and writes their records into ring r, of those contexts that usable() says (or makes) current
 * in this thread: the driver wants one. Inside the gate, or with it closed. */
void edges_harvest(struct ring *r, bool (*usable)(uint64_t context));
bool edges_context_is_current(uint64_t context);
/* The most that any context has to be read. */
uint32_t edges_pending(void);

/* The thread left the calls it was in, perhaps while it read edges. */
void edges_abandon(struct thread *t);

/* The context is gone, and its events with it. Gate closed. */
void edges_context_gone(uint64_t context);

void edges_forget(void);
