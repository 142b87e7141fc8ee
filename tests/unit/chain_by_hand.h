/* SPDX-License-Identifier: BSD-2-Clause */
/* chain_by_hand.h: one way of a chain, made step by step: what it begins with, and each of its steps takes from 10 to 20 ms. */
#pragma once

#include "cause/cause_chain_leaf.h"

#define MS 1000000
#define NFS 0x6969
#define TMPFS 0x01021994
#define EXT4 0xef53
#define PROC 0x9fa0

enum { MAIN, PIN, WORKER, COMPILER, KWORKER, STRANGER, TASKS };

static struct host_task tasks[TASKS] = {
	[MAIN] = { .tid = 10, .pid = 10, .name = "python3" },
	[PIN] = { .tid = 11, .pid = 10, .name = "pin" },
	[WORKER] = { .tid = 20, .pid = 20, .own_tid = 2, .own_pid = 2, .name = "pt_data_worker" },
	[COMPILER] = { .tid = 30, .pid = 30, .name = "ptxas" },
	[KWORKER] = { .tid = 40, .pid = 40, .flags = GST_TASK_KERNEL, .name = "kworker/0:1" },
	[STRANGER] = { .tid = 50, .pid = 50, .flags = GST_TASK_STRANGER, .name = "redis" },
};

static struct host_trace host = { .path = "run.host.gst", .tasks = tasks, .n_tasks = TASKS };

static struct host_wait waits[CHAIN_DEPTH];
static struct chain_step steps[CHAIN_DEPTH];
static struct chain_segment segment;

static inline void begin(void)
{
	segment = (struct chain_segment){ .begin_ns = 10 * MS, .end_ns = 20 * MS, .steps = steps };
}

static inline struct host_what *step(int task, enum chain_state state)
{
	struct chain_step *s = &steps[segment.n_steps];
	struct host_wait *w = &waits[segment.n_steps++];

	*w = (struct host_wait){ .out_ns = 10 * MS,
				 .wake_ns = 20 * MS,
				 .in_ns = 20 * MS,
				 .byte = 4176,
				 .what = { .syscall = -2, .offset = UINT64_MAX } };
	*s = (struct chain_step){
		.task = &tasks[task], .begin_ns = 10 * MS, .end_ns = 20 * MS, .state = state, .wait = w
	};
	if (state == CHAIN_ON_CPU || state == CHAIN_UNKNOWN)
		s->wait = NULL;
	return &w->what;
}

static inline void file_step(int task, enum chain_state state, const char *file, uint32_t fs)
{
	struct host_what *w = step(task, state);

	w->file = file;
	w->fs = fs;
	w->fd_kind = GST_FD_FILE;
	w->inode = 77;
	w->offset = 4096;
	w->bytes = 1000;
}

static inline void end_step(int task, enum chain_state state, const char *file, uint8_t fd_kind)
{
	struct host_what *w = step(task, state);

	w->file = file;
	w->fd_kind = fd_kind;
}

static inline enum cause_id cause_of(bool copied_out)
{
	struct chain whole = { .at = &segment, .n = 1 };
	struct chain_about about = { .host = &host,
				     .whole = &whole,
				     .copied_out_ns = copied_out ? segment.begin_ns : INT64_MAX };

	return chain_cause(&segment, &about);
}

static inline enum cause_id of_file(int task, enum chain_state state, const char *file, uint32_t fs)
{
	begin();
	file_step(task, state, file, fs);
	return cause_of(false);
}

static inline enum cause_id of_end(enum chain_state state, const char *file, uint8_t fd_kind)
{
	begin();
	end_step(MAIN, state, file, fd_kind);
	return cause_of(false);
}

/* The submitting thread's link is of that socket. */
static inline enum cause_id over_link(enum chain_state link, const char *socket, int task, enum chain_state state)
{
	begin();
	end_step(MAIN, link, socket, GST_FD_SOCKET);
	step(task, state);
	return cause_of(false);
}

static inline enum cause_id over(const char *socket, int task, enum chain_state state)
{
	return over_link(CHAIN_SOCKET_READ, socket, task, state);
}
