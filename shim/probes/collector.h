/* SPDX-License-Identifier: BSD-2-Clause */
/* collector.h: follows a process tree in the best way that there is, into one file, until the tree has ended or somebody says so. */
#pragma once

#include <signal.h>

#include "backend.h"

#define COLLECTOR_WAYS 3

struct collector {
	struct host_file *file;
	const struct backend *backend;
	void *state;
	pid_t becoming; /* this process is about to become another program: the file's header is to say which; 0 none */
	/* Better ways, best first, and why they were not taken: a fact, and what would enable them. */
	struct collector_refused {
		const char *name;
		char why[256];
	} refused[COLLECTOR_WAYS];
	unsigned n_refused;
};

/* how: "auto", or the one way to try: "ebpf", "perf", "proc". False: it does not follow; why says the reason, one line. */
bool collector_start(struct collector *c, const struct probes_settings *s, const char *how, char why[256]);

/* Privileges that are not needed once it has started are given up for good: all but those by which a root's collector may look at other
 * users' processes. Nothing that is executed from here on gets any back. */
void collector_drop_privileges(void);

/* Returns when the tree has ended, or *stop is set. False: it could not go on. */
bool collector_follow(struct collector *c, const volatile sig_atomic_t *stop);

struct collector_sums {
	uint64_t dropped;    /* records that found no room */
	uint64_t dropped_errno; /* why, 0 none */
	uint64_t recycled;   /* records given up to stay within the limit */
	uint64_t own_cpu_ns;
	int move_errno;      /* it stays on this machine, as its run directory's server refused it; 0 not so */
	char file[128];      /* its name there, or here */
};

/* Ends the file regularly. */
void collector_finish(struct collector *c, struct collector_sums *sums);
