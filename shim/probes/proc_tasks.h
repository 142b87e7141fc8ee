/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_tasks.h: the tasks of a process tree, as /proc has them: who they are, who made them, what they are called. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_task {
	uint32_t tid, pid;         /* in the namespace of our /proc */
	uint32_t own_tid, own_pid; /* as it sees itself; 0 not known */
	uint32_t creator;          /* tid. Of a process's first thread: that of the thread that is its parent, where the kernel says which, or
	                            * else its process; of other threads: 0, nobody says */
	uint64_t pid_ns;           /* inode of its PID namespace; 0 not known */
	uint64_t start_ns;         /* CLOCK_MONOTONIC, its process's, in steps of a clock tick; 0 not known */
	uint64_t born;             /* its own, in clock ticks since boot: a number that comes again is another task */
	bool kernel;               /* a kernel thread */
	char state;                /* as in /proc/<pid>/stat: R, S, D, … */
	char name[16];             /* NUL-terminated */
};

/* One task; pid: its process, 0 if not known. False: it is gone, or was never there. */
bool proc_task_read(uint32_t pid, uint32_t tid, struct proc_task *t);
/* Just field 22, by which one task is told from the next of that number; 0: gone. */
uint64_t proc_task_born(uint32_t pid, uint32_t tid);

struct proc_tasks {
	struct proc_task *at; size_t n, cap; /* process by process, parents first */
	uint32_t *slot; size_t slots;        /* by number: 1 + index in `at` */
	uint64_t root_born;                  /* the root's, when it was first found: another of its number is none */
};

/* All tasks of the tree under root: of root's process, of those that its threads made, and so on. What was in *t before counts as part of the
 * tree still, where it is alive: a process whose parent has ended belongs to somebody else by then. False: no memory; what was found is there. */
bool proc_tasks_tree(struct proc_tasks *t, uint32_t root);
/* NULL: not among them. */
const struct proc_task *proc_tasks_find(const struct proc_tasks *t, uint32_t tid);
void proc_tasks_free(struct proc_tasks *t);
