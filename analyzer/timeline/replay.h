/* SPDX-License-Identifier: BSD-2-Clause */
/* replay.h: a model of the devices, given what each kind of work takes: every submission of the run, in the order of calls.
 *
 *   start = the latest of: entry + latency, the end of what stands before it in its stream, the ends of what it waits for (events, the
 *           legacy default stream, its copy engine), its proven earliest start
 *   end   = start + what its class takes, within its proven bounds
 *
 * The entries are the program's own, so whatever slowed the host down at one place counts there and nowhere else. */
#pragma once

#include "bounds.h"
#include "trace/idle_piece.h"
#include "work_class.h"

struct replay_step {
	int64_t entered_ns;
	const struct work *work; /* NULL: a wait */
	size_t slot;             /* of its begin and end; of a wait: of the work waited for, SIZE_MAX none */
	uint32_t flow;
	uint32_t class;
	uint32_t producer; /* of a wait: the flow whose own waits count too, GST_NONE none */
	uint8_t engine;    /* 0 none, 1 to the device, 2 from it */
};

struct replay_flow { /* one stream */
	const struct stream_work *work;
	uint32_t device;
	uint32_t
		legacy; /* flow of the legacy default stream it is ordered by, itself if it is that one; GST_NONE none */
	bool ordered;   /* false: work of no known stream */
	size_t first, n;                         /* its slots */
	int64_t end_ns, hold_ns, members_end_ns; /* while it runs */
};

struct replay {
	const struct device_work *devices;
	struct replay_step *steps;
	struct replay_flow *flows;
	int64_t *begins, *ends; /* by slot */
	int64_t (*engines)[2];  /* by device */
	size_t n_steps, n_flows, n_slots, n_devices;
	size_t *turns; /* by class: how many of it have been drawn */
};

/* samples_of: a trace's, which say when their submissions were made; NULL none. False: no memory. */
bool replay_new(struct replay *r, const struct device_work *devices, size_t n, struct classes *classes,
		const struct burst_samples *(*samples_of)(const void *, const struct trace *), const void *arg);
void replay_free(struct replay *r);
void replay_run(struct replay *r, const struct classes *classes, double latency_ns, int side);
struct replay_gauge {
	int64_t idle_ns;           /* within what was asked for */
	int64_t busy_ns, alone_ns; /* in all: something runs; one stream alone */
};

/* Looks at the device within `where`; pieces: NULL, or the idle ones are added. False: no memory. */
bool replay_gauge(const struct replay *r, uint32_t device, const struct intervals *where, struct replay_gauge *out,
		  struct idle_pieces *pieces);
