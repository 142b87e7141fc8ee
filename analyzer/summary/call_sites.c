/* SPDX-License-Identifier: BSD-2-Clause */
#include "call_sites.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/ns.h"

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

struct sites {
	struct call_site *at;
	size_t n, cap;
	int64_t longest_ns; /* of the last one */
};

static bool new_site(struct sites *s, const struct stretch *x)
{
	if (!array_room(s->at, s->n, s->cap))
		return false;
	s->at[s->n++] = (struct call_site){ .frame = x->frame, .device = x->device };
	return true;
}

/* To the last one. What comes of one gap comes together. */
static void add(struct sites *s, const struct stretch *x, bool another_gap)
{
	struct call_site *site = &s->at[s->n - 1];

	if (!site->held || x->ns > s->longest_ns) {
		site->held = x->held;
		s->longest_ns = x->ns;
		site->longest_gap = x->gap;
	}
	site->gaps += another_gap;
	site->idle_ns += x->ns;
	site->causes[x->cause] += x->ns;
}

struct sorting {
	struct sites sites;
	struct stretch *list; /* what has a place in the program: sorted by it, in the end */
	size_t n, cap;
	int64_t from_ns, until_ns; /* what lies outside does not count */
	bool nowhere;              /* the last site is the device's time that no stack speaks of … */
	size_t in_nowhere;         /* … with this gap */
};

/* Often that is all there is, so it is summed up at once. */
static bool add_nowhere(struct sorting *s, const struct stretch *x)
{
	bool another = !s->nowhere || s->in_nowhere != x->gap;

	if (!s->nowhere && !new_site(&s->sites, x))
		return false;
	s->nowhere = true;
	s->in_nowhere = x->gap;
	add(&s->sites, x, another);
	return true;
}

/* How much of it counts. */
static int64_t part_of(const struct sorting *s, int64_t begin_ns, int64_t end_ns)
{
	return max64(0, min64(end_ns, s->until_ns) - max64(begin_ns, s->from_ns));
}

static bool add_piece(struct sorting *s, struct stretch x)
{
	x.frame = held_frame(x.held);
	if (!x.frame)
		return add_nowhere(s, &x);
	if (!array_room(s->list, s->n, s->cap))
		return false;
	s->list[s->n++] = x;
	return true;
}

static bool add_gap(struct sorting *s, const struct gap_story *g, size_t device, size_t number)
{
	bool whole = g->gap->begin_ns >= s->from_ns && g->gap->end_ns <= s->until_ns, ok = true;

	for (size_t i = 0; ok && i < g->n_causes; i++) {
		const struct gap_cause *c = &g->causes[i];

		for (uint32_t k = 0; ok && k < cause_n_held(c); k++) {
			struct stretch x = { .device = device, .gap = number, .cause = c->cause };

			x.held = cause_held(c, k, &x.ns);
			if (!whole)
				x.ns = c->n_held ? part_of(s, x.held->begin_ns, x.held->end_ns)
						 : part_of(s, c->begin_ns, c->end_ns);
			ok = (!whole && !x.ns) || add_piece(s, x);
		}
	}
	return ok;
}

static bool add_device(struct sorting *s, const struct summary *of, size_t device)
{
	const struct summary_device *d = &of->devices[device];
	bool ok = true;

	s->nowhere = false;
	for (size_t k = 0; ok && k < d->attribution.n_gaps; k++) {
		const struct gap_story *g = &d->attribution.gaps[k];

		if (g->gap->begin_ns < s->until_ns && g->gap->end_ns > s->from_ns)
			ok = add_gap(s, g, device, d->first_gap + k);
	}
	return ok;
}

static bool add_places(struct sorting *s)
{
	array_sort(s->list, s->n, sizeof(*s->list), by_place);
	for (size_t i = 0; i < s->n; i++) {
		const struct stretch *x = &s->list[i], *before = i ? x - 1 : NULL;
		bool another = !before || x->device != before->device || by_frame(x->frame, before->frame) != 0;

		if (another && !new_site(&s->sites, x))
			return false;
		add(&s->sites, x, another || x->gap != before->gap);
	}
	return true;
}

/* The sites of these devices, from the first up to the end. */
static struct call_site *build(const struct summary *s, struct sorting *sorting, size_t first, size_t end, size_t *n)
{
	struct sites *sites = &sorting->sites;
	bool ok = array_room(sites->at, sites->n, sites->cap);

	for (size_t i = first; ok && i < end; i++)
		ok = add_device(sorting, s, i);
	ok = ok && add_places(sorting);
	free(sorting->list);
	*n = 0;
	if (!ok) {
		free(sites->at);
		return NULL;
	}
	*n = sites->n;
	array_sort(sites->at, sites->n, sizeof(*sites->at), by_idle);
	return sites->at;
}

struct call_site *call_sites_build(const struct summary *s, size_t *n)
{
	struct sorting sorting = { .from_ns = INT64_MIN, .until_ns = INT64_MAX };

	return build(s, &sorting, 0, s->n_devices, n);
}

struct call_site *call_sites_within(const struct summary *s, size_t device, int64_t from_ns, int64_t until_ns,
				    size_t *n)
{
	struct sorting sorting = { .from_ns = from_ns, .until_ns = until_ns };

	return build(s, &sorting, device, device + 1, n);
}
