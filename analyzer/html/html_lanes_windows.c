/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_lanes_windows.h"

#include <stdlib.h>

#include "html.h"
#include "tools/alloc.h"

#define LEAST_AROUND_NS 1000000 /* on either side of a gap; */
#define MOST_AROUND_NS 20000000 /* half as long as it is, but no more */

static int by_begin(const void *a, const void *b)
{
	const struct lane_window *p = a, *q = b;

	return (p->begin_ns > q->begin_ns) - (p->begin_ns < q->begin_ns);
}

static bool add(struct lane_windows *w, const struct html *h, size_t device, const struct gap *g)
{
	uint32_t clock = html_clock_of_device(h, device);
	uint64_t begin = html_ns(h, clock, g->begin_ns), end = html_ns(h, clock, g->end_ns), around;

	end = end < begin ? begin : end;
	around = (end - begin) / 2;
	around = around < LEAST_AROUND_NS ? LEAST_AROUND_NS : around > MOST_AROUND_NS ? MOST_AROUND_NS : around;
	if (!array_room(w->at, w->n, w->cap))
		return false;
	w->at[w->n++] = (struct lane_window){ .begin_ns = begin > around ? begin - around : 0,
					      .end_ns = end + around,
					      .longest_ns = end - begin };
	return true;
}

/* Those that touch become one. */
static void merge(struct lane_windows *w)
{
	size_t n = 0;

	array_sort(w->at, w->n, sizeof(*w->at), by_begin);
	for (size_t i = 0; i < w->n; i++) {
		struct lane_window *last = n ? &w->at[n - 1] : NULL;
		const struct lane_window *next = &w->at[i];

		if (!last || next->begin_ns > last->end_ns) {
			w->at[n++] = *next;
			continue;
		}
		last->end_ns = next->end_ns > last->end_ns ? next->end_ns : last->end_ns;
		last->longest_ns = next->longest_ns > last->longest_ns ? next->longest_ns : last->longest_ns;
	}
	w->n = n;
}

bool lane_windows_build(struct lane_windows *w, const struct html *h)
{
	*w = (struct lane_windows){ 0 };
	for (size_t d = 0; d < h->s->n_devices; d++) {
		const struct summary_device *device = &h->s->devices[d];

		for (size_t i = 0; i < device->attribution.n_gaps; i++)
			if (h->told[device->first_gap + i] && !add(w, h, d, device->attribution.gaps[i].gap))
				return false;
	}
	merge(w);
	return true;
}

void lane_windows_free(struct lane_windows *w)
{
	free(w->at);
	*w = (struct lane_windows){ 0 };
}

struct lane_window *lane_windows_at(const struct lane_windows *w, size_t *from, uint64_t ns)
{
	while (*from < w->n && w->at[*from].end_ns < ns)
		++*from;
	return *from < w->n && w->at[*from].begin_ns <= ns ? &w->at[*from] : NULL;
}

static int by_longest(const void *a, const void *b)
{
	const struct lane_window *p = *(struct lane_window *const *)a, *q = *(struct lane_window *const *)b;

	if (p->longest_ns != q->longest_ns)
		return p->longest_ns < q->longest_ns ? 1 : -1;
	return by_begin(p, q);
}

bool lane_windows_choose(struct lane_windows *w, uint64_t budget)
{
	struct lane_window **order = array_new(w->n, sizeof(struct lane_window *));

	if (!order)
		return false;
	for (size_t i = 0; i < w->n; i++)
		order[i] = &w->at[i];
	array_sort(order, w->n, sizeof(*order), by_longest);
	for (size_t i = 0; i < w->n; i++) {
		order[i]->whole = order[i]->slices <= budget;
		if (order[i]->whole)
			budget -= order[i]->slices;
	}
	free(order);
	return true;
}
