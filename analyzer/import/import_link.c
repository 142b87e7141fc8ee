/* SPDX-License-Identifier: BSD-2-Clause */
/* import_link.c: which call asked for which work, and the order of work in each stream.
 *
 * Tools say it by a number that a call and its work have in common, the correlation. A call inside another of its thread is part of it, and so its
 * number is one more of the outer one's. With the same number it may end a little behind the other: where begin and length are cut to whole
 * microseconds. Numbers may come again: the last call with it that began before the work did is meant. Places in a stream are given in the order in
 * which calls began. Work whose call is not known has none; calls that no work is known of are no submissions. */
#include "import_build.h"

#include "tools/alloc.h"
#include "tools/spill.h"
#include "trace/trace_measured.h"

#include <stdlib.h>
#include <string.h>

#define NO_CALL UINT32_MAX
#define CUT_NS 2000 /* two times, each cut by less than a microsecond */
#define WAYS 8      /* bits of call.detail below the copy's kind, while it is linked */

struct numbered {
	uint64_t correlation;
	uint32_t call; /* index: calls are in the order of their begin */
};

struct thread_now {
	int64_t until_ns; /* of its outermost call so far; INT64_MIN none */
	uint64_t number;  /* that call's */
	uint32_t outer;   /* … index */
	uint32_t stream;  /* it last put work into, GST_NONE none */
	bool captures;
};

struct linking {
	struct import_build *b;
	struct import_process *p;
	struct trace *t;
	struct thread_now *threads;
	struct numbered *numbers;
	size_t n_numbers, last;
};

/* ---- calls ------------------------------------------------------------------------------------------------ */

static bool takes_no_time(const struct call *c)
{
	return c->end_ns == c->begin_ns;
}

/* What takes no time was over when the others of its instant began, as far as they can be told apart. Of these, what is around others comes before
 * them. */
static int by_begin(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (takes_no_time(x) != takes_no_time(y))
		return takes_no_time(x) ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	if (takes_no_time(x) && x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x->byte > y->byte) - (x->byte < y->byte);
}

static int by_number(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

static struct thread_now *now_of(struct linking *l, uint32_t tid)
{
	return &l->threads[import_thread_index(l->b, l->p, tid)];
}

static bool same_number(const struct call *c, const struct thread_now *now)
{
	return c->seq && c->seq == now->number;
}

/* The driver's part of a call may take no time, by a clock of whole microseconds: then it came first. */
static bool is_around(const struct call *c, const struct thread_now *now, const struct call *calls)
{
	return same_number(c, now) && c->begin_ns == now->until_ns && takes_no_time(&calls[now->outer]);
}

/* … or end behind the call, and even begin there: then it has another name. */
static bool is_part(const struct call *c, const struct thread_now *now, const struct call *calls)
{
	return same_number(c, now) && c->end_ns - now->until_ns < CUT_NS &&
	       (c->begin_ns < now->until_ns || c->hook != calls[now->outer].hook);
}

static bool is_inside(const struct call *c, const struct thread_now *now, const struct call *calls)
{
	return (c->begin_ns < now->until_ns && c->end_ns <= now->until_ns) || is_part(c, now, calls);
}

/* Leaves out what is inside others, and lists the numbers of all. */
static void list_numbers(struct linking *l)
{
	struct trace *t = l->t;
	size_t kept = 0;

	for (size_t i = 0; i < t->n_calls; i++) {
		struct call c = t->calls[i];
		struct thread_now *now = now_of(l, c.tid);
		bool around = is_around(&c, now, t->calls), inside = !around && is_inside(&c, now, t->calls);

		if (inside) {
			now->number = c.end_ns > now->until_ns ? 0 : now->number; /* once */
			now->until_ns = c.end_ns > now->until_ns ? c.end_ns : now->until_ns;
		} else {
			now->outer = around ? now->outer : (uint32_t)kept++;
			now->number = c.seq;
			now->until_ns = c.end_ns;
			t->calls[now->outer] = c;
			t->calls[now->outer].seq = 0;
		}
		t->imported->inside += inside || around;
		if (c.seq)
			l->numbers[l->n_numbers++] = (struct numbered){ c.seq, now->outer };
	}
	t->n_calls = kept;
	array_sort(l->numbers, l->n_numbers, sizeof(*l->numbers), by_number);
}

/* ---- work ------------------------------------------------------------------------------------------------- */

static bool up_to(const struct linking *l, size_t i, const struct measured *m)
{
	const struct numbered *n = &l->numbers[i];

	return n->correlation < m->seq || (n->correlation == m->seq && l->t->calls[n->call].begin_ns <= m->begin_ns);
}

/* How many of the numbers stand before the work's, or are its own and of calls that began before it. Mostly it is little more than for the work
 * before. */
static size_t count_up_to(struct linking *l, const struct measured *m)
{
	size_t low = l->last, high, step = 1;

	if (low && !up_to(l, low - 1, m)) {
		high = low - 1;
		low = 0;
	} else {
		while (low + step <= l->n_numbers && up_to(l, low + step - 1, m)) {
			low += step;
			step *= 2;
		}
		high = low + step - 1 < l->n_numbers ? low + step - 1 : l->n_numbers;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (up_to(l, middle, m))
			low = middle + 1;
		else
			high = middle;
	}
	return l->last = low;
}

/* The tool's clocks may be a little apart: where no call with the number began before the work did, the first one that did later is taken. */
static uint32_t call_of(struct linking *l, const struct measured *m)
{
	size_t at = m->seq ? count_up_to(l, m) : 0;

	if (!m->seq || m->stream == GST_NONE)
		return NO_CALL;
	if (at && l->numbers[at - 1].correlation == m->seq)
		return l->numbers[at - 1].call;
	return at < l->n_numbers && l->numbers[at].correlation == m->seq ? l->numbers[at].call : NO_CALL;
}

/* m: the first of its work. A graph's nodes run in streams of their own; where it was launched, only the call can say. */
static void submit(struct linking *l, struct call *c, const struct measured *m)
{
	uint64_t address = c->args[0];

	c->flags = GST_SUBMISSION;
	if (c->family == GST_FAMILY_OTHER)
		c->family = measured_family(m);
	if (c->family != GST_FAMILY_GRAPH_LAUNCH || c->stream == GST_NONE)
		c->stream = m->stream;
	c->device = l->t->streams[c->stream].device;
	if (c->family == GST_FAMILY_LAUNCH)
		c->name = m->name;
	if (c->family == GST_FAMILY_COPY)
		c->detail |= (uint16_t)(m->copy << WAYS);
	if (c->family == GST_FAMILY_COPY || c->family == GST_FAMILY_MEMSET) {
		c->args[0] = m->bytes ? m->bytes : c->args[1];
		c->args[1] = address;
	}
}

/* measured.seq: 1 + index of its call, 0 none. */
static void link_work(struct linking *l)
{
	struct trace *t = l->t;

	for (size_t i = 0; i < t->n_measured; i++) {
		struct measured *m = &t->measured[i];
		uint32_t call = call_of(l, m);
		struct call *c = call == NO_CALL ? NULL : &t->calls[call];

		m->seq = 0;
		if (!c || c->result != 0)
			continue;
		if (!(c->flags & GST_SUBMISSION))
			submit(l, c, m);
		m->stream = c->stream;
		m->seq = call + 1ull;
	}
}

/* A kernel's collective was asked for in the call that launched it. */
static void place_collectives(struct linking *l)
{
	for (size_t i = 0; i < l->p->n_collectives; i++) {
		struct import_collective *c = &l->p->collectives[i];
		struct measured m = { .seq = c->correlation, .begin_ns = c->begin_ns };
		uint32_t call = call_of(l, &m);

		if (!c->correlation)
			continue;
		c->process = call == NO_CALL ? UINT32_MAX : c->process;
		if (call == NO_CALL)
			continue;
		c->tid = l->t->calls[call].tid;
		c->begin_ns = l->t->calls[call].begin_ns;
		c->end_ns = l->t->calls[call].end_ns;
	}
}

/* ---- streams ---------------------------------------------------------------------------------------------- */

/* CUDA driver API, "API synchronization behavior". */
static bool waits_for_end(uint16_t copy, uint8_t ways)
{
	if (copy == GST_COPY_D2H_PAGEABLE)
		return true;
	return (ways & CALL_WAITS) &&
	       (copy == GST_COPY_H2D_PINNED || copy == GST_COPY_D2H_PINNED || copy == GST_COPY_H2H);
}

static bool makes_work(const struct call *c)
{
	return c->family == GST_FAMILY_LAUNCH || c->family == GST_FAMILY_GRAPH_LAUNCH;
}

/* A synchronise of everything is about the context that the thread used last, or about the only one there is. */
static uint64_t context_of(const struct trace *t, const struct thread_now *now)
{
	uint64_t context = t->n_streams ? t->streams[0].context : 0;

	if (now->stream != GST_NONE)
		return t->streams[now->stream].context;
	for (size_t i = 1; i < t->n_streams && i < 64; i++)
		if (t->streams[i].context != context)
			return 0;
	return t->n_streams <= 64 ? context : 0;
}

static void place_call(struct linking *l, struct call *c, uint64_t *last)
{
	struct thread_now *now = now_of(l, c->tid);
	uint8_t ways = (uint8_t)c->detail;

	c->detail >>= WAYS;
	if (ways & (CALL_CAPTURES | CALL_CAPTURED))
		now->captures = ways & CALL_CAPTURES;
	if (c->flags & GST_SUBMISSION) {
		now->stream = c->stream;
		c->seq = ++last[c->stream];
		if (c->family == GST_FAMILY_COPY && waits_for_end(c->detail, ways))
			c->flags |= GST_BLOCKING;
		return;
	}
	c->seq = c->stream == GST_NONE ? 0 : last[c->stream];
	if (c->family == GST_FAMILY_SYNC_CONTEXT)
		c->args[0] = context_of(l->t, now);
	if (!makes_work(c) || c->result != 0)
		return;
	if (now->captures)
		c->flags |= GST_CAPTURED;
	else
		l->t->imported->without_work++;
}

static bool number_work(struct linking *l)
{
	struct trace *t = l->t;
	uint64_t *last = array_new(t->n_streams, sizeof(*last)); /* of each stream */

	if (!last)
		return false;
	for (size_t i = 0; i < t->n_calls; i++)
		place_call(l, &t->calls[i], last);
	for (size_t i = 0; i < t->n_measured; i++)
		if (t->measured[i].seq)
			t->measured[i].seq = t->calls[t->measured[i].seq - 1].seq;
	free(last);
	return true;
}

bool import_link(struct import_build *b, struct import_process *p)
{
	struct linking l = { .b = b, .p = p, .t = p->t };
	bool ok = p->t->n_calls < NO_CALL;

	if (!ok)
		return false;
	array_sort(p->t->calls, p->t->n_calls, sizeof(*p->t->calls), by_begin);
	l.threads = array_new(p->t->n_threads, sizeof(*l.threads));
	l.numbers = spill_new(p->t->n_calls, sizeof(*l.numbers));
	ok = l.threads && l.numbers;
	for (size_t i = 0; ok && i < p->t->n_threads; i++)
		l.threads[i] = (struct thread_now){ .until_ns = INT64_MIN, .outer = NO_CALL, .stream = GST_NONE };
	if (ok) {
		list_numbers(&l);
		ok = import_streams_resolve(p);
	}
	if (ok) {
		link_work(&l);
		place_collectives(&l);
		ok = number_work(&l);
	}
	free(l.threads);
	spill_free(l.numbers);
	return ok;
}
