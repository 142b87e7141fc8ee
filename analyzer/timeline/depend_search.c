/* SPDX-License-Identifier: BSD-2-Clause */
#include "depend_search.h"

#include <string.h>

#include "tools/alloc.h"
#include "tools/ns.h"
#include "waits.h"

#define STEPS 64 /* waits, streams and pieces of work looked at for one gap: the last ones matter */

static void look(struct search *s, const struct stream_work *w, size_t upto, int64_t before_ns, int depth);

static bool called_before(const void *element, const void *key)
{
	return ((const struct work *)element)->call->begin_ns < *(const int64_t *)key;
}

static size_t work_before(const struct stream_work *w, int64_t time_ns)
{
	return array_first(w->ops, w->n, sizeof(*w->ops), called_before, &time_ns);
}

static bool numbered_by(const void *element, const void *key)
{
	return ((const struct work *)element)->call->seq <= *(const uint64_t *)key;
}

/* ---- what is found ----------------------------------------------------------------------------------- */

static void found(struct search *s, struct dependency d)
{
	if (s->best.kind && d.latest_end_ns <= s->best.latest_end_ns)
		return;
	d.unknown = s->best.unknown;
	d.n_waits = s->n_way;
	memcpy(d.waits, s->way, sizeof(s->way));
	s->best = d;
}

static void found_work(struct search *s, const struct stream_work *w, const struct work *op)
{
	found(s, (struct dependency){ .kind = op->hostfn ? DEPEND_HOSTFN : DEPEND_WORK,
				      .producer = op->call,
				      .trace = w->trace,
				      .stream = w->stream,
				      .device = w->device,
				      .end_ns = middle64(op->earliest_end_ns, op->latest_end_ns),
				      .earliest_end_ns = op->earliest_end_ns,
				      .latest_end_ns = op->latest_end_ns });
}

/* One piece of work; a folded one is as many as launches. False: it is looked no further. */
static bool go_past(struct search *s, const struct work *op)
{
	if (s->steps <= 0)
		return false;
	s->steps -= (int)min64(s->steps, (int64_t)call_count(op->call));
	return true;
}

/* The stream's own: of another device its last work, of this one its last host function. While this device's other work runs there is no gap. */
static void look_work(struct search *s, const struct stream_work *w, size_t upto)
{
	while (upto-- > 0 && w->ops[upto].latest_end_ns > s->from_ns && go_past(s, &w->ops[upto])) {
		if (!w->ops[upto].hostfn && w->device == s->device)
			continue;
		found_work(s, w, &w->ops[upto]);
		return; /* what stands before it ended before it */
	}
}

/* ---- events ------------------------------------------------------------------------------------------ */

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

/* ---- values ------------------------------------------------------------------------------------------ */

static const struct stream_work *work_of(const struct search *s, const struct trace *t, uint32_t stream)
{
	for (size_t i = 0; i < s->n_devices; i++)
		for (size_t k = 0; k < s->devices[i].n; k++)
			if (s->devices[i].streams[k].trace == t && s->devices[i].streams[k].stream == stream)
				return &s->devices[i].streams[k];
	return NULL;
}

/* A write stands behind what its stream was given before; and it is not there before its call. */
static void look_write(struct search *s, const struct trace *t, const struct call *write, int depth)
{
	const struct stream_work *p = work_of(s, t, write->stream);

	if (p)
		look(s, p,
		     write->seq ? array_first(p->ops, p->n, sizeof(*p->ops), numbered_by, &write->seq)
				: work_before(p, write->begin_ns),
		     write->begin_ns, depth - 1);
	if (write->end_ns > s->from_ns)
		found(s, (struct dependency){ .kind = DEPEND_WRITE,
					      .producer = write,
					      .trace = t,
					      .stream = write->stream,
					      .device = p ? p->device : s->device,
					      .end_ns = write->end_ns,
					      .earliest_end_ns = write->begin_ns,
					      .latest_end_ns = write->end_ns });
}

/* The stream's waits for values, put in after work that was over by from_ns. */
static void look_values(struct search *s, const struct stream_work *w, size_t upto, int64_t before_ns, int depth)
{
	const struct values *v = s->values;
	size_t n = v && v->trace == w->trace ? values_waits_before(v, w->stream, before_ns) : 0;
	int64_t floor_ns = INT64_MIN;

	while (n && upto-- > 0 && floor_ns == INT64_MIN && go_past(s, &w->ops[upto]))
		if (w->ops[upto].latest_end_ns <= s->from_ns)
			floor_ns = w->ops[upto].call->begin_ns;
	while (n-- > 0 && v->waits[n]->stream == w->stream && v->waits[n]->begin_ns > floor_ns && s->steps-- > 0) {
		const struct call *wait = v->waits[n], *write = values_producer(v, wait, s->until_ns);

		s->best.unknown |= !write || (wait->detail & GST_VALUE_MORE);
		if (!write) {
			if ((wait->detail & GST_VALUE_KIND) && !s->unwritten)
				s->unwritten = wait;
			continue;
		}
		s->way[s->n_way++] = wait;
		look_write(s, w->trace, write, depth);
		s->n_way--;
	}
}

/* ---- the legacy default stream ----------------------------------------------------------------------- */

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

/* ---- all of it --------------------------------------------------------------------------------------- */

/* What stands before the stream's op number `upto` and what it was given before before_ns. depth: waits that may still be followed. */
static void look(struct search *s, const struct stream_work *w, size_t upto, int64_t before_ns, int depth)
{
	if (s->steps-- <= 0) {
		s->best.unknown = true;
		return;
	}
	look_work(s, w, upto);
	if (!depth) {
		s->best.unknown |= w->opaque;
		return;
	}
	look_waits(s, w, before_ns, depth);
	look_values(s, w, upto, before_ns, depth);
	look_legacy(s, w, before_ns, depth);
}

void depend_search(struct search *s, const struct stream_work *w, size_t upto, int64_t before_ns)
{
	s->steps = STEPS;
	look(s, w, upto, before_ns, DEPEND_WAITS);
	s->best.unknown |= w->opaque && (s->steps <= 0 || !s->values || values_anywhere(s->values));
	if (s->best.kind || !s->unwritten)
		return;
	s->n_way = 0;
	s->way[s->n_way++] = s->unwritten;
	found(s, (struct dependency){ .kind = DEPEND_UNWRITTEN,
				      .producer = s->unwritten,
				      .trace = w->trace,
				      .stream = s->unwritten->stream,
				      .device = s->device,
				      .end_ns = s->until_ns,
				      .earliest_end_ns = s->from_ns,
				      .latest_end_ns = s->until_ns });
}
