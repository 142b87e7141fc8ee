/* SPDX-License-Identifier: BSD-2-Clause */
#include "depend.h"

#include "alloc.h"
#include "ns.h"
#include "waits.h"

#include <stdlib.h>
#include <string.h>

#define STEPS 64 /* waits, streams and host functions looked at for one gap: the last ones matter */

struct search { /* for what held work up after from_ns */
	const struct device_work *devices;
	int64_t from_ns;
	uint32_t device;
	int steps;
	const struct call *way[DEPEND_WAITS]; /* the waits through which what is looked at holds it up */
	uint32_t n_way;
	struct dependency best; /* of all found, what ended last */
};

static void look(struct search *s, const struct stream_work *w, size_t upto, int64_t before_ns, int depth);

static bool numbered_before(const void *element, const void *key)
{
	return ((const struct work *)element)->call->seq < *(const uint64_t *)key;
}

static bool called_before(const void *element, const void *key)
{
	return ((const struct work *)element)->call->begin_ns < *(const int64_t *)key;
}

static size_t work_before(const struct stream_work *w, int64_t time_ns)
{
	return array_first(w->ops, w->n, sizeof(*w->ops), called_before, &time_ns);
}

static void consider(struct search *s, const struct stream_work *w, const struct work *op)
{
	bool unknown = s->best.unknown;

	if (s->best.kind && op->latest_end_ns <= s->best.latest_end_ns)
		return;
	s->best = (struct dependency){ .kind = op->hostfn ? DEPEND_HOSTFN : DEPEND_WORK,
				       .n_waits = s->n_way,
				       .producer = op->call,
				       .trace = w->trace,
				       .stream = w->stream,
				       .device = w->device,
				       .end_ns = middle64(op->earliest_end_ns, op->latest_end_ns),
				       .earliest_end_ns = op->earliest_end_ns,
				       .latest_end_ns = op->latest_end_ns,
				       .unknown = unknown };
	memcpy(s->best.waits, s->way, sizeof(s->way));
}

/* The stream's own: of another device its last work, of this one its last host function. While this device's other work runs there is no gap. */
static void look_work(struct search *s, const struct stream_work *w, size_t upto)
{
	while (upto-- > 0 && w->ops[upto].latest_end_ns > s->from_ns && s->steps-- > 0) {
		if (!w->ops[upto].hostfn && w->device == s->device)
			continue;
		consider(s, w, &w->ops[upto]);
		return; /* what stands before it ended before it */
	}
}

/* What the stream waited for by before_ns and may not have been done by from_ns. */
static void look_waits(struct search *s, const struct stream_work *w, int64_t before_ns, int depth)
{
	size_t n = waits_before(w, before_ns);

	while (n-- > 0 && w->held[n].max_until_ns > s->from_ns && s->steps-- > 0) {
		const struct held *h = &w->held[n];

		if (h->until_ns <= s->from_ns)
			continue;
		if (!h->producer || !h->wait->call) {
			s->best.unknown = true;
			continue;
		}
		s->way[s->n_way++] = h->wait->call;
		look(s, h->producer, h->covers, h->wait->recorded_ns, depth - 1);
		s->n_way--;
	}
}

/* When the stream was last given something before time_ns, work or a wait. INT64_MIN: never. */
static int64_t last_given(const struct stream_work *w, int64_t time_ns)
{
	size_t ops = work_before(w, time_ns), waits = waits_before(w, time_ns);
	int64_t at_ns = ops ? w->ops[ops - 1].call->begin_ns : INT64_MIN;

	return waits ? max64(at_ns, w->held[waits - 1].at_ns) : at_ns;
}

/* Work in the legacy default stream stands behind all that its context's streams were given before, and they behind it. */
static void look_legacy(struct search *s, const struct stream_work *w, int64_t before_ns, int depth)
{
	const struct device_work *d = &s->devices[w->device];
	const struct stream_work *legacy = w->legacy;

	if (!legacy)
		return;
	if (legacy != w) {
		int64_t last_ns = last_given(legacy, before_ns);

		if (last_ns > INT64_MIN)
			look(s, legacy, work_before(legacy, before_ns), last_ns + 1, depth - 1);
		return;
	}
	for (size_t i = 0; i < d->n; i++)
		if (&d->streams[i] != w && d->streams[i].legacy == w)
			look(s, &d->streams[i], work_before(&d->streams[i], before_ns), before_ns, depth - 1);
}

/* What stands before the stream's op number `upto` and what it was given before before_ns. depth: waits that may still be followed. */
static void look(struct search *s, const struct stream_work *w, size_t upto, int64_t before_ns, int depth)
{
	if (s->steps-- <= 0)
		return;
	look_work(s, w, upto);
	if (!depth)
		return;
	look_waits(s, w, before_ns, depth);
	look_legacy(s, w, before_ns, depth);
}

/* ---- graphs ------------------------------------------------------------------------------------------ */

static const struct graph *graph_of(const struct op *op)
{
	return op->call->family == GST_FAMILY_GRAPH_LAUNCH && !op->unlinked ? &op->trace->graphs[op->call->graph]
									    : NULL;
}

/* A graph's node may have waited for the graph's other nodes, which may be the host's or another device's. */
static bool waits_inside(const struct op *op)
{
	const struct graph *g = op->exact ? graph_of(op) : NULL;

	return g && (g->stalls || (g->devices & (g->devices - 1)));
}

/* ---- one gap ----------------------------------------------------------------------------------------- */

static const struct stream_work *stream_of(const struct device_work *d, const struct op *op)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->streams[i].trace == op->trace && d->streams[i].stream == op->stream)
			return &d->streams[i];
	return NULL;
}

static struct dependency dependency_of(const struct device_work *devices, uint32_t device, const struct gap *gap)
{
	struct search s = { .devices = devices, .from_ns = gap->begin_ns, .device = device, .steps = STEPS };
	const struct op *after = gap->after;
	const struct stream_work *w = after && !after->unlinked ? stream_of(&devices[device], after) : NULL;

	s.best.unknown = after && waits_inside(after);
	if (!w || w->stream == GST_NONE)
		return s.best;
	s.best.unknown |= w->opaque;
	look(&s, w, array_first(w->ops, w->n, sizeof(*w->ops), numbered_before, &after->call->seq),
	     after->call->begin_ns, DEPEND_WAITS);
	return s.best;
}

/* ---- where host functions are drawn ------------------------------------------------------------------ */

static int by_call(const void *a, const void *b)
{
	const struct op *x = *(const struct op *const *)a, *y = *(const struct op *const *)b;

	return (x->call > y->call) - (x->call < y->call);
}

static bool called_lower(const void *element, const void *key)
{
	return (*(const struct op *const *)element)->call < (const struct call *)key;
}

/* A host function of this device has its place in it; no better is known. */
static void take_place(struct dependency *depends, const struct op *const *hosts, size_t n)
{
	size_t at = array_first(hosts, n, sizeof(*hosts), called_lower, depends->producer);

	if (depends->kind != DEPEND_HOSTFN || at == n || hosts[at]->call != depends->producer)
		return;
	depends->placed = true;
	depends->end_ns = hosts[at]->end_ns;
	depends->latest_end_ns = max64(hosts[at]->end_ns, hosts[at]->stretch_end_ns);
}

static bool place_hostfns(struct device_timeline *out)
{
	const struct op **hosts = array_new(out->n_ops, sizeof(*hosts));
	size_t n = 0;

	if (!hosts)
		return false;
	for (size_t i = 0; i < out->n_ops; i++)
		if (out->ops[i].class == OP_HOSTFN)
			hosts[n++] = &out->ops[i];
	array_sort(hosts, n, sizeof(*hosts), by_call);
	for (size_t i = 0; i < out->n_gaps; i++)
		take_place(&out->gaps[i].depends, hosts, n);
	free(hosts);
	return true;
}

bool depend_find(struct device_timeline *out, const struct device_work *devices, size_t own)
{
	for (size_t i = 0; i < out->n_gaps; i++)
		out->gaps[i].depends = dependency_of(devices, (uint32_t)own, &out->gaps[i]);
	return place_hostfns(out);
}
