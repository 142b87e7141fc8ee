/* SPDX-License-Identifier: BSD-2-Clause */
#include "gap_view.h"

#include "tools/ns.h"

#define NOT_READY 600  /* CUDA_ERROR_NOT_READY */
#define SILENT_COSTS 2 /* between two calls: more is code of its own (host-compute), */
#define SILENT_NS \
	10000 /* … unless it is less than this: a framework's way from one launch to the next, or the recorder's own work */
#define CALL_COSTS 4 /* within one: more is something else than submitting */

bool call_asked_in_vain(const struct call *c)
{
	return (c->family == GST_FAMILY_QUERY_STREAM || c->family == GST_FAMILY_QUERY_EVENT) && c->result == NOT_READY;
}

static bool is_short(const struct thread_records *r, const struct call *c, int64_t cost_ns)
{
	int64_t own = r->cost_ns[c->family];

	return c->end_ns - c->begin_ns <= CALL_COSTS * (own ? own : cost_ns);
}

/* Back from the submission to the last one before the gap's begin. */
static bool find(const struct gap_view *v, struct call_row *row)
{
	const struct thread_records *r = v->records;
	struct call_place at = v->last_call;
	int64_t next_ns = v->submit->begin_ns;

	*row = (struct call_row){ .n = 1, .end_ns = v->submit->end_ns, .cost_ns = r->cost_ns[v->submit->family] };
	if (!row->cost_ns || !call_same(v->calls[v->n_calls - 1], v->submit) || !is_short(r, v->submit, row->cost_ns))
		return false;
	while (call_place_back(r, &at)) {
		struct call room;
		const struct call *c = call_at_place(v->trace, r, at, &room);
		int64_t silence = next_ns - c->end_ns;

		next_ns = c->begin_ns;
		if (silence > max64(SILENT_COSTS * row->cost_ns, SILENT_NS) || call_asked_in_vain(c))
			return false;
		if (silence > row->longest_silence_ns)
			row->longest_silence_ns = silence;
		row->n++;
		row->begin_ns = c->begin_ns;
		if (c->begin_ns <= v->gap->begin_ns && is_submission(c))
			return true;
		if (!is_short(r, c, row->cost_ns))
			return false;
	}
	return false;
}

void gap_view_set_row(struct gap_view *v)
{
	struct call_row row;

	v->in_a_row = v->submit && v->records && !v->ready && !v->blocking && v->n_calls && find(v, &row);
	if (v->in_a_row)
		v->row = row;
}
