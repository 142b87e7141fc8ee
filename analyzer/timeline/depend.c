/* SPDX-License-Identifier: BSD-2-Clause */
#include "depend.h"

#include "depend_search.h"
#include "elsewhere.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/pool.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- graphs ------------------------------------------------------------------------------------------ */

static const struct graph *graph_of(const struct op *op)
{
	return op->call->family == GST_FAMILY_GRAPH_LAUNCH && !op->of->unlinked
		       ? &op->of->trace->graphs[op->call->graph]
		       : NULL;
}

/* A graph's node may have waited for the graph's other nodes, which may be the host's or another device's. */
static bool waits_inside(const struct op *op)
{
	const struct graph *g = op->of->exact ? graph_of(op) : NULL;

	return g && (g->stalls || (g->devices & (g->devices - 1)));
}

/* The node that this device's work stood behind; NULL none that would leave the device idle. place: as graph_node.behind. */
static const struct graph_node *idle_node(const struct graph *g, uint32_t place, uint32_t own, uint32_t home)
{
	const struct graph_node *n = place && place <= g->n ? &g->nodes[place - 1] : NULL;

	return n && (graph_node_stalls(n) || (graph_node_works(n) && graph_node_device(n, home) != own)) ? n : NULL;
}

static void set_node(struct dependency *d, const struct gap *gap, const struct call *launch,
		     const struct graph_node *node)
{
	*d = (struct dependency){ .kind = DEPEND_NODE,
				  .unknown = d->unknown,
				  .placed = graph_node_stalls(node),
				  .producer = launch,
				  .node = node,
				  .trace = gap->after->of->trace,
				  .stream = launch->stream,
				  .end_ns = gap->end_ns,
				  .earliest_end_ns = gap->begin_ns,
				  .latest_end_ns = gap->end_ns };
}

#define PIECES 64 /* operations looked back at for those of the same launch */

/* How many of the launch's operations stand before this one; PIECES: not known. */
static size_t pieces_before(const struct device_timeline *d, const struct op *op)
{
	size_t n = 0;

	for (size_t i = (size_t)(op - d->ops), steps = 0; i-- > 0; steps++) {
		if (steps == PIECES)
			return PIECES;
		if (d->ops[i].call == op->call)
			n++;
		else if (d->ops[i].call->end_ns < op->call->begin_ns && d->ops[i].end_ns < op->call->begin_ns)
			break;
	}
	return n;
}

/* Which node it is: as measured, or, as nodes are often numbered by another count there, in a chain by its place. NULL: not known. */
static const struct graph_node *node_of(const struct op *op, const struct graph *g, size_t before)
{
	if (op->of->node || g->levels != g->n)
		return op->of->node;
	for (size_t i = 0; i < g->n; i++)
		if (graph_node_works(&g->nodes[i]) && before-- == 0)
			return op->of->measured->kind != GST_ACTIVITY_GRAPH ? &g->nodes[i] : NULL;
	return NULL;
}

/* Of measured work: the node before it in its graph, or the last one of a graph right before it in its stream. When that was over is known by the
 * work's start alone: it was ready but for that. What the device takes to go on is no dependency. before: NULL none. */
static void look_at_graphs(struct dependency *d, const struct device_timeline *out, const struct gap *gap,
			   const struct work *before)
{
	const struct op *after = gap->after;
	const struct graph *g = graph_of(after);
	const struct call *launch = after->call;
	const struct graph_node *own = NULL, *node;
	uint32_t home, place, device;

	if (d->kind || !after->of->exact || after->of->unlinked || gap->end_ns - gap->begin_ns <= LATENCY_NS)
		return;
	if (g) {
		size_t pieces = pieces_before(out, after);

		own = pieces < PIECES ? node_of(after, g, pieces) : after->of->node;
		if (!own && pieces)
			return; /* not the first, and who knows which */
	}
	if (own && own->behind) {
		place = own->behind;
	} else {
		launch = before ? before->call : NULL;
		if (!launch || launch->family != GST_FAMILY_GRAPH_LAUNCH)
			return;
		g = &after->of->trace->graphs[launch->graph];
		place = g->last;
	}
	home = elsewhere_home(after->of->trace, launch);
	device = own ? graph_node_device(own, elsewhere_home(after->of->trace, after->call)) : home;
	node = idle_node(g, place, device, home);
	if (node)
		set_node(d, gap, launch, node);
}

/* ---- one gap ----------------------------------------------------------------------------------------- */

static const struct stream_work *stream_of(const struct device_work *d, const struct op *op)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->streams[i].trace == op->of->trace && d->streams[i].stream == op->call->stream)
			return &d->streams[i];
	return NULL;
}

static bool numbered_before(const void *element, const void *key)
{
	return ((const struct work *)element)->call->seq < *(const uint64_t *)key;
}

struct all { /* that the gaps of one device may have to do with */
	struct device_timeline *out;
	const struct device_work *devices;
	size_t n_devices, own;
	struct values *values; /* of each process that uses the device */
	size_t n_values, cap_values;
	pthread_mutex_t lock; /* of out->more */
};

struct finder { /* of some gaps, one after the other */
	const struct all *all;
	const struct stream_work *last; /* looked into, */
	size_t near;                    /* … there: the next gap's work stands not far behind */
};

static const struct values *values_of(const struct all *all, const struct trace *t)
{
	for (size_t i = 0; i < all->n_values; i++)
		if (all->values[i].trace == t)
			return &all->values[i];
	return NULL;
}

static bool build_values(struct all *all)
{
	const struct device_work *d = &all->devices[all->own];

	for (size_t i = 0; i < d->n; i++) {
		if (values_of(all, d->streams[i].trace))
			continue;
		if (!array_room(all->values, all->n_values, all->cap_values) ||
		    !values_build(&all->values[all->n_values], d->streams[i].trace))
			return false;
		all->n_values++;
	}
	return true;
}

static struct dependency dependency_of(struct finder *f, const struct gap *gap)
{
	const struct all *all = f->all;
	const struct op *after = gap->after;
	const struct stream_work *w = after && !after->of->unlinked ? stream_of(&all->devices[all->own], after) : NULL;
	struct search s = { .devices = all->devices,
			    .n_devices = all->n_devices,
			    .device = (uint32_t)all->own,
			    .from_ns = gap->begin_ns,
			    .until_ns = gap->end_ns };
	size_t upto;

	s.best.unknown = after && waits_inside(after);
	if (!w || w->stream == GST_NONE) {
		if (after)
			look_at_graphs(&s.best, all->out, gap, NULL);
		return s.best;
	}
	s.values = values_of(all, after->of->trace);
	upto = array_first_near(w->ops, w->n, sizeof(*w->ops), numbered_before, &after->call->seq,
				w == f->last ? f->near : w->n / 2);
	f->last = w;
	f->near = upto;
	depend_search(&s, w, upto, after->call->begin_ns);
	look_at_graphs(&s.best, all->out, gap, upto ? &w->ops[upto - 1] : NULL);
	return s.best;
}

/* ---- where host functions are drawn ------------------------------------------------------------------ */

static int by_call(const void *a, const void *b)
{
	const struct op *x = *(const struct op *const *)a, *y = *(const struct op *const *)b;

	return (x->call > y->call) - (x->call < y->call);
}

static bool called_lower(const void *element, const void *key)
{
	return (*(const struct op *const *)element)->call < (const struct call *)key;
}

/* A host function of this device has its place in it; no better is known. */
static void take_place(struct dependency *depends, const struct op *const *hosts, size_t n)
{
	size_t at = array_first(hosts, n, sizeof(*hosts), called_lower, depends->producer);

	if (depends->kind != DEPEND_HOSTFN || at == n || hosts[at]->call != depends->producer)
		return;
	depends->placed = true;
	depends->end_ns = hosts[at]->end_ns;
	depends->latest_end_ns = max64(hosts[at]->end_ns, hosts[at]->stretch_end_ns);
}

static bool place_hostfns(struct device_timeline *out)
{
	const struct op **hosts;
	bool any = false;
	size_t n = 0;

	for (size_t i = 0; i < out->n_gaps && !any; i++)
		any = gap_depends(&out->gaps[i])->kind == DEPEND_HOSTFN;
	if (!any)
		return true;
	hosts = array_new(out->n_ops, sizeof(*hosts));
	if (!hosts)
		return false;
	for (size_t i = 0; i < out->n_ops; i++)
		if (out->ops[i].of->class == OP_HOSTFN)
			hosts[n++] = &out->ops[i];
	array_sort(hosts, n, sizeof(*hosts), by_call);
	for (size_t i = 0; i < out->n_gaps; i++)
		if (out->gaps[i].depends)
			take_place(out->gaps[i].depends, hosts, n);
	free(hosts);
	return true;
}

/* ---- all gaps ---------------------------------------------------------------------------------------- */

#define STRETCH 4096 /* gaps that are one task */

/* Of most gaps there is nothing to keep. */
static bool keep(struct all *all, struct gap *gap, const struct dependency *d)
{
	if (d->kind == DEPEND_NONE && !d->unknown && !d->n_waits && !d->producer)
		return true;
	pthread_mutex_lock(&all->lock);
	gap->depends = arena_alloc(&all->out->more, sizeof(*d));
	pthread_mutex_unlock(&all->lock);
	if (gap->depends)
		*gap->depends = *d;
	return gap->depends != NULL;
}

static enum err_kind find_stretch(void *of, size_t stretch, struct error *e)
{
	struct all *all = of;
	struct finder f = { .all = all };
	size_t first = stretch * STRETCH, left = all->out->n_gaps - first;

	for (size_t i = first; i < first + (left < STRETCH ? left : STRETCH); i++) {
		struct dependency d = dependency_of(&f, &all->out->gaps[i]);

		if (!keep(all, &all->out->gaps[i], &d))
			return err_no_memory(e, "");
	}
	return ERR_NONE;
}

bool depend_find(struct device_timeline *out, const struct device_work *devices, size_t n_devices, size_t own)
{
	struct all all = {
		.out = out, .devices = devices, .n_devices = n_devices, .own = own, .lock = PTHREAD_MUTEX_INITIALIZER
	};
	bool ok = build_values(&all) && !pool_run((out->n_gaps + STRETCH - 1) / STRETCH, find_stretch, &all, NULL);

	for (size_t i = 0; i < all.n_values; i++)
		values_free(&all.values[i]);
	free(all.values);
	return ok && place_hostfns(out);
}
