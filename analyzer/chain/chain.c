/* SPDX-License-Identifier: BSD-2-Clause */
/* chain.c: the walk. A visit to each task on the way, with the stretch it is asked about; the innermost one goes forwards through its task's
 * waits, and begins another visit where another task is to be asked. Which way it is walked makes no difference to what is found, and
 * forwards the segments come in order.
 *
 * Each visit's stretch lies in a wait of the one before it, and no task is visited twice at a time, so a stretch is split at most CHAIN_DEPTH times at
 * each record: the work is linear. Guesses and looks ahead have a budget in each walk, and one for all walks of a view, too. */
#include "chain_parts.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/ns.h"

#define PATIENCE_NS 10000000    /* a lock's waiter looks again after that; a single longer wait may be meant to last */
#define LOOKS_AHEAD (1u << 20)  /* in a walk */
#define LOOKS_AROUND (1u << 20) /* at tasks, for guesses, in a walk */

struct visit {
	const struct host_task *task;
	int64_t at_ns, end_ns; /* what is left of its stretch */
	size_t wait;           /* its first wait that ends after at_ns */
	struct chain_cursor cursor;
	size_t again_from, again; /* the waits [again_from, again] are one: what ended the last ended all of them */
	bool inferred;            /* the way here rests on a guess */
	bool guessed;             /* so does its next answer */
};

struct walk {
	struct chain *out;
	const struct host_trace *h;
	int64_t known_until_ns;
	struct visit visits[CHAIN_DEPTH];
	struct chain_step path[CHAIN_DEPTH]; /* of each visit but the last: the link to the next one */
	size_t depth;                        /* visits under way */
	size_t ahead, around;
};

/* ---- what comes out ---- */

static bool same_step(const struct chain_step *a, const struct chain_step *b)
{
	return a->task == b->task && a->state == b->state && a->wait == b->wait && a->stalls == b->stalls &&
	       a->written == b->written && a->by == b->by;
}

/* One answer goes on: the same leaf behind the same links. */
static bool goes_on(const struct walk *w, const struct chain_segment *last, const struct chain_step *leaf,
		    bool inferred)
{
	const struct chain_step *steps = &w->out->pool[last->first];

	if (last->end_ns != leaf->begin_ns || last->n_steps != w->depth || last->inferred != inferred ||
	    !same_step(&steps[w->depth - 1], leaf))
		return false;
	for (size_t i = 0; i + 1 < w->depth; i++) {
		if (!same_step(&steps[i], &w->path[i]) || steps[i].begin_ns != w->path[i].begin_ns ||
		    steps[i].end_ns != w->path[i].end_ns)
			return false;
	}
	return true;
}

static bool add_step(struct chain *c, const struct chain_step *step)
{
	if (!array_room(c->pool, c->n_pool, c->cap_pool))
		return false;
	c->pool[c->n_pool++] = *step;
	return true;
}

static bool add_segment(struct walk *w, const struct chain_step *leaf, bool inferred)
{
	struct chain *c = w->out;
	struct chain_segment s = { leaf->begin_ns, leaf->end_ns, NULL, w->depth, c->n_pool, inferred };

	for (size_t i = 0; i + 1 < w->depth; i++) {
		if (!add_step(c, &w->path[i]))
			return false;
	}
	if (!add_step(c, leaf) || !array_room(c->at, c->n, c->cap))
		return false;
	c->at[c->n++] = s;
	return true;
}

/* The innermost visit's time until then is explained. */
static bool answer(struct walk *w, int64_t until_ns, struct chain_step leaf)
{
	struct visit *f = &w->visits[w->depth - 1];
	struct chain_segment *last = w->out->n ? &w->out->at[w->out->n - 1] : NULL;
	bool inferred = f->inferred || f->guessed || w->h->probes.how == GST_PROBES_PROC ||
			(leaf.wait && leaf.wait->what.flags & GST_WAIT_LOOKED) ||
			(leaf.stalls && leaf.stalls->what.flags & GST_WAIT_LOOKED);

	if (until_ns <= f->at_ns)
		return true;
	f->guessed = false;
	leaf.task = f->task;
	leaf.begin_ns = f->at_ns;
	leaf.end_ns = until_ns;
	f->at_ns = until_ns;
	if (last && goes_on(w, last, &leaf, inferred)) {
		last->end_ns = until_ns;
		w->out->pool[last->first + last->n_steps - 1].end_ns = until_ns;
		return true;
	}
	return add_segment(w, &leaf, inferred);
}

static bool answer_unknown(struct walk *w, int64_t until_ns)
{
	return answer(w, until_ns, (struct chain_step){ .state = CHAIN_UNKNOWN });
}

/* ---- to another task and back ---- */

static bool is_on_path(const struct walk *w, const struct host_task *task)
{
	for (size_t i = 0; i < w->depth; i++) {
		if (w->visits[i].task == task)
			return true;
	}
	return false;
}

/* The innermost visit's time until then is the other task's to explain. */
static void enter(struct walk *w, const struct host_task *task, int64_t until_ns, struct chain_step link, bool inferred)
{
	struct visit *f = &w->visits[w->depth - 1], *next = &w->visits[w->depth];

	link.task = f->task;
	link.begin_ns = f->at_ns;
	link.end_ns = until_ns;
	w->path[w->depth - 1] = link;
	memset(next, 0, sizeof(*next));
	next->task = task;
	next->at_ns = f->at_ns;
	next->end_ns = until_ns;
	next->wait = host_wait_after(task, f->at_ns);
	next->again_from = 1; /* above `again`: none */
	next->inferred = f->inferred || inferred || (link.wait && link.wait->what.flags & GST_WAIT_LOOKED);
	f->at_ns = until_ns;
	w->depth++;
}

/* ---- who ended a wait ---- */

/* The last of the waits in a row from that one on, all but it ended by their time limits, for one thing. */
static size_t last_part(struct walk *w, struct visit *f, size_t from, enum chain_state state)
{
	const struct host_task *t = f->task;
	size_t i = from;

	if (f->again_from <= from && from <= f->again)
		return f->again;
	while (t->waits[i].by == GST_WOKEN_TIMER && i + 1 < t->n_waits && w->ahead &&
	       chain_same_wait(&t->waits[i], &t->waits[i + 1], state)) {
		w->ahead--;
		i++;
	}
	f->again_from = from;
	f->again = i;
	return i;
}

struct woken {
	const struct host_task *waker; /* NULL: nobody to be asked */
	const struct host_wait *last;  /* part of the wait: the one that it ended */
	int64_t woken_ns;
	bool guessed;
};

/* Of a lock's wait that its time limit ended: what came then was too short for a record, and whoever had the lock before it was at work. */
static bool may_guess(const struct host_wait *last, enum chain_state state, bool in_parts)
{
	if (last->by == GST_WOKEN_UNKNOWN)
		return true;
	return last->by == GST_WOKEN_TIMER && state == CHAIN_LOCK &&
	       (in_parts || last->wake_ns - last->out_ns <= PATIENCE_NS);
}

static struct woken woken_of(struct walk *w, struct visit *f, size_t part, enum chain_state state)
{
	size_t n = last_part(w, f, part, state);
	const struct host_wait *last = &f->task->waits[n];
	struct woken k = { .last = last, .woken_ns = last->wake_ns, .guessed = last->by != GST_WOKEN_TASK };
	uint32_t waker = k.guessed ? HOST_NOBODY : last->waker;

	if (may_guess(last, state, part < n))
		waker = chain_guess(w->h, f->task, last, state, &w->around, &k.woken_ns);
	if (waker < w->h->n_tasks)
		k.waker = &w->h->tasks[waker];
	return k;
}

/* Of a kernel thread, which works for many, nothing is learnt; of a stranger, nothing from before it was met. */
static int64_t silent_until(const struct host_task *waker, int64_t end_ns)
{
	if (waker->flags & GST_TASK_KERNEL)
		return end_ns;
	if (waker->flags & GST_TASK_STRANGER && waker->begin_ns < end_ns)
		return waker->begin_ns;
	return waker->flags & GST_TASK_STRANGER ? end_ns : INT64_MIN;
}

/* ---- one task's time, piece by piece ---- */

/* Into whoever ended the wait that has this part, until it did. False: nobody is to be asked; then *step is the answer until *until_ns. */
static bool follow(struct walk *w, struct visit *f, size_t part, int64_t known_ns, struct chain_step *step,
		   int64_t *until_ns)
{
	struct woken k = woken_of(w, f, part, step->state);
	int64_t silent_ns;

	if (!k.waker || is_on_path(w, k.waker))
		return false;
	if (k.woken_ns <= f->at_ns) { /* whoever woke it slept by then: from then on it was to run */
		step->state = CHAIN_QUEUED;
		f->guessed = true;
		return false;
	}
	silent_ns = silent_until(k.waker, *until_ns);
	if (silent_ns > f->at_ns) {
		*until_ns = min64(silent_ns, *until_ns);
		return false;
	}
	if (w->depth == CHAIN_DEPTH) {
		step->state = CHAIN_UNKNOWN;
		return false;
	}
	step->wait = k.last;
	step->by = GST_WOKEN_TASK;
	enter(w, k.waker, min64(known_ns, k.woken_ns), *step, k.guessed);
	return true;
}

static struct chain_step step_of(const struct walk *w, const struct visit *f, const struct host_wait *wait)
{
	bool kernel = f->task->flags & GST_TASK_KERNEL;

	return (struct chain_step){ .state = chain_state_of(&w->h->header, &wait->what, kernel),
				    .wait = wait,
				    .by = wait->by };
}

/* Between two parts of one wait it had a CPU for a moment, or was to have one: had it been quicker, it would have waited all the same.
 * False: until *until_ns it is like any other moment. */
static bool between_parts(struct walk *w, struct visit *f, int64_t *until_ns)
{
	const struct host_task *t = f->task;
	bool queues = f->wait < t->n_waits && t->waits[f->wait].out_ns <= f->at_ns;
	size_t part = queues ? f->wait : f->wait - 1;
	struct chain_step step;

	if ((!queues && !f->wait) || part + 1 >= t->n_waits || t->waits[part].by != GST_WOKEN_TIMER)
		return false;
	step = step_of(w, f, &t->waits[part]);
	return !chain_state_is_leaf(step.state) && chain_same_wait(&t->waits[part], &t->waits[part + 1], step.state) &&
	       follow(w, f, part, *until_ns, &step, until_ns);
}

static bool asleep(struct walk *w, struct visit *f, const struct host_wait *wait, int64_t known_ns)
{
	struct chain_step step = step_of(w, f, wait);
	int64_t until_ns = min64(known_ns, wait->wake_ns);

	if (!chain_state_is_leaf(step.state) && follow(w, f, f->wait, known_ns, &step, &until_ns))
		return true;
	return answer(w, until_ns, step);
}

static bool in_wait(struct walk *w, struct visit *f, const struct host_wait *wait, int64_t until_ns)
{
	int64_t throttled_until_ns = wait->wake_ns + wait->throttled_ns;
	struct chain_step step = { .state = CHAIN_QUEUED, .wait = wait, .by = wait->by };

	if (f->at_ns < wait->wake_ns)
		return asleep(w, f, wait, until_ns);
	if (between_parts(w, f, &until_ns))
		return true;
	if (f->at_ns < throttled_until_ns) {
		step.state = CHAIN_THROTTLED;
		return answer(w, min64(until_ns, throttled_until_ns), step);
	}
	return answer(w, min64(until_ns, wait->in_ns), step);
}

/* Into whoever may have ended it; false: nobody is known. */
static bool follow_part(struct walk *w, struct visit *f, const struct chain_part *part)
{
	int64_t until_ns = f->at_ns + part->ns, woken_ns;
	struct host_wait wait = { .out_ns = f->at_ns,
				  .wake_ns = until_ns,
				  .in_ns = until_ns,
				  .waker = HOST_NOBODY,
				  .what = part->stalls->what };
	uint32_t waker = chain_guess(w->h, f->task, &wait, part->state, &w->around, &woken_ns);

	if (waker >= w->h->n_tasks || w->depth == CHAIN_DEPTH || is_on_path(w, &w->h->tasks[waker]) ||
	    silent_until(&w->h->tasks[waker], until_ns) > f->at_ns)
		return false;
	enter(w, &w->h->tasks[waker], until_ns,
	      (struct chain_step){ .state = part->state, .stalls = part->stalls, .by = GST_WOKEN_TASK }, true);
	return true;
}

static bool answer_part(struct walk *w, struct visit *f, const struct chain_part *part)
{
	return answer(w, f->at_ns + part->ns,
		      (struct chain_step){ .state = part->state, .stalls = part->stalls, .written = part->written });
}

/* In what order the parts come is not known: one that leads to another task comes last, so that the others are done with. */
static bool on_cpu(struct walk *w, struct visit *f, int64_t until_ns)
{
	struct chain_part parts[CHAIN_PARTS];
	size_t n = 0, one;

	until_ns = chain_parts(&f->cursor, w->h, f->task, f->at_ns, until_ns, parts, &n);
	one = chain_parts_one(parts, n, until_ns - f->at_ns);
	for (size_t i = 0; i < n; i++) {
		if (i != one && !answer_part(w, f, &parts[i]))
			return false;
	}
	return one == n || follow_part(w, f, &parts[one]) || answer_part(w, f, &parts[one]);
}

/* It was not there yet, or not watched. */
static bool before_its_time(struct walk *w, struct visit *f, int64_t until_ns)
{
	const struct host_task *t = f->task;
	const struct host_task *creator = t->creator < w->h->n_tasks ? &w->h->tasks[t->creator] : NULL;
	bool born = !(t->flags & (GST_TASK_THERE | GST_TASK_STRANGER));

	if (!born || !creator || creator->flags & GST_TASK_KERNEL || is_on_path(w, creator) || w->depth == CHAIN_DEPTH)
		return answer_unknown(w, until_ns);
	enter(w, creator, until_ns, (struct chain_step){ .state = CHAIN_UNBORN, .by = GST_WOKEN_TASK }, false);
	return true;
}

static bool advance(struct walk *w)
{
	struct visit *f = &w->visits[w->depth - 1];
	const struct host_task *t = f->task;
	int64_t known_ns = min64(f->end_ns, w->known_until_ns);
	const struct host_wait *wait;

	if (f->at_ns < w->h->begin_ns)
		return answer_unknown(w, min64(f->end_ns, w->h->begin_ns));
	if (f->at_ns < t->begin_ns && f->at_ns < known_ns)
		return before_its_time(w, f, min64(known_ns, t->begin_ns));
	/* Who woke another was alive then, even where its end is on record: a task says that it ends before it has given up its memory. */
	if (w->depth == 1 || !t->ended)
		known_ns = min64(known_ns, t->end_ns);
	if (f->at_ns >= known_ns)
		return answer_unknown(w, f->end_ns);
	while (f->wait < t->n_waits && t->waits[f->wait].in_ns <= f->at_ns)
		f->wait++;
	wait = f->wait < t->n_waits ? &t->waits[f->wait] : NULL;
	if (!wait || wait->out_ns > f->at_ns)
		return between_parts(w, f, &known_ns) || on_cpu(w, f, wait ? min64(known_ns, wait->out_ns) : known_ns);
	return in_wait(w, f, wait, known_ns);
}

void chain_clear(struct chain *c)
{
	c->n = c->n_pool = 0;
}

/* Of so many that a walk may have. */
static size_t looks_left(const struct chain *c, size_t most)
{
	size_t looked = c->looked ? *c->looked : 0, all = looked < CHAIN_LOOKS ? CHAIN_LOOKS - looked : 0;

	return all < most ? all : most;
}

bool chain_walk_on(struct chain *c, const struct host_trace *h, const struct host_task *task, int64_t begin_ns,
		   int64_t end_ns)
{
	struct walk w = { .out = c, .h = h, .known_until_ns = min64(h->end_ns, h->cut_ns), .depth = 1 };
	size_t ahead = looks_left(c, LOOKS_AHEAD), around = looks_left(c, LOOKS_AROUND);

	w.ahead = ahead;
	w.around = around;
	w.visits[0] = (struct visit){ .task = task, .at_ns = begin_ns, .end_ns = end_ns, .again_from = 1 };
	w.visits[0].wait = host_wait_after(task, begin_ns);
	while (w.depth) {
		const struct visit *f = &w.visits[w.depth - 1];

		if (f->at_ns >= f->end_ns)
			w.depth--;
		else if (!advance(&w))
			return false;
	}
	if (c->looked)
		*c->looked += around - w.around + ahead - w.ahead;
	return true;
}

void chain_settle(struct chain *c)
{
	for (size_t i = 0; i < c->n; i++)
		c->at[i].steps = &c->pool[c->at[i].first];
}

bool chain_walk(struct chain *c, const struct host_trace *h, const struct host_task *task, int64_t begin_ns,
		int64_t end_ns)
{
	bool ok;

	chain_clear(c);
	ok = chain_walk_on(c, h, task, begin_ns, end_ns);
	chain_settle(c);
	return ok;
}

void chain_free(struct chain *c)
{
	free(c->at);
	free(c->pool);
	memset(c, 0, sizeof(*c));
}
