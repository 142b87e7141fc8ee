/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipe_ends.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc_text.h"

#define ROUND_NS 1000000u
#define FIRST_NS 15000000u  /* after a fork, its descriptors are closed and dup2ed into place before long */
#define MOST_NS 4000000000u /* between two looks at an old process */
#define WANTED_NS 50000000u /* … at least, however much it is wanted */
#define SOCKETS_NAMED 4096u /* of a process: whom a socket is connected to is asked once for each */

struct end {
	uint64_t inode, peer;
	uint32_t pid;
	uint16_t flags;
};

struct process {
	uint32_t pid;
	uint64_t born, looked, due;
};

struct pipe_ends {
	struct host_file *file;
	struct proc_files *files;
	struct process *process;
	size_t n, cap;
	struct end *end;
	size_t n_ends, cap_ends;
	uint32_t *slot;
	size_t slots; /* by pid and inode: 1 + index in `end` */
	struct proc_fd fd;
};

struct pipe_ends *pipe_ends_new(struct host_file *file, struct proc_files *files)
{
	struct pipe_ends *p = calloc(1, sizeof(*p));

	if (p) {
		p->file = file;
		p->files = files;
	}
	return p;
}

void pipe_ends_free(struct pipe_ends *p)
{
	if (!p)
		return;
	free(p->process);
	free(p->end);
	free(p->slot);
	free(p);
}

/* ---- ends that are known --------------------------------------------------------------------------------- */

static uint32_t *slot_of(const struct pipe_ends *p, uint32_t pid, uint64_t inode)
{
	size_t i = (size_t)((inode * 31 + pid) * 0x9e3779b97f4a7c15u >> 32) & (p->slots - 1);

	while (p->slot[i] && (p->end[p->slot[i] - 1].pid != pid || p->end[p->slot[i] - 1].inode != inode))
		i = (i + 1) & (p->slots - 1);
	return &p->slot[i];
}

static void fill_slots(struct pipe_ends *p)
{
	memset(p->slot, 0, p->slots * sizeof(*p->slot));
	for (size_t i = 0; i < p->n_ends; i++)
		*slot_of(p, p->end[i].pid, p->end[i].inode) = (uint32_t)i + 1;
}

static bool grow(struct pipe_ends *p)
{
	size_t cap = p->cap_ends ? 2 * p->cap_ends : 256;
	struct end *end = realloc(p->end, cap * sizeof(*end));
	uint32_t *slot;

	if (!end)
		return false;
	p->end = end;
	slot = calloc(2 * cap, sizeof(*slot));
	if (!slot)
		return false;
	free(p->slot);
	p->slot = slot;
	p->slots = 2 * cap;
	p->cap_ends = cap;
	fill_slots(p);
	return true;
}

/* True: it was not known to have this end. */
static bool learn(struct pipe_ends *p, uint32_t pid, const struct proc_fd *fd)
{
	uint32_t *slot;
	struct end *e;

	if (p->n_ends == p->cap_ends && !grow(p))
		return false;
	slot = slot_of(p, pid, fd->inode);
	if (!*slot) {
		p->end[p->n_ends++] = (struct end){ fd->inode, 0, pid, 0 };
		*slot = (uint32_t)p->n_ends;
	}
	e = &p->end[*slot - 1];
	if ((e->flags | fd->ends) == e->flags)
		return false;
	e->flags |= fd->ends;
	return true;
}

/* What a process has no more, or another of its number might not have. */
static void forget(struct pipe_ends *p, uint32_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n_ends; i++)
		if (p->end[i].pid != pid)
			p->end[kept++] = p->end[i];
	if (kept == p->n_ends)
		return;
	p->n_ends = kept;
	fill_slots(p);
}

/* ---- looking --------------------------------------------------------------------------------------------- */

static void found(struct pipe_ends *p, uint32_t pid, int fd)
{
	struct gst_pipe_end r = { .at = mono_ns(), .pid = pid, .fd_kind = p->fd.kind };

	if (!learn(p, pid, &p->fd))
		return;
	r.inode = p->fd.inode;
	r.flags = p->fd.ends;
	if (p->fd.kind == GST_FD_SOCKET && p->n_ends < SOCKETS_NAMED && proc_fd_read(p->files, pid, fd, &p->fd)) {
		r.peer = p->fd.peer;
		p->end[*slot_of(p, pid, r.inode) - 1].peer = r.peer;
	}
	host_file_append(p->file, GST_PIPE_END, sizeof(r), &r);
}

/* False: the process is no more. */
static bool look(struct pipe_ends *p, struct process *process)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", process->pid);
	dir = opendir(path);
	if (!dir && errno == ENOENT)
		return false;
	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		if (*entry->d_name != '.' && proc_fd_glance(process->pid, fd, &p->fd) &&
		    (p->fd.kind == GST_FD_PIPE || p->fd.kind == GST_FD_SOCKET))
			found(p, process->pid, fd);
	}
	if (dir)
		closedir(dir);
	process->looked = mono_ns();
	process->due = process->looked +
		       (process->looked - process->born < MOST_NS ? process->looked - process->born : MOST_NS);
	return true;
}

static struct process *find_process(struct pipe_ends *p, uint32_t pid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->process[i].pid == pid)
			return &p->process[i];
	return NULL;
}

void pipe_ends_process(struct pipe_ends *p, uint32_t pid)
{
	uint64_t now = mono_ns();

	if (find_process(p, pid))
		return;
	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 64;
		struct process *process = realloc(p->process, cap * sizeof(*process));
		if (!process)
			return;
		p->process = process;
		p->cap = cap;
	}
	p->process[p->n++] = (struct process){ pid, now, 0, now + FIRST_NS };
}

void pipe_ends_renew(struct pipe_ends *p, uint32_t pid)
{
	pipe_ends_gone(p, pid);
	pipe_ends_process(p, pid);
}

void pipe_ends_gone(struct pipe_ends *p, uint32_t pid)
{
	struct process *process = find_process(p, pid);

	if (!process)
		return;
	*process = p->process[--p->n];
	forget(p, pid);
}

void pipe_ends_wanted(struct pipe_ends *p, uint64_t inode, uint64_t peer)
{
	uint16_t both = 0;

	if (!inode)
		return;
	for (size_t i = 0; i < p->n_ends; i++)
		if (p->end[i].inode == inode || (peer && p->end[i].inode == peer))
			both |= p->end[i].inode == peer ? 3 : p->end[i].flags;
	if (both == (GST_PIPE_READS | GST_PIPE_WRITES))
		return;
	for (size_t i = 0; i < p->n; i++)
		if (p->process[i].due > p->process[i].looked + WANTED_NS)
			p->process[i].due = p->process[i].looked + WANTED_NS;
}

void pipe_ends_tick(struct pipe_ends *p)
{
	uint64_t begin = mono_ns(), now = begin;

	for (size_t i = 0; i < p->n && now - begin < ROUND_NS; i++)
		if (p->process[i].due <= now) {
			if (!look(p, &p->process[i]))
				pipe_ends_gone(p, p->process[i--].pid);
			now = mono_ns();
		}
}
