/* SPDX-License-Identifier: BSD-2-Clause */
#include "burst_arrival.h"

#include "tools/alloc.h"

#include <math.h>
#include <stdlib.h>

struct arrival { /* of an edge */
	uint32_t burst, root;
	bool starved;
	double ns; /* device time it fired less host time it was recorded */
};

static int by_arrival(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->burst != y->burst)
		return x->burst < y->burst ? -1 : 1;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->starved != y->starved)
		return x->starved ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

static bool arrival_before(const void *element, const void *key)
{
	const struct arrival *x = element, *y = key;

	return x->burst != y->burst ? x->burst < y->burst : x->root < y->root;
}

bool same_row(const struct edge *a, const struct edge *b)
{
	return a->stream == b->stream && a->burst == b->burst && a->root == b->root && a->device == b->device;
}

double since_begin(const struct arrivals *a, int64_t host_ns)
{
	return (double)(host_ns - a->t->begin_ns);
}

double delay_of(const struct arrivals *a, const struct edge *e)
{
	return e->device_ns - since_begin(a, e->begin_ns);
}

/* By the starved edges of the burst (the median), or by the clock's mapping and what arriving takes in this run. Either may be wrong: few edges,
 * a thread that lost its CPU while it recorded one. No edge fires before it arrives, so none of the burst's has arrived in less time than the
 * quickest of them took to fire, which shows as half a tick less than it was on the average. */
double arrival_of(const struct arrivals *a, const struct mark *m)
{
	const struct edge *e = m->edge;
	const struct arrival key = { .burst = e->burst, .root = e->root };
	size_t first = array_first(a->at, a->n, sizeof(key), arrival_before, &key), starved = 0;
	double least = INFINITY, ns = NAN;

	for (size_t i = first; i < a->n && a->at[i].burst == e->burst && a->at[i].root == e->root; i++) {
		starved += a->at[i].starved;
		least = fmin(least, a->at[i].ns);
	}
	if (starved)
		ns = a->at[first + starved / 2].ns;
	else if (a->n_latencies && m->firing->exact)
		ns = e->device_ns - since_begin(a, m->firing->time_ns) + a->latency_ns;
	return isnan(ns) ? ns : fmin(ns, least + EVENT_TICK_NS / 2);
}

static bool list(struct arrivals *a, struct mark *marks, size_t n)
{
	a->at = array_new(n, sizeof(*a->at));
	if (!a->at)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct mark *m = &marks[i];

		m->starved = i && m->edge->kind == GST_EDGE_BURST_BEFORE && same_row(m->edge, m[-1].edge) &&
			     m->edge->device_ns - m[-1].edge->device_ns > 2 * EVENT_TICK_NS;
		a->at[a->n++] = (struct arrival){ m->edge->burst, m->edge->root, m->starved, delay_of(a, m->edge) };
	}
	array_sort(a->at, a->n, sizeof(*a->at), by_arrival);
	return true;
}

/* ---- on the host's clock ---------------------------------------------------------------------------- */

static size_t add_latency(struct arrivals *a, double *took, size_t n, const struct edge *e, const struct firing *f)
{
	if (!f->exact || f->time_ns < e->begin_ns)
		return n;
	took[n] = (double)(f->time_ns - e->begin_ns);
	a->latency_error_ns += (double)f->error_ns;
	return n + 1;
}

static bool measure_latency(struct arrivals *a, const struct mark *marks, size_t n_marks, const struct firing *firings)
{
	double *took = array_new(n_marks + a->t->n_edges, sizeof(*took));
	size_t n = 0;

	for (size_t i = 0; took && i < n_marks; i++)
		if (marks[i].starved && delay_of(a, marks[i].edge) <= arrival_of(a, &marks[i]) + WAITED_NS)
			n = add_latency(a, took, n, marks[i].edge, marks[i].firing);
	for (size_t i = 0, of_bursts = n; took && !of_bursts && i < a->t->n_edges; i++)
		if (a->t->edges[i].kind == GST_EDGE_START && a->t->edges[i].stream != GST_NONE)
			n = add_latency(a, took, n, &a->t->edges[i], &firings[i]);
	if (n) {
		a->latency_ns = array_median_double(took, n);
		a->latency_error_ns /= (double)n;
	}
	a->n_latencies = n;
	free(took);
	return took != NULL;
}

bool arrivals_find(struct arrivals *a, const struct trace *t, struct mark *marks, size_t n,
		   const struct firing *firings)
{
	*a = (struct arrivals){ .t = t };
	return list(a, marks, n) && measure_latency(a, marks, n, firings);
}

void arrivals_free(struct arrivals *a)
{
	free(a->at);
	*a = (struct arrivals){ 0 };
}
