/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_match.h"

#include "alloc.h"
#include "ns.h"

#include <stdlib.h>
#include <string.h>

#define START_STEP_NS 10000000 /* as /proc counts a process's start */
#define START_OFF_NS (2 * START_STEP_NS)
#define SEEN_NS 1000000 /* the first and the last that is known of a task may come so late, and so early */

/* Wall clock minus CLOCK_MONOTONIC is the same for all of one boot, but for what sets the wall clock. */
#define SAME_BOOT_NS 50000000
#define SAME_NAME_NS 1000000000

/* Containers have host names of their own, and their machine's clocks. */
static bool same_clock(const struct gst_file_header *a, const struct gst_file_header *b)
{
	bool same_name = strcmp(a->host, b->host) == 0;
	int64_t apart;

	if (!a->start_real_ns || !b->start_real_ns)
		return same_name;
	return !__builtin_sub_overflow((int64_t)(a->start_real_ns - a->start_mono_ns),
				       (int64_t)(b->start_real_ns - b->start_mono_ns), &apart) &&
	       apart != INT64_MIN && llabs(apart) < (same_name ? SAME_NAME_NS : SAME_BOOT_NS);
}

/* How far apart the starts of their processes are; INT64_MAX: it is not known of both. */
static int64_t start_apart(const struct trace *t, const struct host_task *task)
{
	uint64_t start = t->header.process_start_mono_ns;

	if (!start || !task->start_ns)
		return INT64_MAX;
	return llabs((start < (uint64_t)CLOCK_MAX_NS ? (int64_t)start : CLOCK_MAX_NS) - task->start_ns);
}

static bool same_process(const struct trace *t, const struct host_task *task)
{
	int64_t apart = start_apart(t, task);

	return host_own_pid(task) == t->header.pid && (apart == INT64_MAX || apart <= START_OFF_NS);
}

/* One that was there before it was seen, or whose end is not on record, may have lived at any time on that side. */
static bool lived(const struct host_trace *h, const struct host_task *task, int64_t from_ns, int64_t to_ns)
{
	int64_t late = max64(SEEN_NS, h->probes.period_ns);
	bool there = task->flags & (GST_TASK_THERE | GST_TASK_STRANGER);

	return (there || to_ns >= task->begin_ns - late) && (!task->ended || from_ns <= task->end_ns + late);
}

struct choice {
	const struct host_task *task;
	int64_t apart_ns;
	bool doubtful; /* another process fits as well */
};

static bool one_process(const struct host_task *a, const struct host_task *b)
{
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

static void choose(struct choice *c, const struct trace *t, const struct host_task *task)
{
	int64_t apart = start_apart(t, task);
	bool closer = !c->task || apart < c->apart_ns;

	if (c->task && !one_process(c->task, task)) {
		int64_t between = apart > c->apart_ns ? apart - c->apart_ns : c->apart_ns - apart;

		if (between < START_STEP_NS)
			c->doubtful = true;
		else if (closer)
			c->doubtful = false;
	}
	/* of one process: a number that came again, the later one */
	if (closer || (one_process(c->task, task) && apart == c->apart_ns))
		*c = (struct choice){ task, apart, c->doubtful };
}

struct own_key {
	const struct host_trace *h;
	uint32_t tid;
};

static bool own_before(const void *element, const void *key)
{
	const struct own_key *k = key;

	return host_own_tid(&k->h->tasks[*(const uint32_t *)element]) < k->tid;
}

/* Of one file: the thread of that number that lived between. */
static const struct host_task *find(const struct host_trace *h, const struct trace *t, uint32_t tid, int64_t from_ns,
				    int64_t to_ns)
{
	const struct own_key key = { h, tid };
	size_t at = array_first(h->by_own, h->n_tasks, sizeof(*h->by_own), own_before, &key);
	struct choice c = { 0 };

	for (; at < h->n_tasks && host_own_tid(&h->tasks[h->by_own[at]]) == tid; at++) {
		const struct host_task *task = &h->tasks[h->by_own[at]];

		if (same_process(t, task) && lived(h, task, from_ns, to_ns))
			choose(&c, t, task);
	}
	return c.doubtful ? NULL : c.task;
}

static bool knows(const struct host_trace *h, const struct host_task *task, int64_t at_ns)
{
	return at_ns >= max64(task->begin_ns, h->begin_ns) && at_ns <= min64(task->end_ns, h->end_ns);
}

/* What is known then goes before what is not, and exact times before looks. */
static bool better(const struct host_match *a, const struct host_match *b, int64_t at_ns)
{
	bool a_knows, b_knows;

	if (!b->task)
		return true;
	a_knows = knows(a->host, a->task, at_ns);
	b_knows = knows(b->host, b->task, at_ns);
	if (a_knows != b_knows)
		return a_knows;
	return a->host->probes.how && (!b->host->probes.how || a->host->probes.how < b->host->probes.how);
}

struct host_match host_match_find(struct host_trace *const hosts[], size_t n_hosts, const struct trace *t, uint32_t tid,
				  int64_t at_ns)
{
	struct host_match best = { 0 };

	for (size_t i = 0; i < n_hosts && tid; i++) {
		struct host_match m = { hosts[i], NULL };

		if (!same_clock(&m.host->header, &t->header))
			continue;
		m.task = find(m.host, t, tid, at_ns, at_ns);
		if (m.task && better(&m, &best, at_ns))
			best = m;
	}
	if (!best.task)
		best.host = host_match_process(hosts, n_hosts, t);
	return best;
}

/* Its first thread stands for the process. */
const struct host_trace *host_match_process(struct host_trace *const hosts[], size_t n_hosts, const struct trace *t)
{
	const struct host_trace *best = NULL;

	for (size_t i = 0; i < n_hosts; i++) {
		const struct host_trace *h = hosts[i];
		bool exact = h->probes.how && (!best || !best->probes.how || h->probes.how < best->probes.how);

		if ((!best || exact) && h->begin_ns <= t->end_ns && h->end_ns >= t->begin_ns &&
		    same_clock(&h->header, &t->header) && find(h, t, t->header.pid, t->begin_ns, t->end_ns))
			best = h;
	}
	return best;
}
