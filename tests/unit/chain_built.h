/* SPDX-License-Identifier: BSD-2-Clause */
/* chain_built.h: a host_trace by hand, and a chain as text. Tasks are added in the order of their numbers, waits by time. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "chain/chain.h"

#ifndef SYS_poll /* aarch64 has the newer ones alone */
#define SYS_poll SYS_ppoll
#define SYS_select SYS_pselect6
#endif

#ifdef __aarch64__
#define BUILT_MACHINE GST_MACHINE_AARCH64
#else
#define BUILT_MACHINE GST_MACHINE_X86_64
#endif

#define BUILT_TASKS 64

struct built {
	struct host_trace trace;
	struct host_task tasks[BUILT_TASKS];
	size_t cap_waits[BUILT_TASKS], cap_stalls[BUILT_TASKS], cap_reclaims[BUILT_TASKS], cap_written[BUILT_TASKS];
	struct host_pipe_end ends[BUILT_TASKS];
};

static inline void built_begin(struct built *b, int64_t begin_ns, int64_t end_ns)
{
	memset(b, 0, sizeof(*b));
	b->trace.header.machine = BUILT_MACHINE;
	b->trace.begin_ns = begin_ns;
	b->trace.end_ns = end_ns;
	b->trace.cut_ns = INT64_MAX;
	b->trace.probes.how = GST_PROBES_EBPF;
	b->trace.tasks = b->tasks;
	b->trace.pipe_ends = b->ends;
}

static inline void built_end(struct built *b)
{
	for (size_t i = 0; i < b->trace.n_tasks; i++) {
		free(b->tasks[i].waits);
		free(b->tasks[i].stalls);
		free(b->tasks[i].reclaims);
		free(b->tasks[i].written);
	}
}

/* A task that ran before it was watched; the first one of a pid is its process's leader. */
static inline struct host_task *built_task(struct built *b, uint32_t tid, uint32_t pid)
{
	struct host_task *t = &b->tasks[b->trace.n_tasks++];

	*t = (struct host_task){ .tid = tid, .pid = pid, .creator = HOST_NOBODY, .begin_ns = b->trace.begin_ns, .end_ns = b->trace.end_ns,
				 .flags = GST_TASK_THERE };
	snprintf(t->name, sizeof(t->name), "task%u", tid);
	for (t->leader = 0; b->tasks[t->leader].pid != pid; t->leader++)
		;
	return t;
}

static inline void *built_more(void *array, size_t n, size_t *cap, size_t size)
{
	if (n == *cap) {
		*cap = *cap ? *cap * 2 : 8;
		array = realloc(array, *cap * size);
	}
	memset((char *)array + n * size, 0, size);
	return array;
}

/* It waits in that system call; waker NULL: by no task. */
static inline struct host_wait *built_wait(struct built *b, struct host_task *t, int64_t out, int64_t wake, int64_t in, int32_t call,
					   enum gst_woken_by by, const struct host_task *waker)
{
	struct host_wait *w;

	t->waits = built_more(t->waits, t->n_waits, &b->cap_waits[t - b->tasks], sizeof(*t->waits));
	w = &t->waits[t->n_waits++];
	w->out_ns = out;
	w->wake_ns = wake;
	w->in_ns = in;
	w->wake_known = true;
	w->by = (uint8_t)by;
	w->waker = waker ? (uint32_t)(waker - b->tasks) : HOST_NOBODY;
	w->what.syscall = call;
	w->what.offset = UINT64_MAX;
	if (t->n_waits > 1)
		w->off_before_ns = w[-1].off_before_ns + w[-1].in_ns - w[-1].out_ns;
	return w;
}

static inline struct host_stalls *built_stalls(struct built *b, struct host_task *t, int64_t begin, int64_t end, int64_t blocked,
					       int64_t queued)
{
	struct host_stalls *s;

	t->stalls = built_more(t->stalls, t->n_stalls, &b->cap_stalls[t - b->tasks], sizeof(*t->stalls));
	s = &t->stalls[t->n_stalls++];
	*s = (struct host_stalls){ .begin_ns = begin, .end_ns = end, .blocked_ns = blocked, .queued_ns = queued, .count = 1,
				   .what = { .syscall = -1, .flags = GST_WAIT_FAULT } };
	return s;
}

static inline struct host_reclaim *built_reclaim(struct built *b, struct host_task *t, int64_t begin, int64_t end)
{
	t->reclaims = built_more(t->reclaims, t->n_reclaims, &b->cap_reclaims[t - b->tasks], sizeof(*t->reclaims));
	t->reclaims[t->n_reclaims] = (struct host_reclaim){ .begin_ns = begin, .end_ns = end };
	return &t->reclaims[t->n_reclaims++];
}

static inline struct host_written *built_written(struct built *b, struct host_task *t, int64_t begin, int64_t end)
{
	t->written = built_more(t->written, t->n_written, &b->cap_written[t - b->tasks], sizeof(*t->written));
	t->written[t->n_written] = (struct host_written){ .begin_ns = begin, .end_ns = end };
	return &t->written[t->n_written++];
}

/* By inode, as the decoder sorts them. */
static inline void built_pipe(struct built *b, uint64_t inode, uint64_t peer, const struct host_task *leader, uint8_t kind, uint16_t flags)
{
	b->ends[b->trace.n_pipe_ends++] =
		(struct host_pipe_end){ .inode = inode, .peer = peer, .task = (uint32_t)(leader - b->tasks), .fd_kind = kind, .flags = flags };
}

/* "0-10 1 on-cpu\n10-90 1 pipe-read < 2 file-read ?\n": ? inferred. */
static inline const char *built_text(const struct chain *c, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < c->n && n < size; i++) {
		const struct chain_segment *s = &c->at[i];

		n += (size_t)snprintf(buf + n, size - n, "%lld-%lld", (long long)s->begin_ns, (long long)s->end_ns);
		for (size_t k = 0; k < s->n_steps && n < size; k++)
			n += (size_t)snprintf(buf + n, size - n, "%s%u %s", k ? " < " : " ", s->steps[k].task->tid,
					      chain_state_name(s->steps[k].state));
		if (n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s\n", s->inferred ? " ?" : "");
	}
	return buf;
}
