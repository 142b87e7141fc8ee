/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline.h: the model: when each operation starts and ends, in true CLOCK_MONOTONIC nanoseconds.
 *
 *   submitted ── all it waits for has a known end ──> ready
 *     kernel, small memset or device copy:  start and end are computed at once
 *     event record or wait:                 start = end = ready
 *     copy on a copy engine:                placed when the clock reaches ready, behind what the engine has by then
 *     these two, devices being shared:      started when the process has its turn (turns.h)
 *     host function, transfer > 64 KiB:     takes real time too: its end is known only once it has really been done
 *     wait for a value in memory:           the same: it ends when somebody finds the value there
 *     kernel with a body (kernel_body.h):   the same: it ends when its body says so
 *   end known ── the clock reaches it ──> done: bytes of small transfers moved, logged
 *
 * Nothing happens by itself: whoever calls in advances the model to now. Only work that takes real time, and data nobody
 * asks for, need the driver thread (driver_thread.c). All functions are locked; those that wait release the lock. */
#pragma once

#include "sim.h"

enum op_kind { OP_KERNEL, OP_MEMCPY, OP_MEMSET, OP_HOSTFN, OP_EVENT, OP_WAIT };
enum copy_kind { COPY_NONE, COPY_H2D_PAGEABLE, COPY_H2D_PINNED, COPY_D2H_PAGEABLE, COPY_D2H_PINNED, COPY_D2D, COPY_PEER };
enum op_stage { STAGE_BLOCKED, STAGE_PLACING, STAGE_TURN, STAGE_SCHEDULED, STAGE_DUE, STAGE_RUNNING, STAGE_RESOLVED, STAGE_DONE };

struct transfer {
	void *to;
	const void *from; /* NULL: a memset */
	size_t bytes;       /* all of them */
	size_t rows, slices; /* rows 0: in one piece */
	size_t to_pitch, to_slice, from_pitch, from_slice; /* bytes to the next row, to the next slice */
	uint32_t pattern;
	uint8_t pattern_bytes; /* 1, 2 or 4 */
	void *staging;         /* freed with the operation */
};

struct host_call {
	CUhostFn function;
	CUstreamCallback callback; /* instead of function */
	void *argument;
	CUstream stream;
	CUcontext context;
};

/* A wait for memory to hold a value: CUstreamWaitValue_flags without FLUSH. */
struct memory_watch {
	const void *address; /* NULL: none */
	uint64_t value;
	unsigned condition;
	uint8_t bytes; /* 4 or 8 */
};

struct op {
	enum op_kind kind;
	enum copy_kind copy;
	enum op_stage stage;
	unsigned refs;
	unsigned blockers;  /* operations it waits for whose end is not known yet */
	bool takes_real_time;
	bool owned;         /* only the submitting thread may move its bytes */
	bool internal;      /* a host function of the driver's own: in no log */
	bool awaited;       /* the submitting thread waits for it: no need to wake the driver thread, which takes a while */
	bool counted;       /* holds one of the device's launch slots */
	bool after_copy;    /* an event whose stream used a copy engine last */
	int device;
	unsigned stream_number;
	uint64_t sequence;
	uint64_t submit_ns, ready_ns, start_ns, end_ns;
	uint64_t release_ns; /* earliest start of what waits for it; >= end_ns */
	uint64_t duration_ns;
	uint64_t gap_ns;     /* between the end of what it waits for and its own start */
	uint64_t due_ns;     /* when its next step is to be taken */
	struct engine *engine;
	uint8_t gate; /* of a moment to look again: what for (turns.c) */
	unsigned graph; /* the executable graph it was a node of; 0: none */
	uint64_t node;  /* … and which */
	uint32_t correlation; /* of the call that made it (observer.h) */
	const char *name;
	struct transfer transfer;
	struct host_call call;
	struct memory_watch watch;
	struct kernel_run *run; /* of a kernel with a body (kernel_run.h); else NULL */
	struct op **waiters; /* operations to tell once the end is known */
	unsigned waiter_count, waiter_room;
	struct op *next;     /* in whichever queue it stands */
};

struct op_queue {
	struct op *head, *tail;
};

struct engine {
	int device;
	uint64_t free_ns;     /* end of the last operation placed */
	struct op *holder;    /* placed, its end not yet known */
	struct op_queue queue; /* ready, behind the holder */
	unsigned approaching;  /* will be ready at a known later time */
};

enum wait_how { WAIT_SPIN, WAIT_SLEEP };

struct op *op_new(enum op_kind kind, int device); /* one reference, the caller's; NULL: out of memory */
struct op *op_ref(struct op *op);
void op_unref(struct op *op);                     /* NULL is fine */
bool op_after(struct op *op, struct op *before);  /* before op_submit; NULL or done is fine; false: out of memory */
void op_submit(struct op *op);
bool op_done(const struct op *op);                /* as of the last advance */
void op_wait(struct op *op, enum wait_how how);
void op_run_owned(struct op *op);                 /* wait until its turn, then move its bytes on this thread */
void op_run_due(struct op *op);                   /* DUE -> RESOLVED; releases the lock meanwhile */

void timeline_advance(uint64_t now_ns);
void timeline_wait_for_room(int device);          /* until a launch slot of the device is free, and takes it */
void timeline_return_room(int device);            /* the slot was not used after all */
bool timeline_in_host_function(void);             /* this thread is inside a client's host function */
void timeline_finish(void);                       /* at exit: every end that the model knows, without waiting */
struct engine *timeline_engine(int device, enum copy_kind copy); /* NULL: runs like a kernel */

/* What op_wait.c needs. */
bool timeline_take_room(int device);                /* false: every launch slot is taken */
bool timeline_take_due_transfer(struct op *op);     /* out of its queue; false: somebody else has it */
uint64_t timeline_next_step_ns(void);               /* UINT64_MAX: nothing known */
void timeline_finish_real_time(struct op *op, uint64_t now_ns); /* it has really been done */

/* What turns.c needs. */
uint64_t timeline_slot_free_ns(int device, uint64_t earliest_ns); /* when a kernel that may start then would find a slot */
void timeline_start(struct op *op, uint64_t start_ns);
void timeline_look_at(struct op *look, uint64_t when_ns); /* calls turns_look then */

void transfer_move(const struct transfer *transfer); /* without the lock */

/* What the driver thread asks. */
struct op *timeline_due_host_function(void); /* removed from its queue; NULL: none */
struct op *timeline_due_transfer(void);
uint64_t timeline_next_action_ns(void);      /* when something becomes due; UINT64_MAX: nothing known */
uint64_t timeline_next_data_ns(void);        /* when a small transfer's bytes should be there */
