/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipe_ends.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end_table.h"
#include "../proc_text.h"

#define ROUND_NS 1000000u
#define FIRST_NS 15000000u   /* after a fork, its descriptors are closed and dup2ed into place before long */
#define MOST_NS 4000000000u  /* between two looks at an old process */
#define WANTED_NS 50000000u  /* … at least, however much it is wanted */
#define SOCKETS_NAMED 4096u  /* of a process: whom a socket is connected to is asked once for each */
#define ENDS_OF_ONE 8192u    /* one that holds more leaves room for others */
#define PROCESSES_MAX 16384u /* a power of two */
#define NOBODY UINT32_MAX
#define TOLD 1024u     /* sockets whose other end was told of late */
#define TOLD_PLACES 8u /* where each may be: two that meet do not drive each other out */

struct told {
	uint64_t inode, peer;
};

struct process {
	uint32_t pid, next;       /* in its bucket */
	uint32_t ends;            /* list of end_table.h */
	uint32_t round;           /* of looks at it */
	uint32_t n_ends, n_named; /* in this look; sockets, so far */
	uint32_t left_out;        /* at most in any look: these are counted as dropped */
	uint64_t born, looked, due;
};

struct pipe_ends {
	struct host_file *file;
	struct proc_files *files;
	struct end_table *table;
	struct process *process;
	uint32_t n, cap;
	uint32_t *bucket; /* by pid: 1 + index in `process` */
	uint32_t turn;    /* whom it is to be looked at next */
	uint64_t wanted;  /* when an end was last missed */
	DIR *dir;         /* of a look that goes on, at the process `looking` */
	uint32_t looking, n_left_out;
	struct proc_fd fd;
	struct told told[TOLD];
};

struct pipe_ends *pipe_ends_new(struct host_file *file, struct proc_files *files)
{
	struct pipe_ends *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->file = file;
	p->files = files;
	p->looking = NOBODY;
	p->table = end_table_new();
	p->bucket = calloc(PROCESSES_MAX, sizeof(*p->bucket));
	if (p->table && p->bucket)
		return p;
	pipe_ends_free(p);
	return NULL;
}

void pipe_ends_free(struct pipe_ends *p)
{
	if (!p)
		return;
	if (p->dir)
		closedir(p->dir);
	end_table_free(p->table);
	free(p->process);
	free(p->bucket);
	free(p);
}

/* ---- looking --------------------------------------------------------------------------------------------- */

static void end_look(struct pipe_ends *p)
{
	if (p->dir)
		closedir(p->dir);
	p->dir = NULL;
	p->looking = NOBODY;
}

/* Sockets of the network are not asked here, where there may be thousands, but only where somebody waits at one. */
static void found(struct pipe_ends *p, struct process *process)
{
	struct gst_pipe_end r = { .at = mono_ns(), .pid = process->pid, .fd_kind = p->fd.kind };
	enum end_news news = END_NO_ROOM;

	if (process->n_ends < ENDS_OF_ONE)
		news = end_table_learn(p->table, &process->ends, process->pid, p->fd.inode, p->fd.ends, process->round);
	p->n_left_out += news == END_NO_ROOM;
	process->n_ends += news != END_NO_ROOM;
	if (news != END_NEW)
		return;
	r.inode = p->fd.inode;
	r.flags = p->fd.ends;
	if (p->fd.kind == GST_FD_SOCKET && process->n_named < SOCKETS_NAMED) {
		process->n_named++;
		r.peer = proc_fd_peer(p->files, p->fd.inode);
	}
	host_file_append(p->file, GST_PIPE_END, sizeof(r), &r);
}

/* False: the process is no more, or not for us to look at. */
static bool begin_look(struct pipe_ends *p, struct process *process)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/fd", process->pid);
	p->dir = opendir(path);
	p->looking = process->pid;
	p->n_left_out = 0;
	process->round++;
	process->n_ends = process->n_named = 0;
	return p->dir || errno != ENOENT;
}

/* What was not seen is closed. */
static void finish_look(struct pipe_ends *p, struct process *process)
{
	uint64_t age;

	if (p->dir)
		end_table_keep(p->table, &process->ends, process->round);
	if (p->n_left_out > process->left_out) {
		host_file_count_dropped(p->file, p->n_left_out - process->left_out);
		process->left_out = p->n_left_out;
	}
	process->looked = mono_ns();
	age = process->looked - process->born;
	process->due = process->looked + (age < MOST_NS ? age : MOST_NS);
	end_look(p);
}

/* Until all is seen, or it is time to stop: then it goes on from there the next time. */
static void go_on(struct pipe_ends *p, struct process *process, uint64_t until)
{
	struct dirent *entry;

	while (p->dir && (entry = readdir(p->dir))) {
		int fd = atoi(entry->d_name);

		if (*entry->d_name != '.' && proc_fd_glance(process->pid, fd, &p->fd) &&
		    (p->fd.kind == GST_FD_PIPE || p->fd.kind == GST_FD_SOCKET))
			found(p, process);
		if (mono_ns() >= until)
			return;
	}
	finish_look(p, process);
}

/* ---- processes ------------------------------------------------------------------------------------------- */

static uint32_t *link_of(struct pipe_ends *p, uint32_t pid)
{
	uint32_t *at = &p->bucket[pid % PROCESSES_MAX];

	while (*at && p->process[*at - 1].pid != pid)
		at = &p->process[*at - 1].next;
	return at;
}

static bool make_room(struct pipe_ends *p)
{
	uint32_t cap = p->cap ? 2 * p->cap : 64;
	struct process *process;

	if (p->n < p->cap)
		return true;
	process = cap <= PROCESSES_MAX ? realloc(p->process, cap * sizeof(*process)) : NULL;
	if (!process)
		return false;
	p->process = process;
	p->cap = cap;
	return true;
}

void pipe_ends_process(struct pipe_ends *p, uint32_t pid)
{
	uint32_t *at = link_of(p, pid);
	uint64_t now = mono_ns();

	if (*at)
		return;
	if (!make_room(p)) {
		host_file_count_dropped(p->file, 1);
		return;
	}
	p->process[p->n++] = (struct process){ .pid = pid, .born = now, .due = now + FIRST_NS };
	*link_of(p, pid) = p->n; /* what `at` was in may have moved */
}

void pipe_ends_renew(struct pipe_ends *p, uint32_t pid)
{
	pipe_ends_gone(p, pid);
	pipe_ends_process(p, pid);
}

void pipe_ends_gone(struct pipe_ends *p, uint32_t pid)
{
	uint32_t *at = link_of(p, pid), i = *at;

	if (!i)
		return;
	if (p->looking == pid)
		end_look(p);
	end_table_forget(p->table, &p->process[i - 1].ends);
	*at = p->process[i - 1].next;
	if (i != p->n) { /* the last one takes its place */
		*link_of(p, p->process[p->n - 1].pid) = i;
		p->process[i - 1] = p->process[p->n - 1];
	}
	p->n--;
}

/* It holds none by this record: who does is told by those of found(). */
static void tell_peer(struct pipe_ends *p, uint32_t pid, uint64_t inode, uint64_t peer)
{
	struct told *first = &p->told[inode % (TOLD / TOLD_PLACES) * TOLD_PLACES];
	struct gst_pipe_end r = { .at = mono_ns(), .inode = inode, .peer = peer, .pid = pid, .fd_kind = GST_FD_SOCKET };
	size_t i = 0;

	while (i < TOLD_PLACES - 1 && first[i].inode != inode)
		i++;
	if (first[i].inode == inode && first[i].peer == peer)
		return;
	memmove(first + 1, first, i * sizeof(*first)); /* its own place, or that of who has been there longest */
	*first = (struct told){ inode, peer };
	host_file_append(p->file, GST_PIPE_END, sizeof(r), &r);
}

void pipe_ends_wanted(struct pipe_ends *p, uint32_t pid, uint64_t inode, uint64_t peer)
{
	if (peer)
		tell_peer(p, pid, inode, peer);
	if (!inode || (peer && end_table_held(p->table, peer)) ||
	    end_table_held(p->table, inode) == (GST_PIPE_READS | GST_PIPE_WRITES))
		return;
	p->wanted = mono_ns();
}

/* ---- rounds ---------------------------------------------------------------------------------------------- */

static bool is_due(const struct pipe_ends *p, const struct process *process, uint64_t now)
{
	return process->due <= now ||
	       (p->wanted > process->looked && process->looked + WANTED_NS <= now && process->born + FIRST_NS <= now);
}

static void look_at(struct pipe_ends *p, struct process *process, uint64_t until)
{
	if (p->looking == process->pid || begin_look(p, process))
		go_on(p, process, until);
	else
		pipe_ends_gone(p, process->pid);
}

void pipe_ends_tick(struct pipe_ends *p)
{
	uint64_t begin = mono_ns(), now = begin;

	if (p->looking != NOBODY)
		look_at(p, &p->process[*link_of(p, p->looking) - 1], begin + ROUND_NS);
	for (uint32_t k = p->n; k > 0 && p->n && p->looking == NOBODY && now - begin < ROUND_NS; k--) {
		p->turn = (p->turn + 1) % p->n;
		if (!is_due(p, &p->process[p->turn], now))
			continue;
		look_at(p, &p->process[p->turn], begin + ROUND_NS);
		now = mono_ns();
	}
}
