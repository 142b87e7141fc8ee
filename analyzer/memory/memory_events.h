/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_events.h: what happened to memory in a run, in the order in which it happened: of calls, a framework's blocks, mappings, pools. */
#pragma once

#include "run/run.h"

/* Of one instant, what is given back comes before what is taken (but for in_turn), and what is told of it last. */
enum memory_happening {
	MEMORY_TOLD,      /* block: what there was before it (memory_told.h) */
	MEMORY_GIVE,      /* block: back to its allocator */
	MEMORY_DROP,      /* call: a pointer back to the driver, or to its pool */
	MEMORY_UNMAP,     /* call: addresses without memory */
	MEMORY_RELEASE,   /* call: physical memory, once nothing maps it */
	MEMORY_UNRESERVE, /* call: addresses */
	MEMORY_CONTEXT_GONE, /* call: what its device's only context had allocated */
	MEMORY_RESET,     /* call: all that the device had */
	MEMORY_POOL_GONE, /* call */
	MEMORY_POOL_MADE, /* call: of which device it is */
	MEMORY_RESERVE,   /* call */
	MEMORY_CREATE,    /* call: physical memory without an address */
	MEMORY_RETAIN,    /* call: one more handle of it */
	MEMORY_MAP,       /* mapping */
	MEMORY_ALLOC,     /* call */
	MEMORY_POOL_TAKE, /* call */
	MEMORY_POOL_IS,   /* pool_state */
	MEMORY_TAKE,      /* block */
	MEMORY_BEGINS,    /* story: the first refusal */
	MEMORY_ENDS,      /* story */
};

struct memory_event {
	int64_t time_ns;
	union {
		const struct call *call;
		const struct block_event *block;
		const struct mapping *mapping;
		const struct pool_state *pool;
		struct memory_story *story;
	};
	uint32_t process; /* index into run.traces */
	uint32_t order;   /* of events that are equal otherwise */
	uint16_t device;  /* ordinal, of CONTEXT_GONE and RESET */
	uint8_t what;     /* enum memory_happening */
	bool shared_out;  /* of an ALLOC or a RESERVE: a framework hands out blocks in it, soon after */
	bool in_turn;     /* of a GIVE or a TAKE: of one instant, as the trace has them: totals are of one after the other */
};

struct memory_events {
	struct memory_event *at;
	size_t n, cap;
	const struct block_event *blocks; size_t n_blocks; /* of the only process, in order: not in `at`, as there may be very many */
};

/* Those of all processes, unsorted. False: no memory. */
bool memory_events_add(struct memory_events *out, const struct run *run);
bool memory_event_add(struct memory_events *out, const struct memory_event *event);
/* And finds out whose ranges are a framework's. */
void memory_events_sort(struct memory_events *m);
void memory_events_free(struct memory_events *m);

struct memory_walk { /* zeroed but for its events: before the first one */
	const struct memory_events *of;
	size_t at, block;
};

/* One after the other. False: there is none. */
bool memory_walk_next(struct memory_walk *w, struct memory_event *out);

/* A call that the driver refused for want of memory. */
bool memory_refused(const struct call *c);
