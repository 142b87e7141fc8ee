/* SPDX-License-Identifier: BSD-2-Clause */
#include "call_sites.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

struct stretch {
	const struct held *held;
	const struct frame *frame;
	size_t device, gap;
	int64_t ns;
	uint8_t cause;
};

static int by_text(const char *a, const char *b)
{
	if (a == b)
		return 0;
	return !a ? -1 : !b ? 1 : strcmp(a, b);
}

/* The same statement, of whichever process and stack. Without a line it is the function; without that, the address. */
static int by_frame(const struct frame *a, const struct frame *b)
{
	int c;

	if (a == b)
		return 0;
	if (!a || !b)
		return a ? -1 : 1;
	if ((c = by_text(a->file, b->file)) || (c = by_text(a->function, b->function)))
		return c;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if ((c = by_text(a->object ? a->object->file.path : NULL, b->object ? b->object->file.path : NULL)))
		return c;
	if (*a->function || a->line || a->address == b->address)
		return 0;
	return a->address < b->address ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;
	int c;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if ((c = by_frame(x->frame, y->frame)))
		return c;
	return (x->gap > y->gap) - (x->gap < y->gap);
}

static int by_idle(const void *a, const void *b)
{
	const struct call_site *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->idle_ns != y->idle_ns)
		return x->idle_ns > y->idle_ns ? -1 : 1;
	return by_frame(x->frame, y->frame);
}

static bool add_gap(struct stretch **list, size_t *n, size_t *cap, const struct gap_story *g, size_t device,
		    size_t number)
{
	for (size_t i = 0; i < g->n_causes; i++) {
		const struct gap_cause *c = &g->causes[i];

		for (size_t k = 0; k < c->n_held; k++) {
			const struct held *h = &c->held[k];

			if (!array_room(*list, *n, *cap))
				return false;
			(*list)[(*n)++] =
				(struct stretch){ h, held_frame(h), device, number, h->end_ns - h->begin_ns, c->cause };
		}
	}
	return true;
}

static struct stretch *stretches_of(const struct summary *s, size_t *n)
{
	size_t cap = 0;
	struct stretch *list = array_grow(NULL, &cap, sizeof(*list));
	bool ok = list != NULL;

	*n = 0;
	for (size_t i = 0; ok && i < s->n_devices; i++) {
		const struct summary_device *d = &s->devices[i];

		for (size_t k = 0; ok && k < d->attribution.n_gaps; k++)
			ok = add_gap(&list, n, &cap, &d->attribution.gaps[k], i, d->first_gap + k);
	}
	if (ok)
		return list;
	free(list);
	return NULL;
}

static void add(struct call_site *site, const struct stretch *x)
{
	if (!site->held || x->ns > site->held->end_ns - site->held->begin_ns) {
		site->held = x->held;
		site->longest_gap = x->gap;
	}
	site->idle_ns += x->ns;
	site->causes[x->cause] += x->ns;
}

struct call_site *call_sites_build(const struct summary *s, size_t *n)
{
	size_t n_stretches;
	struct stretch *all = stretches_of(s, &n_stretches);
	struct call_site *sites = NULL;
	size_t cap = 0;

	*n = 0;
	if (all)
		sites = array_grow(NULL, &cap, sizeof(*sites));
	if (sites)
		array_sort(all, n_stretches, sizeof(*all), by_place);
	for (size_t i = 0; sites && i < n_stretches; i++) {
		const struct stretch *x = &all[i];

		if (i == 0 || x->device != all[i - 1].device || by_frame(x->frame, all[i - 1].frame) != 0) {
			if (*n == cap) {
				struct call_site *more = array_grow(sites, &cap, sizeof(*sites));

				if (!more) {
					free(sites);
					sites = NULL;
					break;
				}
				sites = more;
			}
			sites[(*n)++] = (struct call_site){ .frame = x->frame, .device = x->device };
			sites[*n - 1].gaps = 1;
		} else if (x->gap != all[i - 1].gap) {
			sites[*n - 1].gaps++;
		}
		add(&sites[*n - 1], x);
	}
	if (sites)
		array_sort(sites, *n, sizeof(*sites), by_idle);
	free(all);
	return sites;
}
