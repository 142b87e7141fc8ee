/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.c: the way that needs no privileges: switches to the nanosecond by perf_event_open, what for by looks at /proc. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend.h"
#include "pace.h"
#include "perf_attach.h"
#include "perf_rights.h"
#include "perf_rings.h"
#include "perf_waits.h"
#include "../proc_text.h"

#define LEAST_MS 4u
#define MOST_MS 50u
#define SHARE 33u          /* of a CPU, at most, for reading the buffers and looking */
#define BEHIND_NS 1000000u /* events so young may not all be in the buffers yet */
#define LOOK_NS 500000u    /* a task that is off its CPU for that long is looked at first */
#define LOOKS_MS_NS 25000u /* a round's looks take no longer than that for each millisecond of rest */
#define PLAIN_EVERY \
	4u /* where time is short: so many waits of a thread that always waits for the same share one look */
#define PLAIN_NS 100000000u   /* a wait that long is looked at in any case */
#define CENSUS_NS 1000000000u /* who has ended unseen is found that often */

struct perf {
	struct watch watch;
	struct perf_rings *rings;
	struct perf_batch batch;
	struct perf_tasks tasks;
	struct perf_tasks
		others; /* of the tree as it was found, that are not for us to look at: nothing is told of them */
	struct pace pace;
	uint64_t lost, census_ns;
	size_t turn;     /* whose looks come first */
	uint64_t rounds; /* of looks */
};

/* ---- tasks ---------------------------------------------------------------------------------------------- */

static struct perf_task *add_task(struct perf *p, const struct proc_task *id, uint16_t flags, uint64_t begin)
{
	struct perf_task *task = perf_tasks_add(&p->tasks, id);

	if (!task) {
		p->watch.probes.tasks_lost++;
		return NULL;
	}
	task->begin = begin;
	watch_task(&p->watch, id, flags, begin);
	return task;
}

static void end_task(struct perf *p, struct perf_task *task, uint64_t at)
{
	perf_wait_finish(&p->watch, task);
	watch_task_end(&p->watch, task->id.tid, task->id.pid, at);
	perf_tasks_remove(&p->tasks, task);
}

/* The event says who made whom; the rest is in /proc, if it is still there. */
static void forked(struct perf *p, const struct perf_event *e)
{
	struct perf_task *task = perf_tasks_find(&p->tasks, e->tid),
			 *parent = perf_tasks_find(&p->tasks, e->parent_tid);
	struct proc_task id;

	if (task && e->time <= task->begin)
		return; /* it was there already when we began */
	if (task)
		end_task(p, task, e->time); /* of that number, another */
	if (!proc_task_read(e->pid, e->tid, &id)) {
		memset(&id, 0, sizeof(id));
		id.tid = e->tid;
		id.pid = e->pid;
		/* A thread is in its process's namespace; where that is ours, so are the numbers. */
		if (parent && parent->id.pid == e->pid && parent->id.pid_ns == p->watch.own_pid_ns) {
			id.own_tid = e->tid;
			id.own_pid = e->pid;
			id.pid_ns = parent->id.pid_ns;
			id.start_ns = parent->id.start_ns;
		}
	}
	id.creator = e->parent_tid;
	if (parent)
		memcpy(id.name, parent->id.name, sizeof(id.name)); /* until it gets one of its own, which is an event */
	task = add_task(p, &id, 0, e->time);
	if (task) {
		task->out = e->time; /* runnable, but on no CPU yet */
		task->preempted = true;
	}
}

/* exec leaves one thread, with the process's number. */
static void end_others(struct perf *p, uint32_t pid, uint64_t at)
{
	for (size_t i = p->tasks.n; i-- > 0;)
		if (p->tasks.at[i]->id.pid == pid && p->tasks.at[i]->id.tid != pid)
			end_task(p, p->tasks.at[i], at);
}

static struct perf_task *unknown_task(struct perf *p, const struct perf_event *e)
{
	struct proc_task id;

	if (!e->tid || e->tid == UINT32_MAX || !proc_task_read(e->pid, e->tid, &id))
		return NULL;
	return add_task(p, &id, GST_TASK_THERE, e->time);
}

static void renamed(struct perf *p, const struct perf_event *e)
{
	struct perf_task *task;

	if (e->exec)
		end_others(p, e->pid, e->time);
	task = perf_tasks_find(&p->tasks, e->tid);
	if (!task && !(task = unknown_task(p, e)))
		return;
	memcpy(task->id.name, e->name, sizeof(task->id.name));
	watch_task(&p->watch, &task->id, GST_TASK_EXEC, e->time);
	if (e->exec && p->watch.pipes)
		pipe_ends_renew(p->watch.pipes, e->pid);
}

/* ---- events --------------------------------------------------------------------------------------------- */

static void sampled(struct perf *p, const struct perf_event *e)
{
	struct gst_on_cpu *r;

	if (!e->n_frames)
		return;
	r = host_file_reserve(p->watch.file, GST_ON_CPU, (uint16_t)(sizeof(*r) + e->n_frames * 8u));
	if (!r)
		return;
	r->at = e->time;
	r->tid = e->tid;
	r->count = e->n_frames;
	memcpy(r->frames, e->frames, e->n_frames * 8u);
	host_file_commit(r);
}

static void one_event(struct perf *p, const struct perf_event *e)
{
	struct perf_task *task;

	if (e->kind == PERF_FORK) {
		forked(p, e);
		return;
	}
	if (e->kind == PERF_NAME) {
		renamed(p, e);
		return;
	}
	task = perf_tasks_find(&p->tasks, e->tid);
	if (!task && e->kind != PERF_EXIT)
		task = unknown_task(p, e);
	if (!task)
		return;
	if (e->kind == PERF_OUT)
		perf_wait_out(&p->watch, task, e->time, e->preempted);
	else if (e->kind == PERF_IN)
		perf_wait_in(&p->watch, task, e->time);
	else if (e->kind == PERF_FAULT)
		perf_wait_fault(&p->watch, task, e->time, e->address);
	else if (e->kind == PERF_SAMPLE)
		sampled(p, e);
	else if (e->kind == PERF_EXIT)
		end_task(p, task, e->time);
}

/* What was lost may have been a switch of any of them. */
static void check_lost(struct perf *p)
{
	if (p->batch.lost == p->lost)
		return;
	p->watch.probes.events_lost = p->lost = p->batch.lost;
	for (size_t i = 0; i < p->tasks.n; i++)
		p->tasks.at[i]->out = 0;
}

/* Events up to a moment by which all of them are there, in their order. */
static void take_events(struct perf *p, uint64_t until)
{
	size_t n = 0;

	perf_rings_read(p->rings, &p->batch);
	while (n < p->batch.n && p->batch.at[n].time <= until)
		one_event(p, &p->batch.at[n++]);
	perf_batch_drop(&p->batch, n);
	check_lost(p);
	for (size_t i = 0; i < p->tasks.n; i++)
		perf_wait_settle(&p->watch, p->tasks.at[i], until);
}

/* ---- rounds --------------------------------------------------------------------------------------------- */

static bool is_worth_it(const struct perf *p, const struct perf_task *task, uint64_t now)
{
	if (p->pace.ms <= 2 * LEAST_MS || now - task->out >= PLAIN_NS)
		return true;
	return (p->rounds + task->index) % PLAIN_EVERY == 0 || !usual_is_plain(&task->usual, now);
}

/* First those that wait long, then others: what short waits are for is learnt from the few that are met. Whose turn did not come is first the
 * next time. */
static void take_looks(struct perf *p)
{
	uint64_t begin = mono_ns(), now = begin, most = p->pace.ms * LOOKS_MS_NS;
	size_t first = p->turn;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < p->tasks.n && now - begin < most; i++) {
			struct perf_task *task = p->tasks.at[(first + i) % p->tasks.n];
			bool due = task->out && (pass || now - task->out >= LOOK_NS) && is_worth_it(p, task, now);
			if (due && perf_wait_look(&p->watch, task))
				now = mono_ns();
			if (task->out && watch_tells(task->out, task->told, now))
				perf_wait_last(&p->watch, task, now);
			p->turn = first + i + 1;
		}
	p->rounds++;
}

/* Its number is there until somebody asks for its status. */
static bool has_ended(char state)
{
	return state == 'Z' || state == 'X' || !state;
}

/* Or of its number there is another. When it was born is not known of one that could not be read as it began. */
static bool is_gone(struct proc_task *id)
{
	struct proc_task now;

	if (syscall(SYS_tgkill, id->pid, id->tid, 0) != 0)
		return errno == ESRCH;
	if (id->tid != id->pid || !proc_task_read(id->pid, id->tid, &now))
		return false;
	if (!id->born)
		id->born = now.born;
	return has_ended(now.state) || now.born != id->born;
}

/* Their end may have been among what was lost, or none may have been told. */
static void census(struct perf *p)
{
	uint64_t now = mono_ns();

	if (now - p->census_ns < CENSUS_NS)
		return;
	p->census_ns = now;
	for (size_t i = p->tasks.n; i-- > 0;) {
		if (is_gone(&p->tasks.at[i]->id))
			end_task(p, p->tasks.at[i], now);
	}
}

static bool perf_poll(void *state, int timeout_ms)
{
	struct perf *p = state;
	uint64_t end = mono_ns() + (uint64_t)timeout_ms * 1000000u, now;

	do {
		perf_rings_wait(p->rings, (int)pace_next(&p->pace));
		take_events(p, mono_ns() - BEHIND_NS);
		take_looks(p);
		census(p);
		watch_tick(&p->watch);
		p->watch.probes.period_ns = p->pace.ms * 1000000u;
		now = mono_ns();
	} while (now < end && p->tasks.n);
	return true;
}

static bool perf_alive(void *state)
{
	return ((struct perf *)state)->tasks.n > 0;
}

/* ---- start and stop ------------------------------------------------------------------------------------- */

/* What one that is not followed has made is not either. */
static bool is_followed(const struct perf *p, const struct proc_task *id)
{
	return !has_ended(id->state) && !perf_tasks_find(&p->others, id->tid) && perf_rights_may_look((pid_t)id->tid);
}

/* Tasks that are there: those that sleep have been off their CPU since before. */
static void begin_all(struct perf *p, const struct proc_tasks *tree)
{
	uint64_t begin = p->watch.probes.begin;

	for (size_t i = 0; i < tree->n; i++) {
		struct perf_task *task =
			is_followed(p, &tree->at[i]) ? add_task(p, &tree->at[i], GST_TASK_THERE, begin) : NULL;
		if (task && tree->at[i].state != 'R')
			task->out = begin;
	}
}

static void perf_free(struct perf *p)
{
	perf_tasks_free(&p->tasks);
	perf_tasks_free(&p->others);
	perf_batch_free(&p->batch);
	perf_rings_close(p->rings);
	watch_free(&p->watch);
	free(p);
}

static uint32_t own_probes(const struct probes_settings *s)
{
	uint32_t probes = 1u << GST_PROBE_SWITCH | 1u << GST_PROBE_TASKS | 1u << GST_PROBE_FAULT;

	return s->sample_hz ? probes | 1u << GST_PROBE_ON_CPU : probes;
}

static bool perf_start(void **state, const struct probes_settings *s, struct host_file *f, char why[256])
{
	struct perf *p = calloc(1, sizeof(*p));
	uint32_t hz = watch_wants(s, GST_PROBE_ON_CPU) ? s->sample_hz : 0;
	struct proc_tasks tree = { 0 };
	bool good;

	snprintf(why, 256, "%s", !p ? "no memory" : "context switches are switched off");
	good = p && watch_wants(s, GST_PROBE_SWITCH) &&
	       watch_start(&p->watch, s, f, GST_PROBES_PERF, own_probes(s), why);
	good = good && (p->rings = perf_rings_open(hz, watch_wants(s, GST_PROBE_FAULT), why)) &&
	       perf_attach(p->rings, &p->watch.probes, &tree, &p->others, why);
	if (good) {
		p->watch.probes.begin = p->census_ns = mono_ns();
		p->watch.probes.period_ns = LEAST_MS * 1000000u;
		p->watch.probes.sample_ns = hz ? 1000000000u / hz : 0;
		proc_tasks_tree(&tree, p->watch.probes.root);
		watch_write_probes(&p->watch, 0);
		begin_all(p, &tree);
		pace_begin(&p->pace, LEAST_MS, MOST_MS, SHARE);
		snprintf(why, 256, "process %d has ended", (int)s->root);
		good = p->tasks.n > 0;
	}
	if (good)
		*state = p;
	else if (p)
		perf_free(p);
	proc_tasks_free(&tree);
	return good;
}

static void perf_stop(void *state)
{
	struct perf *p = state;
	uint64_t now = mono_ns();

	take_events(p, now);
	for (size_t i = 0; i < p->tasks.n; i++) {
		perf_wait_finish(&p->watch, p->tasks.at[i]);
		perf_wait_last(&p->watch, p->tasks.at[i], now);
	}
	watch_write_probes(&p->watch, now);
	perf_free(p);
}

const struct backend backend_perf = {
	.name = "perf",
	.how = GST_PROBES_PERF,
	.start = perf_start,
	.poll = perf_poll,
	.alive = perf_alive,
	.stop = perf_stop,
};
