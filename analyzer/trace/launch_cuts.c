/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch_cuts.h"

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/pool.h"
#include "tools/spill.h"

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

static int by_context(const void *a, const void *b)
{
	const struct stream *x = *(const struct stream *const *)a, *y = *(const struct stream *const *)b;

	return (x->context > y->context) - (x->context < y->context);
}

/* Of streams of one context: does one of them wait for another, the legacy default stream, and that for it? */
static bool orders(const struct stream *const *streams, size_t n)
{
	size_t legacy = 0, ordered = 0, both = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_legacy = streams[i]->kind == GST_STREAM_LEGACY, is_ordered = !(streams[i]->flags & 1);

		legacy += is_legacy;
		ordered += is_ordered;
		both += is_legacy && is_ordered;
	}
	return legacy * ordered > both;
}

/* … in any context; or there is no memory to tell. */
static bool has_legacy_order(const struct trace *t)
{
	const struct stream **streams = array_new(t->n_streams, sizeof(*streams));
	bool found = streams == NULL;

	for (size_t i = 0; streams && i < t->n_streams; i++)
		streams[i] = &t->streams[i];
	if (streams)
		array_sort(streams, t->n_streams, sizeof(*streams), by_context);
	for (size_t i = 0, end; i < t->n_streams && !found; i = end) {
		for (end = i + 1; end < t->n_streams && streams[end]->context == streams[i]->context;)
			end++;
		found = orders(streams + i, end - i);
	}
	free(streams);
	return found;
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
static void list_instants(struct launch_cuts *c)
{
	const struct trace *t = c->t;

	for (size_t i = 0; i < t->n_calls; i++)
		add_instant(c, t->calls[i].begin_ns);
	for (size_t i = 0; i < t->n_calls; i++)
		add_instant(c, t->calls[i].end_ns);
	for (size_t i = 0; i < t->n_edges; i++)
		add_instant(c, t->edges[i].begin_ns);
	for (size_t i = 0; i < t->n_edges; i++)
		add_instant(c, t->edges[i].end_ns);
	for (size_t i = 0; i < t->n_edges; i++)
		if (t->edges[i].done_ns != INT64_MAX)
			add_instant(c, t->edges[i].done_ns);
	for (size_t i = 0; i < t->n_polls; i++) {
		add_instant(c, t->polls[i].begin_ns);
		add_instant(c, t->polls[i].end_ns);
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
	for (size_t i = 0; i < c->each.n; i++)
		add_instant(c, c->each.at[i].end_ns);
}

static void list_numbers(struct launch_cuts *c)
{
	const struct trace *t = c->t;

	for (size_t i = 0; i < t->n_calls; i++)
		add_number(c, t->calls[i].stream, t->calls[i].seq);
	for (size_t i = 0; i < t->n_edges; i++)
		add_number(c, t->edges[i].stream, t->edges[i].covers);
	for (size_t i = 0; i < t->n_polls; i++)
		add_number(c, t->polls[i].stream, t->polls[i].covers);
	for (size_t i = 0; i < c->n_rows; i++)
		add_number(c, c->rows[i].stream, c->rows[i].seq);
	for (size_t i = 0; i < c->n_rows; i++)
		add_number(c, c->rows[i].stream, (uint64_t)c->rows[i].seq + c->rows[i].n - 1);
}

enum list { LIST_INSTANTS, LIST_NUMBERS, LISTS }; /* side by side */

static enum err_kind list_one(void *cuts, size_t which, struct error *e)
{
	struct launch_cuts *c = cuts;

	(void)e;
	if (which == LIST_INSTANTS) {
		list_instants(c);
		array_sort(c->instants, c->n_instants, sizeof(*c->instants), array_by_int64);
	} else {
		list_numbers(c);
		array_sort(c->numbers, c->n_numbers, sizeof(*c->numbers), by_number);
	}
	return ERR_NONE;
}

/* When launches stand by themselves: within NCCL's calls, and while there are two rows or more, so that both are in order. */
static bool find_each(struct launch_cuts *c)
{
	struct interval *rows = spill_new(c->n_rows, sizeof(*rows));
	int64_t until_ns = INT64_MIN;
	bool ok = rows != NULL;

	for (size_t i = 0; i < c->t->n_nccl && ok; i++)
		ok = intervals_add(&c->each, c->t->nccl[i].begin_ns, c->t->nccl[i].end_ns);
	for (size_t i = 0; i < c->n_rows && ok; i++)
		rows[i] = (struct interval){ c->rows[i].begin_ns, c->rows[i].end_ns };
	if (ok)
		array_sort(rows, c->n_rows, sizeof(*rows), array_by_int64);
	for (size_t i = 0; i < c->n_rows && ok; i++) {
		if (rows[i].begin_ns <= until_ns)
			ok = intervals_add(&c->each, rows[i].begin_ns, min64(rows[i].end_ns, until_ns) + 1);
		until_ns = max64(until_ns, rows[i].end_ns);
	}
	intervals_merge(&c->each);
	spill_free(rows);
	return ok;
}

bool launch_cuts_find(struct launch_cuts *c, const struct trace *t, const struct launch_row *rows, size_t n)
{
	size_t records = t->n_calls + t->n_edges + t->n_polls + t->n_nccl + t->stacks.n_taken + n;

	*c = (struct launch_cuts){ .t = t, .rows = rows, .n_rows = n };
	if (!find_each(c))
		return false;
	c->instants = spill_new(3 * records + c->each.n, sizeof(*c->instants));
	c->numbers = spill_new(records + n, sizeof(*c->numbers));
	if (!c->instants || !c->numbers)
		return false;
	return !pool_run(LISTS, list_one, c, NULL);
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

/* Behind the number's launch; at most end. Numbers go round. The row's own first launch stands by itself anyway. */
static uint32_t behind_number(const struct launch_cuts *c, struct cuts_near *near, const struct launch_row *row,
			      uint32_t at, uint32_t end)
{
	size_t *number = &near->number[row->stream % CUTS_STREAMS];
	uint32_t from = at ? at : FOLD_MARGIN, first = row->seq + from;
	uint64_t key = number_key(row->stream, first);
	size_t i = array_first_near(c->numbers, c->n_numbers, sizeof(*c->numbers), is_below, &key, *number);

	*number = i;
	if (from >= end)
		return end;
	if (i < c->n_numbers && c->numbers[i] >> 32 == row->stream) {
		uint32_t distance = (uint32_t)c->numbers[i] - first;

		return distance < end - from ? from + distance + 1 : end;
	}
	/* it may have gone round within the row */
	key = number_key(row->stream, 0);
	i = array_first(c->numbers, c->n_numbers, sizeof(*c->numbers), is_below, &key);
	if (first + (end - from) < first && i < c->n_numbers && c->numbers[i] >> 32 == row->stream &&
	    (uint32_t)c->numbers[i] - first < end - from)
		return from + ((uint32_t)c->numbers[i] - first) + 1;
	return end;
}

/* Both ends of these are cuts: a piece lies within one or in none. */
static bool stands_alone(const struct launch_cuts *c, int64_t ns)
{
	size_t i = intervals_after(&c->each, ns);

	return i < c->each.n && c->each.at[i].begin_ns <= ns;
}

void launch_cuts_next(const struct launch_cuts *c, struct cuts_near *near, const struct launch_row *row, uint32_t at,
		      uint32_t *end, bool *fold)
{
	int64_t begin_ns = begin_of(c->t, row, at);
	size_t i =
		array_first_near(c->instants, c->n_instants, sizeof(*c->instants), is_before, &begin_ns, near->instant);
	bool at_once = row->n > 1 && begin_of(c->t, row, 1) == row->begin_ns;

	*end = row->n;
	/* the row's own begin is no cut within it */
	while (i < c->n_instants && c->instants[i] == row->begin_ns && at == 0 && !at_once)
		i++;
	near->instant = i;
	if (i < c->n_instants && c->instants[i] < row->end_ns)
		*end = first_from(c->t, row, at, c->instants[i]);
	*end = behind_number(c, near, row, at, *end);
	*fold = !stands_alone(c, begin_ns);
}
