/* SPDX-License-Identifier: BSD-2-Clause */
#include "sharing.h"

#include "tools/alloc.h"
#include "tools/ns.h"

#include <stdlib.h>

#define CHANGE_NS 100000 /* allowed for one change; how long it takes is not published */
#define TURN_NS \
	2000000 /* the default time slice (nvidia-smi compute-policy, "default"): long work is interrupted so often */

struct piece {
	struct work *op;
	struct stream_work *w;
};

struct process {
	const struct trace *trace;
	struct piece *ops; /* by earliest start */
	size_t n, cap;
	struct intervals own, others; /* when it, and when another, may have work on the device */
};

struct sharing {
	struct process *processes;
	size_t n, cap;
};

static struct process *process_of(struct sharing *s, const struct trace *trace)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->processes[i].trace == trace)
			return &s->processes[i];
	if (!array_room(s->processes, s->n, s->cap))
		return NULL;
	s->processes[s->n] = (struct process){ .trace = trace };
	return &s->processes[s->n++];
}

static bool add_work(struct sharing *s, struct stream_work *w)
{
	struct process *p = process_of(s, w->trace);

	if (!p)
		return false;
	for (size_t i = 0; i < w->n; i++) {
		if (!array_room(p->ops, p->n, p->cap) ||
		    !intervals_add(&p->own, w->ops[i].earliest_start_ns, w->ops[i].latest_end_ns))
			return false;
		p->ops[p->n++] = (struct piece){ &w->ops[i], w };
	}
	return true;
}

static bool find_others(struct sharing *s, struct process *p)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct intervals *own = &s->processes[i].own;

		for (size_t k = 0; &s->processes[i] != p && k < own->n; k++)
			if (!intervals_add(&p->others, own->at[k].begin_ns, own->at[k].end_ns))
				return false;
	}
	intervals_merge(&p->others);
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct work *x = ((const struct piece *)a)->op, *y = ((const struct piece *)b)->op;

	return (x->earliest_start_ns > y->earliest_start_ns) - (x->earliest_start_ns < y->earliest_start_ns);
}

/* How often the device may have changed to it: for each kernel that it is, and for each turn it took. */
static int64_t changes(const struct work *op, const struct trace *t)
{
	const struct call *c = op->call;
	int64_t parts = c->family == GST_FAMILY_GRAPH_LAUNCH ? max64(1, (int64_t)t->graphs[c->graph].work) : 1;

	return parts + (op->latest_end_ns - op->earliest_start_ns) / TURN_NS;
}

/* A change lies before the first work of a turn: another process had the device since this one's work before that. False: no memory. */
static bool give_slack(struct process *p)
{
	array_sort(p->ops, p->n, sizeof(*p->ops), by_start);
	for (size_t i = 0; i < p->n; i++) {
		int64_t since_ns = i ? p->ops[i - 1].op->earliest_start_ns : INT64_MIN;
		size_t at = intervals_after(&p->others, since_ns);
		struct piece *piece = &p->ops[i];
		struct work_more *own;

		if (work_is_solid(piece->w, piece->op))
			continue; /* when it began is known, and it counts as busy until it ended */
		if (at == p->others.n || p->others.at[at].begin_ns >= piece->op->latest_end_ns)
			continue;
		own = work_own(piece->w, piece->op);
		if (!own)
			return false;
		own->slack_ns += changes(piece->op, p->trace) * CHANGE_NS;
	}
	return true;
}

static void sharing_free(struct sharing *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->processes[i].ops);
		intervals_free(&s->processes[i].own);
		intervals_free(&s->processes[i].others);
	}
	free(s->processes);
}

bool sharing_find(struct device_work *d)
{
	struct sharing s = { 0 };
	bool ok = true;

	for (size_t i = 1; i < d->n; i++)
		ok &= d->streams[i].trace == d->streams[0].trace;
	if (ok) /* one process */
		return true;
	ok = true;
	for (size_t i = 0; i < d->n; i++)
		d->streams[i].special = true; /* any of it may get slack */
	for (size_t i = 0; i < d->n && ok; i++)
		ok = add_work(&s, &d->streams[i]);
	for (size_t i = 0; i < s.n && ok; i++)
		intervals_merge(&s.processes[i].own);
	for (size_t i = 0; i < s.n && ok; i++)
		ok = find_others(&s, &s.processes[i]);
	for (size_t i = 0; i < s.n && ok; i++)
		ok = give_slack(&s.processes[i]);
	sharing_free(&s);
	return ok;
}
