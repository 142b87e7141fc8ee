/* SPDX-License-Identifier: BSD-2-Clause */
#include "carried.h"

#include "elsewhere.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"

/* A graph that was launched on another device may have had nodes here. */
static bool graphs_reach(const struct trace *t, uint32_t device)
{
	uint64_t bit = graph_device_bit(device);

	for (size_t i = 1; i < t->n_graphs; i++) {
		const struct graph *g = &t->graphs[i];

		if ((g->anywhere || (g->devices & bit)) && (g->devices & ~bit))
			return true;
	}
	return false;
}

bool carried_collect(struct device_work *d, const struct trace *t, uint32_t device)
{
	bool reached = t->n_carried && graphs_reach(t, device);

	for (size_t i = 0; i < t->n_carried; i++) {
		const struct call *c = &t->carried[i].call;
		struct stream_work *w;

		if (elsewhere_home(t, c) != device && !reached)
			continue;
		if (!array_room(d->streams, d->n, d->cap))
			return false;
		w = &d->streams[d->n++];
		*w = (struct stream_work){ .trace = t,
					   .stream = c->stream,
					   .ordinal = device,
					   .elsewhere = true,
					   .carried = true,
					   .special = true };
		if (!spill_room(w->ops, w->n, w->cap))
			return false;
		w->ops[w->n++] = (struct work){ .call = c, .stalls = true };
	}
	return true;
}

void carried_bound(struct stream_work *w, const struct facts *f)
{
	struct work *op = &w->ops[0];

	op->earliest_start_ns = op->call->begin_ns;
	op->latest_end_ns =
		max64(op->call->begin_ns, min64(w->trace->end_ns, facts_over(f, op->call->stream, op->call->seq)));
}

void carried_clip(struct device_work *d)
{
	int64_t first_ns = INT64_MAX;
	bool any = false;

	for (size_t i = 0; i < d->n; i++)
		any |= d->streams[i].carried;
	for (size_t i = 0; any && i < d->n; i++)
		for (size_t k = 0; k < d->streams[i].n && !d->streams[i].carried; k++)
			if (!d->streams[i].ops[k].hostfn)
				first_ns = min64(first_ns, d->streams[i].ops[k].earliest_start_ns);
	for (size_t i = 0; i < d->n; i++) {
		struct stream_work *w = &d->streams[i];

		if (!w->carried)
			continue;
		if (w->ops[0].latest_end_ns <= first_ns)
			w->n = 0;
		else
			w->ops[0].earliest_start_ns = max64(w->ops[0].earliest_start_ns, first_ns);
	}
}
