/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_launches.h"

#include <stdlib.h>
#include <string.h>

#include "steps_cut.h"
#include "steps_micro.h"
#include "steps_order.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#define WARM_UP 5 /* iterations before the first usual one that may launch something else altogether */

struct loop {
	struct step_tokens s;
	struct token_bags bags;
	struct period period;
	struct cut cut;
	uint8_t *is_step; /* of cut.at */
};

/* ---- which are iterations ------------------------------------------------------------------------------------------------- */

static size_t end_of(const struct loop *l, size_t i)
{
	return i + 1 < l->cut.n_at ? l->cut.at[i + 1] : l->s.n;
}

/* The bag of usual iterations that the stretch holds most of; NULL: it is no iteration. Another shape of one has other kernels, as many. */
static const struct bag *holds_one(struct loop *l, size_t begin, size_t end, size_t *shared)
{
	const struct bag *typical = bags_sum(&l->bags).typical, *best = NULL;
	uint64_t work = bags_work(&l->bags, begin, end);
	struct bag_share all[BAGS];

	bags_share(&l->bags, begin, end, all);
	*shared = 0;
	for (size_t k = 0; typical && k < l->bags.n; k++) {
		const struct bag *b = &l->bags.at[k];
		bool most = (uint64_t)all[k].tokens * 5 >= b->length * 3 && all[k].work * 2 >= b->work;
		bool as_many = (uint64_t)all[k].tokens * 20 >= b->length * 7 && bag_is_as_long(b, end - begin, work);

		if (b->members < 2 || !bag_is_as_long(typical, b->length, b->work) || !(most || as_many))
			continue;
		if (!best || (uint64_t)all[k].tokens * best->length > *shared * b->length) {
			best = b;
			*shared = all[k].tokens;
		}
	}
	return best;
}

static bool launches_in(const struct loop *l, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		if (token_work(&l->s, i))
			return true;
	return false;
}

/* Does it copy to and from the host all that a usual iteration does, and little more? So does one that is run before its graph is made. */
static bool copies_as_usual(struct loop *l, size_t begin, size_t end)
{
	size_t wanted = 0, copies = 0, same = 0;

	for (size_t i = 0; i < l->cut.n; i++) {
		bool copy = l->s.about[l->cut.first[i]].kind >= TOKEN_H2D;

		wanted += copy;
		l->bags.seen[l->cut.first[i]] += copy;
	}
	for (size_t i = begin; i < end; i++)
		if (l->s.about[l->s.ids[i]].kind >= TOKEN_H2D) {
			copies++;
			if (l->bags.seen[l->s.ids[i]]) {
				l->bags.seen[l->s.ids[i]]--;
				same++;
			}
		}
	for (size_t i = 0; i < l->cut.n; i++)
		l->bags.seen[l->cut.first[i]] = 0;
	return wanted && same == wanted && copies <= 2 * wanted + 2;
}

static bool classify(struct loop *l)
{
	size_t first = 0, shared;

	free(l->is_step);
	l->is_step = array_new(l->cut.n_at, sizeof(*l->is_step));
	if (!l->is_step)
		return false;
	for (size_t i = 0; i < l->cut.n_at; i++)
		l->is_step[i] = holds_one(l, l->cut.at[i], end_of(l, i), &shared) != NULL;
	while (first < l->cut.n_at && !l->is_step[first])
		first++;
	for (size_t n = 0; first-- > 0 && n < WARM_UP && first < l->cut.n_at; n++) {
		size_t begin = l->cut.at[first], end = end_of(l, first);

		if (!launches_in(l, begin, end) || !copies_as_usual(l, begin, end))
			break;
		l->is_step[first] = true;
	}
	return true;
}

/* ---- one step of several iterations --------------------------------------------------------------------------------------- */

/* Where only each M-th iteration changes the parameters, a step is M of them. */
static bool join(struct loop *l)
{
	struct micro m;
	bool ok = micro_find(&m, &l->s, l->cut.at, l->is_step, l->cut.n_at);

	if (ok && m.n) {
		size_t begin = m.at[m.typical], end = m.at[m.typical + 1];

		free(l->cut.at);
		l->cut.at = m.at;
		l->cut.n_at = m.n;
		m.at = NULL;
		bags_clear(&l->bags);
		bags_take(&l->bags, begin, end);
		l->bags.at[0].members = 2;
		ok = classify(l);
	}
	micro_free(&m);
	return ok;
}

/* ---- pieces --------------------------------------------------------------------------------------------------------------- */

/* Where the iteration that begins there is over: behind the last launch it has in common with a usual one, but for stray ones. */
static size_t content_end(struct loop *l, size_t begin, size_t end)
{
	size_t shared, matched = 0, i = begin, which;
	const struct bag *b = holds_one(l, begin, end, &shared);

	if (!b)
		return end;
	which = (size_t)(b - l->bags.at);
	for (; i < end; i++) {
		uint32_t id = l->s.ids[i];
		bool hit = l->bags.seen[id]++ < l->bags.counts[id][which];

		if (!hit && matched + shared / 20 >= shared)
			break;
		matched += hit;
	}
	for (size_t k = begin; k < end; k++)
		l->bags.seen[l->s.ids[k]] = 0;
	return i;
}

/* Is what lies between two steps more than something that the first of them does besides? */
static bool is_apart(const struct loop *l, size_t begin, size_t end)
{
	size_t usual = l->bags.n ? bags_sum(&l->bags).typical->length : 0;

	return end > begin && end - begin >= 2 && (end - begin) * 2 >= usual && launches_in(l, begin, end);
}

static bool add(struct trace_steps *s, const struct loop *l, size_t *cap, size_t begin, enum step_kind kind)
{
	int64_t begin_ns = token_begin_ns(&l->s, begin);
	uint32_t number = 0;

	if (!array_room(s->at, s->n, *cap))
		return false;
	if (s->n) {
		s->at[s->n - 1].end_ns = max64(begin_ns, s->at[s->n - 1].begin_ns);
		number = s->at[s->n - 1].number + (kind == STEP);
	}
	s->at[s->n++] = (struct step){ begin_ns, begin_ns, NULL, kind, number, token_call(&l->s, begin) };
	s->n_steps += kind == STEP;
	return true;
}

/* A bit over once a usual iteration's length is what may be its own. */
static bool add_all(struct trace_steps *s, struct loop *l, size_t *last_end)
{
	size_t cap = 0, over = 0;

	for (size_t i = 0; i < l->cut.n_at; i++) {
		size_t begin = l->cut.at[i], end = end_of(l, i);

		if (!l->is_step[i])
			continue;
		if (s->n && is_apart(l, over, begin) && !add(s, l, &cap, over, STEP_BETWEEN))
			return false;
		if (!add(s, l, &cap, begin, STEP))
			return false;
		over = content_end(l, begin, end);
		*last_end = over;
		if (i + 1 < l->cut.n_at && !is_apart(l, over, end))
			over = end;
	}
	return true;
}

/* The last one lasts as long as half of the others do, but not into what comes behind it. */
static bool end_last(struct trace_steps *s, const struct loop *l, size_t end)
{
	struct step *last = &s->at[s->n - 1];
	int64_t *lengths = array_new(s->n, sizeof(*lengths)), until = s->trace->end_ns;
	size_t n = 0;

	if (!lengths)
		return false;
	for (size_t i = 0; i + 1 < s->n; i++)
		if (s->at[i].kind == STEP)
			lengths[n++] = s->at[i].end_ns - s->at[i].begin_ns;
	if (end < l->s.n)
		until = min64(until, token_begin_ns(&l->s, end));
	last->end_ns = max64(last->begin_ns, token_end_ns(&l->s, end - 1));
	if (n)
		last->end_ns = max64(last->end_ns, min64(sum64(last->begin_ns, array_median(lengths, n)), until));
	free(lengths);
	return true;
}

static bool make_steps(struct trace_steps *s, struct loop *l)
{
	size_t last_end = 0, n = 0;

	for (size_t i = 0; i < l->cut.n_at; i++)
		n += l->is_step[i];
	if (n < LEAST_STEPS)
		return true;
	s->tid = l->s.tid;
	return add_all(s, l, &last_end) && end_last(s, l, last_end);
}

/* The order of several iterations together differs more from step to step than that of each does: it is looked at before they are joined. */
static bool iterate(struct trace_steps *s, struct loop *l)
{
	bool ordered;

	if (!cut_make(&l->cut, &l->s, &l->period) || !classify(l) ||
	    !order_repeats(&ordered, &l->s, l->cut.at, l->is_step, l->cut.n_at))
		return false;
	return !ordered || (join(l) && make_steps(s, l));
}

static bool find(struct trace_steps *s, bool one_thread)
{
	struct loop l = { .is_step = NULL };
	bool ok = step_tokens_take(&l.s, s->trace, one_thread);

	if (ok && l.s.n) {
		ok = bags_begin(&l.bags, &l.s) && period_find(&l.period, &l.s, &l.bags);
		if (ok && l.period.length)
			ok = iterate(s, &l);
	}
	cut_free(&l.cut);
	bags_free(&l.bags);
	step_tokens_free(&l.s);
	free(l.is_step);
	return ok;
}

bool steps_from_launches(struct trace_steps *s)
{
	return find(s, false) && (s->n || find(s, true));
}
