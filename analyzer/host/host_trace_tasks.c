/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_trace_decode.h"

#include "tools/alloc.h"

#include <string.h>

#define DYING_NS 5000000000 /* what is on record of a task behind its end is its own for so long */

/* ---- records ---------------------------------------------------------------------------------------- */

static bool add_task(struct host_decoder *d, const struct gst_task *r)
{
	struct host_trace *t = d->t;
	struct host_task *task;

	if (!array_room(t->tasks, t->n_tasks, d->tasks))
		return false;
	task = &t->tasks[t->n_tasks++];
	*task = (struct host_task){ .tid = r->tid,
				    .pid = r->pid,
				    .own_tid = r->own_tid,
				    .own_pid = r->own_pid,
				    .creator = r->creator,
				    .leader = HOST_NOBODY,
				    .pid_ns = r->pid_ns,
				    .begin_ns = clock_clamp(r->begin),
				    .start_ns = clock_clamp(r->start_ns),
				    .flags = r->flags };
	memcpy(task->name, r->name, sizeof(task->name) - 1);
	return true;
}

static bool add_end(struct host_decoder *d, const struct gst_task_end *r)
{
	if (!array_room(d->ends, d->n_ends, d->ends_room))
		return false;
	d->ends[d->n_ends++] = (struct host_task_end){ clock_clamp(r->at), r->tid };
	return true;
}

static void take_probes(struct host_trace *t, const struct gst_probes *r)
{
	if (r->how < GST_PROBES_EBPF || r->how > GST_PROBES_PROC)
		return;
	if (t->probes.how == 0 || r->end >= t->probes.end)
		t->probes = *r;
}

static enum err_kind read_all(struct host_decoder *d, struct error *e)
{
	struct record_view v;

	while (reader_next(d->reader, &v)) {
		bool ok = true;

		switch (v.record->type) {
		case GST_NAME:
			ok = names_add(d->names, (const struct gst_name *)v.record);
			break;
		case GST_PROBES:
			take_probes(d->t, (const struct gst_probes *)v.record);
			break;
		case GST_TASK:
			if (clock_clamp(((const struct gst_task *)v.record)->begin) <= d->until_ns)
				ok = add_task(d, (const struct gst_task *)v.record);
			break;
		case GST_TASK_END:
			if (clock_clamp(((const struct gst_task_end *)v.record)->at) <= d->until_ns)
				ok = add_end(d, (const struct gst_task_end *)v.record);
			break;
		default:
			break;
		}
		if (!ok)
			return host_no_memory(d->t, e);
	}
	return reader_counts(d->reader).no_memory ? host_no_memory(d->t, e) : ERR_NONE;
}

/* ---- records -> tasks ------------------------------------------------------------------------------- */

/* A task's new name comes behind its birth. */
static int task_by_tid(const void *a, const void *b)
{
	const struct host_task *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->flags & GST_TASK_EXEC) - (y->flags & GST_TASK_EXEC);
}

static int end_by_tid(const void *a, const void *b)
{
	const struct host_task_end *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static bool end_before(const void *element, const void *key)
{
	return end_by_tid(element, key) < 0;
}

/* The first end of that number since then; INT64_MAX: none. */
static int64_t first_end(const struct host_decoder *d, uint32_t tid, int64_t since_ns)
{
	const struct host_task_end key = { since_ns, tid };
	size_t at = array_first(d->ends, d->n_ends, sizeof(*d->ends), end_before, &key);

	return at < d->n_ends && d->ends[at].tid == tid ? d->ends[at].at_ns : INT64_MAX;
}

/* What is said of a task later, its exec above all, goes for it; who made it does not change. */
static void say_again(struct host_task *task, const struct host_task *again)
{
	memcpy(task->name, again->name, sizeof(task->name));
	task->pid = again->pid;
	task->flags |= again->flags & ~GST_TASK_EXEC;
	task->own_tid = again->own_tid ? again->own_tid : task->own_tid;
	task->own_pid = again->own_pid ? again->own_pid : task->own_pid;
	task->pid_ns = again->pid_ns ? again->pid_ns : task->pid_ns;
	task->start_ns = again->start_ns ? again->start_ns : task->start_ns;
	task->creator = task->creator ? task->creator : again->creator;
}

/* Sorted records become tasks: each ends with its own end, or where another of its number begins. */
static void make_tasks(struct host_decoder *d)
{
	struct host_trace *t = d->t;
	struct host_task *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < t->n_tasks; i++) {
		struct host_task task = t->tasks[i];
		bool same = last && last->tid == task.tid;

		if (same && ((task.flags & GST_TASK_EXEC) || task.begin_ns == last->begin_ns) &&
		    task.begin_ns <= last->end_ns) {
			say_again(last, &task);
			continue;
		}
		if (same && last->end_ns > task.begin_ns) {
			last->end_ns = task.begin_ns;
			last->ended = true;
		}
		task.end_ns = first_end(d, task.tid, task.begin_ns);
		task.ended = task.end_ns != INT64_MAX;
		last = &t->tasks[n++];
		*last = task;
	}
	t->n_tasks = n;
}

static bool begun_by(const void *element, const void *key)
{
	const struct host_task *task = element, *at = key;

	return task->tid < at->tid || (task->tid == at->tid && task->begin_ns <= at->begin_ns);
}

/* The last one of that number that had begun, whether it has ended or not; else the first that ran before it was seen. */
static uint32_t begun(const struct host_trace *t, uint32_t tid, int64_t at_ns)
{
	const struct host_task key = { .tid = tid, .begin_ns = at_ns };
	size_t at = array_first(t->tasks, t->n_tasks, sizeof(*t->tasks), begun_by, &key);

	if (at > 0 && t->tasks[at - 1].tid == tid)
		return (uint32_t)(at - 1);
	if (at < t->n_tasks && t->tasks[at].tid == tid && (t->tasks[at].flags & (GST_TASK_THERE | GST_TASK_STRANGER)))
		return (uint32_t)at;
	return HOST_NOBODY;
}

uint32_t host_trace_task(const struct host_trace *t, uint32_t tid, int64_t at_ns)
{
	uint32_t task = tid ? begun(t, tid, at_ns) : HOST_NOBODY;

	return task != HOST_NOBODY && t->tasks[task].ended && at_ns > t->tasks[task].end_ns ? HOST_NOBODY : task;
}

/* By its end's record: what is taken for its own behind that makes it live no longer. */
uint32_t host_trace_dying(const struct host_trace *t, uint32_t tid, int64_t at_ns)
{
	uint32_t task = tid ? begun(t, tid, at_ns) : HOST_NOBODY;

	return task != HOST_NOBODY && t->tasks[task].ended && at_ns - t->tasks[task].said_end_ns > DYING_NS
		       ? HOST_NOBODY
		       : task;
}

/* A process's first thread keeps its number for it, even when it ended before the others. */
static uint32_t leader_of(const struct host_trace *t, const struct host_task *task)
{
	uint32_t leader = begun(t, task->pid, task->begin_ns);

	return leader != HOST_NOBODY && t->tasks[leader].pid == task->pid ? leader : HOST_NOBODY;
}

static void link_tasks(struct host_trace *t)
{
	for (size_t i = 0; i < t->n_tasks; i++) {
		struct host_task *task = &t->tasks[i];

		task->creator = host_trace_task(t, task->creator, task->begin_ns);
		if (task->creator == i)
			task->creator = HOST_NOBODY;
		task->leader = leader_of(t, task);
	}
}

enum err_kind host_trace_describe(struct host_decoder *d, struct error *e)
{
	enum err_kind kind = read_all(d, e);

	if (kind)
		return kind;
	if (d->t->n_tasks >= HOST_NOBODY)
		return err_set(e, ERR_FORMAT, d->t->path, ERR_NO_BYTE, "too many tasks");
	array_sort(d->t->tasks, d->t->n_tasks, sizeof(*d->t->tasks), task_by_tid);
	array_sort(d->ends, d->n_ends, sizeof(*d->ends), end_by_tid);
	make_tasks(d);
	link_tasks(d->t);
	d->t->text = names_take(d->names);
	return ERR_NONE;
}
