/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_wait.h: a task leaves its CPU, is woken, has one again: what comes of it. In the kernel. */
#pragma once

#include "ebpf_written.h"

#define HELD_NS 50000 /* since it was told that too much is dirty */

static __always_inline bool throttled_by_quota(struct task_struct *task)
{
	struct task_struct___throttled *now = (void *)task;

	if (!set.throttle)
		return 0;
	if (bpf_core_field_exists(now->throttled))
		return BPF_CORE_READ(now, throttled);
	if (bpf_core_field_exists(struct cfs_rq, throttle_count))
		return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
	return 0;
}

/* Where the queue is throttled and not the task, one that is woken waits for its quota at once. */
static __always_inline bool throttled_when_woken(struct task_struct *task)
{
	/* cppcheck-suppress nullPointer ; asked about, not read */
	if (bpf_core_field_exists(((struct task_struct___throttled *)0)->throttled))
		return 0;
	return throttled_by_quota(task);
}

static __always_inline uint64_t queue_throttled(struct task_struct *task)
{
	struct cfs_rq *queue = task->se.cfs_rq;

	if (!bpf_core_field_exists(struct cfs_rq, throttled_clock_self_time) || !queue)
		return 0;
	return queue->throttled_clock_self_time;
}

static __always_inline void throttle_begins(struct tracked *t, struct task_struct *task)
{
	t->throttled = 1;
	t->queue = task->se.cfs_rq;
	t->queue_throttled = queue_throttled(task);
}

/* Of so long a wait, how much was for the quota: with it back, a task may still wait for a CPU. The queue knows how long it was throttled, if
 * it is still the same. */
static __always_inline uint64_t throttle_ends(struct tracked *t, struct task_struct *task, uint64_t wait)
{
	uint64_t throttled = queue_throttled(task) - t->queue_throttled;

	t->throttled = 0;
	return t->queue == task->se.cfs_rq && throttled && throttled < wait ? throttled : wait;
}

struct wait { /* one that is over */
	uint64_t out, wake, in, throttled;
	uint32_t waker;
	uint8_t context;
};

static __always_inline void write_wait(struct tracked *t, const struct wait *w, const struct what *what)
{
	struct event_wait *e = event_reserve(sizeof(*e));
	struct gst_wait *r;

	if (!e)
		return;
	e->kind = EVENT_WAIT;
	e->generation = what->generation;
	e->context = w->context;
	e->timed = what->timed;
	__builtin_memset(e->zero, 0, sizeof(e->zero));
	r = &e->record;
	r->out = w->out;
	r->wake = w->wake;
	r->in = w->in;
	r->throttled_ns = w->throttled;
	r->tid = t->tid;
	r->waker = w->waker;
	r->by = 0;
	r->zero = 0;
	r->what = what->what;
	event_submit(e);
}

static __always_inline void write_stalls(struct tracked *t, struct stalls *s)
{
	struct event_stalls *e = event_reserve(sizeof(*e));
	struct gst_stalls *r;

	if (!e)
		return;
	e->kind = EVENT_STALLS;
	e->generation = s->generation;
	r = &e->record;
	__builtin_memset(r, 0, sizeof(*r));
	r->begin = s->begin;
	r->end = s->end;
	r->blocked_ns = s->blocked;
	r->queued_ns = s->queued;
	r->throttled_ns = s->throttled;
	r->tid = t->tid;
	r->count = s->count;
	r->last_offset = s->last;
	r->what.arg = s->arg;
	r->what.offset = s->first;
	r->what.bytes = s->bytes;
	r->what.inode = s->inode;
	r->what.dev = s->dev;
	r->what.fs = s->fs;
	r->what.syscall = s->syscall;
	r->what.flags = s->flags;
	r->what.fd_kind = s->fd_kind;
	event_submit(e);
	s->count = 0;
}

static __always_inline void stalls_begin(struct stalls *s, const struct wait *w, const struct what *what)
{
	s->begin = w->out;
	s->blocked = s->queued = s->throttled = 0;
	s->first = s->last = what->what.offset;
	s->inode = what->what.inode;
	s->arg = what->what.arg;
	s->bytes = 0;
	s->dev = what->what.dev;
	s->fs = what->what.fs;
	s->generation = what->generation;
	s->syscall = what->what.syscall;
	s->flags = what->what.flags;
	s->fd_kind = what->what.fd_kind;
	s->count = 0;
}

/* A wait too short for a record of its own. They are summed up by kind, so that many of them are seen; often enough that the sum says when. */
static __always_inline void add_stall(struct tracked *t, const struct wait *w, const struct what *what)
{
	uint32_t i = ((uint32_t)what->what.syscall * 7 + what->what.inode + what->what.flags) & (KINDS - 1);
	struct stalls *s = &t->stalls[i];
	uint64_t wake = w->wake ? w->wake : w->in;

	if (s->count && (s->syscall != what->what.syscall || s->flags != what->what.flags || s->inode != what->what.inode ||
			 w->out - s->begin > set.stall_ns * 50ull))
		write_stalls(t, s);
	if (!s->count)
		stalls_begin(s, w, what);
	s->end = w->in;
	s->blocked += wake - w->out;
	s->queued += w->in - wake;
	s->throttled += w->throttled;
	s->bytes += what->what.bytes;
	s->count++;
	if (what->what.offset < s->first)
		s->first = what->what.offset;
	if (what->what.offset != ~0ull && (s->last == ~0ull || what->what.offset > s->last))
		s->last = what->what.offset;
	if (s->blocked + s->queued >= set.stall_ns)
		write_stalls(t, s);
}

static __always_inline void disk_wait(struct tracked *t, bool begins)
{
	if (t->counted == begins)
		return;
	t->counted = begins;
	__sync_fetch_and_add(&state.in_disk, begins ? 1 : -1);
}

/* ---- switches that were not told of: a hypervisor's agent, or another's program, may be in the way --------------------- */

static __always_inline void task_is_in(struct tracked *t, struct task_struct *task, uint64_t now)
{
	t->in = now;
	t->ran = task->se.sum_exec_runtime;
	t->waits = task->nvcsw;
}

/* Time on a CPU since it last was given one. */
static __always_inline uint64_t ran_since(struct tracked *t, struct task_struct *task)
{
	return task->se.sum_exec_runtime - t->ran;
}

/* It leaves a CPU that it was not told to have: it has had it for as long as it has run since it left the last one. */
static __always_inline void missed_in(struct tracked *t, struct task_struct *task, uint64_t now)
{
	struct wait w = { .out = t->out, .wake = t->wake, .waker = t->waker, .context = t->context };
	struct what what = {};

	w.in = now - (task->se.sum_exec_runtime - t->out_ran);
	if (w.in < w.wake)
		w.in = w.wake;
	if (t->kind != TRACKED_TREE || w.in < w.out + set.wait_ns)
		return;
	if (t->flags & GST_WAIT_PREEMPTED)
		w.wake = w.out;
	what.what.offset = ~0ull;
	what.what.syscall = -2;
	what.what.flags = t->flags | GST_WAIT_LOOKED;
	write_wait(t, &w, &what);
}

/* It is given a CPU and was not told to have left the last: it did when it had run as long as it has since. */
static __always_inline bool missed_out(struct tracked *t, struct task_struct *task, uint64_t now)
{
	uint64_t out = t->in + ran_since(t, task);

	if (!t->in || out + set.wait_ns > now)
		return 0;
	t->out = out;
	t->out_ran = task->se.sum_exec_runtime;
	t->wake = t->early > out ? t->early : 0;
	t->waker = t->early_waker;
	t->context = t->wake ? t->early_context : WAKE_UNKNOWN;
	t->throttled = 0;
	t->poll_fd = -1;
	t->flags = GST_WAIT_LOOKED;
	if (task->nvcsw == t->waits)
		t->flags |= GST_WAIT_PREEMPTED;
	else if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		t->flags |= GST_WAIT_DISK | GST_WAIT_IOWAIT;
	else if (BPF_CORE_READ_BITFIELD(task, sched_contributes_to_load))
		t->flags |= GST_WAIT_DISK;
	return 1;
}

static __always_inline void task_leaves(struct tracked *t, struct task_struct *task, bool runnable, uint32_t task_state, uint64_t now)
{
	if (t->out)
		missed_in(t, task, now);
	written_until(t, task, now);
	t->out = now;
	t->out_ran = task->se.sum_exec_runtime;
	t->wake = 0;
	t->throttled = 0;
	t->waker = 0;
	t->context = WAKE_UNKNOWN;
	t->flags = t->reclaim ? GST_WAIT_RECLAIM : 0;
	if (runnable) {
		t->flags |= GST_WAIT_PREEMPTED;
		if (throttled_by_quota(task))
			throttle_begins(t, task);
		return;
	}
	if ((task_state & 0x402) != 2) { /* TASK_UNINTERRUPTIBLE without TASK_NOLOAD */
		t->poll_fd = poll_fd(task);
		return;
	}
	t->flags |= GST_WAIT_DISK;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		t->flags |= GST_WAIT_IOWAIT;
	if (t->held && now - t->held < HELD_NS)
		t->flags |= GST_WAIT_WRITE_BACK;
	t->held = 0;
	await(t, task);
	if (t->kind == TRACKED_TREE)
		disk_wait(t, 1);
}

static __always_inline void task_enters(struct tracked *t, struct task_struct *task, uint64_t now)
{
	bool known = t->out || missed_out(t, task, now);
	struct wait w = { .out = t->out, .wake = t->wake, .in = now, .waker = t->waker, .context = t->context };
	struct what what = {};
	uint64_t early = t->early;

	t->early = 0;
	t->out = 0;
	written_from(t, now);
	disk_wait(t, 0);
	if (!known || (t->kind == TRACKED_STRANGER && now - w.out < set.wait_ns)) {
		task_is_in(t, task, now);
		return;
	}
	if (t->flags & GST_WAIT_PREEMPTED) {
		w.wake = w.out;
		w.waker = 0;
	} else if (!w.wake && early) {
		w.wake = w.out;
		w.waker = t->early_waker;
		w.context = t->early_context;
	}
	if (t->throttled)
		w.throttled = throttle_ends(t, task, now - w.wake);
	what_for(&what, t, task);
	task_is_in(t, task, now);
	if (now - w.out >= set.wait_ns)
		write_wait(t, &w, &what);
	else
		add_stall(t, &w, &what);
}

static __always_inline void task_woken(struct tracked *t, struct task_struct *task, uint32_t waker, uint8_t context, uint64_t now)
{
	if (!t->out) {
		t->early = now;
		t->early_waker = waker;
		t->early_context = context;
	} else if (!t->wake && !(t->flags & GST_WAIT_PREEMPTED)) {
		t->wake = now < t->out ? t->out : now;
		t->waker = waker;
		t->context = context;
		if (throttled_when_woken(task))
			throttle_begins(t, task);
	}
}

/* What is under way, at the end. */
static __always_inline void task_flush(struct tracked *t, struct task_struct *task, uint64_t now)
{
	struct wait w = { .out = t->out, .wake = t->wake, .in = now, .waker = t->waker, .context = t->context };
	struct what what = {};

	for (int i = 0; i < KINDS; i++)
		if (t->stalls[i].count)
			write_stalls(t, &t->stalls[i]);
	if (t->written.count)
		write_written(t, task);
	if (!t->out || now - t->out < set.wait_ns)
		return;
	if (t->flags & GST_WAIT_PREEMPTED)
		w.wake = w.out;
	what_for(&what, t, task);
	what.what.flags |= GST_WAIT_LAST;
	write_wait(t, &w, &what);
}
