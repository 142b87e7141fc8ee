/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_maps.h: what the programs know of each followed task, their settings, and how an event leaves. In the kernel. */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_endian.h>
#include <stdbool.h>

#include "ebpf_tracked.h"
#include "kernel.h"

const volatile struct ebpf_settings set = {};
const volatile struct syscall_shape shapes[SHAPES] = {};
struct ebpf_state state = {};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tracked);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20); /* or more: ebpf_load.c */
} events SEC(".maps");

/* Nobody is woken for an event: that would cost ten times the event. The collector comes and looks. */
static __always_inline void *event_reserve(uint64_t size)
{
	void *e = bpf_ringbuf_reserve(&events, size, 0);

	if (!e)
		__sync_fetch_and_add(&state.lost, 1);
	return e;
}

static __always_inline void event_submit(void *e)
{
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

static __always_inline void event_output(void *e, uint64_t size)
{
	if (bpf_ringbuf_output(&events, e, size, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&state.lost, 1);
}

static __always_inline struct tracked *tracked_of(struct task_struct *task)
{
	struct tracked *t;

	/* Nearly all tasks of a machine are nobody's: they are to pay for a look at a pointer, no call. */
	if (bpf_core_field_exists(task->bpf_storage) && !task->bpf_storage)
		return 0;
	t = bpf_task_storage_get(&tasks, task, 0, 0);
	return t && t->kind != TRACKED_NEW && t->kind != TRACKED_GONE ? t : 0;
}
