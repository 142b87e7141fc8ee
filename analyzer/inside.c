/* SPDX-License-Identifier: BSD-2-Clause */
#include "inside.h"

#include "alloc.h"
#include "ns.h"

#include <math.h>
#include <stdlib.h>

struct mean {
	double low, middle, high, n;
};

/* What each kernel of a trace takes, whatever its grid, by name. */
static struct mean *kernels_of(const struct classes *c, const struct trace *t)
{
	struct mean *means = array_new(t->n_kernels + 1, sizeof(*means));

	for (size_t i = 1; means && i < c->n; i++) {
		const struct work_class *w = &c->at[i];
		struct mean *m;

		if (w->trace != t || !w->n || w->like->family != GST_FAMILY_LAUNCH || w->like->name >= t->n_kernels)
			continue;
		m = &means[w->like->name];
		m->low += w->low_ns * (double)w->n;
		m->middle += w->mean_ns * (double)w->n;
		m->high += w->high_ns * (double)w->n;
		m->n += (double)w->n;
	}
	return means;
}

/* One after another, with nothing beside. */
static bool is_chain(const struct graph *g)
{
	return g->whole && !g->stalls && g->work && g->levels >= g->n;
}

static bool sum_nodes(struct mean *sum, const struct graph *g, const struct mean *kernels, size_t n_kernels)
{
	*sum = (struct mean){ 0 };
	for (size_t i = 0; i < g->n; i++) {
		const struct mean *m = g->nodes[i].name < n_kernels ? &kernels[g->nodes[i].name] : NULL;

		if (!graph_node_works(&g->nodes[i]))
			continue;
		if (g->nodes[i].type != NODE_KERNEL || !m || m->n == 0)
			return false;
		sum->low += m->low / m->n;
		sum->middle += m->middle / m->n;
		sum->high += m->high / m->n;
	}
	return true;
}

/* Of one launch. */
static bool inside_of(struct inside *out, const struct classes *c, const struct work_class *w)
{
	const struct graph *g = &w->trace->graphs[w->like->graph];
	double between = fmax(0, (double)g->levels - 1), most = (double)g->levels * NODE_NS;
	struct mean *kernels, sum;

	*out = (struct inside){ between * NODE_LEAST_NS, between * (NODE_LEAST_NS + NODE_MOST_NS) / 2,
				between * NODE_MOST_NS };
	if (!w->n || !is_chain(g))
		return true;
	kernels = kernels_of(c, w->trace);
	if (!kernels)
		return false;
	if (sum_nodes(&sum, g, kernels, w->trace->n_kernels)) {
		out->middle = fmin(fmax(w->mean_ns - sum.middle, 0), most);
		out->low = fmin(fmax(w->low_ns - sum.high, 0), out->middle);
		out->high = fmax(fmin(w->high_ns - sum.low, most), out->middle);
	}
	free(kernels);
	return true;
}

static void add(struct inside *sum, const struct inside *launch, const struct work *w, int64_t nodes_ns)
{
	double changes_ns = (double)max64(0, w->slack_ns - nodes_ns);

	sum->low += launch->low;
	sum->middle += launch->middle + changes_ns / 2;
	sum->high += launch->high + changes_ns;
}

bool inside_sum(struct inside *out, const struct replay *r, uint32_t device, const struct classes *classes)
{
	struct inside *of = array_new(classes->n, sizeof(*of));
	bool ok = of != NULL;

	*out = (struct inside){ 0 };
	for (size_t i = 1; ok && i < classes->n; i++)
		if (classes->at[i].like->family == GST_FAMILY_GRAPH_LAUNCH)
			ok = inside_of(&of[i], classes, &classes->at[i]);
	for (size_t i = 0; ok && i < r->n_steps; i++) {
		const struct replay_step *s = &r->steps[i];
		const struct call *c = s->work ? s->work->call : NULL;
		bool graph = c && c->family == GST_FAMILY_GRAPH_LAUNCH;

		if (!c || s->work->slack_ns == 0 || s->work->hostfn || r->flows[s->flow].device != device)
			continue;
		add(out, &of[s->class], s->work,
		    graph ? (int64_t)r->flows[s->flow].work->trace->graphs[c->graph].levels * NODE_NS : 0);
	}
	free(of);
	return ok;
}
