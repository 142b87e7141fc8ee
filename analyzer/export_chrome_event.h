/* SPDX-License-Identifier: BSD-2-Clause */
/* export_chrome_event.h: one event of a Chrome trace after another, and what the parts of the exporter share.
 * Times are nanoseconds here, of the clock that x->clock says; in the file they are microseconds from the first event, all hosts on one clock. */
#pragma once

#include "export_tracks.h"
#include "interval.h"
#include "json.h"
#include "summary.h"

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

struct chrome {
	struct json json;
	FILE *out;
	const struct summary *s;
	int64_t zero_ns;
	uint32_t clock; /* of the times that are written: one of s->ranks.clocks */
	bool all, failed, first;
	struct intervals around;
	uint8_t **wanted;            /* per trace and call: its device work is written */
	uint32_t *device_pid;        /* per device */
	uint32_t *trace_pid;         /* per trace */
	uint64_t *first_correlation; /* per trace */
	struct tracks tracks;
	uint64_t left_out;
};

/* A time of x->clock from the first event. */
int64_t since_zero(const struct chrome *x, int64_t ns);
/* Between slice_begin and slice_end come the slice's args. */
void slice_begin(struct chrome *x, const char *cat, const char *name, uint32_t pid, uint32_t tid, int64_t begin, int64_t end);
void slice_end(struct chrome *x);
/* The values of a counter follow, then slice_end. */
void counter_begin(struct chrome *x, const char *name, uint32_t pid, int64_t at);
void number_us(struct chrome *x, const char *key, int64_t ns);

void name_process(struct chrome *x, uint32_t pid, const char *name, int64_t order);
void name_thread(struct chrome *x, uint32_t pid, uint32_t tid, const char *name, int64_t order);

/* One end of an arrow: ph is "s" at the launch, "f" at the work. */
void flow(struct chrome *x, const char *ph, uint32_t pid, uint32_t tid, int64_t at, uint64_t id);

/* The tid for a slice of the track (owner, id), which gets its name on first use. 0: no memory, and x->failed is set. */
uint32_t place(struct chrome *x, const void *owner, uint64_t id, uint32_t pid, uint32_t tid, const char *name, bool nest,
	       int64_t *begin, int64_t *end);

/* Is what happened then to be written? */
bool wanted(const struct chrome *x, int64_t begin, int64_t end);

/* export_chrome_nccl.c: a process's NCCL calls. */
void nccl_calls(struct chrome *x, size_t process);

/* export_chrome_nvtx.c: what it says through NVTX. */
void nvtx_ranges(struct chrome *x, size_t process);

/* export_chrome_device.c: a device's work and its idle time. */
void device_work(struct chrome *x, size_t device);
void device_idle(struct chrome *x, size_t device);

/* export_chrome_memory.c: a device's memory. */
void device_memory(struct chrome *x, size_t device);

/* export_chrome_steps.c: its steps, where nothing but launches tells them. */
void launch_steps(struct chrome *x, size_t process);
