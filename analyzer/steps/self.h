/* SPDX-License-Identifier: BSD-2-Clause */
/* self.h: what recording cost the program. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct trace;

struct self_cost {          /* of one process, or the sum of several; ns */
	uint64_t calls;     /* that the program made, those given up or dropped too */
	uint64_t timed;     /* of them, those that were measured; 0: calls_ns is calibrated */
	double calls_ns;    /* in the program's threads: around its calls */
	double injected_ns; /* … in driver calls that the recorder added */
	double attach_ns;   /* … in their first calls: the file, the first segments */
	double cpu_ns;      /* CPU time of the recorder's own threads */
	double wall_ns;     /* of the process under the recorder */
};

void self_add(struct self_cost *sum, const struct trace *t);

double self_ns_per_call(const struct self_cost *s);

/* Of the wall time: what the program's threads were held up, and with the recorder's own threads. 0 … 1 */
double self_share(const struct self_cost *s, bool with_own_threads);

/* Whole nanoseconds, whatever a damaged counter says. */
int64_t self_whole_ns(double ns);
