/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_task.h: a task's numbers, its record, and in which context we are. In the kernel. */
#pragma once

#include "ebpf_maps.h"

#define PF_EXITING 0x4
#define PF_IO_WORKER 0x10
#define PF_KTHREAD 0x00200000

/* A task's number in the collector's PID namespace, which is not the first one; 0: it has none there. */
static __always_inline uint32_t number_in(struct pid *pid)
{
	struct upid up = {};
	uint32_t level = state.level & 31;

	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	bpf_probe_read_kernel(&up, sizeof(up), &pid->numbers[level]);
	return (uint64_t)up.ns == state.space ? up.nr : 0;
}

static __always_inline uint32_t tid_of(struct task_struct *task)
{
	return state.level ? number_in(BPF_CORE_READ(task, thread_pid)) : BPF_CORE_READ(task, pid);
}

static __always_inline uint32_t pid_of(struct task_struct *task)
{
	return state.level ? number_in(BPF_CORE_READ(task, group_leader, thread_pid)) : BPF_CORE_READ(task, tgid);
}

/* As it sees itself: in the innermost namespace. */
static __always_inline uint32_t own_number(struct pid *pid, uint64_t *space)
{
	struct upid up = {};
	uint32_t level = BPF_CORE_READ(pid, level) & 31;

	bpf_probe_read_kernel(&up, sizeof(up), &pid->numbers[level]);
	if (space)
		*space = BPF_CORE_READ(up.ns, ns.inum);
	return up.nr;
}

static __always_inline void write_task(struct task_struct *task, uint64_t begin, uint32_t creator, uint16_t flags, const char *name)
{
	struct event_task *e = event_reserve(sizeof(*e));
	struct gst_task *r;

	if (!e)
		return;
	e->kind = EVENT_TASK;
	e->zero = 0;
	r = &e->record;
	__builtin_memset(r, 0, sizeof(*r));
	r->begin = begin;
	r->start_ns = BPF_CORE_READ(task, group_leader, start_time);
	r->tid = tid_of(task);
	r->pid = pid_of(task);
	r->own_tid = own_number(BPF_CORE_READ(task, thread_pid), &r->pid_ns);
	r->own_pid = own_number(BPF_CORE_READ(task, group_leader, thread_pid), 0);
	r->creator = creator;
	r->flags = flags;
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		r->flags |= GST_TASK_KERNEL;
	bpf_probe_read_kernel_str(r->name, sizeof(r->name), name ? name : task->comm);
	event_submit(e);
}

#define SUID_DUMP_USER 1

/* Does it let its user look? Not what has read a secret, or what may not be read itself. A kernel that says it in another way has none that
 * does. One that ends has no memory any more: what that let is not known. */
static __always_inline bool lets_look(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct mm_struct___word *word = (void *)mm;
	uint64_t flags = 0;

	if (!mm)
		return 0;
	if (bpf_core_field_exists(mm->flags.__mm_flags))
		flags = BPF_CORE_READ(mm, flags.__mm_flags[0]);
	else if (bpf_core_field_exists(word->flags))
		flags = BPF_CORE_READ(word, flags);
	return (flags & 3) == SUID_DUMP_USER;
}

/* Has it no capability that the collector had not? In a namespace that its user has made it may have all: they are good there only. */
static __always_inline bool may_no_more(const struct cred *c)
{
	struct user_namespace *space = BPF_CORE_READ(c, user_ns);
	uint64_t permitted = 0;

	if ((uint64_t)space != state.user_space)
		return (uint64_t)BPF_CORE_READ(space, parent) == state.user_space && BPF_CORE_READ(space, owner.val) == set.uid;
	bpf_core_read(&permitted, sizeof(permitted), &c->cap_permitted);
	return !(permitted & ~set.capabilities);
}

/* Only tasks of one user, if so set, and of those none that has another's rights, or more than others of its user: what a program with the
 * set-user-ID bit does is not for the user who called it to see, as /proc and ptrace have it. */
static __always_inline bool may_follow(struct task_struct *task)
{
	const struct cred *c;
	uint32_t uid, gid;

	if (set.uid == ~0u)
		return 1;
	c = BPF_CORE_READ(task, real_cred);
	uid = BPF_CORE_READ(c, uid.val);
	gid = BPF_CORE_READ(c, gid.val);
	return uid == set.uid && BPF_CORE_READ(c, euid.val) == uid && BPF_CORE_READ(c, suid.val) == uid &&
	       BPF_CORE_READ(c, fsuid.val) == uid && BPF_CORE_READ(c, egid.val) == gid && BPF_CORE_READ(c, sgid.val) == gid &&
	       BPF_CORE_READ(c, fsgid.val) == gid && may_no_more(c) && lets_look(task);
}

/* The preemption count says whether an interrupt is being served. Where it is a variable of each CPU (x86) its distance from the run queue
 * leads to it: neither can be named from here, but every task points to its CPU's run queue. */
static __always_inline uint8_t context_now(struct task_struct *me)
{
	uint32_t count = 0;

	if (!set.interrupts)
		return WAKE_UNKNOWN;
	if (bpf_core_field_exists(me->thread_info.preempt_count)) {
		count = me->thread_info.preempt_count;
	} else {
		struct cfs_rq *queue = me->se.cfs_rq;
		char *rq = queue ? (char *)queue->rq : 0;

		if (!set.preempt_offset || !rq || bpf_probe_read_kernel(&count, sizeof(count), rq + set.preempt_offset))
			return WAKE_UNKNOWN;
	}
	if (count & 0x00ff0000) /* interrupts proper, and those that cannot be masked */
		return WAKE_HARD;
	return count & 0x100 ? WAKE_SOFT : WAKE_TASK;
}
