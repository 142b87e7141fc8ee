/* SPDX-License-Identifier: BSD-2-Clause */
#include "burst.h"

#include <string.h>

#include "edge.h"
#include "file.h"
#include "gate.h"
#include "random.h"
#include "settings.h"

/* Few submissions and often: those in a row are much alike, and what the estimate knows grows with the number of bursts. The first are
 * shorter, and so come sooner. With every other stream that has work there is one more, so that each can have its turn. */
#define SUBMISSIONS 8
#define SUBMISSIONS_MAX 24
#define SUBMISSIONS_FIRST 2
#define MARKS_MAX 32 /* other streams with work that a burst's begin marks: its edges fit into a pool several times */

/* Of every so many submissions one edge may be a burst's; of every so many any edge at all but those around NCCL's kernels, or else two for each
 * stream with work and blocking call. */
#define SHARE 64
#define SHARE_OF_ALL 50
#define RESERVE 2 /* edges to come before the next look */

#define SLOW_NS 1000000000ull /* a program that takes longer over it has no need of a burst's end */
#define GOES_ON_NS 5000000ull
#define LOOK_AGAIN 256    /* a thread's submissions, at most, until it looks at the budget again: others' fill it too */
#define OTHER_LEVEL 65536 /* … until the level is */

int64_t burst_floor;

/* Which burst, how many submissions may still take a place in it, how many threads are in theirs. In one word, as one of them is
 * the last. All else of a burst is written by those inside, and read by the last of them. */
static uint64_t window;
#define LEFT_ONE 0x10000ull

static struct {
	uint64_t begin, end, cost;
	uint32_t edges, submissions, passed;
} now;

/* A thread that is torn (by a signal handler's jump) from the few instructions in which it takes its place, or gives it back, leaves a window
 * that nobody closes. Where one is met again as it was, so long after, it is given up. */
static struct {
	uint64_t window, ticks; /* as it was, since when */
} met;

/* The budget; of the process. A burst has used what it might take when it began, however little it took: otherwise there would be more
 * of them where they are cheap, in work that piles up, than where the device waits. */
static uint64_t submissions, edges;

static uint32_t number_of(uint64_t w)
{
	return (uint32_t)(w >> 32);
}

static uint32_t left_of(uint64_t w)
{
	return (uint32_t)w >> 16;
}

static uint32_t inside_of(uint64_t w)
{
	return (uint32_t)w & 0xffff;
}

static bool window_change(uint64_t *from, uint64_t to)
{
	return __atomic_compare_exchange_n(&window, from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
}

/* By a thread inside, which keeps the next burst from beginning meanwhile: when the last place is taken … */
static void floor_lower(void)
{
	__atomic_store_n(&burst_floor, 0, __ATOMIC_SEQ_CST);
}

/* … and when there are some: others may have taken them all by now, and lowered it too soon. */
static void floor_raise(void)
{
	__atomic_store_n(&burst_floor, INT64_MAX, __ATOMIC_SEQ_CST);
	if (!left_of(__atomic_load_n(&window, __ATOMIC_SEQ_CST)))
		floor_lower();
}

bool burst_goes_on(void)
{
	return left_of(__atomic_load_n(&window, __ATOMIC_RELAXED)) &&
	       (int64_t)(clock_ticks() - __atomic_load_n(&now.end, __ATOMIC_RELAXED)) <
		       (int64_t)clock_ticks_in(GOES_ON_NS); /* another thread's end may be later */
}

/* ---- the budget ------------------------------------------------------------------------------------------------------ */

static void count_down(struct thread *t, int64_t from)
{
	t->until_burst = t->burst.counted_from = from;
}

/* What the thread has submitted since its countdown began. */
static void count(struct thread *t)
{
	int64_t n = t->burst.counted_from - t->until_burst;

	if (!t->burst.other_level)
		__atomic_fetch_add(&submissions, (uint64_t)n, __ATOMIC_RELAXED);
	t->burst.start -= n;
	t->burst.stretch -= n;
	count_down(t, 0);
}

/* Edges that a burst may have now. */
static int64_t allowed(void)
{
	int64_t made = (int64_t)__atomic_load_n(&submissions, __ATOMIC_RELAXED);
	int64_t of_all = made / SHARE_OF_ALL, of_blocks = 2 * (int64_t)edges_blocks();
	int64_t own = made / SHARE - (int64_t)__atomic_load_n(&edges, __ATOMIC_RELAXED);
	int64_t all = (of_all > of_blocks ? of_all : of_blocks) - RESERVE + (int64_t)edges_of_nccl() -
		      (int64_t)__atomic_load_n(&file_counters()->injected[HOOK_cuEventRecord], __ATOMIC_RELAXED);

	return own < all ? own : all;
}

struct others {
	struct thread *thread;
	const struct stream *own;
	uint32_t n, marked; /* all; those to be marked, or not yet */
};

/* Can this thread's submissions to it stand between two edges? Not where launches may overlap. */
static bool may_bracket(struct thread *t, const struct stream *s, uint32_t large)
{
	return large != EDGE_PROGRAMMATIC && !edge_parts(s) && edge_may_touch(t, s) && edge_may_stand(t, s);
}

/* A stream with work that another one's burst may mark: never the legacy stream, nor one whose launches may overlap. */
static bool may_mark(const struct stream *s, const struct others *o)
{
	return s != o->own && s->kind != GST_STREAM_LEGACY && !edge_parts(s) && stream_covers(s) &&
	       edge_may_touch(o->thread, s);
}

static void count_other(struct stream *s, void *arg)
{
	struct others *o = arg;

	o->n += s != o->own;
	o->marked += o->marked < MARKS_MAX && may_mark(s, o);
}

struct plan {
	uint32_t submissions, edges;
};

/* The next burst, if it began now and in s. */
static struct plan plan_of(struct thread *t, const struct stream *s)
{
	uint32_t begun = number_of(__atomic_load_n(&window, __ATOMIC_RELAXED));
	struct plan p = { .submissions = begun < 2 ? SUBMISSIONS_FIRST << begun : SUBMISSIONS };
	struct others o = { t, s, 0, 0 };

	streams_each_unmarked(count_other, &o);
	p.submissions += begun < 2 ? 0 : o.n;
	if (p.submissions > SUBMISSIONS_MAX)
		p.submissions = SUBMISSIONS_MAX;
	p.edges = 2 * p.submissions + o.marked + 1;
	return p;
}

/* Where there is enough for a burst, one begins at random in the thread's next stretch of as many submissions as pay for it, anywhere in it;
 * then comes the next stretch. Each thread has stretches of its own: so one that submits little has its share. */
static void plan(struct thread *t, struct stream *s)
{
	struct plan p = plan_of(t, s);
	int64_t missing = (int64_t)p.edges - allowed(), wait;

	t->burst.drawn = missing <= 0;
	if (t->burst.drawn) {
		edges_reserve(t, s, p.edges); /* not when it begins: it would begin with a pause */
		t->burst.stretch = p.edges * SHARE;
		t->burst.start = 1 + random_next(&t->random) % (p.edges * SHARE);
	} else {
		wait = missing * SHARE - (int64_t)(__atomic_load_n(&submissions, __ATOMIC_RELAXED) % SHARE);
		t->burst.stretch = wait < LOOK_AGAIN ? wait : LOOK_AGAIN;
	}
}

static void plan_ahead(struct thread *t, struct stream *s)
{
	if (t->burst.stretch <= 0)
		plan(t, s);
	count_down(t, (t->burst.drawn && t->burst.start < t->burst.stretch ? t->burst.start : t->burst.stretch) - 1);
}

/* ---- one burst ------------------------------------------------------------------------------------------------------- */

static bool put(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers)
{
	uint64_t injected = t->injected_ticks, end = __atomic_load_n(&now.end, __ATOMIC_RELAXED), ticks;
	bool ok = edge_record_in(t, s, kind, covers, t->burst.inside, &t->burst.edge);

	__atomic_fetch_add(&now.cost, t->injected_ticks - injected, __ATOMIC_RELAXED);
	if (!ok)
		return false;
	__atomic_fetch_add(&now.edges, 1, __ATOMIC_RELAXED);
	ticks = clock_ticks();
	while (end < ticks &&
	       !__atomic_compare_exchange_n(&now.end, &end, ticks, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return true;
}

/* The thread's last edge stands right behind all that s holds. */
static bool stands_behind(const struct thread *t, const struct stream *s)
{
	return t->burst.behind == s && __atomic_load_n(&s->entered, __ATOMIC_RELAXED) == t->burst.covers &&
	       s->id == t->burst.behind_id && __atomic_load_n(&s->others, __ATOMIC_RELAXED) == t->burst.others;
}

static void stand_behind(struct thread *t, struct stream *s, uint64_t covers)
{
	t->burst.behind = s;
	t->burst.behind_id = s->id;
	t->burst.covers = covers;
	t->burst.others = __atomic_load_n(&s->others, __ATOMIC_RELAXED);
}

/* By the last one inside. */
static void write_down(struct thread *t)
{
	struct gst_burst r = { .burst = t->burst.inside };

	if (t->burst.behind && stands_behind(t, t->burst.behind))
		put(t, t->burst.behind, GST_EDGE_BURST_NULL, t->burst.covers);
	r.begin = now.begin;
	r.end = now.end;
	r.submissions = now.submissions;
	r.edges = now.edges;
	r.passed = now.passed;
	r.cost_ticks = now.cost;
	memset(&now, 0, sizeof(now));
	if (r.begin && (r.edges || r.passed))
		ring_append(&t->ring, GST_BURST, sizeof(r), &r);
}

static bool enter(struct thread *t)
{
	uint64_t w = __atomic_load_n(&window, __ATOMIC_ACQUIRE);

	while (left_of(w)) {
		if (!window_change(&w, w - LEFT_ONE + 1))
			continue;
		t->burst.inside = number_of(w);
		if (left_of(w) == 1)
			floor_lower();
		return true;
	}
	return false;
}

/* The thread's own word goes first: torn from between, it leaves its place behind, and does not give it back twice. */
static void leave(struct thread *t)
{
	uint64_t w = __atomic_load_n(&window, __ATOMIC_ACQUIRE);
	uint32_t inside = t->burst.inside;

	while (number_of(w) == inside) { /* else it was given up meanwhile */
		if (!left_of(w) && inside_of(w) == 1) {
			write_down(t);
			t->burst.inside = 0;
			__atomic_store_n(&window, w - 1, __ATOMIC_RELEASE);
			return;
		}
		t->burst.inside = 0;
		if (window_change(&w, w - 1))
			return;
		t->burst.inside = inside;
	}
	t->burst.inside = 0;
}

/* Has it been as it is for too long? */
static bool is_stuck(uint64_t w)
{
	uint64_t ticks = clock_ticks();

	if (__atomic_load_n(&met.window, __ATOMIC_ACQUIRE) == w)
		return (int64_t)(ticks - __atomic_load_n(&met.ticks, __ATOMIC_RELAXED)) >
		       (int64_t)clock_ticks_in(SLOW_NS);
	__atomic_store_n(&met.ticks, ticks, __ATOMIC_RELAXED);
	__atomic_store_n(&met.window, w, __ATOMIC_RELEASE);
	return false;
}

/* Its number is nobody's any more: who comes out of it after all finds another. */
static void give_up(struct thread *t, uint64_t w)
{
	uint64_t nobodys = (uint64_t)(number_of(w) + 1) << 32;

	if (!window_change(&w, nobodys + 1))
		return;
	t->burst.inside = number_of(w);
	t->burst.behind = NULL;
	floor_lower();
	write_down(t);
	t->burst.inside = 0;
	__atomic_store_n(&window, nobodys, __ATOMIC_RELEASE);
}

/* False: it has no place, or that was given up. */
static bool has_place(const struct thread *t)
{
	return t->burst.inside && number_of(__atomic_load_n(&window, __ATOMIC_ACQUIRE)) == t->burst.inside;
}

/* Nobody takes a place in it any more. */
static void close_window(void)
{
	uint64_t w = __atomic_load_n(&window, __ATOMIC_ACQUIRE);

	while (left_of(w) && !window_change(&w, w & ~0xffff0000ull))
		;
	floor_lower();
}

static void pass(struct thread *t)
{
	__atomic_fetch_add(&now.passed, 1, __ATOMIC_RELAXED);
	t->burst.behind = NULL;
	leave(t);
}

static void mark_other(struct stream *s, void *arg)
{
	struct others *o = arg;
	uint64_t covers = stream_covers(s);

	if (may_mark(s, o) && covers && o->marked)
		o->marked -= put(o->thread, s, GST_EDGE_BURST_AFTER, covers);
}

/* Not where it could not bracket the very submission it begins with: that would be paid for, and tell nothing. */
static bool begin(struct thread *t, struct stream *s, uint32_t large)
{
	uint64_t w = __atomic_load_n(&window, __ATOMIC_ACQUIRE);
	struct plan p = plan_of(t, s);
	struct others o = { t, s, 0, p.edges - 2 * p.submissions - 1 };

	if (!left_of(w) && inside_of(w) && is_stuck(w))
		give_up(t, w);
	if (left_of(w) || inside_of(w) || allowed() < (int64_t)p.edges ||
	    __atomic_load_n(&gate.captures, __ATOMIC_RELAXED) || !may_bracket(t, s, large) ||
	    !window_change(&w, (uint64_t)(number_of(w) + 1) << 32 | (p.submissions - 1) * LEFT_ONE | 1))
		return false;
	t->burst.inside = number_of(w) + 1;
	t->burst.behind = NULL;
	__atomic_fetch_add(&edges, p.edges, __ATOMIC_RELAXED);
	__atomic_store_n(&now.begin, clock_ticks(), __ATOMIC_RELAXED);
	floor_raise();
	streams_each_unmarked(mark_other, &o);
	return true;
}

/* The edge before it, where the work before it has not just been seen to be unfinished: then the edge behind that says when this could
 * begin. On a stream that has run dry only an edge of its own can. */
static bool edge_before(struct thread *t, struct stream *s, uint64_t entered)
{
	bool unfinished;
	uint64_t injected = t->injected_ticks;

	if (stands_behind(t, s)) {
		unfinished = edge_is_pending(t, &t->burst.edge);
		__atomic_fetch_add(&now.cost, t->injected_ticks - injected, __ATOMIC_RELAXED);
		if (unfinished)
			return true;
	}
	return put(t, s, GST_EDGE_BURST_BEFORE, entered);
}

static bool bracket(struct call *c, struct stream *s, uint32_t large)
{
	struct thread *t = c->thread;
	uint64_t entered = __atomic_load_n(&s->entered, __ATOMIC_RELAXED);

	if (c->record.family == GST_FAMILY_HOSTFN) { /* it has edges of its own */
		t->burst.behind = NULL;
		leave(t);
		return false;
	}
	if (!may_bracket(t, s, large) || __atomic_load_n(&s->returned, __ATOMIC_ACQUIRE) != entered ||
	    !edge_before(t, s, entered)) {
		pass(t);
		return false;
	}
	t->burst.before = entered;
	__atomic_store_n(&s->last_class, large, __ATOMIC_RELAXED);
	c->edge_after = GST_EDGE_BURST_AFTER;
	return true;
}

bool burst_submit(struct call *c, struct stream *s, uint32_t large)
{
	struct thread *t = c->thread;
	uint64_t begun;
	bool inside;

	count(t);
	t->burst.other_level = settings.level != GST_LEVEL_BURSTS;
	if (t->burst.other_level) { /* what is submitted there pays for no bursts here */
		burst_end(t);
		t->burst.drawn = false;
		count_down(t, OTHER_LEVEL);
		return false;
	}
	inside = enter(t) || (t->burst.drawn && t->burst.start <= 0 && begin(t, s, large));
	t->burst.drawn &= t->burst.start > 0;
	if (!inside) { /* else the countdown is 0: the next one looks again */
		plan_ahead(t, s);
		return false;
	}
	begun = __atomic_load_n(&now.begin, __ATOMIC_RELAXED); /* 0: another thread is about to say */
	if (begun && clock_ticks() - begun > clock_ticks_in(SLOW_NS)) {
		close_window();
		t->burst.behind = NULL;
		leave(t);
		return false;
	}
	return bracket(c, s, large);
}

void burst_after_submit(struct call *c, bool ok)
{
	struct thread *t = c->thread;
	struct stream *s = c->stream;
	uint64_t seq = t->burst.before + 1;

	if (!has_place(t)) { /* the thread was seen to have left the call, and came back after all */
		t->burst.inside = 0;
		return;
	}
	if (!ok || (uint32_t)seq != c->record.seq || stream_covers(s) != seq || !may_bracket(t, s, 0) ||
	    !put(t, s, GST_EDGE_BURST_AFTER, seq)) {
		pass(t);
		return;
	}
	stand_behind(t, s, seq);
	__atomic_fetch_add(&now.submissions, 1, __ATOMIC_RELAXED);
	leave(t);
}

void burst_abandon(struct thread *t)
{
	if (has_place(t))
		pass(t);
	t->burst.inside = 0;
}

void burst_thread_ended(struct thread *t)
{
	count(t);
}

void burst_end(struct thread *t)
{
	uint64_t w = __atomic_load_n(&window, __ATOMIC_ACQUIRE);

	burst_abandon(t);
	t->burst.behind = NULL;
	while (left_of(w)) {
		if (window_change(&w, (w & ~0xffff0000ull) + 1)) {
			t->burst.inside = number_of(w);
			floor_lower();
			leave(t);
			return;
		}
	}
}

void bursts_forget(void)
{
	memset(&now, 0, sizeof(now));
	memset(&met, 0, sizeof(met));
	window = submissions = edges = 0;
	burst_floor = 0;
}
