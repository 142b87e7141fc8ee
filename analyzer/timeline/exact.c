/* SPDX-License-Identifier: BSD-2-Clause */
#include "exact.h"

#include "tools/alloc.h"
#include "trace/trace_measured.h"

#include <stdlib.h>

/* ---- which call asked for it -------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const struct call *x = *(const struct call *const *)a, *y = *(const struct call *const *)b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x > y) - (x < y);
}

static bool numbered_before(const void *element, const void *key)
{
	const struct call *c = *(const struct call *const *)element;
	const struct measured *m = key;

	return c->stream < m->stream || (c->stream == m->stream && c->seq < m->seq);
}

/* All submissions to known streams, by stream and number. */
static const struct call **list_calls(const struct trace *t, size_t *n)
{
	const struct call **list = array_new(t->n_calls, sizeof(*list));

	*n = 0;
	for (size_t i = 0; list && i < t->n_calls; i++)
		if (is_submission(&t->calls[i]) && t->calls[i].stream != GST_NONE)
			list[(*n)++] = &t->calls[i];
	if (list)
		array_sort(list, *n, sizeof(*list), by_number);
	return list;
}

static const struct call *call_of(const struct call *const *list, size_t n, const struct measured *m)
{
	size_t at;

	if (m->seq == 0 || m->stream == GST_NONE)
		return NULL;
	at = array_first(list, n, sizeof(*list), numbered_before, m);
	return at < n && list[at]->stream == m->stream && list[at]->seq == m->seq ? list[at] : NULL;
}

/* ---- work without a call ------------------------------------------------------------------------------ */

/* What every later stage may look at as if it were the call: it began and ended when the work began. */
static struct call stand_in(const struct measured *m)
{
	return (struct call){ .begin_ns = m->begin_ns,
			      .end_ns = m->begin_ns,
			      .stream = m->stream,
			      .device = m->device,
			      .name = m->name,
			      .hook = GST_HOOK_MAX,
			      .detail = m->kind == GST_ACTIVITY_COPY ? m->copy : 0,
			      .family = measured_family(m),
			      .flags = GST_SUBMISSION,
			      .args = { m->bytes, 0 } };
}

/* ---- both ---------------------------------------------------------------------------------------------- */

/* Those without a call go last, in the order of time. Of one submission, what ended last stands last: it was over then, and not before. */
static int by_call(const void *a, const void *b)
{
	const struct exact_op *x = a, *y = b;

	if (!x->call != !y->call)
		return x->call ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	if (x->call && x->measured->end_ns != y->measured->end_ns)
		return x->measured->end_ns < y->measured->end_ns ? -1 : 1;
	return (x->measured > y->measured) - (x->measured < y->measured);
}

static bool link_all(struct exact *x, const struct call *const *list, size_t n_list)
{
	const struct trace *t = x->trace;

	for (x->n = 0; x->n < t->n_measured; x->n++) {
		const struct measured *m = &t->measured[x->n];

		x->ops[x->n] = (struct exact_op){ m, call_of(list, n_list, m) };
		x->n_linked += x->ops[x->n].call != NULL;
	}
	array_sort(x->ops, x->n, sizeof(*x->ops), by_call);
	x->unlinked = array_new(x->n - x->n_linked, sizeof(*x->unlinked));
	if (!x->unlinked)
		return false;
	for (size_t i = x->n_linked; i < x->n; i++) {
		x->unlinked[x->n_unlinked] = stand_in(x->ops[i].measured);
		x->ops[i].call = &x->unlinked[x->n_unlinked++];
	}
	return true;
}

enum err_kind exact_link(struct exact *out, const struct trace *t, struct error *e)
{
	const struct call **list = NULL;
	size_t n = 0;
	bool ok = true;

	*out = (struct exact){ .trace = t };
	if (t->n_measured) {
		list = list_calls(t, &n);
		out->ops = array_new(t->n_measured, sizeof(*out->ops));
		ok = list && out->ops && link_all(out, list, n);
	}
	free(list);
	if (ok)
		return ERR_NONE;
	exact_free(out);
	return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
}

void exact_free(struct exact *x)
{
	free(x->ops);
	free(x->unlinked);
	*x = (struct exact){ 0 };
}

/* ---- asking --------------------------------------------------------------------------------------------- */

static bool call_before(const void *element, const void *key)
{
	return ((const struct exact_op *)element)->call < (const struct call *)key;
}

const struct exact_op *exact_of(const struct exact *x, const struct call *c, size_t *n)
{
	size_t at;

	*n = 0;
	if (!x->n_linked)
		return NULL;
	at = array_first(x->ops, x->n_linked, sizeof(*x->ops), call_before, c);
	while (at + *n < x->n_linked && x->ops[at + *n].call == c)
		++*n;
	return *n ? &x->ops[at] : NULL;
}

uint32_t exact_missing(const struct exact *x, const struct call *c, const struct exact_op *ops, size_t n)
{
	const struct trace *t = x->trace;
	const struct graph *g = c->family == GST_FAMILY_GRAPH_LAUNCH ? &t->graphs[c->graph] : NULL;
	bool promised = c->begin_ns >= t->measured_from_ns && c->begin_ns < t->measured_until_ns;

	if (c->family == GST_FAMILY_HOSTFN || (n == 0 && !promised))
		return 0;
	if (!g || !g->counted || g->open)
		return n == 0;
	for (size_t i = 0; i < n; i++)
		if (ops[i].measured->kind == GST_ACTIVITY_GRAPH)
			return 0;
	return n < g->work ? g->work - (uint32_t)n : 0;
}

bool exact_is_unlinked(const struct exact *x, const struct call *c)
{
	return c >= x->unlinked && c < x->unlinked + x->n_unlinked;
}
