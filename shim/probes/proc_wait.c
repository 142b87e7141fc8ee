/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_wait.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "../proc_text.h"
#include "syscall_forms.h"

#define MAPPED_NS 50000000u /* so long a mapping is taken to be what it was */
#define POLLED_MAX 16       /* of more descriptors, none is the one waited for */

bool proc_sched_read(int fd, uint32_t pid, uint32_t tid, struct proc_sched *s)
{
	char text[96];
	const char *at = text;
	ssize_t n = fd >= 0 ? proc_text_again(fd, text, sizeof(text))
			    : proc_text_read(text, sizeof(text), "/proc/%u/task/%u/schedstat", pid, tid);

	return n > 0 && proc_text_number(&at, 10, &s->run_ns) && proc_text_number(&at, 10, &s->delay_ns) &&
	       proc_text_number(&at, 10, &s->slices);
}

void proc_wait_unknown(struct gst_wait_for *what)
{
	*what = (struct gst_wait_for){ .syscall = -2, .offset = UINT64_MAX };
}

bool proc_wait_same(const struct gst_wait_for *a, const struct gst_wait_for *b)
{
	return a->syscall == b->syscall && a->file == b->file && a->inode == b->inode && a->flags == b->flags &&
	       a->fd_kind == b->fd_kind;
}

static bool read_memory(uint32_t pid, uint64_t address, void *out, size_t bytes)
{
	struct iovec here = { out, bytes }, there = { (void *)(uintptr_t)address, bytes };

	return process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* ---- descriptors ---------------------------------------------------------------------------------------- */

static void name_file(struct proc_waits *w, struct gst_wait_for *what)
{
	what->file = host_file_name(w->file, w->fd.name);
	what->inode = w->fd.inode;
	what->dev = w->fd.dev;
	what->fs = w->fd.fs;
	what->fd_kind = w->fd.kind;
	if (what->offset == UINT64_MAX)
		what->offset = w->fd.pos;
}

static void name_fd(struct proc_waits *w, uint32_t pid, int fd, struct gst_wait_for *what)
{
	bool listens = what->syscall == SYS_accept || what->syscall == SYS_accept4;

	if (listens ? proc_fd_read_listening(w->files, pid, fd, &w->fd) : proc_fd_read(w->files, pid, fd, &w->fd))
		name_file(w, what);
}

/* One that is polled for is what is waited for. Of several it may be any. */
static int polled(uint32_t pid, const uint64_t args[6])
{
	struct pollfd fds[POLLED_MAX];
	int only = -1;

	if (!args[1] || args[1] > POLLED_MAX || !read_memory(pid, args[0], fds, args[1] * sizeof(fds[0])))
		return -1;
	for (size_t i = 0; i < args[1]; i++) {
		if (fds[i].fd < 0)
			continue;
		if (only >= 0)
			return -1;
		only = fds[i].fd;
	}
	return only;
}

static int selected(uint32_t pid, const uint64_t args[6])
{
	uint64_t set[16] = { 0 }; /* descriptors below 1024 */
	int only = -1;

	if (!args[0] || args[0] > 1024)
		return -1;
	for (int which = 1; which <= 2; which++) {
		if (!args[which] || !read_memory(pid, args[which], set, (args[0] + 63) / 64 * 8))
			continue;
		for (uint64_t fd = 0; fd < args[0]; fd++) {
			if (!(set[fd / 64] >> fd % 64 & 1))
				continue;
			if (only >= 0 && only != (int)fd)
				return -1;
			only = (int)fd;
		}
	}
	return only;
}

static int watched_by_epoll(uint32_t pid, int epoll)
{
	char text[4096];
	uint64_t fd;
	int only = -1;

	if (proc_text_read(text, sizeof(text), "/proc/%u/fdinfo/%d", pid, epoll) <= 0)
		return -1;
	for (const char *line = text; *line; line = proc_text_next_line(line)) {
		const char *at = line + 4;
		if (strncmp(line, "tfd:", 4) != 0 || !proc_text_number(&at, 10, &fd))
			continue;
		if (only >= 0)
			return -1;
		only = (int)fd;
	}
	return only;
}

/* Only whole paths: what others are relative to is not asked for. */
static void name_path(struct proc_waits *w, uint32_t pid, uint64_t address, struct gst_wait_for *what)
{
	size_t n = sizeof(w->path) - 1;

	/* The text may end right before memory that is not there. */
	while (n >= 16 && !read_memory(pid, address, w->path, n))
		n /= 2;
	w->path[n] = 0;
	if (n < 16 || *w->path != '/' || strlen(w->path) == n)
		return;
	what->file = host_file_name(w->file, w->path);
	what->fd_kind = GST_FD_FILE;
	proc_path_mount(pid, w->path, &what->dev, &what->fs);
}

static void name_arguments(struct proc_waits *w, uint32_t pid, const struct syscall_form *form, const uint64_t args[6],
			   struct gst_wait_for *what)
{
	int fd = form->fd >= 0 ? (int)args[form->fd] : -1;

	what->bytes = form->bytes >= 0 ? args[form->bytes] : 0;
	if (form->offset >= 0 && args[form->offset] <= INT64_MAX)
		what->offset = args[form->offset];
	if (form->points == SYSCALL_POLL)
		fd = polled(pid, args);
	else if (form->points == SYSCALL_SELECT)
		fd = selected(pid, args);
	else if (form->points == SYSCALL_EPOLL && (fd = watched_by_epoll(pid, (int)args[0])) < 0)
		fd = (int)args[0];
	else if (form->points == SYSCALL_PATH)
		name_path(w, pid, args[form->at], what);
	if (fd >= 0)
		name_fd(w, pid, fd, what);
}

/* ---- the task ------------------------------------------------------------------------------------------- */

static char read_state(uint32_t pid, uint32_t tid)
{
	char text[512];
	const char *end;

	if (proc_text_read(text, sizeof(text), "/proc/%u/task/%u/stat", pid, tid) <= 0 || !(end = strrchr(text, ')')) ||
	    !end[1])
		return 0;
	return end[2];
}

/* Where in the kernel it sleeps says more than the call does. */
static void read_wchan(uint32_t pid, uint32_t tid, struct gst_wait_for *what)
{
	char text[128];

	if (proc_text_read(text, sizeof(text), "/proc/%u/task/%u/wchan", pid, tid) <= 0)
		return;
	if (what->syscall == -2)
		what->syscall = syscall_by_wchan(text);
	if (strstr(text, "balance_dirty_pages"))
		what->flags |= GST_WAIT_WRITE_BACK;
	else if (strstr(text, "reclaim") || strstr(text, "shrink_") || strstr(text, "try_to_free") ||
		 strstr(text, "mem_cgroup_handle"))
		what->flags |= GST_WAIT_RECLAIM;
	else if (strstr(text, "filemap_fault") || strstr(text, "do_swap_page"))
		what->flags |= GST_WAIT_FAULT;
	if (strstr(text, "do_swap_page"))
		what->flags |= GST_WAIT_ANONYMOUS;
}

void proc_wait_some_fault(uint32_t pid, struct gst_wait_for *what)
{
	char text[4096];
	uint64_t swapped;

	what->flags |= GST_WAIT_FAULT;
	if (what->flags & GST_WAIT_ANONYMOUS || proc_text_read(text, sizeof(text), "/proc/%u/status", pid) <= 0)
		return;
	/* What is being read in from there still counts. */
	if (proc_text_field(text, "VmSwap:", 10, &swapped) && swapped == 0)
		what->fd_kind = GST_FD_FILE;
}

/* "running", "-1 sp pc" asleep outside of a call, "number arg … arg sp pc". False: running. */
static bool parse_call(const char *text, int64_t *number, uint64_t args[6])
{
	const char *at = text;
	uint64_t value;

	if (!proc_text_number(&at, 10, &value))
		return false;
	*number = (int64_t)value;
	for (int i = 0; i < 6 && *number >= 0; i++)
		if (!proc_text_number(&at, 0, &args[i]))
			return false;
	return true;
}

bool proc_wait_look(struct proc_waits *w, uint32_t pid, uint32_t tid, struct gst_wait_for *what)
{
	const struct syscall_form *form;
	uint64_t args[6] = { 0 };
	int64_t number = -2;
	char text[256], state;

	proc_wait_unknown(what);
	w->fd.inode = w->fd.peer = 0;
	w->fd.unsure = false;
	w->fd.kind = GST_FD_NONE;
	w->ended = false;
	/* A task of another user's, or where only a parent may look (Yama): there is its state still. */
	if (proc_text_read(text, sizeof(text), "/proc/%u/task/%u/syscall", pid, tid) > 0 &&
	    !parse_call(text, &number, args))
		return false;
	state = read_state(pid, tid);
	w->ended = state == 'Z' || state == 'X';
	if (!state || strchr("RZX", state))
		return false;
	what->syscall = (int32_t)number;
	what->arg = args[0];
	if (state == 'D')
		what->flags |= GST_WAIT_DISK;
	if (number < 0 || state == 'D')
		read_wchan(pid, tid, what);
	/* Asleep outside of a call, and not to be woken by a signal: in a page fault. */
	if (number == -1 && state == 'D')
		proc_wait_some_fault(pid, what);
	if (number >= 0 && (form = syscall_form(number)))
		name_arguments(w, pid, form, args, what);
	return true;
}

static struct proc_mapped *known_mapping(struct proc_waits *w, uint32_t pid, uint64_t address)
{
	for (struct proc_mapped *m = w->mapped; m < w->mapped + PROC_MAPPED; m++)
		if (m->pid == pid && address >= m->memory.begin && address < m->memory.end)
			return m;
	return NULL;
}

/* What is mapped there: asked for now and then, as it may change, and remembered, as the process may end. NULL: not known. */
static struct proc_mapped *mapping(struct proc_waits *w, uint32_t pid, uint64_t address)
{
	struct proc_mapped *m = known_mapping(w, pid, address);
	struct proc_memory memory;
	uint64_t now = mono_ns();
	uint32_t dev;

	if (m && now - m->at < MAPPED_NS)
		return m;
	if (!proc_memory_at(pid, address, &memory, w->fd.name, sizeof(w->fd.name)))
		return m;
	if (!m)
		m = &w->mapped[w->next_mapped++ % PROC_MAPPED];
	m->pid = pid;
	m->at = now;
	m->memory = memory;
	m->fs = 0;
	snprintf(m->path, sizeof(m->path), "%.511s", w->fd.name);
	if (memory.inode)
		proc_path_mount(pid, m->path, &dev, &m->fs);
	return m;
}

void proc_wait_fault(struct proc_waits *w, uint32_t pid, uint64_t address, struct gst_wait_for *what)
{
	struct proc_mapped *m = mapping(w, pid, address);

	proc_wait_unknown(what);
	what->syscall = -1;
	what->flags = GST_WAIT_FAULT;
	what->arg = address;
	if (!m)
		return;
	if (!m->memory.inode) {
		what->flags |= GST_WAIT_ANONYMOUS;
		return;
	}
	what->inode = m->memory.inode;
	what->dev = m->memory.dev;
	what->fs = m->fs;
	what->offset = m->memory.offset + (address - m->memory.begin);
	what->offset -= what->offset % 4096;
	what->file = host_file_name(w->file, m->path);
	what->fd_kind = GST_FD_FILE;
}
