/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_event.h: what the programs in the kernel hand to the collector, and what the collector sets for them. One machine, one build: no
 * format to keep. Included by both sides. */
#pragma once

#include "../format_host.h"

enum event_kind { EVENT_TASK, EVENT_END, EVENT_WAIT, EVENT_STALLS, EVENT_REQUEST, EVENT_RECLAIM, EVENT_PATH, EVENT_SOCKET, EVENT_ON_CPU, EVENT_WRITTEN };

/* In which context a wake came. */
enum wake_context { WAKE_TASK, WAKE_SOFT, WAKE_HARD, WAKE_UNKNOWN };

/* A file, as events name it: its name comes once, in an EVENT_PATH or EVENT_SOCKET before the first event about it. */
struct event_key { uint64_t inode; uint32_t dev, generation; };

/* record is as it goes to the file, but for its header, what.file, and by and waker, which are found from context and timed. */
struct event_wait {
	uint32_t kind;
	uint32_t generation; /* of the file */
	uint8_t context;     /* enum wake_context */
	uint8_t timed;       /* the system call had a time limit */
	uint8_t zero[6];
	struct gst_wait record;
};

struct event_stalls { uint32_t kind, generation; struct gst_stalls record; };
struct event_task { uint32_t kind, zero; struct gst_task record; };
struct event_end { uint32_t kind, tid; uint64_t at; };
struct event_request { uint32_t kind, zero; struct gst_request record; };
struct event_reclaim { uint32_t kind, zero; struct gst_reclaim record; };
struct event_written { uint32_t kind, generation; struct gst_written record; };

#define EVENT_FRAMES 64
struct event_on_cpu { uint32_t kind, tid; uint64_t at; int64_t bytes; uint64_t frames[EVENT_FRAMES]; };

#define EVENT_DEPTH 24   /* folders of a path; of a deeper one the innermost */
#define EVENT_TEXT 4096
struct event_path {
	uint32_t kind;
	uint32_t length; /* of text */
	struct event_key key;
	uint32_t fs, pid; /* superblock magic; a process that has it open or mapped */
	int32_t fd;       /* … as this, -1 none */
	uint8_t fd_kind;  /* enum gst_fd_kind */
	uint8_t whole;    /* up to the file system's root */
	uint16_t zero;
	char text[EVENT_TEXT]; /* name, its folder, that one's folder …, each with its NUL */
};

struct event_socket {
	uint32_t kind;
	uint16_t family, type;
	struct event_key key;
	uint64_t peer; /* inode of a UNIX socket's other end, 0 none */
	uint8_t from[16], to[16]; /* IPv4: the first four bytes */
	uint16_t from_port, to_port;
	uint32_t zero;
};

/* How a system call names what it waits for: 1 + the argument's number, 0 none. */
struct syscall_shape {
	uint8_t fd;      /* … or SHAPE_POLL: in the array that the first argument points to, if that is of one */
	uint8_t bytes;
	uint8_t offset; /* … or SHAPE_F_POS */
	uint8_t limit : 4; /* a time limit: a pointer, or SHAPE_ALWAYS */
	uint8_t limit_ms : 1; /* … or an int of milliseconds, of which none below 0 is one: what stands above its 32 bits is nobody's */
	uint8_t sends : 1; /* it may deliver a packet to this very machine */
	uint8_t writes : 1; /* to a file */
	uint8_t zero : 1;
};
enum { SHAPE_POLL = 15, SHAPE_F_POS = 15, SHAPE_ALWAYS = 15, SHAPES = 512 };

/* Set before the programs are loaded. */
struct ebpf_settings {
	uint64_t capabilities;  /* the collector's: what is followed has no others */
	uint32_t root;          /* in the collector's PID namespace */
	uint32_t uid;           /* whose tasks are followed; UINT32_MAX everybody's */
	uint32_t wait_ns;
	uint32_t stall_ns;      /* a kind's stalls are written when they sum up to this */
	int32_t max_strangers;
	uint32_t page_shift;
	int32_t preempt_offset; /* from a CPU's run queue to its preemption count; 0 not known */
	uint8_t old_switch;     /* sched_switch does not say the state of who leaves (before 5.18) */
	uint8_t faults;         /* mm_filemap_fault is watched: a fault without one is on memory of no file */
	uint8_t throttle;       /* GST_PROBE_THROTTLE */
	uint8_t interrupts;     /* GST_PROBE_INTERRUPT */
};

/* What the iterator over all tasks is to do: find the tree, write what is pending, count who lives. */
enum ebpf_look { LOOK_FIND, LOOK_FLUSH, LOOK_COUNT };

/* Shared while they run. */
struct ebpf_state {
	uint32_t level;     /* of the collector's PID namespace; 0 the first one */
	uint32_t look;      /* enum ebpf_look */
	uint32_t found;     /* the tree that ran already: from now on others are followed too */
	uint32_t unborn;    /* that a look found before on_fork knew of them, or ever will */
	uint64_t space;     /* the collector's PID namespace, by address */
	uint64_t user_space; /* … its user namespace */
	uint64_t lost;      /* events */
	uint64_t tasks_lost;
	int64_t strangers;  /* now followed */
	int64_t live;       /* tasks of the tree */
	int64_t counted;    /* the same by the last look */
	int64_t in_disk;    /* of which wait for a disk */
	uint64_t fast_from, fast; /* quick block requests since then */
};
