/* SPDX-License-Identifier: BSD-2-Clause */
/* chain_stalls.c: a task that is in no long wait was on a CPU, but for its short waits, which are on record as sums, and for the time in which it
 * looked for memory itself. */
#include "chain_parts.h"

#include "tools/alloc.h"

#define LOOK_BACK 64 /* stalls that began earlier and may not be over; more would make a hostile file slow */

/* ---- time outside of long waits ---- */

/* How much of the task's time up to that was in long waits. */
static int64_t off_until(const struct host_task *task, int64_t at_ns)
{
	size_t i = host_wait_after(task, at_ns);
	const struct host_wait *last = i ? &task->waits[i - 1] : NULL;
	int64_t before = last ? last->off_before_ns + (last->in_ns - last->out_ns) : 0;

	if (i < task->n_waits && task->waits[i].out_ns < at_ns)
		before += at_ns - task->waits[i].out_ns;
	return before;
}

struct spread {                  /* a stretch without its long waits */
	int64_t whole, from, to; /* in it: all of it; where the part begins and ends */
};

static struct spread spread_of(const struct host_task *task, const struct host_stalls *s, int64_t at_ns, int64_t end_ns)
{
	int64_t off = off_until(task, s->begin_ns), from = off_until(task, at_ns);

	/* no long wait lies in the part */
	return (struct spread){ .whole = (s->end_ns - s->begin_ns) - (off_until(task, s->end_ns) - off),
				.from = (at_ns - s->begin_ns) - (from - off),
				.to = (end_ns - s->begin_ns) - (from - off) };
}

/* Of an amount, what falls into the part; over all parts it sums to the amount exactly. */
static int64_t share(int64_t amount, const struct spread *p)
{
	return (int64_t)((__int128)amount * p->to / p->whole - (__int128)amount * p->from / p->whole);
}

/* ---- which stalls ---- */

static bool stalls_begin_before(const void *element, const void *key)
{
	return ((const struct host_stalls *)element)->begin_ns <= *(const int64_t *)key;
}

static bool reclaim_begins_before(const void *element, const void *key)
{
	return ((const struct host_reclaim *)element)->begin_ns <= *(const int64_t *)key;
}

static bool written_begins_before(const void *element, const void *key)
{
	return ((const struct host_written *)element)->begin_ns <= *(const int64_t *)key;
}

static void take(struct chain_cursor *c, size_t stall)
{
	if (c->n_active < CHAIN_STALLS)
		c->active[c->n_active++] = stall;
}

static void set_at(struct chain_cursor *c, const struct host_task *task, int64_t at_ns)
{
	size_t last_stall =
		array_first(task->stalls, task->n_stalls, sizeof(*task->stalls), stalls_begin_before, &at_ns);
	size_t last_reclaim =
		array_first(task->reclaims, task->n_reclaims, sizeof(*task->reclaims), reclaim_begins_before, &at_ns);
	size_t last_written =
		array_first(task->written, task->n_written, sizeof(*task->written), written_begins_before, &at_ns);

	*c = (struct chain_cursor){ .set = true };
	c->written = last_written ? last_written - 1 : 0; /* they are disjoint */
	c->stall = last_stall > LOOK_BACK ? last_stall - LOOK_BACK : 0;
	c->reclaim = last_reclaim > LOOK_BACK ? last_reclaim - LOOK_BACK : 0;
	c->reclaim_end_ns = INT64_MIN;
}

static int64_t write_to(struct chain_cursor *c, const struct host_task *task, int64_t at_ns, int64_t end_ns)
{
	for (; c->written < task->n_written && task->written[c->written].begin_ns <= at_ns; c->written++)
		c->writing = &task->written[c->written];
	if (c->writing && c->writing->end_ns <= at_ns)
		c->writing = NULL;
	if (c->writing)
		return c->writing->end_ns < end_ns ? c->writing->end_ns : end_ns;
	if (c->written < task->n_written && task->written[c->written].begin_ns < end_ns)
		return task->written[c->written].begin_ns;
	return end_ns;
}

/* Up to where nothing begins or ends. */
static int64_t move_to(struct chain_cursor *c, const struct host_task *task, int64_t at_ns, int64_t end_ns)
{
	size_t kept = 0;

	for (; c->stall < task->n_stalls && task->stalls[c->stall].begin_ns <= at_ns; c->stall++) {
		if (task->stalls[c->stall].end_ns > at_ns)
			take(c, c->stall);
	}
	for (; c->reclaim < task->n_reclaims && task->reclaims[c->reclaim].begin_ns <= at_ns; c->reclaim++) {
		if (task->reclaims[c->reclaim].end_ns > c->reclaim_end_ns)
			c->reclaim_end_ns = task->reclaims[c->reclaim].end_ns;
	}
	for (size_t i = 0; i < c->n_active; i++) {
		int64_t over_ns = task->stalls[c->active[i]].end_ns;

		if (over_ns <= at_ns)
			continue;
		c->active[kept++] = c->active[i];
		end_ns = over_ns < end_ns ? over_ns : end_ns;
	}
	c->n_active = kept;
	if (c->stall < task->n_stalls && task->stalls[c->stall].begin_ns < end_ns)
		end_ns = task->stalls[c->stall].begin_ns;
	if (c->reclaim_end_ns > at_ns)
		end_ns = c->reclaim_end_ns < end_ns ? c->reclaim_end_ns : end_ns;
	else if (c->reclaim < task->n_reclaims && task->reclaims[c->reclaim].begin_ns < end_ns)
		end_ns = task->reclaims[c->reclaim].begin_ns;
	return write_to(c, task, at_ns, end_ns);
}

/* ---- the parts ---- */

struct parts {
	struct chain_part *at;
	size_t n;
	int64_t left_ns; /* sums that do not fit, as in a damaged file, are cut */
};

static void add(struct parts *p, int64_t ns, enum chain_state state, const struct host_stalls *stalls)
{
	ns = ns < p->left_ns ? ns : p->left_ns;
	if (ns <= 0)
		return;
	p->at[p->n++] = (struct chain_part){ ns, state, stalls, NULL };
	p->left_ns -= ns;
}

static void add_stalls(struct parts *p, const struct host_trace *h, const struct host_task *task,
		       const struct host_stalls *s, int64_t at_ns, int64_t end_ns)
{
	struct spread part = spread_of(task, s, at_ns, end_ns);
	int64_t throttled = s->throttled_ns < s->queued_ns ? s->throttled_ns : s->queued_ns;

	if (part.whole <= 0 || part.from < 0 || part.to > part.whole)
		return;
	add(p, share(s->blocked_ns, &part), chain_state_of(&h->header, &s->what, task->flags & GST_TASK_KERNEL), s);
	add(p, share(s->queued_ns - throttled, &part), CHAIN_QUEUED, s);
	add(p, share(throttled, &part), CHAIN_THROTTLED, s);
}

int64_t chain_parts(struct chain_cursor *c, const struct host_trace *h, const struct host_task *task, int64_t at_ns,
		    int64_t end_ns, struct chain_part parts[CHAIN_PARTS], size_t *n_parts)
{
	struct parts p = { .at = parts, .n = 1 };

	if (!c->set)
		set_at(c, task, at_ns);
	end_ns = move_to(c, task, at_ns, end_ns);
	p.left_ns = end_ns - at_ns;
	for (size_t i = 0; i < c->n_active; i++)
		add_stalls(&p, h, task, &task->stalls[c->active[i]], at_ns, end_ns);
	/* What is left is the task's own, and is put first. */
	parts[0] = (struct chain_part){ .ns = p.left_ns, .state = CHAIN_ON_CPU };
	if (c->reclaim_end_ns > at_ns)
		parts[0].state = CHAIN_RECLAIM;
	else if (c->writing)
		parts[0] = (struct chain_part){ p.left_ns, CHAIN_FILE_WRITE, NULL, c->writing };
	*n_parts = p.n;
	return end_ns;
}

size_t chain_parts_one(const struct chain_part *parts, size_t n, int64_t whole_ns)
{
	size_t i = 1;

	while (i < n && (parts[i].ns <= whole_ns / 2 || !(parts[i].stalls->what.flags & GST_WAIT_LOOKED) ||
			 parts[i].state == CHAIN_QUEUED || parts[i].state == CHAIN_THROTTLED ||
			 chain_state_is_leaf(parts[i].state)))
		i++;
	return i;
}
