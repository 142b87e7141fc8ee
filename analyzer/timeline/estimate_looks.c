/* SPDX-License-Identifier: BSD-2-Clause */
#include "estimate_maker.h"

#include <math.h>

static bool find_where(struct device_look *look, const struct device_timeline *d, const struct device_work *work)
{
	struct intervals all = { .at = d->unresolved, .n = d->n_unresolved };

	return intervals_subtract(&look->views[UNRESOLVED].where, &all, &work->inside) &&
	       intervals_add(&look->views[WHOLE].where, d->begin_ns, d->end_ns);
}

/* The share of the busy time in which no other stream works: only then the time between a graph's nodes is idle. */
static double alone(const struct replay_gauge *g)
{
	return g->busy_ns > 0 ? (double)g->alone_ns / (double)g->busy_ns : 1;
}

/* Idle time of each device in the model as it stands, into the double at this offset of each view. inside: with that of graphs. */
static bool look_at_all(struct maker *m, size_t offset, bool inside)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct inside in = { 0 };

		if (inside && !inside_sum(&in, &m->replay, i, &m->classes))
			return false;
		for (int k = 0; k < VIEWS; k++) {
			struct view *v = &m->looks[i].views[k];
			struct replay_gauge g;

			if (!replay_gauge(&m->replay, i, &v->where, &g, NULL))
				return false;
			*(double *)(void *)((char *)v + offset) = (double)g.idle_ns + in.middle * alone(&g);
		}
	}
	return true;
}

static bool leave_out(struct maker *m)
{
	for (uint32_t g = 0; g < m->n_groups; g++) {
		classes_measure(&m->classes, g);
		replay_run(&m->replay, &m->classes, m->latency_ns, 0);
		if (!look_at_all(m, offsetof(struct view, groups) + g * sizeof(double), true))
			return false;
	}
	return true;
}

/* The systematic part: what is not known, at one of its ends after the other. */
static bool look_at_ends(struct maker *m)
{
	const struct {
		size_t offset;
		double latency_ns;
		int side;
	} ends[] = { { offsetof(struct view, shorter_ns), m->latency_ns, -1 },
		     { offsetof(struct view, longer_ns), m->latency_ns, 1 },
		     { offsetof(struct view, earlier_ns), fmax(0, m->latency_ns - m->latency_error_ns), 0 },
		     { offsetof(struct view, later_ns), m->latency_ns + m->latency_error_ns, 0 } };

	classes_measure(&m->classes, GST_NONE);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		replay_run(&m->replay, &m->classes, ends[i].latency_ns, ends[i].side);
		if (!look_at_all(m, ends[i].offset, false))
			return false;
	}
	return true;
}

static bool look_at_middle(struct maker *m)
{
	replay_run(&m->replay, &m->classes, m->latency_ns, 0);
	for (uint32_t i = 0; i < m->n; i++) {
		struct device_look *look = &m->looks[i];
		struct replay_gauge g;

		for (int k = 0; k < VIEWS; k++) {
			if (!replay_gauge(&m->replay, i, &look->views[k].where, &g,
					  k == UNRESOLVED ? &look->pieces : NULL))
				return false;
			look->views[k].idle_ns = (double)g.idle_ns;
		}
		if (!inside_sum(&look->inside, &m->replay, i, &m->classes))
			return false;
		look->inside.low *= alone(&g);
		look->inside.middle *= alone(&g);
	}
	return true;
}

bool estimate_look(struct maker *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (!find_where(&m->looks[i], &m->out->devices[i], &m->works[i]))
			return false;
	return (!m->n_groups || leave_out(m)) && look_at_ends(m) && look_at_middle(m);
}
