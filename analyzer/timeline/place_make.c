/* SPDX-License-Identifier: BSD-2-Clause */
#include "place_make.h"

#include "elsewhere.h"
#include "place_exact.h"
#include "place_kind.h"
#include "place_lay.h"
#include "place_of.h"
#include "place_split.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"
#include "trace/trace_rare.h"

#include <stdlib.h>
#include <string.h>

/* On one device: beyond, a graph's launch is one op that stands for its nodes (400 MB). */
#define OPS_MAX ((size_t)1 << 22)

/* By when the work had surely begun. On a stream that may have had other work, or that waited, not before it was over, for all that is known; but
 * right behind an edge that had fired. One on an empty stream fires before the work comes. */
static int64_t begun_by(const struct stream_work *w, size_t i)
{
	const struct work *op = &w->ops[i];
	const struct work_more *more = work_more(w, op);
	bool free = !w->n_held && !w->legacy && more->held_until_ns == INT64_MIN &&
		    (i == 0 || w->ops[i - 1].latest_end_ns <= op->earliest_start_ns);
	int64_t by_ns = op->latest_end_ns;

	if (free)
		by_ns = min64(by_ns, op->latest_start_ns);
	if (more->behind_ns)
		by_ns = min64(by_ns, max64(more->behind_ns + EVENT_NS, op->call->end_ns + w->facts->latency_ns));
	return w->opaque ? op->latest_end_ns : max64(by_ns, op->earliest_start_ns);
}

static bool add_more(struct device_timeline *out, struct op_of *of, const struct stream_work *w, size_t k)
{
	const struct work *work = &w->ops[k];
	int64_t usual_ns = work_more(w, work)->usual_ns;
	struct op_more *more;

	if (of->class != OP_COMM && !usual_ns)
		return true;
	more = arena_alloc(&out->more, sizeof(*more));
	if (!more)
		return false;
	*more = (struct op_more){ begun_by(w, k), work->earliest_end_ns, usual_ns };
	of->more = more;
	return true;
}

/* Not by where calls lie in memory: one told apart from others is a copy. */
static int by_begin(const void *a, const void *b)
{
	const struct op *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->call->begin_ns != y->call->begin_ns)
		return x->call->begin_ns < y->call->begin_ns ? -1 : 1;
	if (x->call->byte != y->call->byte)
		return x->call->byte < y->call->byte ? -1 : 1;
	if (x->of->trace->header.pid != y->of->trace->header.pid)
		return x->of->trace->header.pid < y->of->trace->header.pid ? -1 : 1;
	return (x->of->node > y->of->node) - (x->of->node < y->of->node);
}

static const struct graph *graph_of(const struct work *op, const struct trace *t)
{
	return op->call->family == GST_FAMILY_GRAPH_LAUNCH ? &t->graphs[op->call->graph] : NULL;
}

/* Operations that the work stands for on this device: none of a launch that all counts elsewhere. */
static uint32_t count_of(const struct stream_work *w, const struct work *work)
{
	const struct work_more *more = work_more(w, work);
	const struct graph *g;

	if (w->carried)
		return 0;
	if (is_plain_launch(work->call) && !more->measured && !more->missing)
		return (uint32_t)call_count(work->call);
	g = graph_of(work, w->trace);
	if (work_is_solid(w, work))
		return 1;
	if (more->missing)
		return more->missing;
	if (work->call->copies)
		return work->call->copies;
	if (!g || (!g->work && !w->elsewhere))
		return 1;
	return graph_work_on(g, w->ordinal, elsewhere_home(w->trace, work->call));
}

/* A graph's nodes are ops of their own, as long as there is room for so many. */
static bool is_unfolded(const struct work_more *more, const struct graph *g, uint32_t count, size_t n_ops)
{
	return g && !more->measured && !more->missing && g->whole && g->work && count && n_ops + count <= OPS_MAX;
}

/* An op of w->ops[k], which was not measured; *of: all of it but op_more. */
static bool add_op(struct device_timeline *out, const struct stream_work *w, size_t k, struct place_alike *alike,
		   struct op_of *of)
{
	const struct work *work = &w->ops[k];
	struct op *op = &out->ops[out->n_ops++];

	*op = (struct op){ .stretch_begin_ns = work->earliest_start_ns,
			   .stretch_end_ns = work->latest_end_ns,
			   .call = work->call };
	return add_more(out, of, w, k) && place_set_of(out, op, alike, of);
}

static bool add_call_op(struct device_timeline *out, const struct stream_work *w, size_t k, uint32_t count,
			struct place_alike *alike)
{
	const struct call *c = w->ops[k].call;
	struct op_of of = { .trace = w->trace, .count = count, .lost = w->ops[k].lost };

	of.class = w->ops[k].hostfn ? OP_HOSTFN : (uint8_t)place_class_of_call(c, w->trace);
	of.copy = of.class == OP_COPY && c->detail <= GST_COPY_H2H ? (uint8_t)c->detail : 0;
	return add_op(out, w, k, alike, &of);
}

static bool add_node_ops(struct device_timeline *out, const struct stream_work *w, size_t k)
{
	const struct graph *g = graph_of(&w->ops[k], w->trace);
	uint32_t home = elsewhere_home(w->trace, w->ops[k].call);

	for (size_t i = 0; i < g->n; i++) {
		const struct graph_node *n = &g->nodes[i];
		struct op_of of = { .trace = w->trace, .node = n, .count = 1, .lost = w->ops[k].lost };

		if (!graph_node_works(n) || graph_node_device(n, home) != w->ordinal)
			continue;
		of.class = (uint8_t)place_class_of_node(n, w->trace);
		of.copy = of.class == OP_COPY && n->kind <= GST_COPY_H2H ? (uint8_t)n->kind : 0;
		if (!add_op(out, w, k, NULL, &of))
			return false;
	}
	return true;
}

static size_t ops_of(const struct stream_work *w, size_t n_ops)
{
	size_t before = n_ops;

	if (!w->special) /* of nothing but plain work, each piece is one */
		return w->n;
	for (size_t k = 0; k < w->n; k++) {
		const struct work_more *more = work_more(w, &w->ops[k]);
		const struct graph *g = graph_of(&w->ops[k], w->trace);
		uint32_t count = count_of(w, &w->ops[k]);

		n_ops += is_unfolded(more, g, count, n_ops) ? count : count > 0 || more->measured;
	}
	return n_ops - before;
}

/* What the device did of one piece of work, without its place. before: ops that are not in out->ops yet, and count with these. False: no memory. */
static bool add_ops(struct device_timeline *out, const struct stream_work *w, size_t k, size_t before,
		    struct place_alike *alike)
{
	const struct work *work = &w->ops[k];
	const struct work_more *more = work_more(w, work);
	const struct graph *g = graph_of(work, w->trace);
	uint32_t count = count_of(w, work);

	if (!w->elsewhere && !more->measured)
		out->operations_unlinked += w->stream == GST_NONE || (g && (!g->counted || g->open));
	out->operations_lost += work->lost ? count : 0;
	if (is_unfolded(more, g, count, before + out->n_ops))
		return add_node_ops(out, w, k);
	if (more->measured)
		return place_exact(out, w, work, count);
	return !count || add_call_op(out, w, k, count, alike);
}

/* Where the part ends that begins with w->ops[i]: the end of all in it is known to be the same instant. */
static size_t end_of_part(const struct stream_work *w, size_t i)
{
	const struct work *first = &w->ops[i];
	size_t next = i + 1;

	while (next < w->n && !work_measured(w, &w->ops[next]) && w->ops[next].latest_end_ns == first->latest_end_ns &&
	       w->ops[next].hostfn == first->hostfn && w->ops[next].earliest_start_ns <= first->latest_end_ns)
		next++;
	return next;
}

/* Lays out the ops from this one on, which are those of a part. Returns where they end; at_ns: where those before do. */
static int64_t place_part(struct device_timeline *out, size_t op, const struct work *first, const struct work *last,
			  int64_t at_ns)
{
	int64_t begin_ns = first->earliest_start_ns, end_ns;

	if (begin_ns >= at_ns) /* on an empty stream: it starts between its entry and its latest start */
		begin_ns += (first->latest_start_ns - first->earliest_start_ns) / 2;
	begin_ns = max64(begin_ns, at_ns);
	end_ns = max64(begin_ns, last->earliest_end_ns + (last->latest_end_ns - last->earliest_end_ns) / 2);
	place_lay(out->ops + op, out->n_ops - op, begin_ns, end_ns);
	return end_ns;
}

/* ---- the stretches of one stream --------------------------------------------------------------------- */

struct maker {
	struct device_timeline *out;
	const struct stream_work *w;
	size_t before; /* ops of the streams before it that are not in out->ops yet */
	size_t gap;    /* near which the stream's work is */
	int64_t at_ns; /* up to there it is laid out */
	struct place_alike alike;
	struct place_room room;
	const struct op *others; /* in their order; of other streams, that go among these */
	size_t n_others;
	bool unsorted;
};

/* The ops from this one on have their places but for the gaps. */
static void settle_part(struct maker *m, size_t first, bool is_cut)
{
	struct device_timeline *out = m->out;

	for (size_t i = first; i < out->n_ops; i++) {
		if (out->ops[i].of->class == OP_HOSTFN)
			continue;
		out->operations += out->ops[i].of->count;
		if (is_cut && !out->ops[i].of->exact)
			place_leave_gaps(&out->ops[i], out, &m->gap);
	}
}

/* One work's. */
static bool add_one(struct maker *m, size_t k, bool plain)
{
	const struct call *c = m->w->ops[k].call;

	if (!plain)
		return add_ops(m->out, m->w, k, m->before, &m->alike);
	return add_call_op(m->out, m->w, k,
			   is_plain_launch(c) ? (uint32_t)call_count(c)
			   : c->copies        ? c->copies
					      : 1,
			   &m->alike);
}

/* A stream's work, in parts between the instants at which its end is known: each is made, laid out and counted while it is at hand. plain: each piece
 * of it is one op, and none was measured. */
static bool add_part(struct maker *m, size_t i, size_t next, bool plain)
{
	const struct stream_work *w = m->w;
	struct device_timeline *out = m->out;
	size_t op = out->n_ops;
	bool is_cut = true;

	for (size_t k = i; k < next; k++)
		if (!add_one(m, k, plain))
			return false;
	if (work_measured(w, &w->ops[i])) {
		m->at_ns = max64(m->at_ns, w->ops[i].latest_end_ns);
	} else {
		m->at_ns = place_part(out, op, &w->ops[i], &w->ops[next - 1], m->at_ns);
		is_cut = !plain || !place_is_free(out, out->ops[op].begin_ns, m->at_ns, &m->gap);
		if (is_cut && !place_split(out, op, m->at_ns, &m->room, &m->alike, &m->gap))
			return false;
	}
	if (plain && w->stream == GST_NONE)
		out->operations_unlinked += next - i;
	settle_part(m, op, is_cut);
	return true;
}

/* Of a stream in which each piece of work is one op, and none was measured. */
static bool is_plain(const struct stream_work *w)
{
	return !w->special && !w->carried && !w->elsewhere && !w->loose;
}

/* ---- streams among each other ------------------------------------------------------------------------ */

static bool stands_before(const struct op *x, const struct op *y)
{
	return x->begin_ns != y->begin_ns ? x->begin_ns < y->begin_ns : by_begin(x, y) < 0;
}

/* Others' ops that belong among those from `first` on, or right before. There is room for them. */
static void merge_part(struct maker *m, size_t first)
{
	struct op *ops = m->out->ops;
	size_t n = m->out->n_ops, k = 0;

	if (n > first)
		while (k < m->n_others && stands_before(&m->others[k], &ops[n - 1]))
			k++;
	m->out->n_ops += k;
	for (size_t to = n + k, left = k; left > 0;)
		if (n > first && stands_before(&m->others[left - 1], &ops[n - 1]))
			ops[--to] = ops[--n];
		else
			ops[--to] = m->others[--left];
	if (k) { /* without any, others is NULL */
		m->others += k;
		m->n_others -= k;
	}
	for (size_t i = first ? first : 1; i < m->out->n_ops; i++)
		m->unsorted |= stands_before(&ops[i], &ops[i - 1]);
}

static bool add_stream(struct maker *m)
{
	const struct stream_work *w = m->w;
	bool plain = is_plain(w);

	m->gap = 0;
	m->at_ns = INT64_MIN;
	m->alike = (struct place_alike){ 0 };
	for (size_t i = 0, next; i < w->n; i = next) {
		size_t op = m->out->n_ops;

		next = work_measured(w, &w->ops[i]) ? i + 1 : end_of_part(w, i);
		if (!add_part(m, i, next, plain))
			return false;
		merge_part(m, op);
	}
	return true;
}

/* The streams' ops one stream behind the other, and then in order. */
static bool add_all(struct device_timeline *out, const struct device_work *d, size_t n)
{
	struct maker m = { .out = out, .room = { .cap = n, .planned = n } };
	bool ok = true;

	for (size_t i = 0; ok && i < d->n; i++) {
		m.w = &d->streams[i];
		ok = add_stream(&m);
	}
	place_room_free(&m.room);
	if (ok && m.unsorted)
		array_sort(out->ops, out->n_ops, sizeof(*out->ops), by_begin);
	return ok;
}

/* Most of it is one stream's: the others' ops, in order, are put among its own while these are made, so that nothing has to move later. */
static bool add_among(struct device_timeline *out, const struct device_work *d, const size_t *first, size_t most)
{
	size_t n = first[d->n] - (first[most + 1] - first[most]);
	struct op *others = spill_new(n, sizeof(*others)), *ops = out->ops;
	struct maker m = { .out = out, .room = { .cap = n, .planned = n } };
	bool ok = others != NULL;

	out->ops = others;
	for (size_t i = 0; ok && i < d->n; i++) {
		m.w = &d->streams[i];
		m.before = first[i] > out->n_ops ? first[i] - out->n_ops : 0;
		ok = i == most || add_stream(&m);
	}
	others = out->ops; /* it may have grown */
	if (ok && m.unsorted)
		array_sort(others, out->n_ops, sizeof(*others), by_begin);
	m = (struct maker){ .out = out,
			    .w = &d->streams[most],
			    .room = { m.room.part, m.room.cap_part, first[d->n], first[d->n] + m.room.planned - n },
			    .others = others,
			    .n_others = out->n_ops };
	out->ops = ops;
	out->n_ops = 0;
	ok = ok && place_make_room(out, &m.room, 0) && add_stream(&m);
	place_room_free(&m.room);
	if (ok && m.n_others) {
		memcpy(out->ops + out->n_ops, m.others, m.n_others * sizeof(*m.others));
		out->n_ops += m.n_others;
	}
	if (ok && m.unsorted)
		array_sort(out->ops, out->n_ops, sizeof(*out->ops), by_begin);
	spill_free(others);
	return ok;
}

/* The one plain stream that has nearly all of the ops; d->n: there is none. */
static size_t main_stream(const struct device_work *d, const size_t *first)
{
	for (size_t i = 0; i < d->n; i++)
		if (is_plain(&d->streams[i]) && first[i + 1] - first[i] >= first[d->n] - first[d->n] / 8)
			return i;
	return d->n;
}

static void set_only(struct device_timeline *out, const struct device_work *d)
{
	out->only = d->n ? d->streams[0].trace : NULL;
	for (size_t i = 1; i < d->n; i++)
		out->only = d->streams[i].trace == out->only ? out->only : NULL;
}

bool place_make(struct device_timeline *out, const struct device_work *d)
{
	size_t *first = array_new(d->n + 1, sizeof(*first)); /* of each stream's ops, in the streams' order */
	size_t most;
	bool ok;

	if (!first)
		return false;
	for (size_t i = 0; i < d->n; i++)
		first[i + 1] = first[i] + ops_of(&d->streams[i], first[i]);
	out->ops = spill_new(first[d->n], sizeof(*out->ops));
	most = main_stream(d, first);
	ok = out->ops && (d->n > 1 && most < d->n ? add_among(out, d, first, most) : add_all(out, d, first[d->n]));
	set_only(out, d);
	free(first);
	return ok;
}
