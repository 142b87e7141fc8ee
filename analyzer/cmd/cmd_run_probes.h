/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_run_probes.h: host probes beside a program that we run, by a process of their own: whatever becomes of that, or of us, the program goes
 * on, and what was recorded is there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/probes/collector.h"

struct run_probes {
	const char *way;                 /* "auto", or the one way to take */
	struct probes_settings settings; /* all but root */
	bool required;
	char *const *argv;               /* the program to be */

	pid_t pid;        /* of the collector, 0 none */
	int told;         /* what it says, -1 none */
	bool made_dir;    /* the run directory was not there before */
	bool follows;
	char how[8];      /* "ebpf", "perf", "proc"; "" none */
	char why[256];    /* why not in a better way, or not at all; "" none */
	bool ended;       /* it has finished its file: */
	struct collector_sums sums;
};

/* Before the program's first instruction: returns when it is followed, or cannot be. False: it is required, and cannot be. */
bool run_probes_begin(pid_t program, pid_t *watcher, void *run_probes);
/* The program has ended: the file is finished, so far as that can be waited for. */
void run_probes_end(struct run_probes *h);
/* … and it never ran: there is nothing to be kept. */
void run_probes_discard(const struct run_probes *h);
/* One line or two on standard error, with the report. */
void run_probes_say(const struct run_probes *h);
