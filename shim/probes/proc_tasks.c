/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_tasks.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../proc_text.h"
#include "proc_whole.h"

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD, field 9 of stat */

/* ---- one task -------------------------------------------------------------------------------------- */

struct stat_line {
	char state;
	uint32_t parent;
	uint64_t flags, born;
	char name[16];
};

static bool read_stat(uint32_t pid, uint32_t tid, struct stat_line *s)
{
	char text[1024];
	unsigned long long flags, born;
	const char *name, *end;

	if (proc_text_read(text, sizeof(text), "/proc/%u/task/%u/stat", pid, tid) <= 0)
		return false;
	name = strchr(text, '(');
	end = strrchr(text, ')'); /* the name may hold anything */
	if (!name || !end || end < name ||
	    sscanf(end + 1, " %c %u %*d %*d %*d %*d %llu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &s->state, &s->parent, &flags, &born) != 4)
		return false;
	memset(s->name, 0, sizeof(s->name));
	snprintf(s->name, sizeof(s->name), "%.*s", (int)(end - name - 1), name + 1);
	s->flags = flags;
	s->born = born;
	return true;
}

/* CLOCK_BOOTTIME runs on in suspend, CLOCK_MONOTONIC does not. The recorder reckons in the same way. By how much is not measured anew for each
 * task, or threads of one process would differ. */
static uint64_t suspended_ns(void)
{
	static uint64_t known;
	struct timespec boot;
	uint64_t now;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	now = (uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec - mono_ns();
	if (now - known + 1000000 > 2000000)
		known = now;
	return known;
}

static uint64_t ticks_to_mono(uint64_t ticks)
{
	uint64_t start_ns = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)), suspended = suspended_ns();

	return start_ns > suspended ? start_ns - suspended : 0;
}

/* The last number of such a line: it has one for each PID namespace, from ours inwards. */
static uint32_t innermost(const char *status, const char *field)
{
	const char *at = strstr(status, field);
	uint64_t value = 0;

	if (!at)
		return 0;
	at += strlen(field);
	while (proc_text_number(&at, 10, &value))
		;
	return (uint32_t)value;
}

static uint64_t pid_namespace(uint32_t pid, uint32_t tid)
{
	char text[64];
	unsigned long long inode;

	if (!proc_text_link(text, sizeof(text), "/proc/%u/task/%u/ns/pid", pid, tid) ||
	    sscanf(text, "pid:[%llu]", &inode) != 1)
		return 0;
	return inode;
}

/* From its first line on: a task's process, its numbers in its own namespace. */
static bool read_status(uint32_t pid, uint32_t tid, struct proc_task *t)
{
	char text[4096];
	uint64_t group;

	if (proc_text_read(text, sizeof(text), "/proc/%u/task/%u/status", pid ? pid : tid, tid) <= 0 ||
	    !proc_text_field(text, "Tgid:", 10, &group))
		return false;
	t->pid = (uint32_t)group;
	t->own_tid = innermost(text, "\nNSpid:");
	t->own_pid = innermost(text, "\nNStgid:");
	return true;
}

bool proc_task_read(uint32_t pid, uint32_t tid, struct proc_task *t)
{
	struct stat_line s;

	memset(t, 0, sizeof(*t));
	if (!read_status(pid, tid, t) || !read_stat(t->pid, tid, &s))
		return false;
	t->tid = tid;
	t->pid_ns = pid_namespace(t->pid, tid);
	t->creator = tid == t->pid ? s.parent : 0;
	t->kernel = s.flags & KERNEL_THREAD;
	t->state = s.state;
	t->born = s.born;
	memcpy(t->name, s.name, sizeof(t->name));
	if (tid == t->pid)
		t->start_ns = ticks_to_mono(s.born);
	else if (read_stat(t->pid, t->pid, &s))
		t->start_ns = ticks_to_mono(s.born);
	return true;
}

uint64_t proc_task_born(uint32_t pid, uint32_t tid)
{
	struct stat_line s;

	return read_stat(pid, tid, &s) ? s.born : 0;
}

/* ---- the tree -------------------------------------------------------------------------------------- */

static uint32_t *slot_of(const struct proc_tasks *t, uint32_t tid)
{
	size_t i = tid * 0x9e3779b1u & (t->slots - 1);

	while (t->slot[i] && t->at[t->slot[i] - 1].tid != tid)
		i = (i + 1) & (t->slots - 1);
	return &t->slot[i];
}

/* Twice the room, and every task's slot anew. */
static bool grow(struct proc_tasks *t)
{
	size_t cap = t->cap ? 2 * t->cap : 64;
	struct proc_task *at = realloc(t->at, cap * sizeof(*at));
	uint32_t *slot;

	if (!at)
		return false;
	t->at = at;
	slot = calloc(2 * cap, sizeof(*slot));
	if (!slot)
		return false;
	free(t->slot);
	t->slot = slot;
	t->slots = 2 * cap;
	t->cap = cap;
	for (size_t i = 0; i < t->n; i++)
		*slot_of(t, t->at[i].tid) = (uint32_t)i + 1;
	return true;
}

static bool add(struct proc_tasks *t, const struct proc_task *task)
{
	uint32_t *slot;

	if (t->n == t->cap && !grow(t))
		return false;
	slot = slot_of(t, task->tid);
	if (*slot)
		return true;
	t->at[t->n++] = *task;
	*slot = (uint32_t)t->n;
	return true;
}

const struct proc_task *proc_tasks_find(const struct proc_tasks *t, uint32_t tid)
{
	uint32_t *slot = t->n ? slot_of(t, tid) : NULL;

	return slot && *slot ? &t->at[*slot - 1] : NULL;
}

struct walk {
	struct proc_tasks *t;
	const struct proc_tasks *before;
	size_t next; /* of `t`: whose children are to be added next */
	bool all;    /* no memory was missing */
};

static bool is_known(const struct walk *w, uint32_t pid)
{
	return proc_tasks_find(w->t, pid) != NULL;
}

/* Most of what was there before is there still, and stat is the one of the files that is cheap. Names and parents change. */
static bool read_again(const struct walk *w, uint32_t pid, uint32_t tid, struct proc_task *task)
{
	const struct proc_task *b = proc_tasks_find(w->before, tid);
	struct stat_line s;

	if (!b || b->pid != pid)
		return proc_task_read(pid, tid, task);
	if (!read_stat(pid, tid, &s))
		return false;
	if (s.born != b->born)
		return proc_task_read(pid, tid, task);
	*task = *b;
	task->state = s.state;
	memcpy(task->name, s.name, sizeof(task->name));
	return true;
}

static void add_process(struct walk *w, uint32_t pid, uint32_t creator)
{
	struct dirent *entry;
	struct proc_task task;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		if (!tid || !read_again(w, pid, tid, &task) || task.pid != pid)
			continue;
		if (tid == pid && creator)
			task.creator = creator;
		w->all &= add(w->t, &task);
	}
	if (dir)
		closedir(dir);
}

/* The processes that this thread made. Kernels without CONFIG_PROC_CHILDREN have no such file. */
static void add_children(struct walk *w, uint32_t pid, uint32_t tid)
{
	char few[512], *many = NULL;
	const char *at = few;
	uint64_t child;

	if (proc_text_read(few, sizeof(few), "/proc/%u/task/%u/children", pid, tid) == sizeof(few) - 1)
		at = many = proc_whole(NULL, "/proc/%u/task/%u/children", pid, tid);
	while (at && proc_text_number(&at, 10, &child))
		if (!is_known(w, (uint32_t)child))
			add_process(w, (uint32_t)child, tid);
	free(many);
}

/* The process's threads, then all that any of them made, and so on: whatever is added stands behind those that made it. A chain of processes may
 * be as long as there are numbers. */
static void add_with_children(struct walk *w, uint32_t pid, uint32_t creator)
{
	add_process(w, pid, creator);
	for (; w->next < w->t->n; w->next++)
		add_children(w, w->t->at[w->next].pid, w->t->at[w->next].tid);
}

/* Without files of children: every process whose parent is in the tree, until a round finds no more. */
static void add_by_parents(struct walk *w)
{
	struct stat_line s;
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	for (bool more = true; dir && more; rewinddir(dir)) {
		more = false;
		while ((entry = readdir(dir))) {
			uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
			if (!pid || is_known(w, pid) || !read_stat(pid, pid, &s) || !is_known(w, s.parent))
				continue;
			add_with_children(w, pid, s.parent);
			more |= is_known(w, pid);
		}
	}
	if (dir)
		closedir(dir);
}

bool proc_tasks_tree(struct proc_tasks *t, uint32_t root)
{
	struct proc_tasks before = *t;
	struct walk w = { .t = t, .before = &before, .all = true };
	uint64_t born = proc_task_born(root, root);

	*t = (struct proc_tasks){ .root_born = before.root_born ? before.root_born : born };
	if (born == t->root_born)
		add_with_children(&w, root, 0);
	for (size_t i = 0; i < before.n; i++) {
		const struct proc_task *b = &before.at[i];
		if (b->tid == b->pid && !is_known(&w, b->pid) && proc_task_born(b->pid, b->pid) == b->born)
			add_with_children(&w, b->pid, b->creator);
	}
	if (access("/proc/thread-self/children", F_OK) != 0)
		add_by_parents(&w);
	proc_tasks_free(&before);
	return w.all;
}

void proc_tasks_free(struct proc_tasks *t)
{
	free(t->at);
	free(t->slot);
	*t = (struct proc_tasks){ 0 };
}
