/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_trace_decode.h"

#include "tools/alloc.h"
#include "tools/ns.h"

#define BY_TASK(name, type, field)                                    \
	static int name(const void *a, const void *b)                 \
	{                                                             \
		const struct type *x = a, *y = b;                     \
		if (x->task != y->task)                               \
			return x->task < y->task ? -1 : 1;            \
		return (x->field > y->field) - (x->field < y->field); \
	}
BY_TASK(stalls_by_task, host_stalls, begin_ns)
BY_TASK(reclaim_by_task, host_reclaim, begin_ns)
BY_TASK(written_by_task, host_written, begin_ns)
BY_TASK(on_cpu_by_task, host_on_cpu, at_ns)

/* Of two with the same begin the one that was over counts: the other was written while it lasted. */
static int wait_by_task(const void *a, const void *b)
{
	const struct host_wait *x = a, *y = b;
	int x_last = x->what.flags & GST_WAIT_LAST, y_last = y->what.flags & GST_WAIT_LAST;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->out_ns != y->out_ns)
		return x->out_ns < y->out_ns ? -1 : 1;
	if (x_last != y_last)
		return x_last < y_last ? -1 : 1;
	return (x->in_ns < y->in_ns) - (x->in_ns > y->in_ns);
}

static int request_by_time(const void *a, const void *b)
{
	const struct host_request *x = a, *y = b;

	return (x->done_ns > y->done_ns) - (x->done_ns < y->done_ns);
}

static int pressure_by_time(const void *a, const void *b)
{
	const struct host_pressure *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static int pipe_end_by_inode(const void *a, const void *b)
{
	const struct host_pipe_end *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static void end_wait(struct host_wait *w, int64_t at_ns)
{
	w->in_ns = min64(w->in_ns, at_ns);
	w->wake_ns = min64(w->wake_ns, w->in_ns);
}

/* A task that leaves its CPU had one: what is said to have lasted until later is cut there. What was written of a wait while it lasted is
 * nobody's loss. */
static void separate_waits(struct host_trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_waits; i++) {
		struct host_wait w = t->waits[i];
		struct host_wait *before = n && t->waits[n - 1].task == w.task ? &t->waits[n - 1] : NULL;

		if (w.in_ns <= w.out_ns) {
			t->strays++;
			continue;
		}
		if (before && before->out_ns == w.out_ns) {
			t->strays += !(w.what.flags & GST_WAIT_LAST);
			continue;
		}
		if (before)
			end_wait(before, w.out_ns);
		t->waits[n++] = w;
	}
	t->n_waits = n;
	for (size_t i = 0; i < n; i++) {
		struct host_wait *w = &t->waits[i];

		w->throttled_ns = min64(w->throttled_ns, w->in_ns - w->wake_ns);
		w->off_before_ns = i && w[-1].task == w->task ? w[-1].off_before_ns + w[-1].in_ns - w[-1].out_ns : 0;
	}
}

/* A task looks for memory once at a time: what is said to have lasted until the next time is cut there. */
static void separate_reclaims(struct host_trace *t)
{
	for (size_t i = 1; i < t->n_reclaims; i++)
		if (t->reclaims[i - 1].task == t->reclaims[i].task)
			t->reclaims[i - 1].end_ns = min64(t->reclaims[i - 1].end_ns, t->reclaims[i].begin_ns);
}

/* So is writing. */
static void separate_written(struct host_trace *t)
{
	for (size_t i = 1; i < t->n_written; i++)
		if (t->written[i - 1].task == t->written[i].task)
			t->written[i - 1].end_ns = min64(t->written[i - 1].end_ns, t->written[i].begin_ns);
}

static void sort_all(struct host_trace *t)
{
	array_sort(t->waits, t->n_waits, sizeof(*t->waits), wait_by_task);
	array_sort(t->stalls, t->n_stalls, sizeof(*t->stalls), stalls_by_task);
	array_sort(t->reclaims, t->n_reclaims, sizeof(*t->reclaims), reclaim_by_task);
	array_sort(t->written, t->n_written, sizeof(*t->written), written_by_task);
	array_sort(t->on_cpu, t->n_on_cpu, sizeof(*t->on_cpu), on_cpu_by_task);
	array_sort(t->requests, t->n_requests, sizeof(*t->requests), request_by_time);
	array_sort(t->pressure, t->n_pressure, sizeof(*t->pressure), pressure_by_time);
	array_sort(t->pipe_ends, t->n_pipe_ends, sizeof(*t->pipe_ends), pipe_end_by_inode);
}

/* Each task's part of a list that is sorted by task. */
#define DEAL(t, list, n_list)                                            \
	for (size_t i = 0; i < (t)->n_list; i++) {                       \
		struct host_task *task = &(t)->tasks[(t)->list[i].task]; \
		task->list = task->n_list ? task->list : &(t)->list[i];  \
		task->n_list++;                                          \
	}

void host_trace_settle(struct host_trace *t)
{
	sort_all(t);
	separate_waits(t);
	separate_reclaims(t);
	separate_written(t);
	DEAL(t, waits, n_waits)
	DEAL(t, stalls, n_stalls)
	DEAL(t, reclaims, n_reclaims)
	DEAL(t, written, n_written)
	DEAL(t, on_cpu, n_on_cpu)
}

static bool in_by(const void *element, const void *key)
{
	return ((const struct host_wait *)element)->in_ns <= *(const int64_t *)key;
}

size_t host_wait_after(const struct host_task *task, int64_t at_ns)
{
	return array_first(task->waits, task->n_waits, sizeof(*task->waits), in_by, &at_ns);
}

static bool over_by(const void *element, const void *key)
{
	return ((const struct host_reclaim *)element)->end_ns <= *(const int64_t *)key;
}

size_t host_reclaim_after(const struct host_task *task, int64_t at_ns)
{
	return array_first(task->reclaims, task->n_reclaims, sizeof(*task->reclaims), over_by, &at_ns);
}
