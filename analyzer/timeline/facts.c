/* SPDX-License-Identifier: BSD-2-Clause */
#include "facts.h"

#include "facts_builder.h"
#include "latency.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"
#include "trace/trace_rare.h"

#include <stddef.h>
#include <stdlib.h>

static int finished_order(const void *a, const void *b)
{
	const struct finished *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->covers != y->covers)
		return x->covers < y->covers ? -1 : 1;
	return (x->by_ns > y->by_ns) - (x->by_ns < y->by_ns);
}

static int pending_order(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->covers != y->covers)
		return x->covers < y->covers ? -1 : 1;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static int order_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->after_ns > y->after_ns) - (x->after_ns < y->after_ns);
}

static int wait_order(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static bool collect(struct facts_builder *b)
{
	const struct trace *t = b->t;

	if (!facts_make_tables(b) || !facts_add_measured_starts(b) || !latency_find(b->out, t, b->firings))
		return false;
	for (size_t i = 0; i < t->n_edges; i++)
		if (!facts_add_edge(b, &t->edges[i], &b->firings[i]))
			return false;
	for (size_t i = 0; i < t->n_polls; i++)
		if (!facts_add_poll(b, &t->polls[i]))
			return false;
	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1))
		if (!facts_add_call(b, &t->calls[i]))
			return false;
	if (!facts_add_measured(b) || !facts_add_launch_orders(b) || !facts_add_carried_ends(b))
		return false;
	array_sort(b->out->finished, b->out->n_finished, sizeof(*b->out->finished), finished_order);
	if (!facts_settle(b))
		return false;
	array_sort(b->out->pending, b->out->n_pending, sizeof(*b->out->pending), pending_order);
	array_sort(b->out->waits, b->out->n_waits, sizeof(*b->out->waits), wait_order);
	array_sort(b->out->order, b->out->n_order, sizeof(*b->out->order), order_order);
	return true;
}

enum err_kind facts_build(struct facts *out, const struct trace *t, const struct firing *firings,
			  const struct exact *exact, struct error *e)
{
	struct facts_builder b = { .out = out, .t = t, .firings = firings };
	bool ok;

	*out = (struct facts){ .exact = exact };
	ok = collect(&b);
	facts_free_tables(&b);
	if (ok)
		return ERR_NONE;
	facts_free(out);
	return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
}

void facts_free(struct facts *f)
{
	spill_free(f->finished);
	spill_free(f->pending);
	spill_free(f->order);
	free(f->waits);
	free(f->starts);
	*f = (struct facts){ 0 };
}

/* ---- asking ----------------------------------------------------------------------------------------- */

/* All four structures begin with the stream. */
static bool stream_before(const void *element, const void *key)
{
	return *(const uint32_t *)element < *(const uint32_t *)key;
}

_Static_assert(offsetof(struct finished, stream) == 0 && offsetof(struct pending, stream) == 0 &&
		       offsetof(struct order, stream) == 0 && offsetof(struct wait, stream) == 0,
	       "stream_before reads it there");

size_t facts_first_finished(const struct facts *f, uint32_t stream)
{
	return array_first(f->finished, f->n_finished, sizeof(*f->finished), stream_before, &stream);
}

int64_t facts_over(const struct facts *f, uint32_t stream, uint64_t seq)
{
	int64_t by_ns = INT64_MAX;

	for (size_t i = facts_first_finished(f, stream); i < f->n_finished && f->finished[i].stream == stream; i++)
		if (f->finished[i].covers >= seq)
			by_ns = min64(by_ns, f->finished[i].by_ns);
	return by_ns;
}

size_t facts_first_pending(const struct facts *f, uint32_t stream)
{
	return array_first(f->pending, f->n_pending, sizeof(*f->pending), stream_before, &stream);
}

static bool covers_less(const void *element, const void *key)
{
	const struct pending *x = element, *y = key;

	return x->stream != y->stream ? x->stream < y->stream : x->covers < y->covers;
}

size_t facts_first_pending_of(const struct facts *f, uint32_t stream, uint64_t seq)
{
	struct pending key = { .stream = stream, .covers = seq };

	return array_first(f->pending, f->n_pending, sizeof(*f->pending), covers_less, &key);
}

size_t facts_first_order(const struct facts *f, uint32_t stream)
{
	return array_first(f->order, f->n_order, sizeof(*f->order), stream_before, &stream);
}

size_t facts_first_wait(const struct facts *f, uint32_t stream)
{
	return array_first(f->waits, f->n_waits, sizeof(*f->waits), stream_before, &stream);
}

static bool ordered_before(const void *element, const void *key)
{
	return ((const struct order *)element)->after_ns < *(const int64_t *)key;
}

bool facts_edge_near(const struct facts *f, uint32_t stream, int64_t time_ns)
{
	size_t first = facts_first_order(f, stream), end = facts_first_order(f, stream + 1);
	int64_t from_ns = time_ns - f->latency_ns;

	if (first == end)
		return false;
	first += array_first(f->order + first, end - first, sizeof(*f->order), ordered_before, &from_ns);
	return first < end && f->order[first].after_ns < time_ns + f->latency_ns;
}
