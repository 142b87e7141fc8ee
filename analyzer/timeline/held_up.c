/* SPDX-License-Identifier: BSD-2-Clause */
#include "held_up.h"

#include "latency.h"
#include "timeline.h"
#include "tools/alloc.h"
#include "tools/fnv.h"
#include "tools/ns.h"
#include "work_class.h"

#include <stdlib.h>

#define LATE_NS 100000 /* a start */
#define LATE_ONE_IN 16 /* of all starts, at least */

/* What says that another process is there: late starts, one at least, and work that took too long by the device's clock; so many together. Such
 * work alone does not: what a kernel takes may depend on its arguments. */
#define SIGNS_LEAST 3

/* Work of a kind that takes about the same time: its shortest quarter differs by this factor at most. It was held up if it took far longer. */
#define SAME_TIMES 2
#define HELD_TIMES 3
#define HELD_NS 100000

#define LOOKS 64    /* at one piece of work */
#define TOGETHER 16 /* pieces of work at most */

struct piece { /* of work, of any process on record */
	struct work *op;
	struct stream_work *w;
};

struct cluster { /* pieces that may overlap, and nothing else on record does: the device had nothing before and behind them */
	size_t first, n; /* in search.pieces */
	uint64_t kind;   /* of what they are */
	int64_t length_ns;
	int64_t left_ns; /* from when the first one could begin and all had been submitted: what the host was late with does not count */
	bool edge; /* the device's clock says that some of it was so late */
	bool held_up;
	int64_t usual_ns;
};

struct search {
	struct piece *pieces;
	size_t n, cap;
	struct cluster *clusters;
	size_t n_clusters, cap_clusters;
	struct classes classes;
};

struct signs {
	size_t late; /* starts */
	size_t held; /* clusters that took far too long by the device's clock */
};

/* How many starts were late; none where that is seldom, and where another process is on record, which may be why. */
static bool count_late(const struct device_work *d, struct signs *signs)
{
	struct latencies seen = { 0 };
	const struct facts *last = NULL;
	int64_t own_ns;
	bool ok = true, several = false;

	for (size_t i = 0; i < d->n && ok; i++) {
		const struct stream_work *w = &d->streams[i];

		several |= last && w->facts != last;
		ok = w->facts == last || latencies_add(&seen, w->facts, w->trace, w->ordinal);
		last = w->facts;
	}
	own_ns = latency_own(seen.ns, seen.n);
	for (size_t i = 0; i < seen.n; i++)
		signs->late += seen.ns[i] > max64(LATE_NS, LATENCY_TIMES * own_ns);
	signs->late = signs->late * LATE_ONE_IN >= seen.n && !several ? signs->late : 0;
	free(seen.ns);
	return ok;
}

static bool add_work(struct search *s, struct stream_work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (!array_room(s->pieces, s->n, s->cap))
			return false;
		s->pieces[s->n++] = (struct piece){ .op = &w->ops[i], .w = w };
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct work *x = ((const struct piece *)a)->op, *y = ((const struct piece *)b)->op;

	return (x->earliest_start_ns > y->earliest_start_ns) - (x->earliest_start_ns < y->earliest_start_ns);
}

/* Nothing on record explains it to be slow: it waited for nothing. */
static bool is_plain(const struct piece *p)
{
	const struct stream_work *w = p->w;
	uint8_t family = p->op->call->family;

	return w->trace->header.device_level != GST_LEVEL_HOST && w->stream != GST_NONE && !w->opaque &&
	       !work_measured(w, p->op) &&
	       (family == GST_FAMILY_LAUNCH || family == GST_FAMILY_COPY || family == GST_FAMILY_MEMSET) &&
	       facts_first_wait(w->facts, w->stream) == facts_first_wait(w->facts, w->stream + 1);
}

/* Does an edge behind it say that it was not over long before? What a call's return says alone may be late for want of a CPU. */
static bool has_edge(const struct piece *p, int64_t end_ns)
{
	const struct facts *f = p->w->facts;
	uint64_t seq = p->op->call->seq;
	size_t first = facts_first_pending_of(f, p->w->stream, seq);
	size_t at = facts_first_pending_of(f, p->w->stream, seq + 1);

	for (int looked = 0; at-- > first && looked < LOOKS && f->pending[at].at_ns > end_ns - HELD_NS / 2; looked++)
		if (f->pending[at].known_by == PENDING_EDGE)
			return true;
	return false;
}

/* By then it was surely submitted: a call that blocks has submitted soon, another one when it returns. */
static int64_t submitted_ns(const struct work *op)
{
	return op->call->flags & GST_BLOCKING ? op->call->begin_ns + BLOCKING_START_NS : op->call->end_ns;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* In whatever order they began. */
static uint64_t kind_of(uint32_t *classes, size_t n)
{
	array_sort(classes, n, sizeof(*classes), by_number);
	return fnv1a(FNV_BEGIN, classes, n * sizeof(*classes));
}

static uint64_t launches_of(const struct search *s, size_t first, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += call_count(s->pieces[first + i].op->call);
	return all;
}

static bool add_cluster(struct search *s, size_t first, size_t n)
{
	const struct piece *last = &s->pieces[first];
	struct cluster c = { .first = first, .n = n };
	int64_t submitted = last->op->earliest_start_ns;
	uint32_t classes[TOGETHER];

	if (launches_of(s, first, n) > TOGETHER)
		return true;
	for (size_t i = 0; i < n; i++) {
		const struct piece *p = &s->pieces[first + i];

		if (!is_plain(p))
			return true;
		classes[i] = classes_of(&s->classes, p->w->trace, p->op->call);
		if (classes[i] == CLASS_UNKNOWN)
			return true;
		submitted = max64(submitted, submitted_ns(p->op));
		last = p->op->latest_end_ns >= last->op->latest_end_ns ? p : last;
	}
	c.kind = kind_of(classes, n);
	c.length_ns = last->op->latest_end_ns - s->pieces[first].op->earliest_start_ns;
	c.left_ns = last->op->latest_end_ns - submitted;
	for (size_t i = 0; i < n && !c.edge; i++)
		c.edge = has_edge(&s->pieces[first + i], last->op->latest_end_ns);
	if (!array_room(s->clusters, s->n_clusters, s->cap_clusters))
		return false;
	s->clusters[s->n_clusters++] = c;
	return true;
}

static bool find_clusters(struct search *s)
{
	bool ok = true;

	array_sort(s->pieces, s->n, sizeof(*s->pieces), by_start);
	for (size_t i = 0, next; i < s->n && ok; i = next) {
		int64_t until_ns = s->pieces[i].op->latest_end_ns;

		for (next = i + 1; next < s->n && s->pieces[next].op->earliest_start_ns < until_ns; next++)
			until_ns = max64(until_ns, s->pieces[next].op->latest_end_ns);
		ok = add_cluster(s, i, next - i);
	}
	return ok;
}

static int by_kind(const void *a, const void *b)
{
	const struct cluster *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->length_ns > y->length_ns) - (x->length_ns < y->length_ns);
}

/* c[0..n) are of one kind, the shortest first. */
static void find_held(struct cluster *c, size_t n, struct signs *signs)
{
	int64_t usual_ns = c[n / 4].length_ns, most_ns = max64(HELD_TIMES * usual_ns, usual_ns + HELD_NS);

	if (n < LATENCY_FEW || usual_ns <= 0 || usual_ns > SAME_TIMES * c->length_ns)
		return;
	for (size_t i = 0; i < n; i++) {
		c[i].usual_ns = usual_ns;
		c[i].held_up = c[i].left_ns > most_ns;
		signs->held += c[i].held_up && c[i].edge;
	}
}

static void find_all_held(struct search *s, struct signs *signs)
{
	array_sort(s->clusters, s->n_clusters, sizeof(*s->clusters), by_kind);
	for (size_t i = 0, next; i < s->n_clusters; i = next) {
		for (next = i + 1; next < s->n_clusters && s->clusters[next].kind == s->clusters[i].kind; next++)
			;
		find_held(s->clusters + i, next - i, signs);
	}
}

static bool is_shared(const struct signs *signs)
{
	return signs->late && signs->late + signs->held >= SIGNS_LEAST;
}

static bool mark(struct search *s, const struct cluster *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct piece *p = &s->pieces[c->first + i];
		struct work_more *own = work_own(p->w, p->op);

		if (!own)
			return false;
		own->usual_ns = c->usual_ns;
		own->behind_ns = 0;
	}
	return true;
}

bool held_up_find(struct device_work *d)
{
	struct search s = { 0 };
	struct signs signs = { 0 };
	bool ok = count_late(d, &signs);

	if (!ok || !signs.late)
		return ok;
	ok = classes_new(&s.classes);
	for (size_t i = 0; i < d->n && ok; i++)
		ok = add_work(&s, &d->streams[i]);
	ok = ok && find_clusters(&s);
	if (ok)
		find_all_held(&s, &signs);
	for (size_t i = 0; i < s.n_clusters && ok && is_shared(&signs); i++)
		if (s.clusters[i].held_up)
			ok = mark(&s, &s.clusters[i]);
	classes_free(&s.classes);
	free(s.pieces);
	free(s.clusters);
	return ok;
}
