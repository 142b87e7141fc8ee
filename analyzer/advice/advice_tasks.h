/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_tasks.h: which tasks of the host's records a device's idle time has to do with. */
#pragma once

#include "advice_parts.h"

struct task_list {
	const struct host_task **at; /* by address */
	size_t n, cap;
};

struct seen_tasks {
	const struct advisor *advisor;
	struct task_list ends;   /* of the chains that were asked about */
	struct task_list submit; /* threads that submit to the device */
};

enum task_mark { /* of a task's process */
	TASK_END = 1,    /* at the end of such a chain, or of the same name and creator as one that is */
	TASK_TREE = 2,   /* one that submits to the device, or descends from it */
	TASK_OTHERS = 4, /* puts work on other devices alone: it and what descends from it are of no such tree */
	TASK_LOOKED = 8, /* (while they are being found) */
};

typedef bool piece_wanted(const struct gap_cause *c);

/* False: no memory. */
bool tasks_find(struct seen_tasks *out, const struct advisor *a, piece_wanted *wanted);
void tasks_free(struct seen_tasks *s);
/* By task of that file, for the caller to free. NULL: none of them has to do with it, or no memory (failed). */
uint8_t *tasks_mark(struct seen_tasks *s, const struct host_trace *h, bool *failed);

/* A process that may be a loader's worker: not a stranger, not the program itself. */
bool task_is_worker(const struct host_task *task);
