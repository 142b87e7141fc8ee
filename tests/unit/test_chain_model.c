/* SPDX-License-Identifier: BSD-2-Clause */
/* The walk against a model of a machine: tasks run, fork, end, wait for each other, for disks and for time limits, and share CPUs. What each did in
 * each tick is noted; from that, tick by tick, it is obvious who is to be asked. The walk gets what a collector would have written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "chain_machine.h"

#define AGAIN_TICKS 20 /* chain.c's AGAIN_NS */
#define SEEDS 3000

/* ---- the n-th allocation fails ---- */

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
static long allocations_left = -1; /* -1: no limit */

void *__wrap_realloc(void *p, size_t size)
{
	if (allocations_left == 0)
		return NULL;
	if (allocations_left > 0)
		allocations_left--;
	return __real_realloc(p, size);
}

/* ---- who is to be asked, in one tick ---- */

struct answer {
	int task[CHAIN_DEPTH];
	enum chain_state state[CHAIN_DEPTH];
	int n;
};

/* Of a wait for the same thing in several parts, the last one. */
static const struct episode *last_part(int i, const struct episode *e)
{
	for (int k = 0; k < m.task[i].n_all; k++) {
		const struct episode *next = &m.task[i].all[k];

		if (next->out <= e->out)
			continue;
		if (!e->kind || e->kind->by != GST_WOKEN_TIMER || !next->kind || next->kind->call != e->kind->call ||
		    next->arg != e->arg || next->out - e->in > AGAIN_TICKS)
			return e;
		e = next;
	}
	if (e->kind && e->kind->by == GST_WOKEN_TIMER && e->in &&
	    (m.task[i].doing == SLEEPS || m.task[i].doing == QUEUES)) {
		const struct episode *next = &m.task[i].now; /* not over: nobody ended it */

		if (next->out > e->out && next->out < TICKS && next->kind && next->kind->call == e->kind->call &&
		    next->arg == e->arg && next->out - e->in <= AGAIN_TICKS)
			return next;
	}
	return e;
}

static bool met(const struct answer *a, int task)
{
	for (int i = 0; i < a->n; i++) {
		if (a->task[i] == task)
			return true;
	}
	return false;
}

/* Whom to ask what a task waited for, in that tick; -1 nobody. */
static int next_of(const struct answer *a, int i, const struct episode *e, int t)
{
	const struct episode *last = last_part(i, e);
	int waker = last->wake >= 0 && last->kind->by == GST_WOKEN_TASK ? last->waker : -1;

	if (e->kind->leaf || waker < 0 || met(a, waker) || m.task[waker].kernel ||
	    (m.task[waker].stranger && t < m.task[waker].met))
		return -1;
	return waker;
}

/* The part of a wait behind which it is for a moment, about to wait again for the same; NULL: it is not. */
static const struct episode *between_parts(int i, int t)
{
	const struct episode *e = NULL;

	if (m.task[i].did[t] != RUNS)
		e = &m.task[i].was[t];
	for (int k = 0; m.task[i].did[t] == RUNS && k < m.task[i].n_all; k++) {
		if (m.task[i].all[k].in <= t)
			e = &m.task[i].all[k];
	}
	if (!e || !e->kind || (m.task[i].stranger && e->out < m.task[i].met))
		return NULL;
	return last_part(i, e) != e ? e : NULL;
}

static struct answer ask(const struct host_trace *h, int i, int t)
{
	struct answer a = { .n = 0 };
	int64_t at_ns = (int64_t)t * TICK_NS;
	bool dark = at_ns < h->begin_ns || at_ns >= h->end_ns || at_ns >= h->cut_ns ||
		    (m.task[i].stranger && (m.task[i].met < 0 || t < m.task[i].met));

	while (i >= 0) {
		const struct episode *e = &m.task[i].was[t];
		int next = -1;

		a.task[a.n] = i;
		if (dark || (m.task[i].dead >= 0 && t >= m.task[i].dead)) {
			a.state[a.n++] = CHAIN_UNKNOWN;
			break;
		}
		if (t < m.task[i].born) {
			a.state[a.n++] = CHAIN_UNBORN;
			next = met(&a, m.task[i].creator) ? -1 : m.task[i].creator;
			if (next < 0)
				a.state[a.n - 1] = CHAIN_UNKNOWN;
		} else if (m.task[i].did[t] == SLEEPS) {
			a.state[a.n++] = e->kind->state;
			next = next_of(&a, i, e, t);
		} else {
			const struct episode *part = between_parts(i, t);

			a.state[a.n++] = m.task[i].did[t] == RUNS     ? CHAIN_ON_CPU
					 : m.task[i].did[t] == QUEUES ? CHAIN_QUEUED
								      : CHAIN_THROTTLED;
			next = part && a.n < CHAIN_DEPTH ? next_of(&a, i, part, t) : -1;
			if (next >= 0)
				a.state[a.n - 1] = part->kind->state;
		}
		if (next >= 0 && a.n == CHAIN_DEPTH) {
			a.state[a.n - 1] = CHAIN_UNKNOWN;
			next = -1;
		}
		i = next;
	}
	return a;
}

/* ---- held against each other ---- */

static void print_difference(const struct built *b, const struct chain_segment *s, const struct answer *a, int t)
{
	print_message("tick %d, %lld..%lld:", t, (long long)s->begin_ns / TICK_NS, (long long)s->end_ns / TICK_NS);
	for (size_t i = 0; i < s->n_steps; i++)
		print_message(" < %d %s", (int)(s->steps[i].task - b->tasks), chain_state_name(s->steps[i].state));
	print_message("\n  should be");
	for (int i = 0; i < a->n; i++)
		print_message(" < %d %s", a->task[i], chain_state_name(a->state[i]));
	print_message("\n");
}

static void check_tick(const struct built *b, const struct chain_segment *s, int i, int t)
{
	struct answer a = ask(&b->trace, i, t);
	bool same = (size_t)a.n == s->n_steps;

	for (int k = 0; same && k < a.n; k++)
		same = s->steps[k].task == &b->tasks[a.task[k]] && s->steps[k].state == a.state[k];
	if (!same)
		print_difference(b, s, &a, t);
	assert_true(same);
}

/* Each link holds what lies behind it; a leaf is its segment's. */
static void check_steps(const struct chain_segment *s)
{
	for (size_t k = 0; k < s->n_steps; k++) {
		const struct chain_step *p = &s->steps[k];

		assert_true(p->begin_ns <= s->begin_ns && p->end_ns >= s->end_ns);
		assert_true(!k || (p->begin_ns >= p[-1].begin_ns && p->end_ns <= p[-1].end_ns));
		if (p->wait && k + 1 == s->n_steps)
			assert_true(p->begin_ns >= p->wait->out_ns && p->end_ns <= p->wait->in_ns);
		if (p->wait && k + 1 < s->n_steps) /* it may have had other parts before */
			assert_true(p->end_ns <= p->wait->wake_ns);
	}
	assert_int_equal(s->steps[s->n_steps - 1].begin_ns, s->begin_ns);
	assert_int_equal(s->steps[s->n_steps - 1].end_ns, s->end_ns);
}

static void check_tiling(const struct chain *c, int64_t begin_ns, int64_t end_ns)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct chain_segment *s = &c->at[i];

		assert_int_equal(s->begin_ns, begin_ns);
		assert_true(s->end_ns > s->begin_ns);
		assert_in_range(s->n_steps, 1, CHAIN_DEPTH);
		check_steps(s);
		begin_ns = s->end_ns;
	}
	assert_int_equal(begin_ns, end_ns);
}

static void test_the_walk_is_what_the_ticks_say(void **state)
{
	static struct built b;
	struct chain c = { 0 };
	size_t deepest = 0, segments = 0;

	(void)state;
	for (uint32_t with = 1; with <= SEEDS; with++) {
		built_run(&b, with);
		for (int n = 0; n < 6; n++) {
			int i = (int)below((uint32_t)m.tasks), from = (int)below(TICKS),
			    to = from + (int)below((uint32_t)(TICKS - from) + 1);
			size_t at = 0;

			if (m.task[i].kernel) /* nobody asks about these */
				continue;
			assert_true(
				chain_walk(&c, &b.trace, &b.tasks[i], (int64_t)from * TICK_NS, (int64_t)to * TICK_NS));
			check_tiling(&c, (int64_t)from * TICK_NS, (int64_t)to * TICK_NS);
			for (int t = from; t < to; t++) {
				while (c.at[at].end_ns <= (int64_t)t * TICK_NS)
					at++;
				check_tick(&b, &c.at[at], i, t);
				deepest = c.at[at].n_steps > deepest ? c.at[at].n_steps : deepest;
			}
			segments += c.n;
		}
		built_end(&b);
	}
	chain_free(&c);
	assert_true(deepest >= 6); /* the model is worth something */
	assert_true(segments > SEEDS * 20);
}

/* The same stretch in two walks, cut anywhere (between ticks too), is the same as in one. */
static void test_a_walk_in_two_parts(void **state)
{
	static struct built b;
	struct chain whole = { 0 }, part = { 0 };

	(void)state;
	for (uint32_t with = 1; with <= SEEDS / 10; with++) {
		int64_t cut_ns;
		size_t at = 0;

		built_run(&b, with);
		cut_ns = 1 + below(TICKS * TICK_NS - 2);
		assert_true(chain_walk(&whole, &b.trace, &b.tasks[0], 0, b.trace.end_ns));
		for (int half = 0; half < 2; half++) {
			assert_true(chain_walk(&part, &b.trace, &b.tasks[0], half ? cut_ns : 0,
					       half ? b.trace.end_ns : cut_ns));
			check_tiling(&part, half ? cut_ns : 0, half ? b.trace.end_ns : cut_ns);
			for (size_t i = 0; i < part.n; i++) {
				while (whole.at[at].end_ns <= part.at[i].begin_ns)
					at++;
				assert_int_equal(part.at[i].n_steps, whole.at[at].n_steps);
				for (size_t k = 0; k < part.at[i].n_steps; k++)
					assert_true(part.at[i].steps[k].wait == whole.at[at].steps[k].wait &&
						    part.at[i].steps[k].state == whole.at[at].steps[k].state);
			}
		}
		built_end(&b);
	}
	chain_free(&whole);
	chain_free(&part);
}

/* Sums of short waits, anywhere, of any size: what is spread over the whole of a task's time is the sum, if there was room for it. */
static void test_sums_are_spread_exactly(void **state)
{
	static struct built b;
	struct chain c = { 0 };

	(void)state;
	for (uint32_t with = 1; with <= SEEDS / 10; with++) {
		int64_t at = 0, spread[TICKS] = { 0 };
		struct host_task *t = &b.tasks[0];

		built_run(&b, with);
		b.trace.begin_ns = 0;
		b.trace.cut_ns = INT64_MAX;
		t->end_ns = b.trace.end_ns;
		t->begin_ns = 0;
		for (size_t k = 0; k < t->n_waits;
		     k++) /* no wait in several parts, which has the moments between them */
			t->waits[k].by = t->waits[k].by == GST_WOKEN_TIMER ? GST_WOKEN_INTERRUPT : t->waits[k].by;
		while (t->n_stalls < TICKS && at < b.trace.end_ns) { /* one after another */
			int64_t begin = at + below(5 * TICK_NS), end = begin + 1 + below(20 * TICK_NS);

			end = end < b.trace.end_ns ? end : b.trace.end_ns;
			if (begin < end)
				built_stalls(&b, t, begin, end, below((uint32_t)(end - begin) / 3 + 1),
					     below((uint32_t)(end - begin) / 3 + 1));
			at = end;
		}
		assert_true(chain_walk(&c, &b.trace, t, 0, b.trace.end_ns));
		check_tiling(&c, 0, b.trace.end_ns);
		for (size_t i = 0; i < c.n; i++) {
			const struct chain_step *leaf = &c.at[i].steps[c.at[i].n_steps - 1];

			if (leaf->stalls && c.at[i].n_steps == 1)
				spread[leaf->stalls - t->stalls] += c.at[i].end_ns - c.at[i].begin_ns;
		}
		for (size_t i = 0; i < t->n_stalls; i++) {
			const struct host_stalls *s = &t->stalls[i];
			int64_t room = s->end_ns - s->begin_ns, sum = s->blocked_ns + s->queued_ns;

			for (size_t k = 0; k < t->n_waits; k++) {
				int64_t from = t->waits[k].out_ns > s->begin_ns ? t->waits[k].out_ns : s->begin_ns;
				int64_t to = t->waits[k].in_ns < s->end_ns ? t->waits[k].in_ns : s->end_ns;

				room -= to > from ? to - from : 0;
			}
			assert_true(spread[i] <= (sum < room ? sum : room));
			/* where it fits with room to spare, to the nanosecond; else rounding may cut one off each piece */
			if (2 * sum <= room)
				assert_int_equal(spread[i], sum);
		}
		built_end(&b);
	}
	chain_free(&c);
}

static void test_no_memory(void **state)
{
	static struct built b;
	struct chain c = { 0 };

	(void)state;
	for (long n = 0;; n++) {
		bool done;

		built_run(&b, 7);
		allocations_left = n;
		done = chain_walk(&c, &b.trace, &b.tasks[0], 0, b.trace.end_ns);
		allocations_left = -1;
		assert_true(done || n < 40);
		if (!done) /* what it has is sound, and it can be used again */
			assert_true(chain_walk(&c, &b.trace, &b.tasks[0], 0, b.trace.end_ns));
		check_tiling(&c, 0, b.trace.end_ns);
		built_end(&b);
		chain_free(&c);
		if (done) {
			assert_true(n >= 2);
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_walk_is_what_the_ticks_say),
		cmocka_unit_test(test_a_walk_in_two_parts),
		cmocka_unit_test(test_sums_are_spread_exactly),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
