/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_lanes_merge.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

/* The least L with v < 2^L. */
static unsigned bits(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

static unsigned most(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

void lane_levels_add(struct lane_levels *l, uint64_t begin_ns, uint64_t length_ns)
{
	if (l->n++) {
		unsigned level =
			most(most(bits(length_ns), bits(l->last_length_ns)), bits(begin_ns ^ l->last_begin_ns));

		level = most(level, 1);
		if (level < LANE_LEVELS)
			l->joins[level]++;
	}
	l->last_begin_ns = begin_ns;
	l->last_length_ns = length_ns;
}

uint64_t lane_levels_items(const struct lane_levels *l, unsigned level)
{
	uint64_t n = l->n;

	for (unsigned i = 1; i <= level && i < LANE_LEVELS; i++)
		n -= l->joins[i];
	return n;
}

bool lane_merge_begin(struct lane_merge *m, unsigned level)
{
	*m = (struct lane_merge){ .level = level < LANE_LEVELS ? level : LANE_LEVELS - 1 };
	m->classes = level ? array_new(LANE_CLASSES, sizeof(*m->classes)) : NULL;
	return !level || m->classes;
}

/* What the open item is, now that all of it is there. */
static void close_item(struct lane_merge *m)
{
	struct lane_item *item = m->n ? &m->items[m->n - 1] : NULL;
	size_t best = LANE_CLASSES;

	if (!m->open)
		return;
	m->open = false;
	for (size_t i = 0; i < LANE_CLASSES; i++) {
		if (m->classes[i].seen && (best == LANE_CLASSES || m->classes[i].busy_ns > m->classes[best].busy_ns))
			best = i;
	}
	item->class = (uint8_t)best;
	item->of = m->classes[best].of;
	item->number = m->classes[best].number;
	/* A host's clock may run a little slower than the one that all are drawn on: its slices then reach over each other by a nanosecond. */
	item->length_ns = m->last_end_ns - item->begin_ns;
	if (item->length_ns < m->busy_ns)
		item->length_ns = m->busy_ns;
	item->empty_ns = item->length_ns - m->busy_ns;
}

static uint64_t weight_ns(uint64_t before, const struct lane_slice *s)
{
	uint64_t more, sum;

	return __builtin_mul_overflow(s->length_ns, (uint64_t)s->weight, &more) ||
			       __builtin_add_overflow(before, more, &sum)
		       ? UINT64_MAX
		       : sum;
}

static void take_in(struct lane_merge *m, const struct lane_slice *s)
{
	struct lane_class *class = &m->classes[s->class % LANE_CLASSES];

	if (!class->seen || s->length_ns > class->longest_ns) {
		class->longest_ns = s->length_ns;
		class->number = s->number;
		class->of = s->of;
	}
	class->seen = true;
	class->busy_ns += s->length_ns;
	m->busy_ns += s->length_ns;
	if (s->begin_ns + s->length_ns > m->last_end_ns)
		m->last_end_ns = s->begin_ns + s->length_ns;
}

static bool joins(const struct lane_merge *m, const struct lane_slice *s)
{
	return m->open && s->begin_ns >> m->level == m->items[m->n - 1].begin_ns >> m->level;
}

bool lane_merge_add(struct lane_merge *m, const struct lane_slice *s, bool alone)
{
	bool is_short = m->level && !alone && bits(s->length_ns) <= m->level;

	if (is_short && joins(m, s)) {
		struct lane_item *item = &m->items[m->n - 1];

		item->count += item->count < UINT32_MAX;
		item->weight_ns = weight_ns(item->weight_ns, s);
		take_in(m, s);
		return true;
	}
	close_item(m);
	if (!array_room(m->items, m->n, m->cap))
		return false;
	m->items[m->n++] = (struct lane_item){ .begin_ns = s->begin_ns,
					       .length_ns = s->length_ns,
					       .number = s->number,
					       .weight_ns = weight_ns(0, s),
					       .of = s->of,
					       .count = 1,
					       .class = s->class };
	if (is_short) {
		memset(m->classes, 0, LANE_CLASSES * sizeof(*m->classes));
		m->open = true;
		m->busy_ns = m->last_end_ns = 0;
		take_in(m, s);
	}
	return true;
}

void lane_merge_end(struct lane_merge *m)
{
	close_item(m);
	free(m->classes);
	m->classes = NULL;
}

void lane_merge_free(struct lane_merge *m)
{
	free(m->items);
	free(m->classes);
	*m = (struct lane_merge){ 0 };
}
