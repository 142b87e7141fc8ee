/* SPDX-License-Identifier: BSD-2-Clause */
#include "place_split.h"

#include <stdlib.h>

#include "place_lay.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"

bool place_make_room(struct device_timeline *out, struct place_room *room, size_t more)
{
	room->planned += more;
	while (room->cap < room->planned) {
		struct op *ops = spill_grow(out->ops, &room->cap, sizeof(*ops));

		if (!ops)
			return false;
		out->ops = ops;
	}
	return true;
}

void place_room_free(struct place_room *room)
{
	spill_free(room->part);
	*room = (struct place_room){ 0 };
}

struct splitter {
	struct device_timeline *out;
	struct place_room *room;
	struct place_alike *alike;
	size_t *near, near_place;
};

/* n launches of a folded op, from this one on, as an op. */
static bool add(struct splitter *s, const struct op *op, uint32_t launch, uint32_t n)
{
	struct device_timeline *out = s->out;
	struct call *call = arena_alloc(&out->more, sizeof(*call));
	struct op_of of = *op->of;
	struct op *to;

	if (!call || !place_make_room(out, s->room, 1))
		return false;
	*call = launches_part(of.trace, op->call, launch, n, &s->near_place);
	of.count = n;
	to = &out->ops[out->n_ops++];
	*to = *op;
	to->call = call;
	to->stretch_begin_ns = max64(op->stretch_begin_ns, call->begin_ns);
	return place_set_of(out, to, s->alike, &of);
}

/* Where the op's launches lie says which of them touch a gap. */
static bool split(struct splitter *s, const struct op *op, struct place_laying *l)
{
	const struct trace *t = op->of->trace;
	uint32_t first = 0; /* of those that stay together */
	int64_t at_ns = place_lay_next(l, op->call->begin_ns, op, 1);

	s->room->planned--; /* it is none any more */
	for (uint32_t i = 0; i <= op->call->folded; i++) {
		bool last = i == op->call->folded;
		int64_t next_ns = last ? op->end_ns : place_lay_next(l, launch_begin_ns(t, op->call, i + 1), op, 1);

		if (place_is_free(s->out, at_ns, next_ns, s->near)) {
			if (last && !add(s, op, first, i + 1 - first))
				return false;
		} else {
			if ((i > first && !add(s, op, first, i - first)) || !add(s, op, i, 1))
				return false;
			first = i + 1;
		}
		at_ns = next_ns;
	}
	return true;
}

static bool is_cut(const struct splitter *s, const struct op *op)
{
	return call_count(op->call) > 1 && !place_is_free(s->out, op->begin_ns, op->end_ns, s->near);
}

bool place_split(struct device_timeline *out, size_t first, int64_t end_ns, struct place_room *room,
		 struct place_alike *alike, size_t *near)
{
	struct splitter s = { out, room, alike, near, 0 };
	struct place_laying l;
	size_t n = out->n_ops - first, i = 0;
	int64_t begin_ns;

	while (i < n && !is_cut(&s, &out->ops[first + i]))
		i++;
	if (i == n)
		return true;
	while (room->cap_part < n) {
		struct op *part = spill_grow(room->part, &room->cap_part, sizeof(*part));

		if (!part)
			return false;
		room->part = part;
	}
	for (i = 0; i < n; i++)
		room->part[i] = out->ops[first + i];
	begin_ns = room->part[0].begin_ns;
	l = place_lay_begin(room->part, n, begin_ns, end_ns);
	out->n_ops = first;
	for (i = 0; i < n; i++) {
		const struct op *op = &room->part[i];

		if (is_cut(&s, op)) {
			if (!split(&s, op, &l))
				return false;
		} else {
			place_lay_next(&l, op->call->begin_ns, op, op->of->count);
			out->ops[out->n_ops++] = *op;
		}
	}
	place_lay(out->ops + first, out->n_ops - first, begin_ns, end_ns);
	return true;
}
