/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor.h: what this machine lets a recording see, and what would let it see more.
 *
 * What the machine says of itself is read below `root`; what it does is found by trials (doctor_trials.h), each in a process of its own, so that a
 * filter that kills or a library that crashes costs one answer. Checks (doctor_checks.def) turn both into rows. Nothing here is fatal: what cannot
 * be read is a row that says so. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "report/report.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_LIMITED, /* it works, or is not known, and something is not seen */
	DOCTOR_MISSING,
};

struct doctor_row {
	const char *id, *title; /* of its check */
	enum doctor_state state;
	bool needed;                  /* without it nothing is recorded at all */
	char fact[512];               /* what is so */
	char means[512];              /* what that is for a recording; "" nothing */
	char command[PATH_MAX + 256]; /* the one that would enable more, for a shell; "" none */
};

struct doctor_trial {
	bool done;    /* it came back with an answer */
	int error;    /* … errno, 0 it worked */
	int signal;   /* it was killed by this one; 0 it was not */
	bool timeout; /* it was given up */
};

struct doctor_driver {                 /* what a child of ours saw when it loaded libcuda.so.1 */
	void (*become_ordinary)(void); /* for that child; NULL: nothing to do */
	const char *search;            /* folders to look in before the loader does, with : between them; NULL none */
	bool can_load;                 /* this program can load libraries at all: a static one cannot */
	char path[PATH_MAX];           /* "" none */
	char why[256];                 /* the loader's word, where it has none */
	int version;                   /* 12040 is 12.4; 0 not known */
	int init;                      /* cuInit's result; -1 not called */
	int devices;                   /* -1 not known */
	char cupti[PATH_MAX];
};

struct doctor_ebpf {
	bool (*can)(char why[256]); /* could the eBPF probes be loaded by this process? NULL: this program has none */
	char why[256];              /* why not */
};

struct doctor_place { /* the run directory, or the nearest directory that exists above it */
	char dir[PATH_MAX], there[PATH_MAX];
	bool stat_done;
	uint64_t type, free_bytes;
	const char *step; /* what failed with the trial's error; a literal */
};

struct doctor_machine {
	const char *root;                     /* put before every path that is read; "" this machine */
	const char *(*env)(const char *name); /* NULL: not set */
	struct utsname uts;
	struct doctor_ebpf ebpf;
	bool secure;             /* the loader took variables out of our environment: this file has capabilities */
	char self[PATH_MAX];     /* this program; "" not known */
	char recorder[PATH_MAX]; /* libgpushim.so; "" not found */
	bool caps_known;
	uint64_t caps, caps_bounding, caps_file; /* of this process; of its file, permitted */
	uint32_t uid;
	struct doctor_trial bpf, probes, perf, memory, load, write;
	struct doctor_driver driver;
	struct doctor_place place;
};

#define DOCTOR_CAP_SYS_ADMIN 21
#define DOCTOR_CAP_PERFMON 38
#define DOCTOR_CAP_BPF 39

enum doctor_probes { DOCTOR_PROBES_NONE, DOCTOR_PROBES_PROC, DOCTOR_PROBES_PERF, DOCTOR_PROBES_EBPF };

#define DOCTOR_ROWS 32

struct doctor {
	struct doctor_row rows[DOCTOR_ROWS];
	size_t n_rows;
	bool can_record;     /* no row that is needed is missing */
	const char *level;   /* of device times: "bursts", … or "off" */
	char level_why[256]; /* "" as a matter of course */
	enum doctor_probes probes;
	char probes_why[512]; /* why not better ones; "" they are the best */
};

extern const char *const doctor_state_names[], *const doctor_probes_names[];

void doctor_examine(struct doctor *d, const struct doctor_machine *m);
/* The row of that check; never NULL for an id of doctor_checks.def. */
const struct doctor_row *doctor_row(const struct doctor *d, const char *id);

void doctor_text(FILE *out, const struct doctor *d, const struct report_style *style);
void doctor_json(FILE *out, const struct doctor *d); /* schema gpushim.doctor/1 */
