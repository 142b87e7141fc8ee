/* SPDX-License-Identifier: BSD-2-Clause */
/* thread.h: what we keep for each thread of the program that makes driver calls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bias.h"
#include "clock.h"
#include "process.h"
#include "ring.h"
#include "stack.h"

struct nccl_comm;
struct stream;

#define THREAD_SLOTS 1024

/* The part the helper thread looks at; outlives the thread. */
struct thread_slot {
	uint32_t tid; /* 0: free */
	uint32_t in_call;
	uint32_t submits;            /* it has put work into a stream: worth watching when it falls silent */
	uint32_t ring_at;            /* how far its segment was filled then */
	uint64_t last_end;           /* ticks at which its last driver call returned */
	uint64_t last_sample;        /* the helper's own */
	const struct bias *counting; /* which counters it may be adding to, right now (bias.h) */
} __attribute__((aligned(128)));     /* two lines: processors fetch them in pairs */

struct edge_ref { /* an edge that has been recorded, while its slot holds it */
	const void *slot;
	uint64_t number;
};

#define THREAD_NEVER_RECORDED 1 /* as depth */

#define THREAD_POINTER_SETS 8 /* of two pages of which the memory is known, memory_kind.c */

/* A group of NCCL calls that the thread is in: of one copy of libnccl (nccl_hooks.h). */
struct nccl_group {
	uint64_t begin; /* ticks at the outermost ncclGroupStart */
	uint32_t depth; /* 0: in none, and the rest is void but for id, which is 0 */
	uint32_t id;
	uint32_t enqueued;
	bool comms; /* communicators were made in it */
};
#define NCCL_GROUPS 9 /* one for each copy that is told apart, and one for none */

struct thread_wait { /* the thread's accounts when it last began to wait for the device */
	uint64_t mono_ns, cpu_ns;
};

struct thread_burst { /* its part in bursts (burst.h) */
	int64_t counted_from; /* until_burst began there */
	bool other_level;     /* … at a level without bursts */
	bool drawn;           /* a burst is to begin with one of its submissions ahead: */
	int64_t start;        /* … so many ahead */
	int64_t stretch;      /* so many ahead the next one's place is drawn */
	uint32_t inside;      /* it has a place in this burst and has not given it back; 0 none */
	uint64_t before;      /* … for the submission behind this one */
	struct stream *behind; /* in which its last edge stands behind all there is; NULL none is known */
	uint32_t behind_id, others;
	uint64_t covers;
	struct edge_ref edge;
};

struct thread {
	uint32_t
		generation; /* equals *process_generation while all of this is valid: not before the first call, not after fork */
	uintptr_t
		depth; /* inside one of our driver calls (where its frame is): nested calls are forwarded and not recorded */
	struct ring ring;
	struct thread_slot *slot;
	uint32_t tid;
	bool context_known;
	uint16_t device;      /* of the current context */
	uint64_t context;     /* current context; valid if context_known */
	uint64_t last_handle; /* of last_stream, as the program named it */
	struct stream *last_stream;
	struct {                       /* the submission whose driver call it is in; call_abandon() */
		struct stream *stream; /* NULL none */
		uint64_t begin;
		uint32_t seq;
		uint16_t hook;
		uint8_t family;
	} submitting;
	uint32_t gate_inside, gate_closed; /* what it holds of the gate (gate.h) */
	uint32_t until_timed, timed_after; /* calls until the next one that is timed, and from the last one to it */
	uint32_t random;
	int64_t until_burst;     /* submissions until burst.c is to look */
	struct thread_burst burst;
	struct thread_stacks stacks;
	uint64_t injected_ticks; /* in driver calls that we added, and in stacks */
	bool own_stream;         /* has used its per-thread default stream */
	struct thread_wait wait;
	uint32_t involuntary; /* context switches, when its accounts were last taken */
	uint32_t pointer_epoch;
	struct thread_pointer {
		uint64_t page;
		uint16_t device; /* ordinal, UINT16_MAX none */
		bool device_asked;
		uint8_t kind;    /* enum memory_kind, 0 not asked for */
		uint8_t managed; /* 0 not asked for */
	} pointers[THREAD_POINTER_SETS][2];
	struct nccl_comm *last_comm;
	struct nccl_group nccl_groups[NCCL_GROUPS];
	struct gst_nccl nccl_waiting; /* count 0: none; questions that are written as one (nccl_call.c) */
};

extern __thread struct thread thread_storage;
extern struct thread_slot thread_slots[THREAD_SLOTS];
extern uint32_t thread_slots_used;    /* none beyond this was ever taken */
extern uint64_t thread_silence_ticks; /* a pause between driver calls this long is worth a look */

/* The calling thread, attached to the file at its first call; NULL = record nothing. */
struct thread *thread_attach(void);

static inline struct thread *thread_self(void)
{
	struct thread *t = &thread_storage;

	return __builtin_expect(t->generation == *process_generation, 1) ? t : thread_attach();
}

/* Not one that several threads share, as those beyond the table do. */
bool thread_slot_is_own(const struct thread_slot *slot);

static inline bool bias_begin(struct bias *b, struct thread_slot *me)
{
	__atomic_store_n(&me->counting, b, __ATOMIC_RELAXED);
	__atomic_signal_fence(
		__ATOMIC_SEQ_CST); /* the compiler keeps the order, bias_take makes the processor's good */
	return __builtin_expect(__atomic_load_n(&b->owner, __ATOMIC_RELAXED) == (uintptr_t)me, 1) || bias_take(b, me);
}

static inline void bias_end(struct thread_slot *me)
{
	__atomic_store_n(&me->counting, NULL, __ATOMIC_RELEASE);
}

/* ++*counter, of those that b is about; the new value. */
static inline uint64_t bias_count(struct bias *b, struct thread_slot *me, uint64_t *counter)
{
	uint64_t n;

	if (bias_begin(b, me)) {
		n = __atomic_load_n(counter, __ATOMIC_RELAXED) + 1;
		__atomic_store_n(counter, n, __ATOMIC_RELEASE);
	} else {
		n = __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
	}
	bias_end(me);
	return n;
}

/* The current context and its device, from the driver when a call may have changed it. */
uint64_t thread_context(struct thread *t);

enum thread_account { ACCOUNT_NONE, ACCOUNT_PLAIN, ACCOUNT_WAIT_BEGINS, ACCOUNT_WAIT_ENDED };

/* The thread's CPU time, context switches and faults so far -> a GST_USAGE, stamped `ticks`, or if that is 0 when all is read.
 * Around a wait also how long it cannot have looked at the device: all that it did not compute. */
void thread_account(struct thread *t, uint64_t ticks, enum thread_account what);

/* A record of something else than a driver call, which may happen within one: in a signal handler, or in what the driver calls. */
void thread_append(struct thread *t, uint16_t type, uint16_t size, const void *record);

/* After fork, in the child. */
void threads_forget(void);
