/* SPDX-License-Identifier: BSD-2-Clause */
#include "depend.h"

#include "alloc.h"
#include "ns.h"
#include "waits.h"

#include <stdlib.h>

#define DEPTH 4  /* streams that only pass a wait on */
#define STEPS 64 /* waits looked at for one gap: the last ones matter */

/* ---- host functions --------------------------------------------------------------------------------- */

/* The host function that ran during most of what is left of the gap once its next work was queued. hosts: by begin. */
static const struct call *hostfn_of(const struct gap *gap, const struct op *const *hosts, size_t n)
{
	const struct op *best = NULL;
	int64_t best_ns = 0, from_ns = gap->begin_ns;

	if (gap->after && !gap->after->unlinked)
		from_ns = max64(from_ns, gap->after->call->end_ns);
	if (from_ns >= gap->end_ns)
		return NULL;
	for (size_t i = 0; i < n && hosts[i]->begin_ns < gap->end_ns; i++) {
		int64_t ns = min64(hosts[i]->end_ns, gap->end_ns) - max64(hosts[i]->begin_ns, from_ns);

		if (ns > best_ns) {
			best = hosts[i];
			best_ns = ns;
		}
	}
	return best && best_ns * 2 >= gap->end_ns - from_ns ? best->call : NULL;
}

static bool name_hostfns(struct device_timeline *out)
{
	const struct op **hosts = array_new(out->n_ops, sizeof(*hosts));
	size_t n = 0, from = 0;

	if (!hosts)
		return false;
	for (size_t i = 0; i < out->n_ops; i++)
		if (out->ops[i].class == OP_HOSTFN)
			hosts[n++] = &out->ops[i];
	for (size_t i = 0; i < out->n_gaps; i++) {
		while (from < n && hosts[from]->end_ns <= out->gaps[i].begin_ns)
			from++;
		out->gaps[i].hostfn = hostfn_of(&out->gaps[i], hosts + from, n - from);
	}
	free(hosts);
	return true;
}

/* ---- other devices' work ---------------------------------------------------------------------------- */

struct search { /* for what held work up after from_ns */
	int64_t from_ns;
	uint32_t device;
	int steps;
	struct dependency best; /* of all found, what ended last */
};

static void consider(struct search *s, const struct held *h)
{
	const struct work *op = &h->producer->ops[h->covers - 1];

	if (s->best.producer && op->latest_end_ns <= s->best.latest_end_ns)
		return;
	s->best = (struct dependency){ .wait = h->wait->call,
				       .producer = op->call,
				       .trace = h->producer->trace,
				       .stream = h->producer->stream,
				       .device = h->producer->device,
				       .earliest_end_ns = op->earliest_end_ns,
				       .latest_end_ns = op->latest_end_ns };
}

/* What the stream waited for by before_ns and may not have been done by from_ns. Work of the device itself is none of it: while that
 * runs there is no gap. */
static void look(struct search *s, const struct stream_work *w, int64_t before_ns, int depth)
{
	size_t n = waits_before(w, before_ns);

	while (n-- > 0 && w->held[n].max_until_ns > s->from_ns && s->steps-- > 0) {
		const struct held *h = &w->held[n];

		if (h->until_ns <= s->from_ns)
			continue;
		if (!h->producer)
			s->best.unknown = true;
		else if (h->producer->device != s->device && h->covers)
			consider(s, h);
		else if (depth)
			look(s, h->producer, h->wait->recorded_ns, depth - 1);
	}
}

static const struct stream_work *stream_of(const struct device_work *d, const struct op *op)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->streams[i].trace == op->trace && d->streams[i].stream == op->stream)
			return &d->streams[i];
	return NULL;
}

/* A graph's node may have waited for the graph's other nodes, which may be the host's or another device's. */
static bool waits_inside(const struct op *op)
{
	const struct graph *g = op->call->family == GST_FAMILY_GRAPH_LAUNCH && op->exact && !op->unlinked
					? &op->trace->graphs[op->call->graph]
					: NULL;

	return g && (g->stalls || (g->devices & (g->devices - 1)));
}

/* The work's own stream, and through the legacy default stream every other that blocks with it. */
static struct dependency dependency_of(const struct device_work *d, uint32_t device, const struct gap *gap)
{
	struct search s = { .from_ns = gap->begin_ns, .device = device, .steps = STEPS };
	const struct stream_work *w = gap->after && !gap->after->unlinked ? stream_of(d, gap->after) : NULL;

	s.best.unknown = gap->after && waits_inside(gap->after);
	if (!w || w->stream == GST_NONE)
		return s.best;
	s.best.unknown |= w->opaque;
	look(&s, w, gap->after->call->begin_ns, DEPTH);
	for (size_t i = 0; w->blocks_with_legacy && i < d->n; i++) {
		const struct stream_work *other = &d->streams[i];

		if (other != w && other->trace == w->trace && other->blocks_with_legacy)
			look(&s, other, gap->after->call->begin_ns, DEPTH);
	}
	return s.best;
}

bool depend_find(struct device_timeline *out, const struct device_work *devices, size_t own)
{
	for (size_t i = 0; i < out->n_gaps; i++)
		out->gaps[i].depends = dependency_of(&devices[own], (uint32_t)own, &out->gaps[i]);
	return name_hostfns(out);
}
