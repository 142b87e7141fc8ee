/* SPDX-License-Identifier: BSD-2-Clause */
#include "consistent.h"

#include <stdlib.h>

#include "common.h"

/* ---- threads ---- */

static int by_thread(const void *a, const void *b)
{
	const struct call *x = *(const struct call *const *)a, *y = *(const struct call *const *)b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static bool calls_follow(const struct trace *t)
{
	const struct call **calls = malloc((t->n_calls + 1) * sizeof(*calls));
	bool follow = true;

	require(calls != NULL);
	for (size_t i = 0; i < t->n_calls; i++)
		calls[i] = &t->calls[i];
	qsort(calls, t->n_calls, sizeof(*calls), by_thread);
	for (size_t i = 1; i < t->n_calls; i++)
		follow &= calls[i]->tid != calls[i - 1]->tid || calls[i]->begin_ns >= calls[i - 1]->end_ns;
	free(calls);
	return follow;
}

/* ---- numbers ---- */

struct moment { /* at which a stream's work is submitted, or a record begins that names work which was */
	uint64_t number;
	int64_t ns;
	uint32_t stream;
	bool submits;
};

struct moments {
	struct moment *at;
	size_t n;
};

static int by_stream(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->submits != y->submits)
		return x->submits ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void add(struct moments *m, uint32_t stream, uint64_t number, int64_t ns, bool submits)
{
	if (stream != GST_NONE)
		m->at[m->n++] = (struct moment){ number, ns, stream, submits };
}

/* One that fails leaves a hole. */
static bool takes_number(const struct call *c)
{
	return (c->flags & GST_SUBMISSION) && !(c->flags & GST_CAPTURED);
}

static bool numbers_rise(const struct trace *t)
{
	struct moments m = { .at = malloc((t->n_calls + t->n_edges + t->n_polls + 1) * sizeof(*m.at)) };
	uint64_t last = 0;
	bool rise = true;

	require(m.at != NULL);
	for (size_t i = 0; i < t->n_calls; i++) {
		const struct call *c = &t->calls[i];

		add(&m, c->stream, c->seq, c->begin_ns, takes_number(c));
	}
	for (size_t i = 0; i < t->n_edges; i++)
		add(&m, t->edges[i].stream, t->edges[i].covers, t->edges[i].begin_ns, false);
	for (size_t i = 0; i < t->n_polls; i++)
		add(&m, t->polls[i].stream, t->polls[i].covers, t->polls[i].begin_ns, false);
	qsort(m.at, m.n, sizeof(*m.at), by_stream);
	for (size_t i = 0; i < m.n; i++) {
		const struct moment *at = &m.at[i];

		last = i && at[-1].stream == at->stream ? last : 0;
		rise &= at->submits ? at->number > last : at->number <= last;
		last = at->submits ? at->number : last;
	}
	free(m.at);
	return rise;
}

bool trace_is_consistent(const struct trace *t)
{
	return calls_follow(t) && numbers_rise(t);
}
