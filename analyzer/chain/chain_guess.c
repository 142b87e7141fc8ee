/* SPDX-License-Identifier: BSD-2-Clause */
/* chain_guess.c: who may have woken a task, where only switches are on record, or looks. Whoever reads a pipe is woken by a process that holds
 * its writing end; whoever waits for a lock, by a thread of its own process. Of these, one that ran while it waited. It is a guess: where several
 * fit equally well there is no answer. When it was woken is not known either: at the latest when who woke it went to sleep. */
#include "chain_parts.h"

#include <string.h>

#include "tools/alloc.h"
#include "tools/ns.h"

#define JUST_BEFORE_NS 1000000 /* that much nearer than any other is near enough */
#define NEAR_NS \
	100000 /* who goes to sleep that close to it had to do with it rather than one that only happens to run */
#define LOOK_NS 10000000 /* between two looks, where a task is looked at often; else the file says */
#define LATE_NS 20000000 /* for so long may a task wait for a CPU; who slept before that did not wake it */
#define SOON_NS 5000000  /* one that hands over the last it had leaves its CPU soon */

struct seen {             /* a task about the instant at which another was on a CPU again */
	bool ran;         /* it was on a CPU then, or to be, or had been since that one began to wait */
	bool wrote;       /* … in a call about that very pipe */
	int64_t apart_ns; /* how far from the instant it left its CPU */
	int64_t slept_ns; /* when it went to sleep; INT64_MAX: it had not */
};

static bool same_pipe(const struct host_wait *wait, const struct host_wait *other)
{
	return wait->what.inode && other->what.inode == wait->what.inode && other->what.fd_kind == wait->what.fd_kind;
}

/* The recorder's own threads: they look now and then, and never hold what the program waits for. */
static bool is_own(const struct host_task *task)
{
	static const char own[] = "gpushim";

	return !strncmp(task->name, own, sizeof(own) - 1);
}

/* Until when the task was on a CPU, if it was at that instant. */
static int64_t leaves_at(const struct host_trace *h, const struct host_task *task, const struct host_wait *next)
{
	return next ? next->out_ns : task->ended ? task->end_ns : h->end_ns;
}

/* By when it had been woken. Without eBPF even a wake that is on record is but an estimate from how long the task had no CPU. */
static int64_t latest(const struct host_trace *h, const struct host_wait *wait)
{
	return wait->wake_known && h->probes.how == GST_PROBES_EBPF ? wait->wake_ns : wait->in_ns;
}

/* Times that are looks' may be off by the time between two. */
static int64_t tolerance(const struct host_trace *h, const struct host_wait *wait)
{
	return wait->what.flags & GST_WAIT_LOOKED ? max64(LOOK_NS, h->probes.period_ns) : 0;
}

static struct seen look(const struct host_trace *h, const struct host_task *task, const struct host_wait *wait)
{
	int64_t at_ns = latest(h, wait), since_ns = wait->out_ns;
	size_t i = host_wait_after(task, at_ns - 1);
	const struct host_wait *now = i < task->n_waits ? &task->waits[i] : NULL,
			       *last = i ? &task->waits[i - 1] : NULL;
	struct seen s = { .apart_ns = INT64_MAX, .slept_ns = INT64_MAX };
	int64_t left_ns;

	if (task->begin_ns >= at_ns || task->end_ns <= since_ns || task->flags & GST_TASK_KERNEL || is_own(task))
		return s;
	if (now && now->out_ns < at_ns && !(now->what.flags & GST_WAIT_PREEMPTED)) {
		bool ends = tolerance(h, wait) && now->in_ns <= at_ns + tolerance(h, wait) &&
			    !(now->what.flags & GST_WAIT_LAST);

		left_ns = ends ? now->in_ns : now->out_ns;
		s.slept_ns = ends ? INT64_MAX : now->out_ns;
		s.ran = ends || (now->out_ns > since_ns && now->out_ns >= at_ns - LATE_NS);
	} else {
		left_ns = leaves_at(h, task, now);
		s.ran = true;
	}
	s.apart_ns = left_ns > at_ns ? left_ns - at_ns : at_ns - left_ns;
	if (last && last->in_ns >= at_ns - tolerance(h, wait))
		s.apart_ns = min64(s.apart_ns, at_ns - last->in_ns);
	s.wrote = s.ran && ((now && now->out_ns < at_ns && same_pipe(wait, now)) ||
			    (last && last->in_ns >= at_ns - JUST_BEFORE_NS && same_pipe(wait, last)));
	return s;
}

struct guess {
	uint32_t best;
	struct seen seen;
	int64_t next_ns; /* how far the second best was apart */
	size_t fits;
};

static bool is_better(const struct seen *a, const struct seen *b)
{
	return a->wrote != b->wrote ? a->wrote : a->apart_ns < b->apart_ns;
}

static void consider(struct guess *g, uint32_t task, const struct seen *s)
{
	if (!s->ran)
		return;
	if (!g->fits++ || is_better(s, &g->seen)) {
		g->next_ns = g->fits > 1 ? g->seen.apart_ns : INT64_MAX;
		g->best = task;
		g->seen = *s;
	} else
		g->next_ns = min64(g->next_ns, s->apart_ns);
}

/* ---- locks ---- */

struct crowd {              /* who may have to do with it */
	const uint32_t *at; /* NULL: all of them */
	size_t n;
};

static struct crowd process_of(const struct host_trace *h, const struct host_task *task)
{
	struct crowd c;

	c.at = host_trace_process(h, task->pid, &c.n);
	return c;
}

static uint32_t member(const struct crowd *c, size_t i)
{
	return c->at ? c->at[i] : (uint32_t)i;
}

/* One that goes to sleep right then; else the only one that has a CPU or is to have one; else the last that went to sleep. */
static struct guess holder(const struct host_trace *h, const struct host_task *task, const struct host_wait *wait,
			   size_t *left)
{
	struct guess all = { .best = HOST_NOBODY }, awake = all;
	struct crowd crowd = process_of(h, task);

	for (size_t i = 0; i < crowd.n && *left; i++, --*left) {
		uint32_t k = member(&crowd, i);
		struct seen s;

		if (&h->tasks[k] == task || !host_same_process(task, &h->tasks[k]))
			continue;
		s = look(h, &h->tasks[k], wait);
		consider(&all, k, &s);
		if (s.slept_ns == INT64_MAX)
			consider(&awake, k, &s);
	}
	if (tolerance(h, wait) &&
	    (all.fits == 1 || (all.fits && all.next_ns / 2 >= all.seen.apart_ns + JUST_BEFORE_NS)))
		return all; /* half as far as any other, and by more than a moment */
	if (!tolerance(h, wait) && all.fits && all.seen.apart_ns <= NEAR_NS &&
	    all.next_ns - all.seen.apart_ns >= NEAR_NS)
		return all;
	if (awake.fits == 1)
		return awake;
	if (!awake.fits && all.fits && all.next_ns - all.seen.apart_ns >= JUST_BEFORE_NS)
		return all;
	return (struct guess){ .best = HOST_NOBODY };
}

/* For how much of that time it had a CPU or was to have one. */
static int64_t awake_ns(const struct host_task *task, int64_t begin_ns, int64_t end_ns, size_t *left)
{
	int64_t awake = end_ns - begin_ns;

	if (task->begin_ns > begin_ns || task->end_ns < end_ns || task->flags & GST_TASK_KERNEL || is_own(task))
		return 0;
	for (size_t i = host_wait_after(task, begin_ns); i < task->n_waits && task->waits[i].out_ns < end_ns && *left;
	     i++, --*left) {
		const struct host_wait *w = &task->waits[i];

		if (!(w->what.flags & GST_WAIT_PREEMPTED))
			awake -= max64(0, min64(w->wake_ns, end_ns) - max64(w->out_ns, begin_ns));
	}
	return awake;
}

/* Its time limit ended the wait, nobody gave the lock up: who had it was at work for most of that time. */
static struct guess keeper(const struct host_trace *h, const struct host_task *task, const struct host_wait *wait,
			   size_t *left)
{
	struct guess g = { .best = HOST_NOBODY, .seen.slept_ns = INT64_MAX };
	struct crowd crowd = process_of(h, task);

	for (size_t i = 0; i < crowd.n && *left; i++, --*left) {
		uint32_t k = member(&crowd, i);

		if (&h->tasks[k] != task && host_same_process(task, &h->tasks[k]) &&
		    awake_ns(&h->tasks[k], wait->out_ns, wait->wake_ns, left) > (wait->wake_ns - wait->out_ns) / 2) {
			g.best = k;
			g.fits++;
		}
		if (!*left)
			break;
	}
	g.best = g.fits == 1 ? g.best : HOST_NOBODY;
	return g;
}

/* ---- pipes and sockets ---- */

static bool end_before(const void *element, const void *key)
{
	return ((const struct host_pipe_end *)element)->inode < *(const uint64_t *)key;
}

static size_t first_end(const struct host_trace *h, uint64_t inode)
{
	return array_first(h->pipe_ends, h->n_pipe_ends, sizeof(*h->pipe_ends), end_before, &inode);
}

/* Both ends of a pipe have its inode. Each end of a socket has its own, and knows the other's. */
static uint64_t other_inode(const struct host_trace *h, const struct host_what *what, size_t *left)
{
	if (what->fd_kind != GST_FD_SOCKET)
		return what->inode;
	for (size_t i = first_end(h, what->inode); i < h->n_pipe_ends && h->pipe_ends[i].inode == what->inode && *left;
	     i++, --*left) {
		if (h->pipe_ends[i].peer)
			return h->pipe_ends[i].peer;
	}
	/* Only the other side may have said so. */
	for (size_t i = 0; i < h->n_pipe_ends && *left; i++, --*left) {
		if (h->pipe_ends[i].peer == what->inode)
			return h->pipe_ends[i].inode;
	}
	return 0;
}

static bool is_leader_of(const struct host_trace *h, uint32_t leader, uint32_t task)
{
	return leader < h->n_tasks && (task == leader || h->tasks[task].leader == leader) &&
	       h->tasks[task].pid == h->tasks[leader].pid;
}

/* The threads of all processes at that end; own: the waiting task's process, too. */
static struct guess among_holders(const struct host_trace *h, const struct host_task *task,
				  const struct host_wait *wait, uint64_t inode, uint16_t end, bool own, size_t *left)
{
	struct guess g = { .best = HOST_NOBODY };
	uint32_t last = HOST_NOBODY;
	struct crowd crowd;

	for (size_t i = first_end(h, inode); i < h->n_pipe_ends && h->pipe_ends[i].inode == inode && *left; i++) {
		const struct host_pipe_end *e = &h->pipe_ends[i];

		--*left;
		if (e->task == last || e->task >= h->n_tasks || !(e->flags & end) ||
		    host_same_process(task, &h->tasks[e->task]) != own)
			continue;
		last = e->task;
		crowd = process_of(h, &h->tasks[e->task]);
		for (size_t m = 0; m < crowd.n && *left; m++, --*left) {
			uint32_t k = member(&crowd, m);

			if (&h->tasks[k] != task && is_leader_of(h, e->task, k)) {
				struct seen s = look(h, &h->tasks[k], wait);

				consider(&g, k, &s);
			}
		}
	}
	return g;
}

static struct guess other_end(const struct host_trace *h, const struct host_task *task, const struct host_wait *wait,
			      bool writes, size_t *left)
{
	uint64_t inode = other_inode(h, &wait->what, left);
	uint16_t end = writes ? GST_PIPE_READS : GST_PIPE_WRITES;
	struct guess g = { .best = HOST_NOBODY };

	if (wait->what.fd_kind == GST_FD_SOCKET)
		end = GST_PIPE_READS | GST_PIPE_WRITES;
	/* Forked workers inherit both ends: the reader's own process holds the writing end, too, and rarely uses it. */
	if (inode)
		g = among_holders(h, task, wait, inode, end, false, left);
	if (inode && !g.fits)
		g = among_holders(h, task, wait, inode, end, true, left);
	if (g.fits > 1 && !g.seen.wrote && g.seen.apart_ns > SOON_NS)
		g.best = HOST_NOBODY;
	return g;
}

/* ---- children ---- */

static bool is_child(const struct host_task *of, uint32_t self, const struct host_task *t)
{
	return t->pid != of->pid && t->creator != HOST_NOBODY && (t->creator == self || t->creator == of->leader);
}

static struct guess ended_child(const struct host_trace *h, const struct host_task *task, const struct host_wait *wait,
				size_t *left)
{
	struct guess g = { .best = HOST_NOBODY, .seen.slept_ns = INT64_MAX };
	uint32_t self = (uint32_t)(task - h->tasks);

	for (size_t i = 0; i < h->n_tasks && *left; i++, --*left) {
		const struct host_task *t = &h->tasks[i];

		if (t->ended && is_child(task, self, t) && t->end_ns > wait->out_ns &&
		    t->end_ns <= wait->in_ns + JUST_BEFORE_NS &&
		    (g.best == HOST_NOBODY || t->end_ns > g.seen.slept_ns)) {
			g.best = (uint32_t)i;
			g.seen.slept_ns = t->end_ns;
		}
	}
	return g;
}

uint32_t chain_guess(const struct host_trace *h, const struct host_task *task, const struct host_wait *wait,
		     enum chain_state state, size_t *left, int64_t *woken_ns)
{
	bool pipe = wait->what.inode && (wait->what.fd_kind == GST_FD_PIPE || wait->what.fd_kind == GST_FD_SOCKET);
	struct guess g = { .best = HOST_NOBODY };

	*woken_ns = wait->wake_ns;
	if (wait->what.flags & GST_WAIT_LAST)
		return HOST_NOBODY; /* nobody has */
	if (state == CHAIN_LOCK && wait->by == GST_WOKEN_TIMER)
		g = keeper(h, task, wait, left);
	else if (state == CHAIN_LOCK)
		g = holder(h, task, wait, left);
	else if (state == CHAIN_CHILD)
		g = ended_child(h, task, wait, left);
	else if (pipe)
		g = other_end(h, task, wait, state == CHAIN_PIPE_WRITE || state == CHAIN_SOCKET_WRITE, left);
	if (!*left) /* not all were looked at: whoever else there is might fit as well */
		return HOST_NOBODY;
	if (g.best != HOST_NOBODY && g.seen.slept_ns < latest(h, wait))
		*woken_ns = max64(g.seen.slept_ns, wait->wake_known ? wait->wake_ns : wait->out_ns);
	return g.best;
}
