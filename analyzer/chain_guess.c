/* SPDX-License-Identifier: BSD-2-Clause */
/* chain_guess.c: who may have woken a task, where only switches are on record, or looks. Whoever reads a pipe is woken by a process that holds
 * its writing end; whoever waits for a lock, by a thread of its own process. Of these, one that was on a CPU at that time or just before.
 * It is a guess: where several fit equally well there is no answer. */
#include "chain_parts.h"

#include "alloc.h"

#define JUST_BEFORE_NS 1000000 /* a writer may have gone to sleep before its reader was seen to run */
#define SOON_NS 5000000        /* one that hands over the last it had leaves its CPU soon */

struct seen {             /* a task about an instant */
	bool ran;         /* it was on a CPU then, or had been just before */
	bool wrote;       /* … in a call about that very pipe */
	int64_t apart_ns; /* how far from the instant it left its CPU */
};

static bool same_pipe(const struct host_wait *wait, const struct host_wait *other)
{
	return wait->what.inode && other->what.inode == wait->what.inode && other->what.fd_kind == wait->what.fd_kind;
}

/* wait: what the other one was woken from; NULL: a lock. */
static struct seen look(const struct host_trace *h, const struct host_task *task, int64_t at_ns,
			const struct host_wait *wait)
{
	size_t i = host_wait_after(task, at_ns - 1);
	const struct host_wait *now = i < task->n_waits ? &task->waits[i] : NULL;
	struct seen s = { .apart_ns = INT64_MAX };

	if (task->begin_ns >= at_ns || task->end_ns < at_ns - JUST_BEFORE_NS || task->flags & GST_TASK_KERNEL)
		return s;
	if (now && now->out_ns < at_ns) { /* it was asleep: since when? */
		s.apart_ns = at_ns - now->out_ns;
		s.ran = s.apart_ns <= JUST_BEFORE_NS;
	} else {
		int64_t leaves_ns = now ? now->out_ns : task->ended ? task->end_ns : h->end_ns;

		s.apart_ns = leaves_ns > at_ns ? leaves_ns - at_ns : at_ns - leaves_ns;
		s.ran = true;
	}
	s.wrote = s.ran && wait &&
		  ((now && now->out_ns < at_ns && same_pipe(wait, now)) ||
		   (i && task->waits[i - 1].in_ns >= at_ns - JUST_BEFORE_NS && same_pipe(wait, &task->waits[i - 1])));
	return s;
}

struct guess {
	uint32_t best;
	struct seen seen;
	size_t fits;
};

static bool is_better(const struct seen *a, const struct seen *b)
{
	return a->wrote != b->wrote ? a->wrote : a->apart_ns < b->apart_ns;
}

static void consider(struct guess *g, const struct host_trace *h, uint32_t task, int64_t at_ns,
		     const struct host_wait *wait)
{
	struct seen s = look(h, &h->tasks[task], at_ns, wait);

	if (!s.ran)
		return;
	if (!g->fits++ || is_better(&s, &g->seen)) {
		g->best = task;
		g->seen = s;
	}
}

/* ---- locks ---- */

static bool is_asleep(const struct host_task *task, int64_t at_ns)
{
	size_t i = host_wait_after(task, at_ns - 1);

	return i < task->n_waits && task->waits[i].out_ns < at_ns;
}

static bool same_process(const struct host_task *a, const struct host_task *b)
{
	return a->pid == b->pid && (a->leader == b->leader || a->leader == HOST_NOBODY || b->leader == HOST_NOBODY);
}

uint32_t chain_guess_holder(const struct host_trace *h, const struct host_task *task, int64_t at_ns, size_t *left)
{
	struct guess on = { .best = HOST_NOBODY }, before = on; /* on a CPU then; or just before */

	for (size_t i = 0; i < h->n_tasks && *left; i++, --*left) {
		struct guess *g = is_asleep(&h->tasks[i], at_ns) ? &before : &on;

		if (&h->tasks[i] != task && same_process(task, &h->tasks[i]))
			consider(g, h, (uint32_t)i, at_ns, NULL);
	}
	if (on.fits)
		return on.fits == 1 ? on.best : HOST_NOBODY;
	return before.fits == 1 ? before.best : HOST_NOBODY;
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

	for (size_t i = first_end(h, inode); i < h->n_pipe_ends && h->pipe_ends[i].inode == inode; i++) {
		const struct host_pipe_end *e = &h->pipe_ends[i];

		if (e->task == last || e->task >= h->n_tasks || !(e->flags & end) ||
		    same_process(task, &h->tasks[e->task]) != own)
			continue;
		last = e->task;
		for (uint32_t k = 0; k < h->n_tasks && *left; k++, --*left) {
			if (&h->tasks[k] != task && is_leader_of(h, e->task, k))
				consider(&g, h, k, wait->wake_ns, wait);
		}
	}
	return g;
}

static uint32_t other_end(const struct host_trace *h, const struct host_task *task, const struct host_wait *wait,
			  bool writes, size_t *left)
{
	uint64_t inode = other_inode(h, &wait->what, left);
	uint16_t end = wait->what.fd_kind == GST_FD_SOCKET ? GST_PIPE_READS | GST_PIPE_WRITES
		       : writes                            ? GST_PIPE_READS
							   : GST_PIPE_WRITES;
	struct guess g = { .best = HOST_NOBODY };

	if (!inode)
		return HOST_NOBODY;
	/* Forked workers inherit both ends: the reader's own process holds the writing end, too, and rarely uses it. */
	g = among_holders(h, task, wait, inode, end, false, left);
	if (!g.fits)
		g = among_holders(h, task, wait, inode, end, true, left);
	return g.fits == 1 || (g.fits > 1 && (g.seen.wrote || g.seen.apart_ns <= SOON_NS)) ? g.best : HOST_NOBODY;
}

/* ---- children ---- */

static uint32_t ended_child(const struct host_trace *h, const struct host_task *task, const struct host_wait *wait,
			    size_t *left)
{
	uint32_t best = HOST_NOBODY;
	uint32_t self = (uint32_t)(task - h->tasks);

	for (size_t i = 0; i < h->n_tasks && *left; i++, --*left) {
		const struct host_task *t = &h->tasks[i];

		if (t->ended && (t->creator == self || (t->creator == task->leader && t->creator != HOST_NOBODY)) &&
		    t->pid != task->pid && t->end_ns > wait->out_ns && t->end_ns <= wait->in_ns + JUST_BEFORE_NS &&
		    (best == HOST_NOBODY || t->end_ns > h->tasks[best].end_ns))
			best = (uint32_t)i;
	}
	return best;
}

uint32_t chain_guess(const struct host_trace *h, const struct host_task *task, const struct host_wait *wait,
		     enum chain_state state, size_t *left)
{
	uint8_t kind = wait->what.fd_kind;

	if (wait->what.flags & GST_WAIT_LAST)
		return HOST_NOBODY; /* nobody has */
	if (state == CHAIN_LOCK)
		return chain_guess_holder(h, task, wait->wake_ns, left);
	if (state == CHAIN_CHILD)
		return ended_child(h, task, wait, left);
	if (wait->what.inode && (kind == GST_FD_PIPE || kind == GST_FD_SOCKET))
		return other_end(h, task, wait, state == CHAIN_PIPE_WRITE || state == CHAIN_SOCKET_WRITE, left);
	return HOST_NOBODY;
}
