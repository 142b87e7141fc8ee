/* SPDX-License-Identifier: BSD-2-Clause */
/* run.h: paths -> the processes of one run. A directory may hold several runs (a second run never mixes with the first):
 * processes with the same GPUSHIM_RUN, or without one and with overlapping lifetimes, are one run. A file of host probes belongs to the run of
 * its GPUSHIM_RUN, or, where it or the processes have none, to that of a process it watched. */
#pragma once

#include "run_files.h"

struct run_listed { /* what a directory holds */
	int64_t begin_real_ns; /* time of day at which its first process began to be recorded */
	size_t processes;
	char *command; /* of its first process; untrusted text */
	char *id;      /* "" none */
};

struct run {
	struct trace **traces; /* by the time their processes began */
	size_t n_traces;
	struct host_trace **hosts; /* what watched its processes, by name of file */
	size_t n_hosts;
	int index, count; /* this run's number (from 0, oldest first) of how many in the directory */
	bool brief; /* nothing is drawn of it, over time: what memory was like is kept for causes alone */
	struct run_listed *listed; /* all of them, [count] */
	struct run_missing *missing; /* traces of this run, or of a later one where the last was asked for, that are not here */
	size_t n_missing;
	size_t windowed;     /* ranks, or processes, of which there are several imported traces, one after the other (run_windows.h) */
	bool windowed_ranks; /* … and all of these are ranks */
	size_t windows_more; /* of these traces those that are further windows of a process that has one already, as far as it is one */
	bool windows_uneven; /* … and not all ranks have one in each window */
};

#define RUN_LAST (-1)
#define RUN_ALL (-2)

/* which: RUN_LAST, RUN_ALL or a number. What processes that are still alive write from now on is left out: all of a run's files are
 * read as of one instant. */
enum err_kind run_open(struct run *out, char *const paths[], size_t n_paths, int which, struct error *e);
/* The same, for who asks for no call or operation by itself: plain launches may be folded (launches.h). */
enum err_kind run_open_folded(struct run *out, char *const paths[], size_t n_paths, int which, struct error *e);
/* The same, but files of host probes may be alone: a run without processes then, of which count is 0. */
enum err_kind run_open_any(struct run *out, char *const paths[], size_t n_paths, int which, struct error *e);
/* The one that was given this GPUSHIM_RUN; n_traces is 0 where it left nothing. */
enum err_kind run_open_id(struct run *out, char *path, const char *id, struct error *e);
void run_close(struct run *r);
