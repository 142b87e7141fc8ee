/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_what.h: what a task waited for, read when it has a CPU again: its system call and arguments lie saved on its stack, and lead to the
 * file. This costs nothing where nobody waits, unlike a hook in every system call. In the kernel. */
#pragma once

#include "ebpf_path.h"

#define FAULT_GOES_ON_NS 20000000 /* on a CPU since the fault was told of, and as much as a tick before */

struct entry { /* how the task came into the kernel */
	uint64_t ip, args[6];
	int32_t syscall; /* -1 none: a fault, or an interrupt */
};

static __always_inline void entry_read(struct entry *to, struct task_struct *task)
{
	void *saved = (void *)bpf_task_pt_regs(task); /* plain loads: what a helper returns need not be read by another */

#if defined(__TARGET_ARCH_x86)
	struct pt_regs___on_x86 *regs = saved;

	to->syscall = regs->orig_ax;
	to->ip = regs->ip;
	to->args[0] = regs->di;
	to->args[1] = regs->si;
	to->args[2] = regs->dx;
	to->args[3] = regs->r10;
	to->args[4] = regs->r8;
#elif defined(__TARGET_ARCH_arm64)
	struct pt_regs___on_arm64 *regs = saved;

	to->syscall = regs->syscallno;
	to->ip = regs->pc;
	to->args[0] = regs->orig_x0;
	to->args[1] = regs->regs[1];
	to->args[2] = regs->regs[2];
	to->args[3] = regs->regs[3];
	to->args[4] = regs->regs[4];
#endif
}

/* The n-th of 5, n from 1; 0 for others. Written out: an index that is not constant is not for the stack of such a program. */
static __always_inline uint64_t entry_arg(const struct entry *e, uint8_t n)
{
	return n == 1 ? e->args[0] : n == 2 ? e->args[1] : n == 3 ? e->args[2] : n == 4 ? e->args[3] : n == 5 ? e->args[4] : 0;
}

/* The last place stands for all calls beyond. The compiler must not see that the mask changes nothing: the kernel wants to see it. */
static __always_inline const volatile struct syscall_shape *shape_of(const struct entry *e)
{
	uint32_t i = e->syscall >= 0 && e->syscall < SHAPES ? e->syscall : SHAPES - 1;

	barrier_var(i);
	return &shapes[i & (SHAPES - 1)];
}

struct what {
	struct gst_wait_for what;
	uint32_t generation;
	uint8_t timed;
};

static __always_inline struct file *file_of(struct task_struct *task, uint64_t fd)
{
	struct files_struct *open = task->files;
	struct fdtable *table = open ? open->fdt : 0;
	struct file **files, *file = 0;

	if (!table || fd >= table->max_fds)
		return 0;
	files = table->fd;
	bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	return file;
}

static __always_inline void inode_read(struct tracked *t, struct inode *inode)
{
	uint32_t type = BPF_CORE_READ(inode, i_mode) & 0170000;
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);

	t->inode = inode;
	t->key.dev = BPF_CORE_READ(sb, s_dev);
	t->key.generation = BPF_CORE_READ(inode, i_generation);
	t->fs = BPF_CORE_READ(sb, s_magic);
	t->fd_kind = type == 0010000 ? GST_FD_PIPE : type == 0140000 ? GST_FD_SOCKET : type ? GST_FD_FILE : GST_FD_OTHER;
}

/* Most often it is the file of the wait before; another may lie where that one lay, of another number then. */
static __always_inline void what_file(struct what *w, struct tracked *t, struct inode *inode)
{
	uint64_t number = BPF_CORE_READ(inode, i_ino);

	if (t->inode != inode || t->key.inode != number) {
		t->key.inode = number;
		inode_read(t, inode);
	}
	w->what.inode = number;
	w->what.dev = t->key.dev;
	w->what.fs = t->fs;
	w->what.fd_kind = t->fd_kind;
	w->generation = t->key.generation;
}

/* A fault's file is the one that mm_filemap_fault told of in the same entry into the kernel. Long ago it was in another: loops fault at one
 * instruction. */
static __always_inline bool fault_known(struct tracked *t, const struct entry *e)
{
	return t->fault && t->fault_ip == e->ip && t->fault_syscall == e->syscall && t->out_ran - t->fault_ran < FAULT_GOES_ON_NS;
}

/* A program's own memory can be read while it still has its CPU, and no later: one descriptor that is polled is what most connections with a
 * time limit wait in. */
static __always_inline int32_t poll_fd(struct task_struct *task)
{
	struct entry e;
	int32_t fd = -1;

	if (task != bpf_get_current_task_btf() || task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return -1;
	entry_read(&e, task);
	if (shape_of(&e)->fd != SHAPE_POLL || e.args[1] != 1)
		return -1;
	return bpf_probe_read_user(&fd, sizeof(fd), (void *)e.args[0]) ? -1 : fd;
}

/* Is it in a system call that may deliver a packet on this machine? */
static __always_inline bool sends(struct task_struct *task)
{
	struct entry e;

	if (task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return 0;
	entry_read(&e, task);
	return shape_of(&e)->sends;
}

static __always_inline bool has_limit(const struct entry *e, struct syscall_shape shape)
{
	uint64_t limit = entry_arg(e, shape.limit);

	return shape.limit == SHAPE_ALWAYS || (shape.limit_ms ? (int32_t)limit > 0 : limit != 0);
}

/* Files that were waited for, where only one user's tasks are followed: of others' block requests these files' are ours as well. */
struct awaited { uint64_t inode; uint32_t dev, zero; };

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct awaited);
	__type(value, uint32_t);
} awaited SEC(".maps");

/* It is about to wait for a disk: for which file? */
static __always_inline void await(struct tracked *t, struct task_struct *task)
{
	struct awaited key = {};
	struct entry e = {};
	struct file *file;
	struct inode *inode = 0;
	uint32_t one = 1;

	if (set.uid == ~0u || task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return;
	entry_read(&e, task);
	if (fault_known(t, &e)) {
		inode = t->fault_inode;
	} else if (e.syscall >= 0) {
		uint8_t fd = shape_of(&e)->fd;

		if (fd && fd != SHAPE_POLL && (file = file_of(task, (uint32_t)entry_arg(&e, fd))))
			inode = BPF_CORE_READ(file, f_inode);
	}
	if (!inode)
		return;
	key.inode = BPF_CORE_READ(inode, i_ino);
	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	bpf_map_update_elem(&awaited, &key, &one, BPF_ANY);
}

/* t->flags are those of the wait. */
static __always_inline void what_for(struct what *w, struct tracked *t, struct task_struct *task)
{
	struct syscall_shape shape;
	struct entry e = {};
	struct file *file;
	struct inode *inode;
	uint32_t fd;

	w->what.offset = ~0ull;
	w->what.syscall = -1;
	w->what.flags = t->flags;
	if (t->flags & GST_WAIT_PREEMPTED || task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return;
	entry_read(&e, task);
	w->what.syscall = e.syscall < 0 ? -1 : e.syscall;
	w->what.arg = e.syscall < 0 ? 0 : e.args[0];
	if (t->flags & GST_WAIT_DISK && fault_known(t, &e)) {
		w->what.flags |= GST_WAIT_FAULT;
		w->what.offset = t->fault_index << set.page_shift;
		what_file(w, t, t->fault_inode);
		path_tell_inode(t, t->fault_inode, &w->what, w->generation);
		return;
	}
	t->fault = 0;
	if (e.syscall < 0) {
		if (t->flags & GST_WAIT_DISK)
			w->what.flags |= GST_WAIT_FAULT | (set.faults && t->flags & GST_WAIT_IOWAIT ? GST_WAIT_ANONYMOUS : 0);
		return;
	}
	shape = *(struct syscall_shape *)shape_of(&e);
	w->timed = has_limit(&e, shape);
	w->what.bytes = entry_arg(&e, shape.bytes);
	fd = shape.fd == SHAPE_POLL ? (uint32_t)t->poll_fd : (uint32_t)entry_arg(&e, shape.fd);
	if (!shape.fd || !(file = file_of(task, fd)) || !(inode = BPF_CORE_READ(file, f_inode)))
		return;
	what_file(w, t, inode);
	if (w->what.fd_kind == GST_FD_FILE)
		w->what.offset = shape.offset == SHAPE_F_POS ? BPF_CORE_READ(file, f_pos) :
				 shape.offset ? entry_arg(&e, shape.offset) : ~0ull;
	path_tell_file(t, file, &w->what, w->generation, fd);
}
