/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_written.h: writing to a file's pages is work on a CPU, which no wait tells of: what is large enough becomes a record. Nobody pays for it
 * who does not write: a page is hooked as room is made for it (before it is copied) and as it becomes dirty (behind that), no system call is.
 * A page that is dirty already is not told of again. In the kernel. */
#pragma once

#include "ebpf_what.h"

#define WRITTEN_LEAST 65536    /* bytes of a record */
#define WRITTEN_APART 200000   /* ns: one loop's calls */

/* So far, but for the page in hand: it is counted behind the hook. */
static __always_inline uint64_t bytes_written(struct task_struct *task)
{
	return bpf_core_field_exists(task->ioac.write_bytes) ? BPF_CORE_READ(task, ioac.write_bytes) : 0;
}

/* What the last hook was of. All of a large page is dirty, be it that a few bytes of it were written; and what the file system made dirty for
 * itself since then is among it: some pages, so that a record may be of a little less than it says. */
static __always_inline void count_bytes(struct written *w, struct task_struct *task)
{
	uint64_t all = bytes_written(task);
	uint64_t bytes = bpf_core_field_exists(task->ioac.write_bytes) ? all - w->before : 1ull << set.page_shift;

	w->bytes += bytes < w->asked ? bytes : w->asked;
	w->before = all;
}

static __always_inline void write_written(struct tracked *t, struct task_struct *task)
{
	struct written *w = &t->written;
	struct event_written *e;

	if (w->count)
		count_bytes(w, task);
	if (w->count && w->end > w->begin && w->bytes >= WRITTEN_LEAST && (e = event_reserve(sizeof(*e)))) {
		__builtin_memset(e, 0, sizeof(*e));
		e->kind = EVENT_WRITTEN;
		e->generation = w->generation;
		e->record.begin = w->begin;
		e->record.end = w->end;
		e->record.tid = t->tid;
		e->record.count = w->count;
		e->record.what.offset = ~0ull;
		e->record.what.bytes = w->bytes;
		e->record.what.inode = w->inode;
		e->record.what.dev = w->dev;
		e->record.what.fs = w->fs;
		e->record.what.syscall = w->syscall;
		e->record.what.fd_kind = GST_FD_FILE;
		event_submit(e);
	}
	w->count = 0;
}

/* It leaves its CPU: what it writes next is another record's. */
static __always_inline void written_until(struct tracked *t, struct task_struct *task, uint64_t now)
{
	t->room_waits = t->making_room;
	if (t->written.count) {
		if (t->making_room)
			t->written.end = now;
		write_written(t, task);
	}
	t->making_room = 0;
}

static __always_inline void written_from(struct tracked *t, uint64_t now)
{
	if (t->room_waits)
		t->making_room = now;
	t->room_waits = 0;
}

/* The task's system call, if it writes; -1. *asked: bytes. */
static __always_inline int32_t writes(struct task_struct *task, uint64_t *asked)
{
	struct syscall_shape shape;
	struct entry e;

	if (task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return -1;
	entry_read(&e, task);
	shape = *(struct syscall_shape *)shape_of(&e);
	*asked = shape.bytes ? entry_arg(&e, shape.bytes) : ~0ull;
	return e.syscall >= 0 && shape.writes ? e.syscall : -1;
}

static __always_inline void written_begins(struct tracked *t, struct inode *inode, int32_t syscall, uint64_t now)
{
	struct written *w = &t->written;
	struct what what = {};

	what_file(&what, t, inode);
	path_tell_inode(t, inode, &what.what, what.generation);
	w->begin = t->making_room ? t->making_room : now;
	w->bytes = 0;
	w->inode = what.what.inode;
	w->dev = what.what.dev;
	w->fs = what.what.fs;
	w->generation = what.generation;
	w->syscall = syscall;
	w->count = 0;
}

/* A file system's own notes are pages of its disk: no regular file's. */
static __always_inline bool is_regular(struct inode *inode)
{
	return (BPF_CORE_READ(inode, i_mode) & 0170000) == 0100000;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_room, struct page *page) /* the first of its folio, where there are such */
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct tracked *t = tracked_of(me);
	struct inode *inode;
	uint64_t asked;

	if (!t || t->kind != TRACKED_TREE || writes(me, &asked) < 0)
		return 0;
	inode = BPF_CORE_READ(page, mapping, host);
	if (!inode || !is_regular(inode) || (t->making_room && t->room_of == inode))
		return 0;
	t->room_of = inode;
	t->making_room = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_written, void *pages, struct address_space *mapping)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct tracked *t = tracked_of(me);
	struct inode *inode;
	struct written *w;
	int32_t syscall;
	uint64_t now, asked = 0;

	if (!t || t->kind != TRACKED_TREE || !mapping)
		return 0;
	syscall = writes(me, &asked);
	inode = BPF_CORE_READ(mapping, host);
	if (syscall < 0 || !inode || !is_regular(inode))
		return 0;
	w = &t->written;
	now = bpf_ktime_get_ns();
	if (t->room_of != inode)
		t->making_room = 0;
	if (w->count &&
	    (w->inode != BPF_CORE_READ(inode, i_ino) || w->dev != BPF_CORE_READ(inode, i_sb, s_dev) ||
	     w->syscall != syscall || (t->making_room ? t->making_room : now) - w->end > WRITTEN_APART))
		write_written(t, me);
	if (w->count)
		count_bytes(w, me);
	else
		written_begins(t, inode, syscall, now);
	w->before = bytes_written(me);
	w->asked = asked;
	w->count++;
	w->end = now;
	t->making_room = 0;
	return 0;
}
