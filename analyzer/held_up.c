/* SPDX-License-Identifier: BSD-2-Clause */
#include "held_up.h"

#include "alloc.h"
#include "latency.h"
#include "ns.h"
#include "timeline.h"
#include "work_class.h"

#include <stdlib.h>

/* Late starts: so many at least, and of all starts one in so many. */
#define LATE_NS 100000
#define LATE_LEAST 3
#define LATE_ONE_IN 16

/* Work of a kind that takes about the same time: its shortest quarter differs by this factor at most. It was held up if it took far longer. */
#define SAME_TIMES 2
#define HELD_TIMES 3
#define HELD_NS 100000

struct piece { /* of work, of any process on record */
	struct work *op;
	const struct stream_work *w;
	uint32_t class;
	int64_t length_ns;
};

struct search {
	struct piece *at;
	size_t n, cap;
	struct classes classes;
};

/* Is the device late again and again? */
static bool starts_late(const struct device_work *d, bool *late)
{
	struct latencies seen = { 0 };
	const struct facts *last = NULL;
	size_t n_late = 0;
	int64_t own_ns;
	bool ok = true;

	for (size_t i = 0; i < d->n && ok; i++) {
		const struct stream_work *w = &d->streams[i];

		ok = w->facts == last || latencies_add(&seen, w->facts, w->trace, w->ordinal);
		last = w->facts;
	}
	own_ns = latency_own(seen.ns, seen.n);
	for (size_t i = 0; i < seen.n; i++)
		n_late += seen.ns[i] > max64(LATE_NS, LATENCY_TIMES * own_ns);
	*late = n_late >= LATE_LEAST && n_late * LATE_ONE_IN >= seen.n;
	free(seen.ns);
	return ok;
}

static bool add_work(struct search *s, const struct stream_work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (!array_room(s->at, s->n, s->cap))
			return false;
		s->at[s->n++] = (struct piece){ .op = &w->ops[i],
						.w = w,
						.length_ns = w->ops[i].latest_end_ns - w->ops[i].earliest_start_ns };
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct work *x = ((const struct piece *)a)->op, *y = ((const struct piece *)b)->op;

	return (x->earliest_start_ns > y->earliest_start_ns) - (x->earliest_start_ns < y->earliest_start_ns);
}

/* A kernel that nothing on record explains to be slow: it waited for nothing. */
static bool is_plain(const struct piece *p)
{
	const struct stream_work *w = p->w;

	return w->stream != GST_NONE && !w->opaque && !p->op->measured && p->op->call->family == GST_FAMILY_LAUNCH &&
	       (p->op->known_by == BOUNDARY_EDGE || p->op->known_by == BOUNDARY_BLOCKING_RETURN) &&
	       facts_first_wait(w->facts, w->stream) == facts_first_wait(w->facts, w->stream + 1);
}

/* Keeps the plain ones that had the device, of all that is on record, to themselves. */
static void keep_lone(struct search *s)
{
	int64_t until_ns = INT64_MIN;
	size_t n = 0;

	array_sort(s->at, s->n, sizeof(*s->at), by_start);
	for (size_t i = 0; i < s->n; i++) {
		struct piece p = s->at[i];
		bool lone = until_ns <= p.op->earliest_start_ns &&
			    (i + 1 == s->n || s->at[i + 1].op->earliest_start_ns >= p.op->latest_end_ns);

		until_ns = max64(until_ns, p.op->latest_end_ns);
		if (!lone || !is_plain(&p))
			continue;
		p.class = classes_of(&s->classes, p.w->trace, p.op->call);
		s->at[n++] = p;
	}
	s->n = n;
}

static int by_class(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return (x->length_ns > y->length_ns) - (x->length_ns < y->length_ns);
}

/* [0..n) are of one class, the shortest first. */
static void mark(struct piece *p, size_t n)
{
	int64_t usual_ns = p[n / 4].length_ns;

	if (n < LATENCY_FEW || p->class == CLASS_UNKNOWN || usual_ns > SAME_TIMES * p->length_ns)
		return;
	for (size_t i = 0; i < n; i++) {
		if (p[i].length_ns <= max64(HELD_TIMES * usual_ns, usual_ns + HELD_NS))
			continue;
		p[i].op->usual_ns = usual_ns;
		p[i].op->behind_ns = 0;
	}
}

bool held_up_find(struct device_work *d)
{
	struct search s = { 0 };
	bool late, ok = starts_late(d, &late);

	if (!ok || !late)
		return ok;
	ok = classes_new(&s.classes);
	for (size_t i = 0; i < d->n && ok; i++)
		ok = add_work(&s, &d->streams[i]);
	keep_lone(&s);
	array_sort(s.at, s.n, sizeof(*s.at), by_class);
	for (size_t i = 0, next; i < s.n && ok; i = next) {
		for (next = i + 1; next < s.n && s.at[next].class == s.at[i].class; next++)
			;
		mark(s.at + i, next - i);
	}
	classes_free(&s.classes);
	free(s.at);
	return ok;
}
