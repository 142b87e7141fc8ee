/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_io.h: block requests, faults on files, reclaim, write-back, samples: each optional. In the kernel. */
#pragma once

#include "ebpf_wait.h"

#define SLOW_REQUEST_NS 200000  /* faster ones are written while there are few */
#define FAST_REQUESTS 1000      /* … in so long a time: */
#define FAST_PERIOD_NS 100000000ull

struct pending {
	uint64_t queued, issued, inode, offset, sector;
	uint32_t tid, file_dev, bytes, flags, dev;
	uint32_t others; /* asked for by nobody whom we may follow */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH); /* a request that never ends must not stay */
	__uint(max_entries, 16384);
	__type(key, uint64_t);
	__type(value, struct pending);
} requests SEC(".maps");

/* File systems that lie on no disk: a page of theirs in a request is a program's own memory, that is read into past the cache. */
static __always_inline bool in_memory(unsigned long magic)
{
	return magic == 0x01021994 /* tmpfs */ || magic == 0x958458f6 /* hugetlbfs */ || magic == 0x858458f6 /* ramfs */;
}

/* Of a file's page; another's (anonymous memory, a file system's own buffers of no inode) leaves all as it is. */
static __always_inline void pending_file(struct pending *p, struct page *page)
{
	unsigned long mapping, head = BPF_CORE_READ(page, compound_head), index;
	struct inode *inode;
	uint64_t within = 0;

	if (head & 1) {
		within = ((unsigned long)page - (head - 1)) / bpf_core_type_size(struct page);
		page = (struct page *)(head - 1);
	}
	mapping = (unsigned long)BPF_CORE_READ(page, mapping);
	if (!mapping || mapping & 3)
		return;
	inode = BPF_CORE_READ((struct address_space *)mapping, host);
	if (!inode || in_memory(BPF_CORE_READ(inode, i_sb, s_magic)))
		return;
	if (bpf_core_field_exists(((struct page___index *)0)->index))
		index = BPF_CORE_READ((struct page___index *)page, index);
	else
		index = BPF_CORE_READ((struct folio *)page, index);
	p->inode = BPF_CORE_READ(inode, i_ino);
	p->file_dev = BPF_CORE_READ(inode, i_sb, s_dev);
	p->offset = (index + within) << set.page_shift;
}

static __always_inline void pending_read(struct pending *p, struct request *rq)
{
	struct bio *bio = BPF_CORE_READ(rq, bio);
	struct bio_vec *pages = BPF_CORE_READ(bio, bi_io_vec);
	uint32_t first = BPF_CORE_READ(bio, bi_iter.bi_idx), flags = BPF_CORE_READ(rq, cmd_flags), op = flags & 255;
	struct gendisk *disk = BPF_CORE_READ(rq, q, disk);
	struct page *page = 0;

	p->sector = BPF_CORE_READ(rq, __sector);
	p->bytes = BPF_CORE_READ(rq, __data_len);
	p->dev = BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
	p->flags = (op == 1 ? GST_REQUEST_WRITE : op == 2 ? GST_REQUEST_FLUSH : 0) | (flags & 1 << 11 ? GST_REQUEST_SYNC : 0) |
		   (flags & 1 << 19 ? GST_REQUEST_READ_AHEAD : 0);
	p->offset = ~0ull;
	if (pages && !bpf_probe_read_kernel(&page, sizeof(page), &pages[first]) && page)
		pending_file(p, page);
}

/* A request is of interest if a followed task asked for it, or while one waits for a disk: a throttled request is sent on by a kernel
 * thread, and a journal writes for others. */
static __always_inline struct pending *request_begin(struct request *rq, uint64_t now, bool issued)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct tracked *t = tracked_of(me);
	uint64_t key = (uint64_t)rq;
	struct pending p = {};

	if (!t && state.in_disk <= 0)
		return 0;
	p.others = !t && !may_follow(me);
	p.tid = t ? t->tid : p.others ? 0 : tid_of(me);
	if (issued)
		p.issued = now;
	else
		p.queued = now;
	pending_read(&p, rq);
	bpf_map_update_elem(&requests, &key, &p, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_io_start, struct request *rq)
{
	request_begin(rq, bpf_ktime_get_ns(), 0);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *rq)
{
	uint64_t key = (uint64_t)rq, now = bpf_ktime_get_ns();
	struct pending *p = bpf_map_lookup_elem(&requests, &key);

	if (!p) {
		request_begin(rq, now, 1);
		return 0;
	}
	p->issued = now;
	p->bytes = BPF_CORE_READ(rq, __data_len); /* more may have been merged into it */
	return 0;
}

/* What others read is none of an ordinary user's business, but for the files that the tree waits for: by then it does. */
static __always_inline bool is_ours(const struct pending *p)
{
	struct awaited key = { .inode = p->inode, .dev = p->file_dev };

	return !p->others || (p->inode && bpf_map_lookup_elem(&awaited, &key));
}

/* Few quick ones are enough to say how quick the device is. */
static __always_inline bool worth_writing(const struct pending *p, uint64_t now)
{
	uint64_t begin = p->queued ? p->queued : p->issued;

	if (now - begin >= SLOW_REQUEST_NS)
		return 1;
	if (now - state.fast_from > FAST_PERIOD_NS) {
		state.fast_from = now;
		state.fast = 0;
	}
	return state.fast++ < FAST_REQUESTS;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *rq, int error, unsigned bytes)
{
	uint64_t key = (uint64_t)rq, now;
	struct pending *p = bpf_map_lookup_elem(&requests, &key);
	struct event_request *e;
	struct gst_request *r;

	if (!p || bytes < BPF_CORE_READ(rq, __data_len)) /* of a part of it: the rest comes */
		return 0;
	now = bpf_ktime_get_ns();
	if (is_ours(p) && worth_writing(p, now) && (e = event_reserve(sizeof(*e)))) {
		e->kind = EVENT_REQUEST;
		e->zero = 0;
		r = &e->record;
		r->queued = p->queued;
		r->issued = p->issued;
		r->done = now;
		r->sector = p->sector;
		r->inode = p->inode;
		r->offset = p->offset;
		r->tid = p->tid;
		r->dev = p->dev;
		r->file_dev = p->file_dev;
		r->bytes = p->bytes;
		r->flags = p->flags;
		r->zero = 0;
		event_submit(e);
	}
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_fault, struct address_space *mapping, unsigned long index)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct tracked *t = tracked_of(me);
	struct entry e = {};

	if (!t)
		return 0;
	entry_read(&e, me);
	t->fault_ip = e.ip;
	t->fault_syscall = e.syscall;
	t->fault_index = index;
	t->fault_ran = me->se.sum_exec_runtime;
	t->fault_inode = BPF_CORE_READ(mapping, host);
	t->fault = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int reclaim_begins(uint8_t group)
{
	struct tracked *t = tracked_of(bpf_get_current_task_btf());

	if (t && !t->reclaim) {
		t->reclaim = bpf_ktime_get_ns();
		t->reclaim_group = group;
	}
	return 0;
}

static __always_inline int reclaim_ends(uint8_t group, uint64_t pages)
{
	struct tracked *t = tracked_of(bpf_get_current_task_btf());
	struct event_reclaim *e;

	if (!t || !t->reclaim || t->reclaim_group != group)
		return 0;
	e = event_reserve(sizeof(*e));
	if (e) {
		e->kind = EVENT_RECLAIM;
		e->zero = 0;
		e->record.begin = t->reclaim;
		e->record.end = bpf_ktime_get_ns();
		e->record.pages = pages;
		e->record.tid = t->tid;
		e->record.group = group;
		event_submit(e);
	}
	t->reclaim = 0;
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim)
{
	return reclaim_begins(0);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaimed, unsigned long pages)
{
	return reclaim_ends(0, pages);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_group_reclaim)
{
	return reclaim_begins(1);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(on_group_reclaimed, unsigned long pages)
{
	return reclaim_ends(1, pages);
}

/* The writer sleeps right after this, if at all. */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(on_held)
{
	struct tracked *t = tracked_of(bpf_get_current_task_btf());

	if (t)
		t->held = bpf_ktime_get_ns();
	return 0;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct tracked *t = tracked_of(bpf_get_current_task_btf());
	struct event_on_cpu *e;

	if (!t || t->kind != TRACKED_TREE || !(e = event_reserve(sizeof(*e))))
		return 0;
	e->kind = EVENT_ON_CPU;
	e->tid = t->tid;
	e->at = bpf_ktime_get_ns();
	e->bytes = bpf_get_stack(ctx, e->frames, sizeof(e->frames), BPF_F_USER_STACK);
	event_submit(e);
	return 0;
}
