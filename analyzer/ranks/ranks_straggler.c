/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_straggler.c: who comes last, what that costs the others, and why.
 *
 * The last to come to a collective waits least in it. What the others wait there is its cost. A rank whose share of all cost is far beyond its
 * turn is a straggler, if those who wait for it wait long. Its cause is what it did between the collective before, which all ranks left
 * together, and this one: idle time by cause, computing, copying, against the median of the other ranks. The greatest excess is the answer. */
#include "ranks_steps.h"

#include "tools/alloc.h"
#include "tools/ns.h"

#include <stdlib.h>
#include <string.h>

#define SHARE_BEYOND 0.25        /* of the cost, beyond a rank's turn */
#define SPAN_SHARE 200           /* one in so many of the ranks' time is lost, at least */
#define LEAST 8                  /* collectives of which it is known who came last; fewer say nothing */
#define LOOKED_AT ((size_t)4096) /* collectives, the most expensive ones */

struct looker {
	struct ranks *r;
	const struct attribution *const *attributions; /* like timeline.devices */
	int64_t *values;                               /* room for one number of each rank */
};

/* ---- what it costs ----------------------------------------------------------------------------------- */

static int64_t cost_of(const struct ranks *r, const struct rank_collective *c)
{
	int64_t ns = 0;

	for (size_t i = c->first; c->together && c->last != GST_NONE && i < c->first + c->n; i++)
		if (i != c->last)
			ns = sum64(ns, r->parts[i].exposed_wait_ns);
	return ns;
}

static int64_t add_costs(struct ranks *r)
{
	int64_t all = 0;

	for (size_t i = 0; i < r->n_collectives; i++) {
		const struct rank_collective *c = &r->collectives[i];
		int64_t ns = cost_of(r, c);

		if (ns) {
			int64_t *cost = &r->members[r->parts[c->last].member].cost_ns;

			*cost = sum64(*cost, ns);
			all = sum64(all, ns);
		}
	}
	return all;
}

/* ---- what a rank did before it came -------------------------------------------------------------------- */

static bool gap_over(const void *element, const void *key)
{
	return ((const struct gap_story *)element)->gap->end_ns <= *(const int64_t *)key;
}

/* Adds what the device did in [begin, end). The longest piece of idle time of each cause is kept, if somebody wants it. */
static void add_doings(const struct looker *l, uint32_t device, int64_t begin_ns, int64_t end_ns,
		       int64_t doings[RANK_DOINGS], struct straggler longest[CAUSE_COUNT])
{
	const struct rank_device *d = &l->r->devices[device];
	const struct attribution *a = l->attributions[device];
	int64_t left = end_ns - begin_ns;
	size_t from;

	for (size_t i = array_first(a->gaps, a->n_gaps, sizeof(*a->gaps), gap_over, &begin_ns);
	     i < a->n_gaps && a->gaps[i].gap->begin_ns < end_ns; i++) {
		for (size_t k = 0; k < a->gaps[i].n_causes; k++) {
			const struct gap_cause *c = &a->gaps[i].causes[k];
			int64_t ns = min64(c->end_ns, end_ns) - max64(c->begin_ns, begin_ns);

			if (ns <= 0)
				continue;
			doings[c->cause] += ns;
			left -= ns;
			if (longest && ns > longest[c->cause].own_ns)
				longest[c->cause] = (struct straggler){
					.own_ns = ns, .gap = &a->gaps[i], .owned = c, .gap_number = i
				};
		}
	}
	from = intervals_after(&d->copy, begin_ns);
	doings[RANK_COPY] = intervals_within(&d->copy, &from, begin_ns, end_ns);
	from = intervals_after(&d->comm, begin_ns);
	doings[RANK_COMM] = intervals_within(&d->comm, &from, begin_ns, end_ns);
	doings[RANK_COMPUTE] = left - doings[RANK_COPY] - doings[RANK_COMM];
}

struct doings {
	int64_t ns[RANK_DOINGS], all_ns;
};

/* From the end of the collective before to the begin of this one, on this rank's own clock, within the device's time. */
static void look(const struct looker *l, const struct rank_part *before, const struct rank_part *p, struct doings *out,
		 struct straggler *longest)
{
	uint32_t device = l->r->members[p->member].device;
	const struct device_timeline *d = &l->r->timeline->devices[device];
	int64_t begin = clamp64(before->op->end_ns, d->begin_ns, d->end_ns);
	int64_t end = clamp64(p->op->begin_ns, begin, d->end_ns);

	memset(out, 0, sizeof(*out));
	if (end <= begin)
		return;
	out->all_ns = end - begin;
	add_doings(l, device, begin, end, out->ns, longest);
}

struct sums {
	int64_t own[RANK_DOINGS], median[RANK_DOINGS], late_ns;
	struct straggler longest[CAUSE_COUNT];
	size_t n;
};

/* One collective: what the last to come did before it, and what the median of the others did. */
static bool compare(const struct looker *l, const struct rank_collective *before, const struct rank_collective *c,
		    struct sums *sums)
{
	struct doings *all = array_new(c->n, sizeof(*all)), *last = NULL;

	if (!all)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		bool it = c->first + i == c->last;

		last = it ? &all[i] : last;
		look(l, &l->r->parts[before->first + i], &l->r->parts[c->first + i], &all[i],
		     it ? sums->longest : NULL);
	}
	for (int what = 0; what <= RANK_DOINGS; what++) {
		size_t n = 0;
		int64_t ns, own = what == RANK_DOINGS ? last->all_ns : last->ns[what];

		for (size_t i = 0; i < c->n; i++)
			if (&all[i] != last)
				l->values[n++] = what == RANK_DOINGS ? all[i].all_ns : all[i].ns[what];
		ns = array_median(l->values, n);
		if (what == RANK_DOINGS) {
			sums->late_ns = sum64(sums->late_ns, own - ns);
			break;
		}
		sums->own[what] = sum64(sums->own[what], own);
		sums->median[what] = sum64(sums->median[what], ns);
	}
	sums->n++;
	free(all);
	return true;
}

/* ---- the collectives a rank came last to ---------------------------------------------------------------- */

struct expense {
	int64_t ns;
	size_t collective;
};

static int most_expensive(const void *a, const void *b)
{
	const struct expense *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->collective > y->collective) - (x->collective < y->collective);
}

/* The collective before it on the same communicator, with the same ranks: all of them left it together. NULL none. */
static const struct rank_collective *before_it(const struct ranks *r, size_t i)
{
	const struct rank_collective *c = &r->collectives[i], *before = i ? c - 1 : NULL;

	if (!before || !before->whole || !before->together || before->n != c->n ||
	    r->parts[before->first].hash != r->parts[c->first].hash)
		return NULL;
	for (size_t k = 0; k < c->n; k++)
		if (r->parts[before->first + k].member != r->parts[c->first + k].member)
			return NULL;
	return before;
}

static bool find_expenses(const struct ranks *r, uint32_t member, struct expense **out, size_t *n)
{
	size_t cap = 0;

	*out = NULL;
	*n = 0;
	for (size_t i = 0; i < r->n_collectives; i++) {
		const struct rank_collective *c = &r->collectives[i];
		int64_t ns;

		if (c->last == GST_NONE || r->parts[c->last].member != member || !before_it(r, i))
			continue;
		ns = cost_of(r, c);
		if (!ns)
			continue;
		if (!array_room(*out, *n, cap))
			return false;
		(*out)[(*n)++] = (struct expense){ ns, i };
	}
	array_sort(*out, *n, sizeof(**out), most_expensive);
	*n = *n < LOOKED_AT ? *n : LOOKED_AT;
	return true;
}

static struct straggler verdict(uint32_t member, const struct sums *sums)
{
	struct straggler s = {
		.member = member, .doing = CAUSE_unexplained, .late_ns = sums->late_ns, .looked_at = sums->n
	};

	for (int i = 0; i < RANK_DOINGS; i++) {
		int64_t excess = sums->own[i] - sums->median[i];

		if (excess <= s.excess_ns)
			continue;
		s.doing = i;
		s.excess_ns = excess;
		s.own_ns = sums->own[i];
		s.median_ns = sums->median[i];
		s.gap = i < CAUSE_COUNT ? sums->longest[i].gap : NULL;
		s.owned = i < CAUSE_COUNT ? sums->longest[i].owned : NULL;
		s.gap_number = i < CAUSE_COUNT ? sums->longest[i].gap_number : 0;
	}
	return s;
}

static bool op_before(const void *element, const void *key)
{
	return ((const struct op *)element)->begin_ns < *(const int64_t *)key;
}

/* Adds the time of the kernels that the rank began between the two, by their names. */
static void add_kernels(const struct looker *l, const struct rank_part *before, const struct rank_part *p,
			int64_t *by_name)
{
	const struct device_timeline *d = &l->r->timeline->devices[l->r->members[p->member].device];

	for (size_t i = array_first(d->ops, d->n_ops, sizeof(*d->ops), op_before, &before->op->end_ns);
	     i < d->n_ops && d->ops[i].begin_ns < p->op->begin_ns; i++)
		if (d->ops[i].of->class == OP_KERNEL && d->ops[i].of->trace == p->op->of->trace)
			by_name[op_kernel_index(&d->ops[i])] += d->ops[i].end_ns - d->ops[i].begin_ns;
}

/* The kernel that takes most of the time before those collectives. False: no memory. */
static bool find_kernel(const struct looker *l, const struct expense *expenses, size_t n, struct straggler *out)
{
	const struct ranks *r = l->r;
	const struct trace *t = r->members[out->member].trace;
	int64_t *by_name = array_new(t->n_kernels + 1, sizeof(*by_name));

	if (!by_name)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct rank_collective *c = &r->collectives[expenses[i].collective];
		const struct rank_collective *before = before_it(r, expenses[i].collective);

		add_kernels(l, &r->parts[before->first + c->last - c->first], &r->parts[c->last], by_name);
	}
	for (size_t i = 1; i < t->n_kernels; i++) {
		if (by_name[i] <= out->kernel_ns)
			continue;
		out->kernel = t->kernels[i];
		out->kernel_title = kernel_title(t, (uint32_t)i);
		out->kernel_ns = by_name[i];
	}
	free(by_name);
	return true;
}

static bool explain(const struct looker *l, uint32_t member, struct straggler *out)
{
	struct sums *sums = calloc(1, sizeof(*sums));
	struct expense *expenses = NULL;
	size_t n = 0;
	bool ok = sums && find_expenses(l->r, member, &expenses, &n);

	for (size_t i = 0; ok && i < n; i++) {
		size_t at = expenses[i].collective;

		ok = compare(l, before_it(l->r, at), &l->r->collectives[at], sums);
	}
	if (ok)
		*out = verdict(member, sums);
	if (ok && out->doing == RANK_COMPUTE)
		ok = find_kernel(l, expenses, n, out);
	free(expenses);
	free(sums);
	return ok;
}

/* ---- who is one ------------------------------------------------------------------------------------------ */

static bool costs_most(const struct rank_member *m, size_t ranks, int64_t all_ns)
{
	double share = all_ns > 0 ? (double)m->cost_ns / (double)all_ns : 0;

	return ranks > 1 && m->timed >= LEAST && share >= 1.0 / (double)ranks + SHARE_BEYOND;
}

/* How many other members waited where it came last: not all are in a communicator with it. waited: room for a mark of each. */
static size_t count_waiters(const struct ranks *r, uint32_t member, uint8_t *waited)
{
	size_t n = 0;

	memset(waited, 0, r->n_members);
	for (size_t i = 0; i < r->n_collectives; i++) {
		const struct rank_collective *c = &r->collectives[i];

		if (!c->together || c->last == GST_NONE || r->parts[c->last].member != member)
			continue;
		for (size_t k = c->first; k < c->first + c->n; k++)
			if (k != c->last && r->parts[k].exposed_wait_ns > 0)
				waited[r->parts[k].member] = 1;
	}
	for (size_t i = 0; i < r->n_members; i++)
		n += waited[i];
	return n;
}

static int by_cost(const void *a, const void *b, void *ranks)
{
	const struct rank_member *x = &((const struct ranks *)ranks)->members[((const struct straggler *)a)->member];
	const struct rank_member *y = &((const struct ranks *)ranks)->members[((const struct straggler *)b)->member];

	return x->cost_ns != y->cost_ns ? (x->cost_ns > y->cost_ns ? -1 : 1) : (x > y) - (x < y);
}

bool ranks_find_stragglers(struct ranks *r, const struct attribution *const attributions[])
{
	struct looker l = { r, attributions, array_new(r->n_parts, sizeof(int64_t)) };
	uint8_t *waited = array_new(r->n_members, sizeof(*waited));
	int64_t all_ns = add_costs(r), span_ns = 0;
	size_t ranks = 0, cap = 0;
	bool ok = l.values && waited;

	for (size_t i = 0; i < r->n_members; i++) {
		const struct device_timeline *d = &r->timeline->devices[r->members[i].device];

		ranks += r->members[i].timed > 0;
		if (r->members[i].timed)
			span_ns = max64(span_ns, d->end_ns - d->begin_ns);
	}
	for (size_t i = 0; ok && i < r->n_members; i++) {
		size_t waiters = costs_most(&r->members[i], ranks, all_ns) ? count_waiters(r, (uint32_t)i, waited) : 0;

		if (!waiters || r->members[i].cost_ns / (int64_t)waiters < span_ns / SPAN_SHARE)
			continue;
		ok = array_room(r->stragglers, r->n_stragglers, cap) &&
		     explain(&l, (uint32_t)i, &r->stragglers[r->n_stragglers]);
		if (ok)
			r->stragglers[r->n_stragglers++].waiters = waiters;
	}
	if (r->n_stragglers > 1)
		qsort_r(r->stragglers, r->n_stragglers, sizeof(*r->stragglers), by_cost, r);
	free(l.values);
	free(waited);
	return ok;
}
