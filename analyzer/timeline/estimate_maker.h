/* SPDX-License-Identifier: BSD-2-Clause */
/* estimate_maker.h: an estimate while it is made: samples (estimate_bursts.c), what the model says with and without some of them
 * (estimate_looks.c), and how sure that is (estimate_interval.c). */
#pragma once

#include "estimate.h"
#include "inside.h"
#include "replay.h"
#include "timeline.h"

#define GROUPS 20u /* of bursts, left out in turn */

struct numbered { /* a burst with samples */
	size_t trace;
	uint32_t number;
	int64_t begin_ns;
	uint32_t device; /* the first on which it has any; GST_NONE none */
};

struct meeting { /* a burst has a sample on the device */
	size_t burst;
	uint32_t device;
};

enum { UNRESOLVED, WHOLE, VIEWS };

struct view { /* a part of a device's time */
	struct intervals where;
	double groups[GROUPS]; /* idle time without each group */
	double idle_ns;
	double shorter_ns, longer_ns; /* if all work takes as little, as much as it may */
	double earlier_ns, later_ns;  /* if all of it starts earlier, later */
};

struct device_look {              /* at one device */
	struct view views[VIEWS]; /* both without the inside of graphs */
	struct inside inside;
	struct idle_pieces pieces;
	uint32_t met; /* a bit for each group of bursts that has samples here: the others cannot tell chance */
};

struct maker {
	struct timeline *out;
	const struct device_work *works;
	size_t n;
	struct burst_samples *samples; /* by trace */
	struct numbered *bursts;
	size_t n_bursts; /* by trace and number */
	struct meeting *meetings;
	size_t n_meetings, cap_meetings;
	struct classes classes;
	struct replay replay;
	struct device_look *looks;
	uint32_t n_groups;
	double latency_ns, latency_error_ns;
};

/* Each false: no memory. */
bool estimate_find_bursts(struct maker *m, struct firing *const *firings);
/* After the replay is made: gives each class its samples, and counts. */
bool estimate_give_samples(struct maker *m);
/* Does the trace show that bursts were meant to run? */
bool estimate_says_bursts(const struct maker *m, size_t trace);
/* A trace's samples, for the replay. arg: the maker. */
const struct burst_samples *estimate_samples_of(const void *arg, const struct trace *t);

/* Fills the views and pieces of all devices. */
bool estimate_look(struct maker *m);

/* From the views to the numbers that users see. */
void estimate_conclude(struct maker *m, uint32_t device);
