/* SPDX-License-Identifier: BSD-2-Clause */
/* export_walk.h: the walk over a summary that tells a sink its timeline, and what the parts of the walk share.
 * Times are nanoseconds of the clock that w->clock says; a sink gets them from the first event, all hosts on one clock. */
#pragma once

#include "export_choice.h"
#include "export_sink.h"
#include "export_tracks.h"
#include "summary/summary.h"

/* Threads have ids below 2^22, streams small numbers; what is ours lies above. */
#define TID_IDLE 4000000u
#define TID_UNRESOLVED 4000001u
#define TID_HOSTFN 4000002u
#define TID_UNDRAWN 4000003u
#define TID_STEPS 4000004u
#define TID_NCCL 5000000u
#define TID_NVTX 10000000u
#define TID_LANES 4100000u
#define PID_OURS 4000000u

/* Of a call: */
enum { CALL_WANTED = 1, /* device work of it is written, so it is written too */
       CALL_DRAWN = 2,  /* the first of that is written already */
};

struct walk {
	const struct sink *sink;
	void *to;
	const struct summary *s;
	int64_t zero_ns;
	uint32_t clock; /* of the times that are written: one of s->ranks.clocks */
	struct choice choice; /* what is written */
	bool failed;
	uint8_t **calls;             /* per trace and call: CALL_ */
	uint32_t *device_pid;        /* per device */
	uint32_t *trace_pid;         /* per trace */
	uint64_t *first_correlation; /* per trace */
	size_t last_trace;           /* walk_process found it last */
	struct tracks tracks;
	uint64_t left_out;
};

/* The whole timeline into the sink. all: every event, however many; else all if they are few, and of many the idle time and what is around
 * the longest gaps and the worst steps. *left_out: events that were not written. */
enum err_kind export_walk(const struct sink *sink, void *to, const struct summary *s, bool all, uint64_t *left_out,
			  struct error *e);

/* A time of w->clock from the first event. */
int64_t since_zero(const struct walk *w, int64_t ns);
/* Between slice_begin and slice_end come the slice's args. */
void slice_begin(struct walk *w, const char *category, const char *name, uint32_t pid, uint32_t tid, int64_t begin, int64_t end);
/* … of one that an arrow begins or ends at. */
void slice_begin_flow(struct walk *w, const char *category, const char *name, uint32_t pid, uint32_t tid, int64_t begin, int64_t end,
		      enum flow_end flow_end, uint64_t flow);
void slice_end(struct walk *w);
void arg_int(struct walk *w, const char *key, int64_t value);
void arg_link(struct walk *w, const char *key, int64_t value);
void arg_ns(struct walk *w, const char *key, int64_t ns);
void arg_text(struct walk *w, const char *key, const char *text);
void arg_place(struct walk *w, const struct trace *t, uint64_t place); /* where it stands: a byte, or another tool's table and row */
void name_track(struct walk *w, uint32_t pid, uint32_t tid, const char *name, int64_t order);

/* The tid for a slice of the track (owner, id), which gets its name on first use. 0: no memory, and w->failed is set. */
uint32_t place(struct walk *w, const void *owner, uint64_t id, uint32_t pid, uint32_t tid, const char *name, bool nest,
	       int64_t *begin, int64_t *end);

/* The number of a trace in the run. */
size_t walk_process(struct walk *w, const struct trace *t);

/* Is what happened then to be written? */
static inline bool wanted(const struct walk *w, int64_t begin_ns, int64_t end_ns)
{
	return choice_wants(&w->choice, w->clock, begin_ns, end_ns);
}

/* export_walk_calls.c: a process's driver calls. */
void driver_calls(struct walk *w, size_t process);

/* export_walk_nccl.c: its NCCL calls. */
void nccl_calls(struct walk *w, size_t process);

/* export_walk_nvtx.c: what it says through NVTX. */
void nvtx_ranges(struct walk *w, size_t process);

/* export_walk_steps.c: its steps, where nothing but launches tells them. */
void launch_steps(struct walk *w, size_t process);

/* export_walk_device.c: which calls a device's work needs; its work and its idle time. */
void device_calls(struct walk *w, size_t device);
void device_work(struct walk *w, size_t device);
void device_idle(struct walk *w, size_t device);

/* export_walk_memory.c: a device's memory. */
void device_memory(struct walk *w, size_t device);
