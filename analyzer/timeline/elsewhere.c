/* SPDX-License-Identifier: BSD-2-Clause */
#include "elsewhere.h"

#include "timeline.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"
#include "trace/trace_rare.h"

#include <stdlib.h>

uint64_t elsewhere_used(const struct trace *t)
{
	uint64_t used = 0;

	for (size_t i = 0; i < t->n_streams; i++)
		used |= graph_device_bit(t->streams[i].device);
	return used;
}

bool elsewhere_reaches(const struct graph *g, uint64_t devices)
{
	return (g->anywhere && devices) || (g->devices & devices);
}

static const struct graph *graph_of(const struct trace *t, const struct call *c)
{
	return is_submission(c) && c->family == GST_FAMILY_GRAPH_LAUNCH ? &t->graphs[c->graph] : NULL;
}

uint64_t elsewhere_devices(const struct trace *t, const struct call *c)
{
	const struct graph *g = graph_of(t, c);

	uint32_t home = elsewhere_home(t, c);
	uint64_t devices = 0;

	if (!g || !(g->devices & ~graph_device_bit(home)))
		return 0;
	for (uint32_t i = 0; i < GRAPH_DEVICES; i++)
		if ((g->devices & graph_device_bit(i)) && i != home && graph_work_on(g, i, home))
			devices |= graph_device_bit(i);
	return devices;
}

static struct stream_work *work_of(struct device_work *d, const struct trace *t, uint32_t device, uint32_t stream,
				   size_t first)
{
	for (size_t i = first; i < d->n; i++)
		if (d->streams[i].stream == stream)
			return &d->streams[i];
	if (!array_room(d->streams, d->n, d->cap))
		return NULL;
	d->streams[d->n++] = (struct stream_work){
		.trace = t, .stream = stream, .ordinal = device, .elsewhere = true, .special = true
	};
	return &d->streams[d->n - 1];
}

/* Were all nodes of the launch measured, each by itself? */
static bool is_measured(const struct exact *x, const struct call *c)
{
	size_t n;
	const struct exact_op *ops = exact_of(x, c, &n);

	for (size_t i = 0; i < n; i++)
		if (ops[i].measured->kind == GST_ACTIVITY_GRAPH)
			return false;
	return n && !exact_missing(x, c, ops, n);
}

bool elsewhere_collect(struct device_work *d, const struct trace *t, uint32_t device, const struct exact *exact)
{
	size_t first = d->n;

	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1)) {
		const struct call *c = &t->calls[i];
		const struct graph *g = graph_of(t, c);
		struct stream_work *w;

		if (!g || elsewhere_home(t, c) == device || !elsewhere_reaches(g, graph_device_bit(device)) ||
		    is_measured(exact, c))
			continue;
		w = work_of(d, t, device, c->stream, first);
		if (!w || !spill_room(w->ops, w->n, w->cap))
			return false;
		w->ops[w->n++] = (struct work){ .call = c, .stalls = true };
	}
	return true;
}

/* Does it certainly run something there? */
static bool is_sure(const struct stream_work *w, const struct work *op)
{
	const struct graph *g = w->elsewhere ? graph_of(w->trace, op->call) : NULL;

	return g ? graph_work_on(g, w->ordinal, elsewhere_home(w->trace, op->call)) > 0 : !op->hostfn && !w->carried;
}

void elsewhere_widen(struct device_work *d)
{
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
	bool any = false;

	for (size_t i = 0; i < d->n; i++)
		any |= d->streams[i].elsewhere && !d->streams[i].carried;
	for (size_t i = 0; any && i < d->n; i++)
		for (size_t k = 0; k < d->streams[i].n; k++)
			if (is_sure(&d->streams[i], &d->streams[i].ops[k])) {
				first_ns = min64(first_ns, d->streams[i].ops[k].earliest_start_ns);
				last_ns = max64(last_ns, d->streams[i].ops[k].latest_end_ns);
			}
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0;
		     d->streams[i].elsewhere && !d->streams[i].carried && k < d->streams[i].n && first_ns <= last_ns;
		     k++) {
			struct work *op = &d->streams[i].ops[k];

			op->latest_end_ns = max64(op->latest_end_ns, first_ns);
			op->earliest_start_ns = min64(op->earliest_start_ns, last_ns);
		}
}

bool elsewhere_stall(struct device_work *d, struct stream_work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		struct work *op = &w->ops[i];

		op->latest_start_ns =
			op->earliest_start_ns; /* what may be idle is all unresolved, none of it an end's error */
		op->earliest_end_ns = op->latest_end_ns;
		if (op->latest_start_ns < op->latest_end_ns &&
		    !intervals_add(&d->stalled, op->latest_start_ns, op->latest_end_ns))
			return false;
	}
	return true;
}
