/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_looks.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../proc_text.h"

#define STALL_LEAST_NS 20000u /* less than this between two looks is the clocks' error */
#define QUEUE_NS 1000000u     /* a run queue's that is worth a record of its own */
#define TICK_NS 10000000      /* the longest there is */

/* What happened between two looks, as schedstat sums it up. */
struct between {
	uint64_t begin, end;
	uint64_t runs; /* how often it was put on a CPU */
	uint64_t slept, queued;
	uint64_t part;  /* of slept: each sleep's */
	uint64_t queue; /* of queued: each run's */
};

static void write_wait(struct watch *w, struct looked *t, uint64_t wake, uint64_t in)
{
	struct gst_wait r = { .out = t->out, .wake = wake, .in = in, .tid = t->id.tid, .what = t->what };

	if (in <= t->out)
		return;
	if (wake && wake < in)
		r.throttled_ns = watch_throttled(w, wake, in);
	r.what.flags |= GST_WAIT_LOOKED;
	stalls_write(&t->stalls, w->file, t->id.tid);
	host_file_append(w->file, GST_WAIT, sizeof(r), &r);
}

struct stat_sums {
	unsigned long long faults, user, system; /* fields 12, 14, 15: major page faults; clock ticks on a CPU */
};

static bool read_stat(uint32_t pid, uint32_t tid, struct stat_sums *s)
{
	char text[1024];
	const char *end;

	*s = (struct stat_sums){ 0 };
	return proc_text_read(text, sizeof(text), "/proc/%u/task/%u/stat", pid, tid) > 0 &&
	       (end = strrchr(text, ')')) &&
	       sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %llu %*u %llu %llu", &s->faults, &s->user,
		      &s->system) == 3;
}

static uint64_t major_faults(uint32_t pid, uint32_t tid)
{
	struct stat_sums s;

	return read_stat(pid, tid, &s) ? s.faults : 0;
}

/* A kernel without CONFIG_SCHED_INFO has no schedstat, or one of zeros: then there are the clock ticks in which it ran, and no more.
 * False: it has ended. What is open says so even if there is another of its number by now. */
static bool read_sums(struct looked *t, struct proc_sched *now)
{
	bool known = proc_sched_read(t->fd, t->id.pid, t->id.tid, now);
	struct stat_sums s;

	if (known && now->slices)
		return true;
	if (!known && t->fd >= 0)
		return false;
	*now = (struct proc_sched){ 0 };
	if (!read_stat(t->id.pid, t->id.tid, &s))
		return false;
	now->run_ns = (s.user + s.system) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

/* ---- the time in between -------------------------------------------------------------------------------- */

/* It was kept from its CPU once: when, in between, is not known. */
static void write_queue(struct watch *w, struct looked *t, uint64_t out, uint64_t queued)
{
	struct gst_wait r = { .out = out, .wake = out, .in = out + queued, .tid = t->id.tid };

	proc_wait_unknown(&r.what);
	r.what.flags = GST_WAIT_PREEMPTED | GST_WAIT_LOOKED;
	r.throttled_ns = watch_throttled(w, r.wake, r.in);
	stalls_write(&t->stalls, w->file, t->id.tid);
	host_file_append(w->file, GST_WAIT, sizeof(r), &r);
}

/* Sleeps that began and ended in between, and every wait for a CPU but that of the wait that was going on. What for: the same as before and
 * after, if that is the same; or major faults, if there were some. */
static void write_between(struct watch *w, struct looked *t, const struct between *b, bool before, bool after,
			  const struct gst_wait_for *next)
{
	uint64_t faults, used = b->part * ((before ? 1u : 0u) + (after ? 1u : 0u));
	struct stall s = {
		.begin = b->begin + (before ? b->part + b->queue : 0),
		.end = b->end - (after ? b->part : 0),
		.blocked_ns = b->slept > used ? b->slept - used : 0,
		.queued_ns = b->queued - (before ? b->queue : 0),
		.count = (uint32_t)(b->runs - (before ? 1 : 0)),
	};

	if (b->runs <= (before ? 1u : 0u) || s.blocked_ns + s.queued_ns < STALL_LEAST_NS || s.end <= s.begin)
		return;
	if (b->runs == 1 && !before && s.blocked_ns < STALL_LEAST_NS && s.queued_ns >= QUEUE_NS) {
		write_queue(w, t, b->begin + (b->end - b->begin - s.queued_ns) / 2, s.queued_ns);
		return;
	}
	if (s.blocked_ns + s.queued_ns > s.end - s.begin)
		s.blocked_ns = s.end - s.begin > s.queued_ns ? s.end - s.begin - s.queued_ns : 0;
	proc_wait_unknown(&s.what);
	faults = major_faults(t->id.pid, t->id.tid);
	if (s.blocked_ns < STALL_LEAST_NS) {
		s.what.flags = GST_WAIT_PREEMPTED;
	} else if (faults > t->faults) {
		s.what.syscall = -1;
		proc_wait_some_fault(t->id.pid, &s.what);
	} else if ((before || after) && proc_wait_same(&t->what, next)) {
		s.what = *next;
		s.what.offset = UINT64_MAX;
	}
	t->faults = faults;
	s.what.flags |= GST_WAIT_LOOKED;
	s.throttled_ns = s.queued_ns ? watch_throttled(w, s.begin, s.end) : 0;
	s.throttled_ns = s.throttled_ns < s.queued_ns ? s.throttled_ns : s.queued_ns;
	stalls_add(&t->stalls, w->file, t->id.tid, &s);
}

/* Equal parts: of sleep for each time that it slept, of queueing for each time that it ran. */
static struct between between(struct looked *t, const struct proc_sched *now, uint64_t at, bool after)
{
	uint64_t ran = now->run_ns - t->sched.run_ns, whole = at - t->at, sleeps;
	struct between b = { .begin = t->at, .end = at, .runs = now->slices - t->sched.slices };
	int64_t slept;

	b.queued = now->delay_ns - t->sched.delay_ns;
	if (b.queued > whole)
		b.queued = whole; /* part of it was before the last look */
	slept = (int64_t)(whole - b.queued) - (int64_t)ran;
	if (!t->waits && !after) {
		/* Nothing of it is sure, but for what is more than a tick. */
		t->carried_since = t->carried_since ? t->carried_since : t->at;
		t->carried_ns += slept;
		slept = t->carried_ns > TICK_NS ? t->carried_ns - TICK_NS : 0;
		t->carried_ns -= slept;
	} else {
		slept += t->carried_ns;
		t->carried_ns = after || slept > 0 ? 0 : slept;
	}
	if (slept > 0 && !t->waits && t->carried_since)
		b.begin = t->carried_since;
	if (slept > 0 || after || t->waits)
		t->carried_since = 0;
	b.slept = slept < 0                                      ? 0
		  : (uint64_t)slept < b.end - b.begin - b.queued ? (uint64_t)slept
								 : b.end - b.begin - b.queued;
	sleeps = b.runs + (after ? 1u : 0u);
	b.part = sleeps ? b.slept / sleeps : 0;
	b.queue = b.runs ? b.queued / b.runs : 0;
	return b;
}

/* ---- looks ---------------------------------------------------------------------------------------------- */

static bool slept_on(const struct looked *t, const struct proc_sched *now)
{
	return now->slices == t->sched.slices && now->run_ns == t->sched.run_ns;
}

static void enter(struct looked *t, uint64_t out, const struct gst_wait_for *what)
{
	t->waits = true;
	t->told = 0;
	t->out = out;
	t->what = *what;
}

/* Without the kernel's sums a change is halfway between two looks, about the time that it ran meanwhile. */
static void by_state(struct watch *w, struct looked *t, const struct proc_sched *now, uint64_t at, bool after,
		     const struct gst_wait_for *what)
{
	uint64_t whole = at - t->at, ran = now->run_ns - t->sched.run_ns;

	if (t->waits && after && !ran && proc_wait_same(&t->what, what))
		return;
	ran = ran < whole ? ran : whole;
	if (t->waits)
		write_wait(w, t, 0, t->at + (whole - ran) / 2);
	t->waits = false;
	if (after)
		enter(t, at - (whole - ran) / 2, what);
}

static void by_sums(struct watch *w, struct looked *t, const struct proc_sched *now, uint64_t at, bool after,
		    const struct gst_wait_for *what)
{
	struct between b = between(t, now, at, after);
	bool before = t->waits;

	/* It has run since, so that the wait is over, whatever was seen of it last. */
	if (before && b.runs)
		write_wait(w, t, b.begin + b.part, b.begin + b.part + b.queue);
	else if (before)
		write_wait(w, t, 0, t->at);
	t->waits = false;
	write_between(w, t, &b, before && b.runs, after, what);
	if (after)
		enter(t, at - b.part, what);
}

bool looked_again(struct watch *w, struct looked *t)
{
	struct proc_sched now;
	struct gst_wait_for what;
	bool after;
	uint64_t at;

	if (!read_sums(t, &now))
		return false;
	at = mono_ns();
	if (t->waits && now.slices && slept_on(t, &now)) {
		t->at = at;
		return true;
	}
	after = watch_look(w, t->id.pid, t->id.tid, &what);
	if (w->waits.ended)
		return false;
	/* It is runnable and has not run: how long it has been kept from it is told when it has a CPU again. */
	if (!after && now.slices && slept_on(t, &now))
		return true;
	if (now.slices)
		by_sums(w, t, &now, at, after, &what);
	else
		by_state(w, t, &now, at, after, &what);
	t->at = at;
	t->sched = now;
	return true;
}

void looked_begin(struct watch *w, struct looked *t, const struct proc_task *id, uint64_t begin)
{
	char path[64];
	struct gst_wait_for what;

	memset(t, 0, sizeof(*t));
	t->id = *id;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", id->pid, id->tid);
	t->fd = open(path, O_RDONLY | O_CLOEXEC);
	read_sums(t, &t->sched);
	t->faults = major_faults(id->pid, id->tid);
	t->at = mono_ns();
	if (watch_look(w, id->pid, id->tid, &what))
		enter(t, begin, &what);
}

void looked_last(struct watch *w, struct looked *t, uint64_t now)
{
	if (!t->waits)
		return;
	t->what.flags |= GST_WAIT_LAST;
	write_wait(w, t, 0, now);
	t->what.flags &= (uint16_t)~GST_WAIT_LAST;
	t->told = now;
}

void looked_end(struct watch *w, struct looked *t, uint64_t at)
{
	if (t->waits)
		write_wait(w, t, 0, at);
	t->waits = false;
	looked_finish(w, t);
	watch_task_end(w, t->id.tid, t->id.pid, at);
}

void looked_finish(struct watch *w, struct looked *t)
{
	stalls_write(&t->stalls, w->file, t->id.tid);
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}
