/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_tracked.h: what the programs in the kernel know of each followed task. */
#pragma once

#include "ebpf_event.h"

struct inode;
struct cfs_rq;

/* New: there is room for it, and nothing in it yet. */
enum tracked_kind { TRACKED_NEW, TRACKED_TREE = 1, TRACKED_STRANGER = 2, TRACKED_GONE = 3 };

#define KINDS 4 /* of short waits, summed up apart */

struct stalls {
	uint64_t begin, end, blocked, queued, throttled, first, last; /* first, last: offsets */
	uint64_t inode, arg, bytes;
	uint32_t dev, fs, generation, count;
	int32_t syscall;
	uint16_t flags;
	uint8_t fd_kind, zero;
};

struct written { /* to one file, without a wait */
	uint64_t begin, end, inode;
	uint64_t bytes, before; /* all that the task had written, by the last hook */
	uint64_t asked;  /* by the call of that hook */
	uint32_t dev, fs, generation, count; /* count 0: nothing */
	int32_t syscall;
};

struct tracked {
	uint64_t in;          /* it was given a CPU; 0 not known */
	uint64_t ran, waits;  /* by then: time on CPUs, times that it left one of its own will */
	uint64_t out;         /* it left its CPU; 0: it has one */
	uint64_t out_ran;     /* … having been on CPUs for so long */
	uint64_t wake;        /* since out; 0 not yet */
	uint64_t early;       /* a wake while it still had a CPU: it may have been on its way out */
	uint64_t fault;       /* mm_filemap_fault, and the entry into the kernel it was in */
	uint64_t fault_ran;   /* … having been on CPUs for so long, to within a tick */
	uint64_t fault_ip;
	uint64_t fault_index;
	struct inode *fault_inode; /* by address, may be gone */
	uint64_t held;        /* balance_dirty_pages */
	uint64_t reclaim;     /* begin of a reclaim that goes on; 0 none */
	struct cfs_rq *queue;    /* that was throttled, by address, and for how long it was before */
	uint64_t queue_throttled;
	uint64_t named_until; /* the name of this file has been told */
	struct event_key named;
	struct inode *inode; /* by address: the last one waited for, and what was read of it */
	struct event_key key;
	uint32_t fs;
	uint8_t fd_kind;
	uint32_t tid, waker, early_waker;
	int32_t fault_syscall;
	int32_t poll_fd;   /* of a poll of one descriptor; -1 */
	uint16_t flags;       /* enum gst_wait_flags, from out on */
	uint8_t kind;         /* enum tracked_kind */
	uint8_t context, early_context; /* enum wake_context */
	uint8_t throttled;    /* from out on, or from wake on */
	uint8_t counted;      /* in state.in_disk */
	uint8_t reclaim_group;
	uint64_t making_room; /* for a page that it writes; 0: it has none in hand */
	struct inode *room_of; /* … of this file, by address */
	bool room_waits;       /* it had one in hand as it left its CPU */
	struct written written;
	struct stalls stalls[KINDS];
};
