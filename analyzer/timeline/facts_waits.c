/* SPDX-License-Identifier: BSD-2-Clause */
#include "facts_builder.h"

#include "tools/alloc.h"
#include "trace/trace_rare.h"

#include <stdlib.h>

/* ---- for events -------------------------------------------------------------------------------------- */

bool facts_add_event_wait(struct facts_builder *b, const struct call *c)
{
	const struct recording *r = facts_recorded_before(b, c);
	struct wait w = { .stream = c->stream,
			  .producer = GST_NONE,
			  .at_ns = c->begin_ns,
			  .end_ns = c->end_ns,
			  .recorded_ns = INT64_MIN,
			  .over_ns = INT64_MAX,
			  .call = c };
	uint64_t covers;

	if (c->stream == GST_NONE || c->result != 0 || (c->flags & GST_CAPTURED))
		return true;
	if (r && r->call->stream != GST_NONE) {
		w.producer = r->call->stream;
		w.seq = r->covers;
		w.recorded_ns = r->call->end_ns;
	} else if (!r && facts_never_recorded(b, c)) {
		return true;
	}
	if (w.producer != GST_NONE && w.seq == 0 && !r->inside) {
		if (!facts_submitted_before(b, w.producer, r->call->end_ns, &covers))
			return false;
		if (covers)
			w.producer = GST_NONE; /* another thread was at it: what the event covers is not known */
	}
	return facts_add_wait(b, w);
}

/* ---- for a graph's launch before ----------------------------------------------------------------------- */

static int by_exec(const void *a, const void *b)
{
	const struct call *x = *(const struct call *const *)a, *y = *(const struct call *const *)b;

	if (x->args[0] != y->args[0])
		return x->args[0] < y->args[0] ? -1 : 1;
	return (x > y) - (x < y);
}

/* A launch stands behind the executable graph's launch before it, in whatever stream that was (CUDA driver API, cuGraphLaunch). A
 * handle may be used again for another graph while what the first one launched still runs: then it does not. */
static bool add_launch_order(struct facts_builder *b, const struct call *before, const struct call *c)
{
	uint32_t one = b->t->graphs[before->graph].root, other = b->t->graphs[c->graph].root;
	bool known = one && other;

	if (!c->args[0] || before->args[0] != c->args[0] || before->stream == c->stream || (known && one != other))
		return true;
	return facts_add_wait(b, (struct wait){ .stream = c->stream,
						.producer = known ? before->stream : GST_NONE,
						.seq = known ? before->seq : 0,
						.at_ns = c->begin_ns - 1,
						.end_ns = c->begin_ns,
						.recorded_ns = before->end_ns,
						.over_ns = INT64_MAX,
						.call = c });
}

bool facts_add_launch_orders(struct facts_builder *b)
{
	const struct trace *t = b->t;
	const struct call **launches;
	size_t n = 0;
	bool ok = true;

	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1))
		n += t->calls[i].family == GST_FAMILY_GRAPH_LAUNCH;
	launches = array_new(n, sizeof(*launches));
	if (!launches)
		return false;
	n = 0;
	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1))
		if (t->calls[i].family == GST_FAMILY_GRAPH_LAUNCH && is_submission(&t->calls[i]) &&
		    t->calls[i].stream != GST_NONE)
			launches[n++] = &t->calls[i];
	array_sort(launches, n, sizeof(*launches), by_exec);
	for (size_t i = 1; i < n && ok; i++)
		ok = add_launch_order(b, launches[i - 1], launches[i]);
	free(launches);
	return ok;
}
