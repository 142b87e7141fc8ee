/* SPDX-License-Identifier: BSD-2-Clause */
#include "place_exact.h"

#include "elsewhere.h"
#include "place_kind.h"
#include "place_of.h"
#include "tools/ns.h"

#define NODE_STEPS 64 /* nodes looked at for one operation: CUPTI's numbers may be none of the graph's */

/* Nodes run in about the order they are listed in: the next one is looked for behind the last. */
static const struct graph_node *node_of(const struct graph *g, uint64_t node, const struct graph_node *last)
{
	size_t from = last && last >= g->nodes && last < g->nodes + g->n ? (size_t)(last - g->nodes) + 1 : 0;

	for (size_t i = 0; node && i < g->n && i < NODE_STEPS; i++) {
		const struct graph_node *n = &g->nodes[from + i < g->n ? from + i : from + i - g->n];

		if (n->node == node)
			return n;
	}
	return NULL;
}

/* As nobody can measure a launch before its call: where it seems so, the two clocks are that far apart at least. */
static int64_t error_of(const struct op *op)
{
	return max64(op->of->measured->error_ns, op->call->begin_ns - op->of->measured->begin_ns);
}

bool place_exact(struct device_timeline *out, const struct stream_work *w, const struct work *work, uint32_t count)
{
	const struct measured *m = work_measured(w, work);
	const struct call *c = work->call;
	struct op *op = &out->ops[out->n_ops];
	const struct op *last = out->n_ops ? op - 1 : NULL;
	struct op_of of = { .trace = w->trace,
			    .measured = m,
			    .count = count,
			    .class = (uint8_t)place_class_of_measured(m, c, w->trace),
			    .exact = true,
			    .unlinked = exact_is_unlinked(w->facts->exact, c) };

	if (of.class == OP_COPY)
		of.copy = m->copy || c->family != GST_FAMILY_COPY || c->detail > GST_COPY_H2H ? m->copy
											      : (uint8_t)c->detail;
	if (c->family == GST_FAMILY_GRAPH_LAUNCH && !of.unlinked)
		of.node =
			node_of(&w->trace->graphs[c->graph], m->node, last && last->call == c ? last->of->node : NULL);
	*op = (struct op){ .begin_ns = work->earliest_start_ns,
			   .end_ns = work->latest_end_ns,
			   .stretch_begin_ns = work->earliest_start_ns,
			   .stretch_end_ns = work->latest_end_ns,
			   .call = c };
	if (!place_set_of(out, op, NULL, &of))
		return false;
	out->n_ops++;
	if (!of.unlinked || m->begin_ns < w->trace->from_ns)
		return true; /* its call may have been given up with the rest of its time */
	out->measured_unlinked++;
	out->operations_unlinked++;
	return true;
}

void place_exact_errors(struct device_timeline *out)
{
	for (size_t i = 0; i < out->n_gaps; i++) {
		struct gap *gap = &out->gaps[i];

		if (gap->before && gap->before->of->exact && gap->before->end_ns == gap->begin_ns) {
			gap->begin_error_ns += error_of(gap->before);
			out->idle_error_ns = sum64(out->idle_error_ns, error_of(gap->before));
		}
		if (gap->after && gap->after->of->exact && gap->after->begin_ns == gap->end_ns) {
			gap->end_error_ns += error_of(gap->after);
			out->idle_error_ns = sum64(out->idle_error_ns, error_of(gap->after));
		}
	}
}
