/* SPDX-License-Identifier: BSD-2-Clause */
/* chain_state.c: what a task was in while it waited, and the words for it. */
#include "chain_parts.h"

#include <stdio.h>
#include <string.h>

#include "tools/syscall_names.h"
#include "tools/text.h"

#define AGAIN_NS 2000000 /* between two waits of one loop */
#define SAME_LOCK 64     /* bytes: a condition variable's futexes, which it uses in turn */

static const char *const names[CHAIN_STATES] = {
	[CHAIN_UNKNOWN] = "unknown",
	[CHAIN_ON_CPU] = "on-cpu",
	[CHAIN_QUEUED] = "queued",
	[CHAIN_THROTTLED] = "throttled",
	[CHAIN_FILE_READ] = "file-read",
	[CHAIN_FILE_WRITE] = "file-write",
	[CHAIN_FLUSH] = "flush",
	[CHAIN_FAULT] = "fault",
	[CHAIN_SWAP] = "swap",
	[CHAIN_RECLAIM] = "reclaim",
	[CHAIN_SOCKET_READ] = "socket-read",
	[CHAIN_SOCKET_WRITE] = "socket-write",
	[CHAIN_PIPE_READ] = "pipe-read",
	[CHAIN_PIPE_WRITE] = "pipe-write",
	[CHAIN_POLL] = "poll",
	[CHAIN_LOCK] = "lock",
	[CHAIN_SLEEP] = "sleep",
	[CHAIN_CHILD] = "child",
	[CHAIN_OTHER] = "other",
	[CHAIN_UNBORN] = "unborn",
};

const char *chain_state_name(enum chain_state state)
{
	return state < CHAIN_STATES ? names[state] : names[CHAIN_UNKNOWN];
}

/* ---- which state ---- */

/* Calls whose kind alone does not say what they wait for. */
static const struct {
	const char *name;
	enum chain_state state;
	enum chain_state on_disk; /* … while the kernel says that it waits for I/O */
} others[] = {
	{ "wait4", CHAIN_CHILD, CHAIN_CHILD },           { "waitid", CHAIN_CHILD, CHAIN_CHILD },
	{ "vfork", CHAIN_CHILD, CHAIN_CHILD },           { "flock", CHAIN_LOCK, CHAIN_FILE_READ },
	{ "fallocate", CHAIN_OTHER, CHAIN_FILE_WRITE },  { "ftruncate", CHAIN_OTHER, CHAIN_FILE_WRITE },
	{ "unlink", CHAIN_OTHER, CHAIN_FILE_WRITE },     { "unlinkat", CHAIN_OTHER, CHAIN_FILE_WRITE },
	{ "rename", CHAIN_OTHER, CHAIN_FILE_WRITE },     { "renameat2", CHAIN_OTHER, CHAIN_FILE_WRITE },
	{ "close", CHAIN_OTHER, CHAIN_FILE_WRITE },      { "munmap", CHAIN_OTHER, CHAIN_FILE_WRITE },
	{ "io_getevents", CHAIN_POLL, CHAIN_FILE_READ }, { "splice", CHAIN_OTHER, CHAIN_FILE_READ },
};

static bool is_one_of(const char *name, const char *const list[])
{
	for (; *list; list++) {
		if (!strcmp(name, *list))
			return true;
	}
	return false;
}

/* Without descriptors there is nothing but the time limit: poll's array or select's number of them is the first argument. */
static bool polls_nothing(const struct syscall_name *call, const struct host_what *what)
{
	static const char *const by_first[] = { "poll", "ppoll", "select", "pselect6", NULL };

	return !what->arg && is_one_of(call->name, by_first);
}

static bool is_network_call(const char *name)
{
	static const char *const calls[] = { "recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg", NULL };

	return is_one_of(name, calls);
}

static enum chain_state of_transfer(const struct syscall_name *call, const struct host_what *what, bool reads)
{
	bool io = what->flags & (GST_WAIT_DISK | GST_WAIT_IOWAIT);

	/* Its first argument is where it writes to; a disk is what it may read from. */
	if (!strcmp(call->name, "sendfile") && (what->flags & GST_WAIT_IOWAIT))
		return CHAIN_FILE_READ;
	switch (what->fd_kind) {
	case GST_FD_FILE:
		return reads ? CHAIN_FILE_READ : CHAIN_FILE_WRITE;
	case GST_FD_PIPE:
		return reads ? CHAIN_PIPE_READ : CHAIN_PIPE_WRITE;
	case GST_FD_SOCKET:
		return reads ? CHAIN_SOCKET_READ : CHAIN_SOCKET_WRITE;
	case GST_FD_NONE:
		if (is_network_call(call->name))
			return reads ? CHAIN_SOCKET_READ : CHAIN_SOCKET_WRITE;
		if (io)
			return reads ? CHAIN_FILE_READ : CHAIN_FILE_WRITE;
		return CHAIN_OTHER;
	default:
		return CHAIN_OTHER;
	}
}

static enum chain_state of_other(const struct syscall_name *call, const struct host_what *what)
{
	bool io = what->flags & GST_WAIT_IOWAIT;

	for (size_t i = 0; call && i < sizeof(others) / sizeof(others[0]); i++) {
		if (!strcmp(call->name, others[i].name))
			return io ? others[i].on_disk : others[i].state;
	}
	return io ? CHAIN_FILE_READ : CHAIN_OTHER; /* a directory, an inode, a ring of requests */
}

static enum chain_state of_call(const struct syscall_name *call, const struct host_what *what)
{
	switch (call ? call->kind : SYSCALL_OTHER) {
	case SYSCALL_READ:
		return of_transfer(call, what, true);
	case SYSCALL_WRITE:
		return of_transfer(call, what, false);
	case SYSCALL_POLL:
		return polls_nothing(call, what) ? CHAIN_SLEEP : CHAIN_POLL;
	case SYSCALL_FLUSH:
		return CHAIN_FLUSH;
	case SYSCALL_SLEEP:
		return CHAIN_SLEEP;
	case SYSCALL_FUTEX:
		return CHAIN_LOCK;
	default:
		return of_other(call, what);
	}
}

/* Looks may find a task between two system calls, and what it waits for all the same. */
static enum chain_state of_descriptor(const struct host_what *what)
{
	switch (what->fd_kind) {
	case GST_FD_FILE:
		return CHAIN_FILE_READ;
	case GST_FD_PIPE:
		return CHAIN_PIPE_READ;
	case GST_FD_SOCKET:
		return CHAIN_SOCKET_READ;
	default:
		return what->flags & GST_WAIT_IOWAIT ? CHAIN_FILE_READ : CHAIN_OTHER;
	}
}

enum chain_state chain_state_of(const struct gst_file_header *header, const struct host_what *what, bool kernel)
{
	if (what->flags & GST_WAIT_RECLAIM)
		return CHAIN_RECLAIM;
	if (what->flags & GST_WAIT_ANONYMOUS)
		return CHAIN_SWAP;
	if (what->flags & GST_WAIT_FAULT)
		return CHAIN_FAULT;
	if (what->flags & GST_WAIT_WRITE_BACK)
		return CHAIN_FILE_WRITE;
	if (kernel) /* a journal, a flusher; it has no system calls */
		return what->flags & GST_WAIT_IOWAIT ? CHAIN_FLUSH : CHAIN_OTHER;
	if (what->syscall == -1) /* none, and for I/O: a page that is read in */
		return what->flags & GST_WAIT_IOWAIT ? CHAIN_FAULT : CHAIN_OTHER;
	if (what->syscall < 0)
		return of_descriptor(what);
	return of_call(syscall_find(header, what->syscall), what);
}

bool chain_state_is_leaf(enum chain_state state)
{
	switch (state) {
	case CHAIN_FILE_READ:
	case CHAIN_FILE_WRITE:
	case CHAIN_FLUSH:
	case CHAIN_FAULT:
	case CHAIN_SWAP:
	case CHAIN_RECLAIM:
	case CHAIN_SLEEP:
		return true;
	default:
		return false;
	}
}

bool chain_same_wait(const struct host_wait *a, const struct host_wait *b, enum chain_state state)
{
	uint64_t apart = a->what.arg < b->what.arg ? b->what.arg - a->what.arg : a->what.arg - b->what.arg;

	return b->out_ns - a->in_ns <= AGAIN_NS && a->what.syscall == b->what.syscall &&
	       a->what.inode == b->what.inode && apart < (state == CHAIN_LOCK ? SAME_LOCK : 1);
}

/* ---- words ---- */

/* "before after", where after loses its beginning if there is no room for all of it. */
static const char *join(char *buf, size_t size, const char *before, const char *after)
{
	static const char cut[] = "...";
	size_t used = strlen(before) + 1, long_ = after ? strlen(after) : 0;

	if (!long_)
		snprintf(buf, size, "%s", before);
	else if (used + long_ < size)
		snprintf(buf, size, "%s %s", before, after);
	else if (used + sizeof(cut) < size) {
		const char *rest = after + long_ - (size - 1 - used - (sizeof(cut) - 1));

		while ((*rest & 0xc0) == 0x80) /* not in the middle of a character */
			rest++;
		snprintf(buf, size, "%s %s%s", before, cut, rest);
	} else
		snprintf(buf, size, "%s", before);
	return buf;
}

static const char *name_of_call(const struct host_trace *h, const struct host_what *what, char number[TEXT_SHORT])
{
	const struct syscall_name *call = syscall_find(&h->header, what->syscall);

	if (call)
		return call->name;
	if (what->syscall < 0)
		return what->syscall == -1 ? "the kernel" : "a wait";
	snprintf(number, TEXT_SHORT, "system call %d", what->syscall);
	return number;
}

static const char *with_what(char *buf, size_t size, const struct host_trace *h, enum chain_state state,
			     const struct host_what *what)
{
	char number[TEXT_SHORT];

	switch (state) {
	case CHAIN_FAULT:
		return join(buf, size, what->file ? "page fault in" : "page fault", what->file);
	case CHAIN_SWAP:
		return join(buf, size, "page fault on swapped memory", NULL);
	case CHAIN_RECLAIM:
		return join(buf, size, "reclaiming memory", NULL);
	default:
		return join(buf, size, name_of_call(h, what, number), what->file);
	}
}

const char *chain_state_words(char *buf, size_t size, const struct host_trace *h, const struct chain_step *step)
{
	const struct host_what *what = step->wait      ? &step->wait->what
				       : step->stalls  ? &step->stalls->what
				       : step->written ? &step->written->what
						       : NULL;

	switch (step->state) {
	case CHAIN_ON_CPU:
		return join(buf, size, "on a CPU", NULL);
	case CHAIN_QUEUED:
		return join(buf, size, "waiting for a CPU", NULL);
	case CHAIN_THROTTLED:
		return join(buf, size, "held back by its CPU quota", NULL);
	case CHAIN_UNBORN:
		return join(buf, size, "not started yet", NULL);
	case CHAIN_RECLAIM:
		return join(buf, size, "reclaiming memory", NULL);
	default:
		return what ? with_what(buf, size, h, step->state, what) : join(buf, size, "unknown", NULL);
	}
}
