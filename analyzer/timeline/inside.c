/* SPDX-License-Identifier: BSD-2-Clause */
#include "inside.h"

#include "node_time.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#include <math.h>
#include <stdlib.h>

/* Of one launch. */
static bool inside_of(struct inside *out, struct node_kernels *kernels, const struct classes *c,
		      const struct work_class *w)
{
	const struct graph *g = &w->trace->graphs[w->like->graph];
	double between = fmax(0, (double)g->levels - 1), most = (double)g->levels * NODE_NS;
	struct node_time nodes;

	*out = (struct inside){ between * NODE_LEAST_NS, between * (NODE_LEAST_NS + NODE_MOST_NS) / 2,
				between * NODE_MOST_NS };
	if (!node_time_find(&nodes, kernels, c, w->trace, g))
		return false;
	if (w->n && nodes.known && nodes.chain) {
		out->middle = fmin(fmax(w->mean_ns - nodes.middle, 0), most);
		out->low = fmin(fmax(w->low_ns - nodes.high, 0), out->middle);
		out->high = fmax(fmin(w->high_ns - nodes.low, most), out->middle);
	}
	return true;
}

static void add(struct inside *sum, const struct inside *launch, int64_t slack_ns, int64_t nodes_ns)
{
	double changes_ns = (double)max64(0, slack_ns - nodes_ns);

	sum->low += launch->low;
	sum->middle += launch->middle + changes_ns / 2;
	sum->high += launch->high + changes_ns;
}

bool inside_sum(struct inside *out, const struct replay *r, uint32_t device, const struct classes *classes)
{
	struct inside *of = array_new(classes->n, sizeof(*of));
	struct node_kernels kernels = { 0 };
	bool ok = of != NULL;

	*out = (struct inside){ 0 };
	for (size_t i = 1; ok && i < classes->n; i++)
		if (classes->at[i].like->family == GST_FAMILY_GRAPH_LAUNCH)
			ok = inside_of(&of[i], &kernels, classes, &classes->at[i]);
	node_kernels_free(&kernels);
	for (size_t i = 0; ok && i < r->n_steps; i++) {
		const struct replay_step *s = &r->steps[i];
		const struct call *c = s->work ? s->work->call : NULL;
		bool graph = c && c->family == GST_FAMILY_GRAPH_LAUNCH;
		int64_t slack_ns = c ? work_more(r->flows[s->flow].work, s->work)->slack_ns : 0;

		if (!slack_ns || s->work->hostfn || r->flows[s->flow].device != device)
			continue;
		add(out, &of[s->class], slack_ns,
		    graph ? (int64_t)r->flows[s->flow].work->trace->graphs[c->graph].levels * NODE_NS : 0);
	}
	free(of);
	return ok;
}
