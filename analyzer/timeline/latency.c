/* SPDX-License-Identifier: BSD-2-Clause */
#include "latency.h"

#include "tools/alloc.h"
#include "tools/ns.h"

#include <stdlib.h>

bool latencies_add(struct latencies *out, const struct facts *f, const struct trace *t, uint32_t ordinal)
{
	for (size_t i = 0; i < f->n_starts; i++) {
		if (t->streams[f->starts[i].stream].device != ordinal)
			continue;
		if (!array_room(out->ns, out->n, out->cap))
			return false;
		out->ns[out->n++] = f->starts[i].latency_ns;
	}
	return true;
}

int64_t latency_quartile(int64_t *seen, size_t n)
{
	array_sort(seen, n, sizeof(*seen), array_by_int64);
	return n < LATENCY_FEW ? 0 : seen[n / 4];
}

int64_t latency_own(int64_t *seen, size_t n)
{
	int64_t quartile_ns = n ? latency_quartile(seen, n) : 0, least_ns = n ? max64(seen[0], LATENCY_NS) : 0;

	return quartile_ns > LATENCY_TIMES * least_ns ? least_ns : quartile_ns;
}

/* Only where the device's clock says when. */
static bool add_start(struct facts *out, const struct edge *edge, const struct firing *f)
{
	if (edge->kind != GST_EDGE_START || edge->stream == GST_NONE || !f->exact || f->time_ns < edge->begin_ns)
		return true;
	if (!array_room(out->starts, out->n_starts, out->cap_starts))
		return false;
	out->starts[out->n_starts++] = (struct start){ edge->stream, f->time_ns - edge->begin_ns };
	return true;
}

bool latency_find(struct facts *out, const struct trace *t, const struct firing *firings)
{
	int64_t *seen, quartile_ns;

	for (size_t i = 0; i < t->n_edges; i++)
		if (!add_start(out, &t->edges[i], &firings[i]))
			return false;
	seen = array_new(out->n_starts, sizeof(*seen));
	if (!seen)
		return false;
	for (size_t i = 0; i < out->n_starts; i++)
		seen[i] = out->starts[i].latency_ns;
	quartile_ns = latency_quartile(seen, out->n_starts);
	out->latency_ns = max64(LATENCY_NS, quartile_ns + quartile_ns / 2);
	free(seen);
	return true;
}
