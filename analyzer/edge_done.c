/* SPDX-License-Identifier: BSD-2-Clause */
#include "edge_done.h"

#include "alloc.h"

#include <stdlib.h>

struct proof { /* everything put into the stream before begin_ns, or by `tid` on its way into the call, had been passed by end_ns */
	uint32_t stream, tid;
	int64_t begin_ns, end_ns;
	int64_t min_end_ns; /* of this and all later ones of the stream */
};

struct proofs {
	struct proof *at;
	size_t n, cap;
};

static bool add(struct proofs *p, uint32_t stream, uint32_t tid, int64_t begin_ns, int64_t end_ns)
{
	if (!array_room(p->at, p->n, p->cap))
		return false;
	p->at[p->n++] = (struct proof){ stream, tid, begin_ns, end_ns, end_ns };
	return true;
}

static bool add_call(struct proofs *p, const struct trace *t, const struct call *c)
{
	if (c->result != 0 || (c->flags & GST_CAPTURED))
		return true;
	if (c->family == GST_FAMILY_SYNC_CONTEXT) {
		for (uint32_t s = 0; s < t->n_streams; s++)
			if (t->streams[s].context == c->args[0] && !add(p, s, c->tid, c->begin_ns, c->end_ns))
				return false;
		return true;
	}
	if (c->stream == GST_NONE ||
	    !(c->family == GST_FAMILY_SYNC_STREAM || c->family == GST_FAMILY_QUERY_STREAM || (c->flags & GST_BLOCKING)))
		return true;
	return add(p, c->stream, c->tid, c->begin_ns, c->end_ns);
}

static int by_stream_and_begin(const void *a, const void *b)
{
	const struct proof *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static bool collect(struct proofs *p, const struct trace *t)
{
	for (size_t i = 0; i < t->n_calls; i++)
		if (!add_call(p, t, &t->calls[i]))
			return false;
	for (size_t i = 0; i < t->n_polls; i++)
		if (t->polls[i].ready && t->polls[i].stream != GST_NONE &&
		    !add(p, t->polls[i].stream, 0, t->polls[i].begin_ns, t->polls[i].end_ns))
			return false;
	array_sort(p->at, p->n, sizeof(*p->at), by_stream_and_begin);
	for (size_t i = p->n; i-- > 1;)
		if (p->at[i - 1].stream == p->at[i].stream && p->at[i].min_end_ns < p->at[i - 1].min_end_ns)
			p->at[i - 1].min_end_ns = p->at[i].min_end_ns;
	return true;
}

static bool proof_before(const void *element, const void *key)
{
	return by_stream_and_begin(element, key) < 0;
}

/* First proof of the stream that begins at or after begin_ns. */
static size_t first_from(const struct proofs *p, uint32_t stream, int64_t begin_ns)
{
	const struct proof key = { .stream = stream, .begin_ns = begin_ns };

	return array_first(p->at, p->n, sizeof(*p->at), proof_before, &key);
}

static int64_t done_by(const struct proofs *p, const struct edge *edge)
{
	size_t i = first_from(p, edge->stream, edge->end_ns);
	int64_t done = edge->done_ns;

	if (edge->stream == GST_NONE)
		return done;
	if (i < p->n && p->at[i].stream == edge->stream && p->at[i].min_end_ns < done)
		done = p->at[i].min_end_ns;
	for (; i > 0 && p->at[i - 1].stream == edge->stream && p->at[i - 1].end_ns >= edge->end_ns; i--)
		if (edge->tid && p->at[i - 1].tid == edge->tid && p->at[i - 1].end_ns < done)
			done = p->at[i - 1].end_ns;
	return done;
}

enum err_kind edge_done_find(int64_t **out, const struct trace *t, struct error *e)
{
	struct proofs p = { 0 };

	*out = array_new(t->n_edges, sizeof(**out));
	if (!*out || !collect(&p, t)) {
		free(*out);
		free(p.at);
		*out = NULL;
		return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
	}
	for (size_t i = 0; i < t->n_edges; i++)
		(*out)[i] = done_by(&p, &t->edges[i]);
	free(p.at);
	return ERR_NONE;
}
