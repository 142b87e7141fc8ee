/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch_cuts.h"

#include "alloc.h"
#include "spill.h"

#include <stdlib.h>

/* ---- whether at all ---- */

static bool forbids(const struct trace *t, const struct call *c)
{
	switch (c->family) {
	case GST_FAMILY_HOSTFN:
	case GST_FAMILY_MEMOP:
	case GST_FAMILY_IPC:
		return true;
	case GST_FAMILY_GRAPH_LAUNCH:
		return t->graphs[c->graph].stalls;
	default:
		return false;
	}
}

/* Does a stream wait for the legacy default stream of its context, and that for it? */
static bool has_legacy_order(const struct trace *t)
{
	for (size_t i = 0; i < t->n_streams; i++)
		for (size_t k = 0; t->streams[i].kind == GST_STREAM_LEGACY && k < t->n_streams; k++)
			if (k != i && t->streams[k].context == t->streams[i].context && !(t->streams[k].flags & 1))
				return true;
	return false;
}

bool launch_cuts_allow(const struct trace *t)
{
	if (t->n_measured || t->n_bursts || t->n_busy || t->counters.records_dropped || has_legacy_order(t))
		return false;
	for (size_t i = 0; i < t->n_calls; i++)
		if (forbids(t, &t->calls[i]))
			return false;
	return true;
}

/* ---- where ---- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t number_key(uint32_t stream, uint64_t number)
{
	return (uint64_t)stream << 32 | (uint32_t)number;
}

static void add_number(struct launch_cuts *c, uint32_t stream, uint64_t number)
{
	if (stream != GST_NONE)
		c->numbers[c->n_numbers++] = number_key(stream, number);
}

static void add_instant(struct launch_cuts *c, int64_t ns)
{
	c->instants[c->n_instants++] = ns;
}

/* Begins first, then ends, kind by kind: each is nearly in order, which the sort makes use of. */
static void list(struct launch_cuts *c)
{
	const struct trace *t = c->t;

	for (size_t i = 0; i < t->n_calls; i++)
		add_instant(c, t->calls[i].begin_ns);
	for (size_t i = 0; i < t->n_calls; i++) {
		add_instant(c, t->calls[i].end_ns);
		add_number(c, t->calls[i].stream, t->calls[i].seq);
	}
	for (size_t i = 0; i < t->n_edges; i++) {
		add_instant(c, t->edges[i].begin_ns);
		add_number(c, t->edges[i].stream, t->edges[i].covers);
	}
	for (size_t i = 0; i < t->n_edges; i++)
		add_instant(c, t->edges[i].end_ns);
	for (size_t i = 0; i < t->n_edges; i++)
		if (t->edges[i].done_ns != INT64_MAX)
			add_instant(c, t->edges[i].done_ns);
	for (size_t i = 0; i < t->n_polls; i++) {
		add_instant(c, t->polls[i].begin_ns);
		add_instant(c, t->polls[i].end_ns);
		add_number(c, t->polls[i].stream, t->polls[i].covers);
	}
	for (size_t i = 0; i < t->n_nccl; i++) {
		add_instant(c, t->nccl[i].begin_ns);
		add_instant(c, t->nccl[i].end_ns);
	}
	for (size_t i = 0; i < t->stacks.n_taken; i++) {
		add_instant(c, t->stacks.taken[i].begin_ns);
		add_instant(c, t->stacks.taken[i].end_ns);
	}
	for (size_t i = 0; i < c->n_rows; i++)
		add_instant(c, c->rows[i].begin_ns);
	for (size_t i = 0; i < c->n_rows; i++)
		add_instant(c, c->rows[i].end_ns);
}

bool launch_cuts_find(struct launch_cuts *c, const struct trace *t, const struct launch_row *rows, size_t n)
{
	size_t records = t->n_calls + t->n_edges + t->n_polls + t->n_nccl + t->stacks.n_taken + n;

	*c = (struct launch_cuts){ .t = t, .rows = rows, .n_rows = n, .tid = GST_NONE };
	c->instants = spill_new(3 * records, sizeof(*c->instants));
	c->numbers = spill_new(records, sizeof(*c->numbers));
	if (!c->instants || !c->numbers)
		return false;
	list(c);
	array_sort(c->instants, c->n_instants, sizeof(*c->instants), array_by_int64);
	array_sort(c->numbers, c->n_numbers, sizeof(*c->numbers), by_number);
	return true;
}

void launch_cuts_free(struct launch_cuts *c)
{
	spill_free(c->instants);
	spill_free(c->numbers);
	intervals_free(&c->each);
	*c = (struct launch_cuts){ 0 };
}

/* ---- one row ---- */

static bool is_before(const void *element, const void *key)
{
	return *(const int64_t *)element < *(const int64_t *)key;
}

static bool is_below(const void *element, const void *key)
{
	return *(const uint64_t *)element < *(const uint64_t *)key;
}

static int64_t begin_of(const struct trace *t, const struct launch_row *row, uint32_t i)
{
	return row->base_ns + t->launches.parts[row->part].at[row->first + i].begin;
}

/* The first launch behind `at` that begins at ns or later; row->n: there is none. */
static uint32_t first_from(const struct trace *t, const struct launch_row *row, uint32_t at, int64_t ns)
{
	uint32_t low = at + 1, high = row->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (begin_of(t, row, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Behind the number's launch; at most end. Numbers go round. */
static uint32_t behind_number(struct launch_cuts *c, const struct launch_row *row, uint32_t at, uint32_t end)
{
	uint32_t first = row->seq + at;
	uint64_t key = number_key(row->stream, first);
	size_t i = array_first_near(c->numbers, c->n_numbers, sizeof(*c->numbers), is_below, &key, c->number);

	c->number = i;
	if (i < c->n_numbers && c->numbers[i] >> 32 == row->stream) {
		uint32_t distance = (uint32_t)c->numbers[i] - first;

		return distance < end - at ? at + distance + 1 : end;
	}
	/* it may have gone round within the row */
	key = number_key(row->stream, 0);
	i = array_first(c->numbers, c->n_numbers, sizeof(*c->numbers), is_below, &key);
	if (first + (end - at) < first && i < c->n_numbers && c->numbers[i] >> 32 == row->stream &&
	    (uint32_t)c->numbers[i] - first < end - at)
		return at + ((uint32_t)c->numbers[i] - first) + 1;
	return end;
}

/* When launches of this thread stand by themselves: within its NCCL calls, and while another thread launches, so that both are in order. */
static bool enter_thread(struct launch_cuts *c, uint32_t tid)
{
	bool ok = true;

	c->tid = tid;
	c->each.n = 0;
	for (size_t i = 0; i < c->t->n_nccl && ok; i++)
		if (c->t->nccl[i].tid == tid)
			ok = intervals_add(&c->each, c->t->nccl[i].begin_ns, c->t->nccl[i].end_ns);
	for (size_t i = 0; i < c->n_rows && ok; i++)
		if (c->rows[i].tid != tid)
			ok = intervals_add(&c->each, c->rows[i].begin_ns, c->rows[i].end_ns);
	intervals_merge(&c->each);
	return ok;
}

/* Both ends of these are cuts: a piece lies within one or in none. */
static bool stands_alone(const struct launch_cuts *c, int64_t ns)
{
	size_t i = intervals_after(&c->each, ns);

	return i < c->each.n && c->each.at[i].begin_ns <= ns;
}

bool launch_cuts_next(struct launch_cuts *c, const struct launch_row *row, uint32_t at, uint32_t *end, bool *fold)
{
	int64_t begin_ns = begin_of(c->t, row, at);
	size_t i = array_first_near(c->instants, c->n_instants, sizeof(*c->instants), is_before, &begin_ns, c->instant);

	if (c->tid != row->tid && !enter_thread(c, row->tid))
		return false;
	*end = row->n;
	/* its own row's begin is no cut within it */
	while (i < c->n_instants && c->instants[i] == row->begin_ns && at == 0)
		i++;
	c->instant = i;
	if (i < c->n_instants && c->instants[i] < row->end_ns)
		*end = first_from(c->t, row, at, c->instants[i]);
	*end = behind_number(c, row, at, *end);
	*fold = !stands_alone(c, begin_ns);
	return true;
}
