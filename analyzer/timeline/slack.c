/* SPDX-License-Identifier: BSD-2-Clause */
#include "slack.h"

#include "tools/alloc.h"
#include "tools/ns.h"

#include <stdlib.h>

struct sum { /* over the graphs that begin, or end, at or before time_ns */
	int64_t time_ns, sum_ns;
};

struct slack {
	struct sum *begins, *ends;
	size_t n;
};

static int by_time(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static void sum_up(struct sum *s, size_t n)
{
	array_sort(s, n, sizeof(*s), by_time);
	for (size_t i = 1; i < n; i++)
		s[i].sum_ns += s[i - 1].sum_ns;
}

static bool find(struct slack *s, const struct device_work *d)
{
	int64_t slack_ns;
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; d->streams[i].special && k < d->streams[i].n; k++)
			n += work_more(&d->streams[i], &d->streams[i].ops[k])->slack_ns != 0;
	s->begins = array_new(n, sizeof(*s->begins));
	s->ends = array_new(n, sizeof(*s->ends));
	if (!s->begins || !s->ends)
		return false;
	for (size_t i = 0; n && i < d->n; i++)
		for (size_t k = 0; d->streams[i].special && k < d->streams[i].n; k++) {
			const struct work *op = &d->streams[i].ops[k];

			slack_ns = work_more(&d->streams[i], op)->slack_ns;
			if (!slack_ns)
				continue;
			slack_ns = min64(slack_ns, op->latest_end_ns - op->earliest_start_ns);
			s->begins[s->n] = (struct sum){ op->earliest_start_ns, slack_ns };
			s->ends[s->n++] = (struct sum){ op->latest_end_ns, slack_ns };
		}
	sum_up(s->begins, s->n);
	sum_up(s->ends, s->n);
	return true;
}

static bool before(const void *element, const void *key)
{
	return ((const struct sum *)element)->time_ns < *(const int64_t *)key;
}

static bool not_after(const void *element, const void *key)
{
	return ((const struct sum *)element)->time_ns <= *(const int64_t *)key;
}

/* At most so much of [begin, end), by all graphs that may run in it. */
static int64_t within(const struct slack *s, struct interval i)
{
	size_t begun = array_first(s->begins, s->n, sizeof(*s->begins), before, &i.end_ns);
	size_t over = array_first(s->ends, s->n, sizeof(*s->ends), not_after, &i.begin_ns);
	int64_t sum = (begun ? s->begins[begun - 1].sum_ns : 0) - (over ? s->ends[over - 1].sum_ns : 0);

	return clamp64(sum, 0, i.end_ns - i.begin_ns);
}

static bool take(struct device_work *d, struct intervals *rest, const struct slack *s)
{
	for (size_t i = 0; i < d->busy.n; i++) {
		struct interval b = d->busy.at[i];
		int64_t slack_ns = within(s, b), from_ns = b.begin_ns + (b.end_ns - b.begin_ns - slack_ns) / 2;

		if (slack_ns == 0 ? !intervals_add(rest, b.begin_ns, b.end_ns)
				  : (!intervals_add(rest, b.begin_ns, from_ns) ||
				     !intervals_add(&d->inside, from_ns, from_ns + slack_ns) ||
				     !intervals_add(rest, from_ns + slack_ns, b.end_ns)))
			return false;
	}
	return true;
}

/* What was measured is busy, whatever else may stand still meanwhile. */
static bool set_measured_apart(struct device_work *d)
{
	struct intervals rest = { 0 };

	if (!d->measured.n)
		return true;
	if (!intervals_subtract(&rest, &d->busy, &d->measured)) {
		intervals_free(&rest);
		return false;
	}
	intervals_free(&d->busy);
	d->busy = rest;
	return true;
}

static bool put_measured_back(struct device_work *d)
{
	for (size_t i = 0; i < d->measured.n; i++)
		if (!intervals_add(&d->busy, d->measured.at[i].begin_ns, d->measured.at[i].end_ns))
			return false;
	intervals_merge(&d->busy);
	return true;
}

bool slack_take(struct device_work *d)
{
	struct slack s = { 0 };
	struct intervals rest = { 0 };
	bool ok = set_measured_apart(d) && find(&s, d) && take(d, &rest, &s);

	free(s.begins);
	free(s.ends);
	if (!ok) {
		intervals_free(&rest);
		return false;
	}
	intervals_free(&d->busy);
	d->busy = rest;
	intervals_merge(&d->inside);
	return put_measured_back(d);
}
