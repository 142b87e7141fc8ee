/* SPDX-License-Identifier: BSD-2-Clause */
/* facts_measured.c: what measured work proves of the work beside it that was not: host functions, and what was lost. */
#include "facts_builder.h"

#include "tools/alloc.h"
#include "tools/ns.h"

#include <stdlib.h>

struct span { /* of one submission, over all its pieces */
	const struct call *call;
	int64_t begin_ns, end_ns;
	bool whole; /* none of it is lost */
};

static int by_number(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->call->stream != y->call->stream)
		return x->call->stream < y->call->stream ? -1 : 1;
	return (x->call->seq > y->call->seq) - (x->call->seq < y->call->seq);
}

static size_t place(const struct span *s, size_t n_streams)
{
	return s->call->stream < n_streams ? s->call->stream : n_streams;
}

/* Within their stream they are in order as they come, or nearly so: once streams are parted there is little left to sort. NULL: no memory. */
static struct span *part_streams(const struct span *spans, size_t n, size_t n_streams)
{
	struct span *parted = array_new(n, sizeof(*parted));
	size_t *next = array_new(n_streams + 2,
				 sizeof(*next)); /* where the stream's next one goes; what is of none comes last */

	if (parted && next) {
		for (size_t i = 0; i < n; i++)
			next[place(&spans[i], n_streams) + 1]++;
		for (size_t i = 1; i <= n_streams; i++)
			next[i] += next[i - 1];
		for (size_t i = 0; i < n; i++)
			parted[next[place(&spans[i], n_streams)]++] = spans[i];
	} else {
		free(parted);
		parted = NULL;
	}
	free(next);
	return parted;
}

/* By stream, then number. NULL: no memory. */
static struct span *list_spans(const struct exact *x, size_t *n)
{
	struct span *spans = array_new(x->n_linked, sizeof(*spans)), *parted;

	*n = 0;
	for (size_t i = 0, pieces; spans && i < x->n_linked; i += pieces) {
		const struct exact_op *ops = exact_of(x, x->ops[i].call, &pieces);
		struct span *s = &spans[(*n)++];

		*s = (struct span){ ops->call, ops->measured->begin_ns, ops->measured->end_ns,
				    !exact_missing(x, ops->call, ops, pieces) };
		for (size_t k = 1; k < pieces; k++) {
			s->begin_ns = min64(s->begin_ns, ops[k].measured->begin_ns);
			s->end_ns = max64(s->end_ns, ops[k].measured->end_ns);
		}
	}
	parted = spans ? part_streams(spans, *n, x->trace->n_streams) : NULL;
	if (parted)
		array_sort(parted, *n, sizeof(*parted), by_number);
	free(spans);
	return parted;
}

/* The submission right before it in the stream; NULL: it is the first, or that one was not measured, or not all of it. */
static const struct span *before(const struct span *spans, size_t i)
{
	const struct call *c = spans[i].call;
	const struct span *last = i ? &spans[i - 1] : NULL;

	return last && last->whole && last->call->stream == c->stream && last->call->seq + 1 == c->seq ? last : NULL;
}

/* Put into an empty stream it begins as soon as the device gets to it. A copy may first be staged, a graph be uploaded. */
static bool is_start(const struct span *s, const struct span *last)
{
	if (s->call->family != GST_FAMILY_LAUNCH && s->call->family != GST_FAMILY_MEMSET)
		return false;
	return s->begin_ns > s->call->begin_ns && (last ? last->end_ns < s->call->begin_ns : s->call->seq == 1);
}

bool facts_add_measured_starts(struct facts_builder *b)
{
	struct facts *f = b->out;
	struct span *spans;
	bool ok = true;
	size_t n;

	if (!f->exact->n_linked)
		return true;
	spans = list_spans(f->exact, &n);
	ok = spans != NULL;
	for (size_t i = 0; ok && i < n; i++) {
		if (!is_start(&spans[i], before(spans, i)))
			continue;
		ok = array_room(f->starts, f->n_starts, f->cap_starts);
		if (ok)
			f->starts[f->n_starts++] =
				(struct start){ spans[i].call->stream, spans[i].begin_ns - spans[i].call->begin_ns };
	}
	free(spans);
	return ok;
}

/* Behind work that was not measured: that was over when this was, and where this had long been submitted, it waited for it. */
static bool add_behind_hole(struct facts_builder *b, const struct span *s)
{
	const struct call *c = s->call;
	int64_t ready_ns = c->end_ns + b->out->latency_ns;

	/* of one that was measured in part nothing is known but that what came before it was over */
	if (!facts_add_finished(b, c->stream, s->whole ? c->seq : c->seq - 1, s->end_ns, BOUNDARY_MEASURED))
		return false;
	if (!s->whole || c->seq == 1 || s->begin_ns - b->out->latency_ns <= ready_ns)
		return true;
	return facts_add_pending(b, (struct pending){ .stream = c->stream,
						      .covers = c->seq - 1,
						      .at_ns = s->begin_ns - b->out->latency_ns,
						      .asked_ns = ready_ns,
						      .known_by = PENDING_EDGE });
}

/* Work whose call was before the records begin: what its stream had been given by then is over with it. Of a graph others may come. */
static bool add_before_front(struct facts_builder *b)
{
	const struct exact *x = b->out->exact;

	for (size_t i = x->n_linked; b->t->from_ns && i < x->n; i++) {
		const struct measured *m = x->ops[i].measured;

		if (m->seq && !m->node && !facts_add_finished(b, m->stream, m->seq, m->end_ns, BOUNDARY_MEASURED))
			return false;
	}
	return true;
}

bool facts_add_measured(struct facts_builder *b)
{
	struct span *spans;
	bool ok;
	size_t n;

	if (!add_before_front(b))
		return false;
	if (!b->out->exact->n_linked)
		return true;
	spans = list_spans(b->out->exact, &n);
	ok = spans != NULL;
	for (size_t i = 0; ok && i < n; i++)
		ok = before(spans, i) || add_behind_hole(b, &spans[i]);
	free(spans);
	return ok;
}
