/* SPDX-License-Identifier: BSD-2-Clause */
/* run.h: paths -> the processes of one run. A directory may hold several runs (a second run never mixes with the first):
 * processes with the same GPUSHIM_RUN, or without one and with overlapping lifetimes, are one run. */
#pragma once

#include "trace.h"

struct run {
	struct trace **traces;
	size_t n_traces;
	int index, count; /* this run's number (from 0, oldest first) of how many in the directory */
};

#define RUN_LAST (-1)
#define RUN_ALL (-2)

/* which: RUN_LAST, RUN_ALL or a number. */
enum err_kind run_open(struct run *out, char *const paths[], size_t n_paths, int which, struct error *e);
void run_close(struct run *r);
