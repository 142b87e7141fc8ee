/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_time.h"

#include "tools/alloc.h"

#include <stdlib.h>

struct node_kernel {
	double low, middle, high, n;
};

/* What each kernel of a trace takes, whatever its grid, by name. */
static struct node_kernel *means_of(const struct classes *c, const struct trace *t)
{
	struct node_kernel *means = array_new(t->n_kernels + 1, sizeof(*means));

	for (size_t i = 1; means && i < c->n; i++) {
		const struct work_class *w = &c->at[i];
		struct node_kernel *m;

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

static bool sum_nodes(struct node_time *sum, const struct graph *g, const struct node_kernel *kernels, size_t n_kernels)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct node_kernel *m = g->nodes[i].name < n_kernels ? &kernels[g->nodes[i].name] : NULL;

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

static bool set_trace(struct node_kernels *k, const struct classes *c, const struct trace *t)
{
	if (k->trace == t)
		return true;
	node_kernels_free(k);
	k->at = means_of(c, t);
	k->trace = k->at ? t : NULL;
	return k->at != NULL;
}

void node_kernels_free(struct node_kernels *k)
{
	free(k->at);
	*k = (struct node_kernels){ 0 };
}

bool node_time_find(struct node_time *out, struct node_kernels *kernels, const struct classes *c, const struct trace *t,
		    const struct graph *g)
{
	*out = (struct node_time){ .chain = g->levels >= g->n };
	if (!g->whole || g->stalls || !g->work)
		return true;
	if (!set_trace(kernels, c, t))
		return false;
	out->known = sum_nodes(out, g, kernels->at, t->n_kernels);
	return true;
}
