/* SPDX-License-Identifier: BSD-2-Clause */
/* chain_machine.h: a model of a machine: tasks run, fork, end, wait for each other, for disks and for time limits, and share CPUs. What each did in
 * each tick is noted; and what a collector would have written of it. */
#pragma once

#include "chain_built.h"

#define TICK_NS 100000 /* all times are multiples */
#define TICKS 400
#define TASKS 24

/* ---- chance ---- */

static uint32_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static bool one_in(uint32_t n)
{
	return below(n) == 0;
}

/* ---- the machine ---- */

enum doing { NOTHING, RUNS, SLEEPS, HELD_BACK, QUEUES }; /* NOTHING: not born yet, or dead */

static const struct kind { /* of sleep */
	int32_t call;
	uint8_t fd_kind;
	uint8_t by; /* what ends it; UNKNOWN: any task, and nobody sees it */
	enum chain_state state;
	bool leaf; /* whoever ends it */
} kinds[] = {
	{ SYS_futex, GST_FD_NONE, GST_WOKEN_TASK, CHAIN_LOCK, false },
	{ SYS_read, GST_FD_PIPE, GST_WOKEN_TASK, CHAIN_PIPE_READ, false },
	{ SYS_wait4, GST_FD_NONE, GST_WOKEN_TASK, CHAIN_CHILD, false },
	{ SYS_poll, GST_FD_NONE, GST_WOKEN_TASK, CHAIN_POLL, false },
	{ SYS_poll, GST_FD_NONE, GST_WOKEN_TIMER, CHAIN_POLL, false },
	{ SYS_pread64, GST_FD_FILE, GST_WOKEN_INTERRUPT, CHAIN_FILE_READ, true },
	{ SYS_write, GST_FD_FILE, GST_WOKEN_TASK, CHAIN_FILE_WRITE, true },
	{ SYS_nanosleep, GST_FD_NONE, GST_WOKEN_TIMER, CHAIN_SLEEP, true },
	{ SYS_recvfrom, GST_FD_SOCKET, GST_WOKEN_INTERRUPT, CHAIN_SOCKET_READ, false },
	{ SYS_write, GST_FD_PIPE, GST_WOKEN_UNKNOWN, CHAIN_PIPE_WRITE, false },
};

struct episode {                 /* off a CPU, from its first tick on */
	const struct kind *kind; /* NULL: preempted, or new */
	int out, wake, in;       /* wake -1: not yet */
	int held_back_until;
	int until; /* when a device or a time limit ends it */
	int waker;
	uint64_t arg;
	int loop; /* of the model's own: a wait for the same thing is tried again */
};

static struct machine {
	int tasks, cpus;
	struct {
		int born, dead; /* dead -1: not */
		int creator;
		bool there, stranger, kernel;
		int met; /* a stranger: when it first woke somebody; -1 not yet */
		enum doing doing;
		struct episode now;
		struct episode was[TICKS]; /* what it did in each tick, while it was off a CPU */
		uint8_t did[TICKS];
		struct episode all[TICKS];
		int n_all;
	} task[TASKS];
	int tick;
} m;

static int new_task(int creator)
{
	int i = m.tasks++;

	memset(&m.task[i], 0, sizeof(m.task[i]));
	m.task[i].born = m.tick;
	m.task[i].dead = -1;
	m.task[i].met = -1;
	m.task[i].creator = creator;
	m.task[i].there = creator < 0;
	m.task[i].stranger = creator < 0 && i && one_in(5);
	m.task[i].kernel = m.task[i].stranger && one_in(2);
	m.task[i].doing = QUEUES;
	m.task[i].now = (struct episode){ .out = m.tick, .wake = m.tick, .held_back_until = m.tick, .waker = -1 };
	return i;
}

static void wake(int i, int waker)
{
	struct episode *e = &m.task[i].now;

	e->wake = m.tick;
	e->waker = waker;
	e->held_back_until = m.tick + (one_in(4) ? (int)below(6) : 0);
	m.task[i].doing = QUEUES;
	if (waker >= 0 && m.task[waker].stranger && m.task[waker].met < 0)
		m.task[waker].met = m.tick;
}

/* It leaves its CPU at the end of this tick. */
static void sleep_now(int i)
{
	const struct kind *kind = &kinds[below(sizeof(kinds) / sizeof(kinds[0]))];
	struct episode *before = &m.task[i].now;
	uint64_t arg = 64 + 64 * below(3);

	if (before->kind && before->kind->by == GST_WOKEN_TIMER && !before->kind->leaf &&
	    one_in(2)) { /* the same again */
		arg = before->arg;
		kind = one_in(2) ? before->kind : before->kind - 1;
	}
	m.task[i].doing = SLEEPS;
	m.task[i].now = (struct episode){ .kind = kind,
					  .out = m.tick + 1,
					  .wake = -1,
					  .waker = -1,
					  .arg = arg,
					  .until = m.tick + 2 + (int)below(40) };
}

static void preempt(int i)
{
	m.task[i].doing = QUEUES;
	m.task[i].now = (struct episode){ .out = m.tick + 1,
					  .wake = m.tick + 1,
					  .waker = -1,
					  .held_back_until = m.tick + 1 + (one_in(3) ? (int)below(8) : 0) };
}

static void run_one(int i)
{
	int other = (int)below((uint32_t)m.tasks);

	if (one_in(3) && m.task[other].doing == SLEEPS && m.task[other].now.out <= m.tick &&
	    (m.task[other].now.kind->by == GST_WOKEN_TASK || m.task[other].now.kind->by == GST_WOKEN_UNKNOWN))
		wake(other, i);
	if (one_in(60) && m.tasks < TASKS && !m.task[i].stranger)
		new_task(i);
	if (one_in(200) && i) {
		m.task[i].dead = m.tick + 1;
		m.task[i].doing = NOTHING;
	} else if (one_in(6))
		sleep_now(i);
	else if (one_in(15))
		preempt(i);
}

/* What everybody does in this tick is settled first; then they do it. */
static void tick(void)
{
	int running = 0, first = (int)below((uint32_t)m.tasks), n = m.tasks;

	for (int i = 0; i < n; i++) {
		struct episode *e = &m.task[i].now;

		if (m.task[i].doing == SLEEPS &&
		    (e->kind->by == GST_WOKEN_INTERRUPT || e->kind->by == GST_WOKEN_TIMER) && e->until <= m.tick)
			wake(i, -1);
		running += m.task[i].doing == RUNS;
	}
	for (int k = 0; k < n; k++) {
		int i = (first + k) % n;
		struct episode *e = &m.task[i].now;

		if (m.task[i].doing != QUEUES || e->held_back_until > m.tick || running == m.cpus || one_in(4))
			continue;
		running++;
		e->in = m.tick;
		m.task[i].doing = RUNS;
		if (e->in > e->out)
			m.task[i].all[m.task[i].n_all++] = *e;
	}
	for (int i = 0; i < n; i++) {
		enum doing doing = m.task[i].doing;

		if (doing == QUEUES && m.task[i].now.held_back_until > m.tick)
			doing = HELD_BACK;
		m.task[i].did[m.tick] = (uint8_t)doing;
		m.task[i].was[m.tick] = m.task[i].now;
	}
	for (int i = 0; i < n; i++) {
		if (m.task[i].did[m.tick] == RUNS)
			run_one(i);
	}
	m.tick++;
}

/* What was noted while it lasted did not know yet how it ends. */
static void settle(int i, const struct episode *e, int end)
{
	for (int t = e->out; t < end; t++) {
		m.task[i].was[t] = *e;
		m.task[i].did[t] = e->wake < 0 || t < e->wake ? SLEEPS : t < e->held_back_until ? HELD_BACK : QUEUES;
	}
}

static void settle_all(void)
{
	for (int i = 0; i < m.tasks; i++) {
		for (int k = 0; k < m.task[i].n_all; k++)
			settle(i, &m.task[i].all[k], m.task[i].all[k].in);
		if (m.task[i].doing == SLEEPS || m.task[i].doing == QUEUES)
			settle(i, &m.task[i].now, TICKS);
	}
}

/* ---- what a collector writes ---- */

static void write_wait(struct built *b, int i, const struct episode *e, bool lasts)
{
	struct host_task *t = &b->tasks[i];
	int end = lasts ? TICKS : e->in, woken = e->wake < 0 || e->wake > end ? end : e->wake;
	enum gst_woken_by by = !e->kind || e->wake < 0 ? GST_WOKEN_UNKNOWN : e->kind->by;
	struct host_wait *w;

	if (end <= e->out)
		return;
	w = built_wait(b, t, (int64_t)e->out * TICK_NS, (int64_t)woken * TICK_NS, (int64_t)end * TICK_NS,
		       e->kind ? e->kind->call : -1, by, by == GST_WOKEN_TASK ? &b->tasks[e->waker] : NULL);
	w->throttled_ns = (int64_t)((e->held_back_until < end ? e->held_back_until : end) - woken) * TICK_NS;
	if (e->wake < 0 || w->throttled_ns < 0)
		w->throttled_ns = 0;
	w->what.fd_kind = e->kind ? e->kind->fd_kind : GST_FD_NONE;
	w->what.arg = e->arg;
	w->what.flags = (uint16_t)((e->kind ? 0 : GST_WAIT_PREEMPTED) | (lasts ? GST_WAIT_LAST : 0));
}

static void write_task(struct built *b, int i)
{
	struct host_task *t = &b->tasks[i];
	int from = m.task[i].stranger ? m.task[i].met : m.task[i].born;

	t->begin_ns = (int64_t)from * TICK_NS;
	t->creator = m.task[i].creator < 0 ? HOST_NOBODY : (uint32_t)m.task[i].creator;
	t->flags = (uint16_t)((m.task[i].there ? GST_TASK_THERE : 0) | (m.task[i].stranger ? GST_TASK_STRANGER : 0) |
			      (m.task[i].kernel ? GST_TASK_KERNEL : 0));
	t->ended = m.task[i].dead >= 0;
	if (t->ended)
		t->end_ns = (int64_t)m.task[i].dead * TICK_NS;
	for (int k = 0; k < m.task[i].n_all; k++) {
		if (m.task[i].all[k].out >= from)
			write_wait(b, i, &m.task[i].all[k], false);
	}
	if (m.task[i].doing == SLEEPS || m.task[i].doing == QUEUES)
		write_wait(b, i, &m.task[i].now, true);
}

static void machine_run(uint32_t with)
{
	seed = with;
	memset(&m, 0, sizeof(m));
	m.cpus = 1 + (int)below(4);
	for (int n = 2 + (int)below(8); n > 0; n--)
		new_task(-1);
	while (m.tick < TICKS)
		tick();
	settle_all();
}

static void built_run(struct built *b, uint32_t with)
{
	machine_run(with);
	built_begin(b, 0, (int64_t)TICKS * TICK_NS);
	for (int i = 0; i < m.tasks; i++) /* each a process of its own */
		built_task(b, (uint32_t)i + 1, (uint32_t)i + 1);
	for (int i = 0; i < m.tasks; i++) {
		if (!m.task[i].stranger || m.task[i].met >= 0)
			write_task(b, i);
		else
			b->tasks[i].begin_ns = b->trace.end_ns;
	}
	if (one_in(4))
		b->trace.begin_ns = (int64_t)below(TICKS / 2) * TICK_NS;
	if (one_in(4))
		b->trace.cut_ns = (int64_t)(TICKS / 2 + (int)below(TICKS / 2)) * TICK_NS;
}
