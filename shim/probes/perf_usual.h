/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_usual.h: what a thread was found waiting for lately, and how long it took: what a wait was for that went by without a look. */
#pragma once

#include "proc_wait.h"

#define USUAL_KINDS 6u

struct perf_usual {
	struct usual_kind {
		struct gst_wait_for what;
		uint64_t at;            /* the last one; 0: not in use */
		uint64_t least, most;   /* how long they took */
		uint32_t count;
	} kind[USUAL_KINDS];
};

/* A wait that was looked at: it began at `at` and took ns. */
void usual_learn(struct perf_usual *u, const struct gst_wait_for *what, uint64_t at, uint64_t ns);
/* One that was not. False: it may have been for several things, or for something new. */
bool usual_guess(const struct perf_usual *u, uint64_t at, uint64_t ns, struct gst_wait_for *what);
/* Is there one thing alone that it waits for lately, and no place in a file that another look would tell? */
bool usual_is_plain(const struct perf_usual *u, uint64_t at);
