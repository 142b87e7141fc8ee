/* SPDX-License-Identifier: BSD-2-Clause */
/* estimate.h: how much of the unresolved time was idle, from bursts: durations that were measured on a sample of the submissions
 * (burst_samples.h, work_class.h), and a model of the device that runs all of them (replay.h).
 *
 * The interval is meant to hold the truth in 19 of 20 runs. It is the sum of
 *   chance       leaving out one group of bursts after another (a jackknife), and the spread of single durations
 *   what cannot be seen   short work whose end the edge behind it missed, how well an edge tells a start, classes that no burst met
 *   the clock    how well device time is known on the host's clock: it moves the model against what is proven
 *   graphs       idle time between the nodes of a graph, where bursts do not tell it
 * With too few bursts it is everything from 0 to all. */
#pragma once

#include "trace/idle_piece.h"

struct likely {
	int64_t ns, low_ns, high_ns;
};

struct estimate { /* of one device's idle time */
	bool made;     /* there were bursts */
	bool measured; /* enough of them */
	struct likely unresolved; /* the idle part of the unresolved time */
	struct likely whole;      /* all idle time; within what is proven */
	int64_t inside_ns; /* of unresolved.ns: between the nodes of graphs, and while processes changed */
	uint64_t bursts; /* with a sample on this device */
	uint64_t bracketed, passed; /* bracketed: submissions whose duration is known */
	uint64_t works, sampled_works; /* submissions on the device; of them, those of a kind that was measured */
	int64_t cost_ns; /* what bursts took of the program's threads; like passed, of one that met several devices on the first alone */
	int64_t latency_ns; /* of the model, from a submission to its earliest start */
	uint64_t kernels;   /* launches of kernels of kinds that were measured, on all devices, */
	int64_t kernel_ns;  /* and what half of them take less than */
	struct idle_pieces pieces; /* where the model is idle in unresolved time: every so-manieth of them */
};

struct timeline;
struct device_work;
struct firing;

/* Fills the estimates of all devices. firings: one array for each trace of the run. After the gaps. */
enum err_kind estimate_build(struct timeline *out, const struct device_work *works, struct firing *const *firings,
			     struct error *e);
void estimate_free(struct estimate *e);
