/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_rings.h: a tree's context switches, forks, names, ends, major faults, by perf_event_open: one event of each of its tasks on each
 * CPU, which what the task makes inherits; all of a CPU's into one ring buffer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PERF_FRAMES 48u

enum perf_kind {
	PERF_OUT,     /* left its CPU; preempted: runnable */
	PERF_IN,
	PERF_FORK,    /* tid, pid: the new one; parent_tid */
	PERF_EXIT,
	PERF_NAME,    /* name; exec */
	PERF_FAULT,   /* a major one, at address */
	PERF_SAMPLE,  /* found on its CPU: frames */
};

struct perf_event {
	uint64_t time; /* CLOCK_MONOTONIC */
	uint32_t tid, pid, parent_tid;
	uint8_t kind; /* enum perf_kind */
	bool preempted, exec;
	uint16_t n_frames;
	uint64_t address;
	uint64_t *frames; /* of PERF_SAMPLE, innermost first; freed with the batch's event */
	char name[16];
};

struct perf_rings;

/* sample_hz: of PERF_SAMPLE, 0 none; faults: of PERF_FAULT. NULL: why says what is missing. */
struct perf_rings *perf_rings_open(uint32_t sample_hz, bool faults, char why[256]);
void perf_rings_close(struct perf_rings *r);
/* From now on this task and all that it makes. 0, ESRCH (it has ended), EACCES (it is not for us to look at) or another errno. */
int perf_rings_attach(struct perf_rings *r, pid_t tid);
/* Waits that long at most; less where a buffer fills up. */
void perf_rings_wait(struct perf_rings *r, int timeout_ms);

struct perf_batch {
	struct perf_event *at; size_t n, cap; /* by time */
	uint64_t lost; /* that found no room, so far */
};

/* Adds what the rings hold, and sorts it. False: no memory; what found no place counts as lost. */
bool perf_rings_read(struct perf_rings *r, struct perf_batch *b);
/* The first n are done with. */
void perf_batch_drop(struct perf_batch *b, size_t n);
void perf_batch_free(struct perf_batch *b);
