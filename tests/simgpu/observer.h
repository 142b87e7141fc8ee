/* SPDX-License-Identifier: BSD-2-Clause */
/* observer.h: beside cuda.h the simulated driver lets one library look on, as the real one does its tools, found by dlsym: which calls
 * are entered, and what the device did. For the tests' libcupti. Includable without the simulator. */
#pragma once

#include <stdint.h>

#include "timeline.h"

struct observed_op {
	enum op_kind kind; /* kernel, copy, memset, host function */
	enum copy_kind copy;
	int device;
	unsigned stream;      /* 0: the legacy default stream */
	unsigned graph;       /* of the executable graph, 0 none */
	uint64_t node;        /* of the node in it */
	uint32_t correlation; /* of the call that put it in */
	const char *name;
	uint64_t start_ns, end_ns, bytes;
};

struct observer {
	void (*call_entered)(const char *name,
			     uint32_t correlation);    /* in the calling thread, before anything is done */
	void (*op_done)(const struct observed_op *op); /* the driver's lock is held: quick, and no call of the driver */
};

/* From now on, until another or NULL. */
void simgpuObserve(const struct observer *observer);

/* Tells of all that is done by now. */
void simgpuAdvance(void);

/* For the simulator. */
uint32_t observer_correlation(void); /* of the calling thread's call */
void observer_enter(const char *name);
void observer_op(const struct op *op); /* locked */
