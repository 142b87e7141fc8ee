/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_waits.h"

#include <string.h>

#include "../proc_text.h"

#define FAULT_NS 2000000u /* from where the task runs again to the end of the fault that it had waited in */
#define TRIES 10u
#define CLOSE_NS 50000u /* so little time in a run queue is not worth telling apart */

/* ---- what for ------------------------------------------------------------------------------------------- */

/* A look is of this wait if it began and ended in it. */
static bool is_of(const struct perf_look *look, uint64_t out, uint64_t in)
{
	return look->begin && look->begin >= out && look->end <= in;
}

static void what_for(const struct perf_task *task, struct gst_wait_for *what)
{
	uint64_t out = task->done.out, in = task->done.in;

	proc_wait_unknown(what);
	if (task->done.preempted)
		what->flags = GST_WAIT_PREEMPTED;
	else if (task->done.fault || is_of(&task->done.look, out, in))
		*what = task->done.look.what;
	else
		usual_guess(&task->usual, out, in - out, what);
}

/* When it was to run again, by the time it has spent in run queues since the look. 0: not known. Switches behind this wait may have added to
 * that, so that it is the most it can be. */
static uint64_t wake_of(const struct perf_task *task)
{
	uint64_t out = task->done.out, in = task->done.in, queued;
	struct proc_sched now;

	if (task->done.preempted)
		return out;
	if (!is_of(&task->done.look, out, in) || !task->done.look.sched.slices ||
	    !proc_sched_read(-1, task->id.pid, task->id.tid, &now))
		return 0;
	queued = now.delay_ns - task->done.look.sched.delay_ns;
	if (queued > in - out)
		return 0;
	if (now.slices == task->done.look.sched.slices + 1 || queued < CLOSE_NS || queued < (in - out) / 20)
		return in - queued;
	return 0;
}

/* ---- records -------------------------------------------------------------------------------------------- */

static void write_wait(struct watch *w, struct perf_task *task)
{
	struct gst_wait r = { .out = task->done.out, .in = task->done.in, .tid = task->id.tid };

	what_for(task, &r.what);
	r.wake = wake_of(task);
	if (r.wake)
		r.throttled_ns = watch_throttled(w, r.wake, r.in);
	/* A sum must not stretch across it. */
	stalls_write(&task->stalls, w->file, task->id.tid);
	host_file_append(w->file, GST_WAIT, sizeof(r), &r);
}

static void add_stall(struct watch *w, struct perf_task *task)
{
	uint64_t ns = task->done.in - task->done.out;
	struct stall part = { .begin = task->done.out, .end = task->done.in, .count = 1 };

	what_for(task, &part.what);
	if (task->done.preempted)
		part.queued_ns = ns;
	else
		part.blocked_ns = ns;
	stalls_add(&task->stalls, w->file, task->id.tid, &part);
}

static void write_done(struct watch *w, struct perf_task *task)
{
	if (!task->done.in)
		return;
	if (!task->done.preempted && !task->done.fault && is_of(&task->done.look, task->done.out, task->done.in))
		usual_learn(&task->usual, &task->done.look.what, task->done.out, task->done.in - task->done.out);
	if (task->done.in - task->done.out >= w->settings.wait_ns)
		write_wait(w, task);
	else
		add_stall(w, task);
	task->done.in = 0;
}

void perf_wait_settle(struct watch *w, struct perf_task *task, uint64_t then)
{
	if (task->done.in && task->done.in + FAULT_NS < then)
		write_done(w, task);
}

void perf_wait_last(struct watch *w, struct perf_task *task, uint64_t now)
{
	struct gst_wait r = { .out = task->out, .in = now, .tid = task->id.tid };

	if (!task->out || task->out >= now)
		return;
	write_done(w, task);
	if (task->preempted) {
		proc_wait_unknown(&r.what);
		r.what.flags = GST_WAIT_PREEMPTED;
		r.wake = r.out;
	} else if (task->look.begin >= task->out) {
		r.what = task->look.what;
	} else {
		proc_wait_unknown(&r.what);
	}
	r.what.flags |= GST_WAIT_LAST;
	host_file_append(w->file, GST_WAIT, sizeof(r), &r);
	task->told = now;
}

void perf_wait_finish(struct watch *w, struct perf_task *task)
{
	write_done(w, task);
	stalls_write(&task->stalls, w->file, task->id.tid);
}

/* ---- switches ------------------------------------------------------------------------------------------- */

void perf_wait_out(struct watch *w, struct perf_task *task, uint64_t at, bool preempted)
{
	write_done(w, task);
	task->out = at;
	task->preempted = preempted;
	task->told = 0;
	/* A look may be of this wait already: it is taken of what is now, while the events come a moment later. */
	if (task->look.begin < at)
		task->look = (struct perf_look){ .begin = 0 };
}

void perf_wait_in(struct watch *w, struct perf_task *task, uint64_t at)
{
	if (!task->out || at <= task->out)
		return;
	write_done(w, task);
	task->done.out = task->out;
	task->done.in = at;
	task->done.preempted = task->preempted;
	task->done.fault = false;
	task->done.look = task->look;
	task->out = 0;
	if (task->look.begin < at)
		task->look = (struct perf_look){ .begin = 0 };
}

void perf_wait_fault(struct watch *w, struct perf_task *task, uint64_t at, uint64_t address)
{
	uint16_t seen;

	if (!task->done.in || task->done.preempted || at > task->done.in + FAULT_NS)
		return;
	seen = is_of(&task->done.look, task->done.out, task->done.in) ? task->done.look.what.flags & GST_WAIT_DISK : 0;
	proc_wait_fault(&w->waits, task->id.pid, address, &task->done.look.what);
	task->done.look.what.flags |= seen;
	task->done.fault = true;
}

/* ---- looks ---------------------------------------------------------------------------------------------- */

/* The machine's list of sockets is not read at each look. */
static bool may_learn_more(const struct watch *w, const struct perf_look *look)
{
	return look->what.fd_kind == GST_FD_SOCKET && (w->waits.fd.unsure || !strncmp(w->waits.fd.name, "socket:", 7));
}

bool perf_wait_look(struct watch *w, struct perf_task *task)
{
	struct perf_look look = { .begin = mono_ns(), .tries = task->look.tries };

	if (!task->out || task->preempted || (task->look.begin && (!look.tries || look.tries >= TRIES)))
		return false;
	proc_sched_read(-1, task->id.pid, task->id.tid, &look.sched);
	if (!watch_look(w, task->id.pid, task->id.tid, &look.what))
		return true; /* it runs again */
	look.end = mono_ns();
	look.tries = may_learn_more(w, &look) ? look.tries + 1 : 0;
	task->look = look;
	return true;
}
