/* SPDX-License-Identifier: BSD-2-Clause */
#include "held_frame.h"

#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/ns.h"

/* Calls within calls are few: looking back for what reaches into an interval stops after this many. */
#define LOOK_BACK 32
#define AROUND 64 /* samples and looks within REACH_NS: the recorder takes one in 1 ms at most */
/* A look stands for at most this on either side: the recorder takes them as often as samples, 20 ms apart at most. */
#define REACH_NS 25000000

const struct held held_nothing = { .stack = GST_NONE };

struct tiling {
	const struct gap_view *view;
	const struct stack_thread *thread; /* NULL: no stacks of it */
	struct held *at;                   /* the pieces, in order */
	size_t n, cap;
	struct held *spans; /* what the next layer would lay */
	size_t n_spans, cap_spans;
	bool no_memory;
};

/* ---- spans, and the pieces they are laid on ---- */

static bool begun_by(const void *element, const void *key)
{
	return ((const struct stack_at *)element)->begin_ns <= *(const int64_t *)key;
}

static bool looked_before(const void *element, const void *key)
{
	return ((const struct stack_at *)element)->end_ns < *(const int64_t *)key;
}

static void add_span(struct tiling *t, struct held h)
{
	if (array_room(t->spans, t->n_spans, t->cap_spans))
		t->spans[t->n_spans++] = h;
	else
		t->no_memory = true;
}

static void add_piece(struct tiling *t, struct held h, int64_t begin_ns, int64_t end_ns)
{
	h.begin_ns = begin_ns;
	h.end_ns = end_ns;
	if (begin_ns >= end_ns)
		return;
	if (array_room(t->at, t->n, t->cap))
		t->at[t->n++] = h;
	else
		t->no_memory = true;
}

static int by_begin(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* One piece that nothing stands for yet, with what the spans have for it; *first: the first of them that may reach into it. */
static void fill(struct tiling *t, const struct held *free, size_t *first)
{
	int64_t at = free->begin_ns;

	while (*first < t->n_spans && t->spans[*first].end_ns <= at)
		++*first;
	for (size_t k = *first; k < t->n_spans && t->spans[k].begin_ns < free->end_ns; k++) {
		const struct held *span = &t->spans[k];
		int64_t begin = max64(at, span->begin_ns), end = min64(free->end_ns, span->end_ns);

		if (begin >= end)
			continue;
		add_piece(t, *free, at, begin);
		add_piece(t, *span, begin, end);
		at = end;
	}
	add_piece(t, *free, at, free->end_ns);
}

/* Of spans over each other the one that begins first counts. */
static void take_apart(struct tiling *t)
{
	int64_t end = INT64_MIN;
	size_t kept = 0;

	array_sort(t->spans, t->n_spans, sizeof(*t->spans), by_begin);
	for (size_t i = 0; i < t->n_spans; i++) {
		struct held span = t->spans[i];

		span.begin_ns = max64(span.begin_ns, end);
		if (span.begin_ns >= span.end_ns)
			continue;
		end = span.end_ns;
		t->spans[kept++] = span;
	}
	t->n_spans = kept;
}

/* Puts the spans where no stack stands yet, and forgets them. */
static void lay(struct tiling *t)
{
	struct held *old = t->at;
	size_t n = t->n, first = 0;

	take_apart(t);
	t->at = NULL;
	t->n = t->cap = 0;
	for (size_t i = 0; i < n; i++) {
		if (old[i].by == HELD_UNKNOWN)
			fill(t, &old[i], &first);
		else
			add_piece(t, old[i], old[i].begin_ns, old[i].end_ns);
	}
	free(old);
	t->n_spans = 0;
}

/* ---- calls, and the silences between them ---- */

static struct held layer_of(const struct tiling *t, const struct stack_at *a, enum held_by by, int64_t begin,
			    int64_t end)
{
	struct held h = { .begin_ns = begin, .end_ns = end, .trace = t->view->trace, .stack = a->stack, .by = by };

	h.frame = frame_own(held_stack(&h), 0);
	return h;
}

/* The stack of the call that ended when this silence began. */
static const struct stack *stack_before(const struct tiling *t, const struct stack_at *silence)
{
	const struct stack_at *all = t->thread->calls;

	for (size_t i = (size_t)(silence - all), back = 0; i-- > 0 && back < LOOK_BACK; back++)
		if (all[i].why != GST_STACK_SILENCE && all[i].end_ns == silence->begin_ns)
			return &t->view->trace->stacks.all[all[i].stack];
	return NULL;
}

static void add_silence(struct tiling *t, const struct stack_at *a)
{
	struct held h = layer_of(t, a, HELD_UNTIL, a->begin_ns, a->end_ns);
	const struct stack *before = stack_before(t, a), *after = held_stack(&h);
	uint32_t first, line;

	if (before && frame_common(before, after, &first, &line)) {
		h.first = first;
		h.frame = frame_own(after, h.first);
		h.from_line = h.frame == h.first ? line : 0;
		h.by = HELD_BETWEEN;
	}
	add_span(t, h);
}

static void lay_calls(struct tiling *t, int64_t begin, int64_t end, bool silences)
{
	const struct stack_thread *s = t->thread;
	size_t i = array_first(s->calls, s->n_calls, sizeof(*s->calls), begun_by, &begin);

	i = i > LOOK_BACK ? i - LOOK_BACK : 0;
	for (; i < s->n_calls && s->calls[i].begin_ns < end; i++) {
		const struct stack_at *a = &s->calls[i];
		struct held h;

		if (a->end_ns <= begin || silences != (a->why == GST_STACK_SILENCE))
			continue;
		if (silences) {
			add_silence(t, a);
			continue;
		}
		h = layer_of(t, a, HELD_CALL, a->begin_ns, a->end_ns);
		add_span(t, h);
	}
	lay(t);
}

/* ---- looks ---- */

static bool call_begun_before(const void *element, const void *key)
{
	return (*(const struct call *const *)element)->begin_ns < *(const int64_t *)key;
}

/* When the thread's next driver call begins. */
static int64_t next_call_ns(const struct gap_view *v, int64_t after_ns)
{
	const struct thread_records *r = v->records;
	size_t at = r ? array_first(r->calls, r->n_calls, sizeof(*r->calls), call_begun_before, &after_ns) : 0;

	if (at && call_count(r->calls[at - 1]) > 1) { /* it may be one of these */
		const struct call *c = r->calls[at - 1];
		uint32_t begun = launch_begun_by(v->trace, c, after_ns - 1);

		if (begun < c->folded)
			return launch_begin_ns(v->trace, c, begun + 1);
	}
	return r && at < r->n_calls ? r->calls[at]->begin_ns : INT64_MAX;
}

static bool sampled_before(const void *element, const void *key)
{
	return (*(const struct sample *const *)element)->time_ns < *(const int64_t *)key;
}

/* The same instant from either side. */
static int64_t halfway64(int64_t a, int64_t b)
{
	return middle64(min64(a, b), max64(a, b));
}

/* How far a look stands, forward (step 1) or back (-1): over samples that found the thread in the same system call, or on a CPU as
 * well, and were no looks; halfway to the next look, or to the first sample that found it elsewhere. far: not beyond. */
static int64_t look_reach(const struct gap_view *v, const struct stack_at *a, const struct stack_at *next, int64_t far,
			  int step)
{
	const struct thread_records *r = v->records;
	int64_t at = a->end_ns, halfway = next ? halfway64(at, next->end_ns) : far;
	size_t i = r ? array_first(r->samples, r->n_samples, sizeof(*r->samples), sampled_before, &at) : 0;
	const struct sample *own = r && i < r->n_samples && r->samples[i]->time_ns == at ? r->samples[i] : NULL,
			    *last = own;

	for (size_t k = i + (size_t)step, n = 0; own && n < AROUND && k < r->n_samples; k += (size_t)step, n++) {
		const struct sample *other = r->samples[k];

		if (next && (step > 0 ? other->time_ns >= next->end_ns : other->time_ns <= next->end_ns))
			break;
		if (step > 0 ? other->time_ns > far : other->time_ns < far)
			break;
		if (other->syscall != own->syscall)
			return halfway64(last->time_ns, other->time_ns);
		last = other;
	}
	return halfway;
}

/* A look stands for the time around it, within its silence. */
static void lay_looks(struct tiling *t, int64_t begin, int64_t end)
{
	const struct stack_thread *s = t->thread;
	int64_t from = begin - REACH_NS;
	size_t i = array_first(s->looks, s->n_looks, sizeof(*s->looks), looked_before, &from);
	size_t inside = array_first(s->looks, s->n_looks, sizeof(*s->looks), looked_before, &begin);
	size_t behind = array_first(s->looks, s->n_looks, sizeof(*s->looks), looked_before, &end);

	i = inside - i > AROUND ? inside - AROUND : i;
	for (; i < s->n_looks && i < behind + AROUND && s->looks[i].end_ns < end + REACH_NS; i++) {
		const struct stack_at *a = &s->looks[i], *last = i > 0 ? a - 1 : NULL,
				      *next = i + 1 < s->n_looks ? a + 1 : NULL;
		int64_t first, until;
		struct held h;

		if (last && last->begin_ns != a->begin_ns)
			last = NULL;
		if (next && next->begin_ns != a->begin_ns)
			next = NULL;
		first = max64(a->begin_ns, a->end_ns - REACH_NS);
		until = min64(next_call_ns(t->view, a->end_ns), a->end_ns + REACH_NS);
		first = max64(first, look_reach(t->view, a, last, first, -1));
		until = min64(until, look_reach(t->view, a, next, until, 1));
		h = layer_of(t, a, HELD_LOOK, first, until);
		add_span(t, h);
	}
	lay(t);
}

/* ---- the launch ---- */

static void lay_launch(struct tiling *t, int64_t begin, int64_t end)
{
	struct stack_at site = { .stack = stacks_launch(t->view->trace, t->view->submit) };

	if (site.stack == GST_NONE)
		return;
	add_span(t, layer_of(t, &site, HELD_SITE, begin, end));
	lay(t);
}

/* ---- the whole ---- */

static bool same_place(const struct held *a, const struct held *b)
{
	return a->by == b->by && a->trace == b->trace && a->stack == b->stack && a->frame == b->frame &&
	       a->first == b->first && a->from_line == b->from_line;
}

/* Neighbours that say the same made one, in the arena. */
static struct held *settle(struct tiling *t, struct arena *arena, size_t *n)
{
	struct held *kept = arena_alloc(arena, t->n * sizeof(*kept));

	*n = 0;
	for (size_t i = 0; kept && i < t->n; i++) {
		if (*n && same_place(&kept[*n - 1], &t->at[i]))
			kept[*n - 1].end_ns = t->at[i].end_ns;
		else
			kept[(*n)++] = t->at[i];
	}
	return kept;
}

const struct held *held_tile(const struct gap_view *v, int64_t begin_ns, int64_t end_ns, struct arena *arena, size_t *n)
{
	struct tiling t = { .view = v };
	struct held *kept;

	if (v->trace && v->tid && !v->ready)
		t.thread = stacks_thread(&v->trace->stacks, v->tid);
	*n = 0;
	if (!t.thread)
		return &held_nothing;
	if (!array_room(t.at, t.n, t.cap))
		return NULL;
	t.at[t.n++] = (struct held){ .begin_ns = begin_ns, .end_ns = end_ns, .stack = GST_NONE };
	lay_calls(&t, begin_ns, end_ns, false);
	lay_looks(&t, begin_ns, end_ns);
	lay_calls(&t, begin_ns, end_ns, true);
	lay_launch(&t, begin_ns, end_ns);
	kept = t.no_memory ? NULL : settle(&t, arena, n);
	free(t.at);
	free(t.spans);
	return kept;
}
