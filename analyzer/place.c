/* SPDX-License-Identifier: BSD-2-Clause */
#include "place.h"

#include "alloc.h"
#include "elsewhere.h"
#include "ns.h"
#include "partition.h"
#include "place_exact.h"
#include "place_fill.h"
#include "place_kind.h"
#include "spill.h"

#include <stdlib.h>
#include <string.h>

/* Relative weights of work that shares a stretch: only their ratios matter. */
#define KERNEL_WEIGHT 20000.0 /* ns, a common kernel */
#define COPY_WEIGHT 5000.0    /* ns, a copy's fixed part */
#define COPY_BYTES_PER_NS 16.0

/* On one device: beyond, a graph's launch is one op that stands for its nodes (400 MB). */
#define OPS_MAX ((size_t)1 << 22)

static double weight_of(const struct op *op)
{
	if (op->class == OP_COPY || op->class == OP_MEMSET)
		return COPY_WEIGHT * op->count + (double)op_bytes(op) / COPY_BYTES_PER_NS;
	return KERNEL_WEIGHT * op->count;
}

/* ---- places ----------------------------------------------------------------------------------------- */

/* Lays ops[0..n) end to end over [begin, end): a share each by weight, but none before its own call. */
static void lay(struct op *ops, size_t n, int64_t begin_ns, int64_t end_ns)
{
	double total = 0, before = 0, length = (double)(end_ns - begin_ns);
	int64_t at = begin_ns;

	for (size_t i = 0; i < n; i++)
		total += weight_of(&ops[i]);
	for (size_t i = 0; i < n; i++) {
		int64_t share = begin_ns + (int64_t)(length * (before / total));

		at = min64(end_ns, max64(at, max64(share, ops[i].call->begin_ns)));
		ops[i].begin_ns = at;
		before += weight_of(&ops[i]);
	}
	for (size_t i = 0; i < n; i++)
		ops[i].end_ns = i + 1 < n ? ops[i + 1].begin_ns : end_ns;
}

/* By when the work had surely begun. On a stream that may have had other work, or that waited, not before it was over, for all that is known; but
 * right behind an edge that had fired. One on an empty stream fires before the work comes. */
static int64_t begun_by(const struct stream_work *w, size_t i)
{
	const struct work *op = &w->ops[i];
	bool free = !w->n_held && !w->legacy && op->held_until_ns == INT64_MIN &&
		    (i == 0 || w->ops[i - 1].latest_end_ns <= op->earliest_start_ns);
	int64_t by_ns = op->latest_end_ns;

	if (free)
		by_ns = min64(by_ns, op->latest_start_ns);
	if (op->behind_ns)
		by_ns = min64(by_ns, max64(op->behind_ns + EVENT_NS, op->call->end_ns + w->facts->latency_ns));
	return w->opaque ? op->latest_end_ns : max64(by_ns, op->earliest_start_ns);
}

static bool has_more(const struct op *op, const struct work *work)
{
	return !work->measured && (op->class == OP_COMM || work->usual_ns);
}

static bool add_more(struct device_timeline *out, struct op *op, const struct stream_work *w, size_t k)
{
	struct op_more *more;

	if (!has_more(op, &w->ops[k]))
		return true;
	more = arena_alloc(&out->more, sizeof(*more));
	if (!more)
		return false;
	*more = (struct op_more){ begun_by(w, k), w->ops[k].earliest_end_ns, w->ops[k].usual_ns };
	op->more = more;
	return true;
}

/* A stream's work, in parts between the instants at which its end is known. first: of each submission, its first op; then the end. */
static bool place_stream(struct device_timeline *out, const size_t *first_op, const struct stream_work *w)
{
	struct op *ops = out->ops;
	int64_t at = INT64_MIN;

	for (size_t i = 0, next; i < w->n; i = next) {
		const struct work *first = &w->ops[i], *last;
		int64_t begin, end;

		if (first->measured) {
			next = i + 1;
			at = max64(at, first->latest_end_ns);
			continue;
		}
		for (next = i + 1; next < w->n; next++)
			if (w->ops[next].measured || w->ops[next].latest_end_ns != first->latest_end_ns ||
			    w->ops[next].hostfn != first->hostfn ||
			    w->ops[next].earliest_start_ns > first->latest_end_ns)
				break;
		last = &w->ops[next - 1];
		begin = first->earliest_start_ns;
		if (begin >= at) /* on an empty stream: it starts between its entry and its latest start */
			begin += (first->latest_start_ns - first->earliest_start_ns) / 2;
		begin = max64(begin, at);
		end = max64(begin, last->earliest_end_ns + (last->latest_end_ns - last->earliest_end_ns) / 2);
		lay(ops + first_op[i], first_op[next] - first_op[i], begin, end);
		for (size_t k = i; k < next; k++)
			for (size_t m = first_op[k]; m < first_op[k + 1]; m++) {
				ops[m].stretch_begin_ns = w->ops[k].earliest_start_ns;
				ops[m].stretch_end_ns = w->ops[k].latest_end_ns;
				if (!add_more(out, &ops[m], w, k))
					return false;
			}
		at = end;
	}
	return true;
}

static bool gap_over(const void *element, const void *key)
{
	return ((const struct gap *)element)->end_ns <= *(const int64_t *)key;
}

/* Cuts an op down to its longest part outside the gaps; one that lies wholly inside a gap shrinks to the gap's nearer end. */
static void leave_gaps(struct op *op, const struct device_timeline *out)
{
	int64_t at = max64(op->begin_ns, out->begin_ns), end = min64(op->end_ns, out->end_ns);
	int64_t best_begin = -1, best_end = -1;
	size_t i = array_first(out->gaps, out->n_gaps, sizeof(*out->gaps), gap_over, &at);

	at = min64(at, out->end_ns);
	end = max64(end, at);
	for (; i < out->n_gaps && out->gaps[i].begin_ns < end; i++) {
		int64_t before = out->gaps[i].begin_ns;

		if (before >= at && (best_begin < 0 || before - at > best_end - best_begin)) {
			best_begin = at;
			best_end = before;
		}
		if (best_begin < 0) { /* begins inside this gap */
			bool left = at - before < out->gaps[i].end_ns - end;

			best_begin = best_end = left ? before : min64(out->gaps[i].end_ns, out->end_ns);
		}
		at = out->gaps[i].end_ns;
	}
	if (best_begin < 0 || end - at > best_end - best_begin) {
		best_begin = at;
		best_end = max64(at, end);
	}
	op->begin_ns = best_begin;
	op->end_ns = best_end;
}

static int by_begin(const void *a, const void *b)
{
	const struct op *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->call->begin_ns != y->call->begin_ns)
		return x->call->begin_ns < y->call->begin_ns ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static const struct graph *graph_of(const struct work *op, const struct trace *t)
{
	return op->call->family == GST_FAMILY_GRAPH_LAUNCH ? &t->graphs[op->call->graph] : NULL;
}

/* Operations that the work stands for on this device: none of a launch that all counts elsewhere. */
static uint32_t count_of(const struct stream_work *w, const struct work *work)
{
	const struct graph *g = graph_of(work, w->trace);

	if (w->carried)
		return 0;
	if (work_is_solid(work))
		return 1;
	if (work->missing)
		return work->missing;
	if (work->call->copies)
		return work->call->copies;
	if (!g || (!g->work && !w->elsewhere))
		return 1;
	return graph_work_on(g, w->ordinal, elsewhere_home(w->trace, work->call));
}

/* A graph's nodes are ops of their own, as long as there is room for so many. */
static bool is_unfolded(const struct work *work, const struct graph *g, uint32_t count, size_t n_ops)
{
	return g && !work->measured && !work->missing && g->whole && g->work && count && n_ops + count <= OPS_MAX;
}

static void add_call_op(struct device_timeline *out, const struct stream_work *w, const struct work *work,
			uint32_t count)
{
	const struct call *c = work->call;
	struct op *op = &out->ops[out->n_ops++];

	*op = (struct op){ .call = c, .trace = w->trace, .stream = c->stream, .count = count };
	op->lost = work->lost;
	op->class = work->hostfn ? OP_HOSTFN : (uint8_t)place_class_of_call(c, w->trace);
	op->copy = op->class == OP_COPY && c->detail <= GST_COPY_H2H ? (uint8_t)c->detail : 0;
}

static void add_node_ops(struct device_timeline *out, const struct stream_work *w, const struct work *work)
{
	const struct graph *g = graph_of(work, w->trace);
	uint32_t home = elsewhere_home(w->trace, work->call);

	for (size_t i = 0; i < g->n; i++) {
		const struct graph_node *n = &g->nodes[i];
		struct op *op = &out->ops[out->n_ops];

		if (!graph_node_works(n) || graph_node_device(n, home) != w->ordinal)
			continue;
		*op = (struct op){ .call = work->call,
				   .trace = w->trace,
				   .node = n,
				   .stream = work->call->stream,
				   .count = 1,
				   .lost = work->lost };
		op->class = (uint8_t)place_class_of_node(n, w->trace);
		op->copy = op->class == OP_COPY && n->kind <= GST_COPY_H2H ? (uint8_t)n->kind : 0;
		out->n_ops++;
	}
}

static size_t ops_of(const struct stream_work *w, size_t n_ops)
{
	size_t before = n_ops;

	for (size_t k = 0; k < w->n; k++) {
		const struct graph *g = graph_of(&w->ops[k], w->trace);
		uint32_t count = count_of(w, &w->ops[k]);

		n_ops += is_unfolded(&w->ops[k], g, count, n_ops) ? count : count > 0 || w->ops[k].measured;
	}
	return n_ops - before;
}

static bool add_stream_ops(struct device_timeline *out, const struct stream_work *w)
{
	size_t *first = spill_new(w->n + 1, sizeof(*first)), begin = out->n_ops;
	bool ok;

	if (!first)
		return false;
	for (size_t k = 0; k < w->n; k++) {
		const struct work *work = &w->ops[k];
		const struct graph *g = graph_of(work, w->trace);
		uint32_t count = count_of(w, work);

		first[k] = out->n_ops;
		if (is_unfolded(work, g, count, out->n_ops))
			add_node_ops(out, w, work);
		else if (work->measured)
			place_exact(out, w, work, count);
		else if (count)
			add_call_op(out, w, work, count);
		if (!w->elsewhere && !work->measured)
			out->operations_unlinked += w->stream == GST_NONE || (g && (!g->counted || g->open));
		out->operations_lost += work->lost ? count : 0;
	}
	first[w->n] = out->n_ops;
	ok = place_stream(out, first, w);
	spill_free(first);
	if (!ok)
		return false;
	for (size_t k = begin; k < out->n_ops; k++) {
		if (out->ops[k].class == OP_HOSTFN)
			continue;
		out->operations += out->ops[k].count;
		if (!out->ops[k].exact)
			leave_gaps(&out->ops[k], out);
	}
	return true;
}

static bool make_ops(struct device_timeline *out, const struct device_work *d)
{
	size_t total = 0;

	for (size_t i = 0; i < d->n; i++)
		total += ops_of(&d->streams[i], total);
	out->ops = spill_new(total, sizeof(*out->ops));
	if (!out->ops)
		return false;
	for (size_t i = 0; i < d->n; i++)
		if (!add_stream_ops(out, &d->streams[i]))
			return false;
	array_sort(out->ops, out->n_ops, sizeof(*out->ops), by_begin);
	return true;
}

/* ---- neighbours of the gaps ------------------------------------------------------------------------- */

#define LOOK_AHEAD 64 /* operations that are looked at for the one that ends a gap */

/* Of those that may have begun where the gap ends, as far as that is known: the one that could begin first. first: the first in order of
 * their places, which say nothing within the error of the gap's end. */
static const struct op *that_ends(const struct device_timeline *out, const struct gap *gap, size_t first)
{
	const struct op *best = &out->ops[first];
	int64_t by_ns = sum64(gap->end_ns, gap->end_error_ns);

	for (size_t i = first + 1; i < out->n_ops && i - first < LOOK_AHEAD && !best->exact; i++) {
		const struct op *op = &out->ops[i];

		if (op->class != OP_HOSTFN && !op->exact && op->stretch_begin_ns <= by_ns &&
		    op->stretch_begin_ns < best->stretch_begin_ns)
			best = op;
	}
	return best;
}

static void find_neighbours(struct device_timeline *out)
{
	const struct op *last = NULL; /* the running maximum of ends, not the last begun: streams overlap */
	size_t before = 0, after = 0;

	for (size_t i = 0; i < out->n_gaps; i++) {
		struct gap *gap = &out->gaps[i];

		for (; before < out->n_ops && out->ops[before].begin_ns <= gap->begin_ns; before++)
			if (out->ops[before].class != OP_HOSTFN && (!last || out->ops[before].end_ns >= last->end_ns))
				last = &out->ops[before];
		gap->before = last;
		while (after < out->n_ops &&
		       (out->ops[after].begin_ns < gap->end_ns || out->ops[after].class == OP_HOSTFN))
			after++;
		gap->after = after < out->n_ops ? that_ends(out, gap, after) : NULL;
	}
}

static bool set_partition(struct device_timeline *out)
{
	struct partition all;

	if (!partition_of(&all, out, out->begin_ns, out->end_ns))
		return false;
	out->compute_ns = all.compute_ns;
	out->comm_ns = all.comm_ns;
	out->memset_ns = all.memset_ns;
	memcpy(out->copy_ns, all.copy_ns, sizeof(out->copy_ns));
	return true;
}

enum err_kind place_ops(struct device_timeline *out, const struct device_work *d, struct error *e)
{
	if (!make_ops(out, d) || !place_fill(out))
		return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
	find_neighbours(out);
	place_exact_errors(out);
	if (!set_partition(out))
		return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
	return ERR_NONE;
}
