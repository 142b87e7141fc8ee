/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_time.h"

#include "alloc.h"

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

static bool sum_nodes(struct node_time *sum, const struct graph *g, const struct mean *kernels, size_t n_kernels)
{
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

bool node_time_find(struct node_time *out, const struct classes *c, const struct trace *t, const struct graph *g)
{
	struct mean *kernels;

	*out = (struct node_time){ .chain = g->levels >= g->n };
	if (!g->whole || g->stalls || !g->work)
		return true;
	kernels = kernels_of(c, t);
	if (!kernels)
		return false;
	out->known = sum_nodes(out, g, kernels, t->n_kernels);
	free(kernels);
	return true;
}
