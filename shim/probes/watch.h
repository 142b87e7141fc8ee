/* SPDX-License-Identifier: BSD-2-Clause */
/* watch.h: what the two backends share that look at /proc: the file's first and last records, tasks as records, pipes, pressure. */
#pragma once

#include "backend.h"
#include "pipe_ends.h"
#include "pressure.h"
#include "proc_tasks.h"
#include "proc_wait.h"

struct watch {
	struct probes_settings settings;
	struct host_file *file;
	struct proc_waits waits;
	struct pipe_ends *pipes;   /* NULL: not watched */
	struct pressure *pressure; /* NULL: not watched */
	struct gst_probes probes;  /* as it stands in the file; the sums are added to here */
	uint64_t own_pid_ns;       /* of our PID namespace; 0 not known */
};

/* Is this probe wanted? */
bool watch_wants(const struct probes_settings *s, enum gst_probe probe);
/* False: no memory, or the root is gone; why says so. watched: the backend's own probes; the common ones are added. */
bool watch_start(struct watch *w, const struct probes_settings *s, struct host_file *f, enum gst_probes_how how, uint32_t watched, char why[256]);
/* GST_PROBES: once all probes are there, and at the end. */
void watch_write_probes(struct watch *w, uint64_t end);
void watch_free(struct watch *w);

/* GST_TASK; its process's pipes are looked at from now on. */
void watch_task(struct watch *w, const struct proc_task *t, uint16_t flags, uint64_t begin);
void watch_task_end(struct watch *w, uint32_t tid, uint32_t pid, uint64_t at);
/* What the task waits for at the moment; false: it does not. */
bool watch_look(struct watch *w, uint32_t pid, uint32_t tid, struct gst_wait_for *what);
/* Is it time to write down that a wait goes on, lest all of it be lost where we are killed? After a tenth of a second, and each time that it has
 * become twice as long: of an hour's wait that makes sixteen records. told: up to when that was done last; 0 not yet. */
bool watch_tells(uint64_t out, uint64_t told, uint64_t now);
/* Every round: pipes, pressure. */
void watch_tick(struct watch *w);
/* How much of [begin, end), in which a task was runnable, its group was throttled. */
uint64_t watch_throttled(struct watch *w, uint64_t begin, uint64_t end);
