/* SPDX-License-Identifier: BSD-2-Clause */
#include "launches.h"

#include "tools/alloc.h"
#include "tools/spill.h"
#include "trace.h"
#include "trace_rare.h"

#include <stdlib.h>

bool call_same(const struct call *a, const struct call *b)
{
	return a == b || (a && b && a->family == GST_FAMILY_LAUNCH && b->family == GST_FAMILY_LAUNCH &&
			  a->begin_ns == b->begin_ns && a->byte == b->byte && a->seq == b->seq && a->tid == b->tid);
}

static bool stands_before(const void *place, const void *launch)
{
	return ((const struct launch_place *)place)->launch <= *(const size_t *)launch;
}

uint64_t launch_byte(const struct launches *l, uint64_t ref, size_t *near)
{
	const struct launch_part *part = launch_part_of(l, ref);
	size_t launch = launch_index(ref);
	const struct launch_place *place;

	*near = array_first_near(part->places, part->n_places, sizeof(*part->places), stands_before, &launch, *near);
	place = &part->places[*near - 1];
	return place->byte + (launch - place->launch) * sizeof(struct gst_call);
}

struct call launch_call(const struct trace *t, const struct call *c, uint32_t i, size_t *near)
{
	struct call one = launch_elsewhere(t, c, i);

	one.byte = i ? launch_byte(&t->launches, c->args[0] + i, near) : c->byte;
	return one;
}

struct call launch_elsewhere(const struct trace *t, const struct call *c, uint32_t i)
{
	const struct launch *first = launch_at(&t->launches, c->args[0]), *l = first + i;
	const struct launch_shape *shape = &launch_part_of(&t->launches, c->args[0])->shapes[l->shape];
	struct call one = *c;

	one.folded = 0;
	one.begin_ns += l->begin - first->begin;
	one.end_ns = one.begin_ns + l->took;
	one.seq += i;
	one.name = shape->name;
	one.args[0] = shape->args[0];
	one.args[1] = shape->args[1];
	return one;
}

int64_t launch_begin_ns(const struct trace *t, const struct call *c, uint32_t i)
{
	const struct launch *first = launch_at(&t->launches, c->args[0]);

	return c->begin_ns + (first[i].begin - first->begin);
}

int64_t launch_end_ns(const struct trace *t, const struct call *c, uint32_t i)
{
	return launch_begin_ns(t, c, i) + launch_at(&t->launches, c->args[0])[i].took;
}

struct call launches_part(const struct trace *t, const struct call *c, uint32_t i, uint32_t n, size_t *near)
{
	struct call some = launch_call(t, c, i, near);

	if (n == 1)
		return some;
	some.end_ns = launch_end_ns(t, c, i + n - 1);
	some.name = 0;
	some.folded = n - 1;
	some.args[0] = c->args[0] + i;
	some.args[1] = 0;
	return some;
}

uint32_t launch_begun_by(const struct trace *t, const struct call *c, int64_t ns)
{
	const struct launch *first = launch_at(&t->launches, c->args[0]);
	uint32_t low = 0, high = c->folded + 1;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (c->begin_ns + (first[middle].begin - first->begin) <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

bool trace_unfold(struct trace *t)
{
	size_t n = 0, near = 0;
	struct call *calls;

	if (!t->launches.folded)
		return true;
	calls = spill_new(t->n_calls + t->launches.folded, sizeof(*calls));
	if (!calls)
		return false;
	for (size_t i = 0; i < t->n_calls; i++) {
		const struct call *c = &t->calls[i];

		if (call_count(c) == 1)
			calls[n++] = *c;
		else
			for (uint32_t k = 0; k <= c->folded; k++) {
				calls[n] = launch_elsewhere(t, c, k);
				calls[n++].byte = launch_byte(&t->launches, c->args[0] + k, &near);
			}
	}
	spill_free(t->calls);
	launches_free(&t->launches);
	t->calls = calls;
	t->n_calls = n;
	if (t->rare)
		trace_rare_mark(t);
	return true;
}

void launches_free(struct launches *l)
{
	for (size_t i = 0; i < l->n_parts; i++) {
		spill_free(l->parts[i].at);
		free(l->parts[i].shapes);
		spill_free(l->parts[i].places);
	}
	free(l->parts);
	*l = (struct launches){ 0 };
}
