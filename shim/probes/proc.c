/* SPDX-License-Identifier: BSD-2-Clause */
/* proc.c: the way that is left where nothing else is allowed: looks at /proc, as often as a fiftieth of a CPU lets us. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "backend.h"
#include "pace.h"
#include "proc_looks.h"
#include "../proc_text.h"

#define LEAST_MS 4u
#define MOST_MS 100u
#define SHARE 50u           /* of a CPU, at most, for looking */
#define CENSUS_SHARE 100u   /* of the time, for who is there */
#define CENSUS_NS 10000000u /* … no more often than that */
#define CENSUS_MOST_NS \
	1000000000u /* … and no less: one that met thousands of new tasks took long, which the next does not */
#define TASKS_MAX 16384u
#define ROUND_NS \
	(MOST_MS * 1000000u / SHARE) /* of CPU time: a round's looks take no longer; the next goes on from there */

struct proc {
	struct watch watch;
	struct looked *task;
	size_t n, cap; /* by number */
	struct proc_tasks tree;
	struct pace pace;
	uint64_t census_ns, census_cost_ns;
	uint32_t left_out;   /* by this census: there was no room */
	uint32_t turn;       /* this task, or the next one behind it, is looked at next */
	uint32_t rounds;     /* since all were last looked at */
	uint64_t longest_ns; /* from one look at a task to the next, where that took more than a round */
};

/* ---- who is there --------------------------------------------------------------------------------------- */

/* Where it is, or would be. */
static size_t place_of(const struct proc *p, uint32_t tid)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (p->task[middle].id.tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool make_room(struct proc *p)
{
	size_t cap = p->cap ? 2 * p->cap : 64;
	struct looked *task;

	if (p->n < p->cap)
		return true;
	task = p->n < TASKS_MAX ? realloc(p->task, cap * sizeof(*task)) : NULL;
	if (!task)
		return false;
	p->task = task;
	p->cap = cap;
	return true;
}

static void begin_task(struct proc *p, const struct proc_task *id, uint16_t flags, uint64_t begin)
{
	size_t place = place_of(p, id->tid);

	if (!make_room(p)) {
		p->left_out++;
		return;
	}
	memmove(p->task + place + 1, p->task + place, (p->n - place) * sizeof(*p->task));
	p->n++;
	watch_task(&p->watch, id, flags, begin);
	looked_begin(&p->watch, &p->task[place], id, begin);
}

static void end_task(struct proc *p, size_t i, uint64_t at)
{
	looked_end(&p->watch, &p->task[i], at);
	memmove(p->task + i, p->task + i + 1, (p->n - i - 1) * sizeof(*p->task));
	p->n--;
}

static void rename_task(struct proc *p, struct looked *t, const struct proc_task *id, uint64_t at)
{
	if (!memcmp(t->id.name, id->name, sizeof(id->name)))
		return;
	memcpy(t->id.name, id->name, sizeof(id->name));
	watch_task(&p->watch, &t->id, GST_TASK_EXEC, at);
	if (p->watch.pipes && t->id.tid == t->id.pid)
		pipe_ends_renew(p->watch.pipes, t->id.pid);
}

/* Whoever came since the last time came halfway, for all we know. */
static void census(struct proc *p, uint16_t flags)
{
	uint64_t cpu_ns = thread_cpu_ns(), begin = mono_ns();
	uint64_t middle = flags ? p->watch.probes.begin : p->census_ns + (begin - p->census_ns) / 2;

	p->left_out = 0;
	proc_tasks_tree(&p->tree, p->watch.probes.root);
	for (size_t i = 0; i < p->tree.n; i++) {
		const struct proc_task *id = &p->tree.at[i];
		size_t place = place_of(p, id->tid);
		bool known = place < p->n && p->task[place].id.tid == id->tid;
		if (id->state == 'X' || (id->state == 'Z' && !known))
			continue;
		if (known && p->task[place].id.born != id->born) {
			end_task(p, place, middle);
			known = false;
		}
		if (known)
			rename_task(p, &p->task[place], id, middle);
		else
			begin_task(p, id, flags, middle);
	}
	if (p->left_out > p->watch.probes.tasks_lost)
		p->watch.probes.tasks_lost = p->left_out;
	p->census_ns = mono_ns();
	p->census_cost_ns = thread_cpu_ns() - cpu_ns;
}

static bool census_is_due(const struct proc *p, uint64_t now)
{
	uint64_t rest = p->census_cost_ns * CENSUS_SHARE;

	rest = rest > CENSUS_NS ? rest : CENSUS_NS;
	return now - p->census_ns >= (rest < CENSUS_MOST_NS ? rest : CENSUS_MOST_NS);
}

/* ---- rounds --------------------------------------------------------------------------------------------- */

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void look_at(struct proc *p, size_t i)
{
	struct looked *t = &p->task[i];
	uint64_t before = t->at;

	p->turn = t->id.tid + 1;
	if (!looked_again(&p->watch, t))
		end_task(p, i, before + (mono_ns() - before) / 2);
	else if (t->waits && watch_tells(t->out, t->told, t->at))
		looked_last(&p->watch, t, t->at);
}

/* At all of them, or as many as there is time for: whose turn did not come is first the next time. How long it takes until it comes again is
 * what times are uncertain by. */
static void look_at_some(struct proc *p, uint64_t cpu_ns)
{
	uint64_t begin = thread_cpu_ns();
	size_t i;

	p->rounds++;
	while ((i = place_of(p, p->turn)) < p->n) {
		look_at(p, i);
		if (thread_cpu_ns() - begin >= cpu_ns)
			return;
	}
	if (p->rounds > 1)
		p->longest_ns = max_of(p->longest_ns, p->pace.ms * 1000000ull * p->rounds);
	p->turn = p->rounds = 0;
}

static bool proc_poll(void *state, int timeout_ms)
{
	struct proc *p = state;
	uint64_t end = mono_ns() + (uint64_t)timeout_ms * 1000000u, now;

	do {
		poll(NULL, 0, (int)pace_next(&p->pace));
		now = mono_ns();
		if (census_is_due(p, now))
			census(p, 0);
		look_at_some(p, ROUND_NS);
		watch_tick(&p->watch);
		now = max_of(p->longest_ns, p->pace.ms * 1000000u);
		p->watch.probes.period_ns = now < UINT32_MAX ? (uint32_t)now : UINT32_MAX;
	} while (mono_ns() < end && p->n);
	return true;
}

/* A process that has ended and was not waited for has tasks still, in which nothing happens any more. */
static bool proc_alive(void *state)
{
	return ((struct proc *)state)->n > 0;
}

/* ---- start and stop ------------------------------------------------------------------------------------- */

static void more_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void proc_free(struct proc *p)
{
	proc_tasks_free(&p->tree);
	watch_free(&p->watch);
	free(p->task);
	free(p);
}

/* Without the kernel's sums how long a task ran is known by clock ticks, and how long it was kept from it not at all. */
static uint32_t own_probes(const struct probes_settings *s)
{
	struct proc_sched sums;
	bool known = proc_sched_read(-1, (uint32_t)s->root, (uint32_t)s->root, &sums) && sums.slices;

	return 1u << GST_PROBE_TASKS | (known ? 1u << GST_PROBE_SWITCH : 0);
}

static bool proc_start(void **state, const struct probes_settings *s, struct host_file *f, char why[256])
{
	struct proc *p = calloc(1, sizeof(*p));

	snprintf(why, 256, "no memory");
	if (!p || !watch_start(&p->watch, s, f, GST_PROBES_PROC, own_probes(s), why)) {
		if (p)
			proc_free(p);
		return false;
	}
	more_descriptors();
	p->watch.probes.period_ns = LEAST_MS * 1000000u;
	watch_write_probes(&p->watch, 0);
	census(p, GST_TASK_THERE);
	if (!p->n) {
		snprintf(why, 256, "process %d has ended", (int)s->root);
		proc_free(p);
		return false;
	}
	pace_begin(&p->pace, LEAST_MS, MOST_MS, SHARE);
	*state = p;
	why[0] = 0;
	return true;
}

static void proc_stop(void *state)
{
	struct proc *p = state;
	uint64_t now;

	p->turn = 0;
	look_at_some(p, UINT64_MAX);
	now = mono_ns();
	for (size_t i = 0; i < p->n; i++) {
		looked_last(&p->watch, &p->task[i], now);
		looked_finish(&p->watch, &p->task[i]);
	}
	watch_write_probes(&p->watch, now);
	proc_free(p);
}

const struct backend backend_proc = {
	.name = "proc",
	.how = GST_PROBES_PROC,
	.start = proc_start,
	.poll = proc_poll,
	.alive = proc_alive,
	.stop = proc_stop,
};
