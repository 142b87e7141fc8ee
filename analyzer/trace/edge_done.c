/* SPDX-License-Identifier: BSD-2-Clause */
#include "edge_done.h"

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"
#include "trace_rare.h"

struct place { /* a stream, by its index; or a context with all its streams, by its handle: there may be many of both */
	bool context;
	uint64_t number;
};

struct proof { /* everything put into the place before begin_ns, or by `tid` on its way into the call, had been passed by end_ns */
	struct place place;
	uint32_t tid;
	int64_t begin_ns, end_ns;
	int64_t min_end_ns; /* of this and all later ones of the place */
};

struct proofs {
	struct proof *at;
	size_t n, cap;
};

static bool add(struct proofs *p, struct place place, uint32_t tid, int64_t begin_ns, int64_t end_ns)
{
	if (!spill_room(p->at, p->n, p->cap))
		return false;
	p->at[p->n++] = (struct proof){ place, tid, begin_ns, end_ns, end_ns };
	return true;
}

static bool add_call(struct proofs *p, const struct call *c)
{
	if (c->result != 0 || (c->flags & GST_CAPTURED))
		return true;
	if (c->family == GST_FAMILY_SYNC_CONTEXT)
		return add(p, (struct place){ true, c->args[0] }, c->tid, c->begin_ns, c->end_ns);
	if (c->stream == GST_NONE ||
	    !(c->family == GST_FAMILY_SYNC_STREAM || c->family == GST_FAMILY_QUERY_STREAM || (c->flags & GST_BLOCKING)))
		return true;
	return add(p, (struct place){ false, c->stream }, c->tid, c->begin_ns, c->end_ns);
}

static bool same_place(const struct proof *a, const struct proof *b)
{
	return a->place.context == b->place.context && a->place.number == b->place.number;
}

static int by_place_and_begin(const void *a, const void *b)
{
	const struct proof *x = a, *y = b;

	if (x->place.context != y->place.context)
		return x->place.context ? 1 : -1;
	if (x->place.number != y->place.number)
		return x->place.number < y->place.number ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static bool collect(struct proofs *p, const struct trace *t)
{
	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1))
		if (!add_call(p, &t->calls[i]))
			return false;
	for (size_t i = 0; i < t->n_polls; i++)
		if (t->polls[i].ready && t->polls[i].stream != GST_NONE &&
		    !add(p, (struct place){ false, t->polls[i].stream }, 0, t->polls[i].begin_ns, t->polls[i].end_ns))
			return false;
	array_sort(p->at, p->n, sizeof(*p->at), by_place_and_begin);
	for (size_t i = p->n; i-- > 1;)
		if (same_place(&p->at[i - 1], &p->at[i]) && p->at[i].min_end_ns < p->at[i - 1].min_end_ns)
			p->at[i - 1].min_end_ns = p->at[i].min_end_ns;
	return true;
}

static bool proof_before(const void *element, const void *key)
{
	return by_place_and_begin(element, key) < 0;
}

static int64_t done_in(const struct proofs *p, struct place place, const struct edge *edge)
{
	const struct proof key = { .place = place, .begin_ns = edge->end_ns };
	size_t i = array_first(p->at, p->n, sizeof(*p->at), proof_before, &key);
	int64_t done = edge->done_ns;

	if (i < p->n && same_place(&p->at[i], &key) && p->at[i].min_end_ns < done)
		done = p->at[i].min_end_ns;
	for (; i > 0 && same_place(&p->at[i - 1], &key) && p->at[i - 1].end_ns >= edge->end_ns; i--)
		if (edge->tid && p->at[i - 1].tid == edge->tid && p->at[i - 1].end_ns < done)
			done = p->at[i - 1].end_ns;
	return done;
}

static int64_t done_by(const struct proofs *p, const struct trace *t, const struct edge *edge)
{
	if (edge->stream == GST_NONE)
		return edge->done_ns;
	return min64(done_in(p, (struct place){ false, edge->stream }, edge),
		     done_in(p, (struct place){ true, t->streams[edge->stream].context }, edge));
}

enum err_kind edge_done_find(int64_t **out, const struct trace *t, struct error *e)
{
	struct proofs p = { 0 };

	*out = spill_new(t->n_edges, sizeof(**out));
	if (!*out || !collect(&p, t)) {
		spill_free(*out);
		spill_free(p.at);
		*out = NULL;
		return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
	}
	for (size_t i = 0; i < t->n_edges; i++)
		(*out)[i] = done_by(&p, t, &t->edges[i]);
	spill_free(p.at);
	return ERR_NONE;
}
