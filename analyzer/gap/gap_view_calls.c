/* SPDX-License-Identifier: BSD-2-Clause */
/* gap_view_calls.c: which of the submitting thread's calls a gap's story is about. */
#include "gap_view.h"

#include "tools/alloc.h"

/* A damaged record may claim a call of hours: looking back for calls that reach into the gap stops after this many. */
#define LOOK_BACK 64

static bool begun_by(const void *element, const void *key)
{
	return (*(const struct call *const *)element)->begin_ns <= *(const int64_t *)key;
}

static size_t first_call_after(const struct thread_records *r, int64_t ns, size_t near)
{
	return array_first_near(r->calls, r->n_calls, sizeof(*r->calls), begun_by, &ns, near);
}

/* Had it returned before the gap? Then it is the last one that is looked at. */
static bool is_over(const struct gap_view *v, const struct call *c)
{
	return c->end_ns < v->gap->begin_ns - v->gap->begin_error_ns;
}

/* ---- where some are folded ---- */

static bool room_for(struct unfolded *u, size_t n)
{
	while (u->cap_calls < n)
		if (!array_room(u->calls, u->cap_calls, u->cap_calls))
			return false;
	while (u->cap_list < n)
		if (!array_room(u->list, u->cap_list, u->cap_list))
			return false;
	while (u->cap_places < n)
		if (!array_room(u->places, u->cap_places, u->cap_places))
			return false;
	return true;
}

/* records->calls[first..end) by themselves, as far as they had begun when the gap ended. */
static bool unfold(struct gap_view *v, const struct thread_records *r, size_t first, size_t end)
{
	struct unfolded *u = &v->unfolded;
	uint64_t n = 0;

	for (size_t i = first; i < end; i++)
		n += call_count(r->calls[i]);
	if (!room_for(u, n))
		return false;
	u->n = 0;
	for (size_t i = first; i < end; i++)
		for (uint32_t k = 0; k < call_count(r->calls[i]); k++) {
			const struct call *c = r->calls[i];

			if (call_count(c) > 1) {
				u->calls[u->n] = launch_call(v->trace, c, k, &u->near);
				c = &u->calls[u->n];
			}
			if (c->begin_ns > v->gap->end_ns)
				return true;
			u->list[u->n] = c;
			u->places[u->n++] = (struct call_place){ i, k };
		}
	return true;
}

/* The same, where one of them is folded: those near the gap are told one by one. */
static bool set_unfolded(struct gap_view *v, const struct thread_records *r, size_t after, size_t end)
{
	struct unfolded *u = &v->unfolded;
	size_t first = after, begin = 0;
	uint64_t back = 0, most = LOOK_BACK;

	if (after && call_count(r->calls[after - 1]) > 1) /* some of it may have begun behind the gap's begin */
		most += r->calls[after - 1]->folded - launch_begun_by(v->trace, r->calls[after - 1], v->gap->begin_ns);
	for (; back < most && first > 0; back += call_count(r->calls[first]))
		if (is_over(v, r->calls[--first]))
			break;
	if (!unfold(v, r, first, end))
		return false;
	while (begin < u->n && u->list[begin]->begin_ns <= v->gap->begin_ns)
		begin++;
	for (back = 0; back < LOOK_BACK && begin > 0; back++)
		if (is_over(v, u->list[--begin]))
			break;
	v->calls = u->list + begin;
	v->n_calls = u->n - begin;
	return true;
}

/* ---- all of it ---- */

static bool any_folded(const struct thread_records *r, size_t first, size_t end)
{
	bool any = false;

	for (; first < end && !any; first++)
		any = call_count(r->calls[first]) > 1;
	return any;
}

/* From the call before the gap (or those that reach into it) to the submission. */
bool gap_view_set_calls(struct gap_view *v, const struct thread_records *r)
{
	size_t after = first_call_after(r, v->gap->begin_ns, r == v->last_records ? v->near_call : r->n_calls / 2);
	size_t begin = after, end = first_call_after(r, v->gap->end_ns, after);
	const struct call_place *places = NULL;

	v->last_records = r;
	v->near_call = end;
	for (size_t back = 0; back < LOOK_BACK && begin > 0; back++)
		if (is_over(v, r->calls[--begin]))
			break;
	v->calls = r->calls + begin;
	v->n_calls = end - begin;
	if (any_folded(r, begin, end)) {
		if (!set_unfolded(v, r, after, end))
			return false;
		places = v->unfolded.places + (v->calls - (const struct call *const *)v->unfolded.list);
	}
	/* it may have begun before the gap: what the thread did behind it is no cause */
	for (size_t i = 0; v->submit && i < v->n_calls; i++) {
		if (call_same(v->calls[i], v->submit))
			v->n_calls = i + 1;
	}
	if (v->n_calls)
		v->last_call = places ? places[v->n_calls - 1] : (struct call_place){ begin + v->n_calls - 1, 0 };
	return true;
}
