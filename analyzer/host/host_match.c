/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_match.h"

#include "tools/alloc.h"
#include "tools/ns.h"
#include "trace/same_clock.h"

#include <stdlib.h>
#include <string.h>

#define START_STEP_NS 10000000 /* as /proc counts a process's start */
#define START_OFF_NS (2 * START_STEP_NS)
#define SEEN_NS 1000000 /* the first and the last that is known of a task may come so late, and so early */

/* Of one run, where both say of which they are. */
static bool watches(const struct host_trace *h, const struct trace *t)
{
	const char *a = h->header.run_id, *b = t->header.run_id;

	return same_clock(&h->header, &t->header) && (!*a || !*b || strcmp(a, b) == 0);
}

/* How far apart the starts of their processes are; INT64_MAX: it is not known of both. */
static int64_t start_apart(const struct trace *t, const struct host_task *task)
{
	uint64_t start = t->header.process_start_mono_ns;

	if (!start || !task->start_ns)
		return INT64_MAX;
	return llabs(clock_clamp(start) - task->start_ns);
}

/* In which its numbers are its own; 0 not known. */
static uint64_t name_space(const struct host_trace *h, const struct host_task *task)
{
	return task->pid_ns || task->own_pid ? task->pid_ns : h->header.pid_ns;
}

static bool same_process(const struct host_trace *h, const struct trace *t, const struct host_task *task)
{
	int64_t apart = start_apart(t, task);
	uint64_t ns = name_space(h, task);

	return host_own_pid(task) == t->header.pid && (apart == INT64_MAX || apart <= START_OFF_NS) &&
	       (!ns || !t->header.pid_ns || ns == t->header.pid_ns);
}

/* One that was there before it was seen, or whose end is not on record, may have lived at any time on that side. */
static bool lived(const struct host_trace *h, const struct host_task *task, int64_t from_ns, int64_t to_ns)
{
	int64_t late = max64(SEEN_NS, h->probes.period_ns);
	bool there = task->flags & (GST_TASK_THERE | GST_TASK_STRANGER);

	return (there || to_ns >= task->begin_ns - late) && (!task->ended || from_ns <= task->end_ns + late);
}

/* ---- one of several --------------------------------------------------------------------------------- */

struct choice {
	int64_t at_ns; /* what is known then counts; INT64_MIN: of no instant */
	struct host_match m;
	int64_t apart_ns;
	bool proven;   /* by its name space: no other process has its numbers there */
	bool doubtful; /* another process fits as well */
};

/* Both fit the process; are they one? Two files of containers alike may tell of two. */
static bool one_process(const struct host_match *a, const struct host_match *b)
{
	uint64_t x = name_space(a->host, a->task), y = name_space(b->host, b->task);

	if (a->host == b->host)
		return a->task->pid == b->task->pid && a->task->start_ns == b->task->start_ns;
	if (x && y)
		return x == y;
	return a->task->pid == b->task->pid && strcmp(a->host->header.host, b->host->header.host) == 0;
}

static bool knows(const struct host_match *m, int64_t at_ns)
{
	return at_ns >= max64(m->task->begin_ns, m->host->begin_ns) && at_ns <= min64(m->task->end_ns, m->host->end_ns);
}

/* Of one process. In one file it is a number that came again: the later one. Of two files, what is known then goes before what is not, and exact
 * times before looks. */
static bool better(const struct host_match *a, const struct host_match *b, int64_t at_ns)
{
	bool a_knows = knows(a, at_ns), b_knows = knows(b, at_ns);

	if (a->host == b->host)
		return true;
	if (a_knows != b_knows)
		return a_knows;
	return a->host->probes.how && (!b->host->probes.how || a->host->probes.how < b->host->probes.how);
}

static void choose(struct choice *c, const struct trace *t, const struct host_match *m)
{
	int64_t apart = start_apart(t, m->task);
	bool proven = t->header.pid_ns && name_space(m->host, m->task) == t->header.pid_ns, take;

	if (!c->m.task) {
		take = true;
	} else if (proven != c->proven) {
		take = proven;
		c->doubtful &= !take;
	} else if (one_process(&c->m, m)) {
		take = better(m, &c->m, c->at_ns);
	} else {
		take = apart < c->apart_ns;
		if (llabs(apart - c->apart_ns) < START_STEP_NS)
			c->doubtful = true;
		else
			c->doubtful &= !take;
	}
	if (!take)
		return;
	c->m = *m;
	c->apart_ns = apart;
	c->proven = proven;
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

/* Of one file: the threads of that number that lived between. */
static void look(struct choice *c, const struct host_trace *h, const struct trace *t, uint32_t tid, int64_t from_ns,
		 int64_t to_ns)
{
	const struct own_key key = { h, tid };
	size_t at = array_first(h->by_own, h->n_tasks, sizeof(*h->by_own), own_before, &key);

	for (; at < h->n_tasks && host_own_tid(&h->tasks[h->by_own[at]]) == tid; at++) {
		const struct host_match m = { h, &h->tasks[h->by_own[at]] };

		if (same_process(h, t, m.task) && lived(h, m.task, from_ns, to_ns))
			choose(c, t, &m);
	}
}

struct host_match host_match_find(struct host_trace *const hosts[], size_t n_hosts, const struct trace *t, uint32_t tid,
				  int64_t at_ns)
{
	struct choice c = { .at_ns = at_ns };

	for (size_t i = 0; i < n_hosts && tid; i++)
		if (watches(hosts[i], t))
			look(&c, hosts[i], t, tid, at_ns, at_ns);
	if (c.m.task && !c.doubtful)
		return c.m;
	return (struct host_match){ host_match_process(hosts, n_hosts, t), NULL };
}

/* Its first thread stands for the process. */
const struct host_trace *host_match_process(struct host_trace *const hosts[], size_t n_hosts, const struct trace *t)
{
	struct choice c = { .at_ns = INT64_MIN };

	for (size_t i = 0; i < n_hosts; i++)
		if (watches(hosts[i], t) && hosts[i]->begin_ns <= t->end_ns && hosts[i]->end_ns >= t->begin_ns)
			look(&c, hosts[i], t, t->header.pid, t->begin_ns, t->end_ns);
	return c.doubtful ? NULL : c.m.host;
}
