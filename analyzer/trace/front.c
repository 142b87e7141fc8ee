/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include "busy_lists.h"
#include "one_device.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "trace_rare.h"

#include <stdlib.h>
#include <string.h>

struct known {             /* of one stream */
	uint64_t first;    /* the lowest number of a submission that began later; 0 none */
	uint64_t highest;  /* of any number that is mentioned … */
	uint64_t later;    /* … by what began later: no lower than any that was given before */
	uint64_t finished; /* by from_ns, as far as what was left out says */
	int64_t written_ns; /* by then the records were written of all submissions that began before from_ns and are there */
};

/* ---- what is known of each stream ------------------------------------------------------------------- */

static void mention(struct known *k, uint64_t seq, bool later)
{
	k->highest = seq > k->highest ? seq : k->highest;
	if (later)
		k->later = seq > k->later ? seq : k->later;
}

static void finish(struct known *k, uint64_t covers)
{
	k->finished = covers > k->finished ? covers : k->finished;
}

static bool is_numbered(const struct call *c)
{
	return (c->flags & GST_SUBMISSION) && !(c->flags & GST_CAPTURED) && c->seq;
}

static void know_call(struct known *k, const struct call *c, int64_t from_ns)
{
	mention(k, c->seq, c->begin_ns >= from_ns);
	if (is_numbered(c) && c->begin_ns >= from_ns && (!k->first || c->seq < k->first))
		k->first = c->seq;
	if (c->end_ns <= from_ns && c->result == 0 && !(c->flags & GST_CAPTURED) &&
	    (c->family == GST_FAMILY_SYNC_STREAM || c->family == GST_FAMILY_QUERY_STREAM || (c->flags & GST_BLOCKING)))
		finish(k, c->seq);
}

/* A wait for a whole context, the last one of it that had returned: what its streams had been given before is over. */
static void know_context(struct known *known, const struct trace *t, const struct call *sync)
{
	for (size_t i = 0; i < t->n_calls && t->calls[i].begin_ns < sync->begin_ns; i++) {
		const struct call *c = &t->calls[i];

		if (is_submission(c) && c->stream != GST_NONE && c->end_ns < sync->begin_ns &&
		    t->streams[c->stream].context == sync->args[0])
			finish(&known[c->stream], c->seq);
	}
}

static void know_contexts(struct known *known, const struct trace *t, int64_t from_ns)
{
	uint64_t seen[8];
	size_t n = 0;

	for (size_t i = t->n_calls; i-- > 0 && n < sizeof(seen) / sizeof(seen[0]);) {
		const struct call *c = &t->calls[i];
		bool known_already = false;

		if (c->family != GST_FAMILY_SYNC_CONTEXT || c->result != 0 || c->end_ns > from_ns)
			continue;
		for (size_t k = 0; k < n; k++)
			known_already |= seen[k] == c->args[0];
		if (known_already)
			continue;
		seen[n++] = c->args[0];
		know_context(known, t, c);
	}
}

static bool lower_tid(const void *element, const void *key)
{
	return ((const struct thread *)element)->tid < *(const uint32_t *)key;
}

/* A record was written before its thread's next call began. False: no memory. */
static bool know_written(struct known *known, const struct trace *t, int64_t from_ns)
{
	/* Of threads by tid; the last one: of those not known. */
	int64_t *next_ns = array_new(t->n_threads + 1, sizeof(*next_ns));

	if (!next_ns)
		return false;
	for (size_t i = 0; i <= t->n_threads; i++)
		next_ns[i] = INT64_MAX;
	for (size_t i = t->n_calls; i-- > 0;) {
		const struct call *c = &t->calls[i];
		size_t at = array_first(t->threads, t->n_threads, sizeof(*t->threads), lower_tid, &c->tid);

		if (at < t->n_threads && t->threads[at].tid != c->tid)
			at = t->n_threads;
		if (is_numbered(c) && c->stream != GST_NONE && c->begin_ns < from_ns)
			known[c->stream].written_ns = max64(known[c->stream].written_ns, next_ns[at]);
		if (at < t->n_threads)
			next_ns[at] = c->begin_ns;
	}
	free(next_ns);
	return true;
}

static void know(struct known *known, const struct trace *t, int64_t from_ns)
{
	for (size_t i = 0; i < t->n_calls; i++)
		if (t->calls[i].stream != GST_NONE)
			know_call(&known[t->calls[i].stream], &t->calls[i], from_ns);
	for (size_t i = 0; i < t->n_edges; i++) {
		const struct edge *e = &t->edges[i];

		if (e->stream == GST_NONE)
			continue;
		mention(&known[e->stream], e->covers, e->begin_ns >= from_ns);
		if (e->done_ns <= from_ns)
			finish(&known[e->stream], e->covers);
	}
	for (size_t i = 0; i < t->n_polls; i++) {
		const struct poll *p = &t->polls[i];

		if (p->stream == GST_NONE)
			continue;
		mention(&known[p->stream], p->covers, p->begin_ns >= from_ns);
		if (p->ready && p->end_ns <= from_ns)
			finish(&known[p->stream], p->covers);
	}
	for (size_t i = 0; i < t->n_carried; i++)
		if (t->carried[i].call.stream != GST_NONE) {
			struct known *k = &known[t->carried[i].call.stream];

			mention(k, t->carried[i].call.seq, false);
			if (t->carried[i].by_ns <= from_ns)
				finish(k, t->carried[i].call.seq);
		}
	know_contexts(known, t, from_ns);
}

/* ---- what may have run on --------------------------------------------------------------------------- */

static struct carried carried_new(uint32_t stream, uint16_t device, uint64_t seq, int64_t from_ns, int64_t by_ns)
{
	return (struct carried){ .call = { .begin_ns = from_ns,
					   .end_ns = from_ns,
					   .seq = seq,
					   .stream = stream,
					   .device = device,
					   .hook = GST_HOOK_MAX,
					   .family = GST_FAMILY_OTHER,
					   .flags = GST_SUBMISSION },
				 .by_ns = by_ns };
}

/* The last number that the stream may have been given before; 0: none, or all that was is over. Numbers begin at 1 and go round after
 * 2^32. Where nothing later mentions the stream, others may have been given than are known: one above them, which nothing later names. */
static uint64_t carried_seq(const struct trace *t, const struct known *k)
{
	uint64_t seq = k->first ? k->first - 1 : k->later ? k->later : k->highest + t->recycled;

	if (k->first && (uint32_t)k->first == 1)
		return 0;
	return seq > k->finished ? seq : 0;
}

/* Work in streams that nobody keeps book of may have been given to any device. */
static bool has_unlinked(const struct trace *t)
{
	for (size_t i = 0; i < t->n_calls; i++)
		if (is_submission(&t->calls[i]) && t->calls[i].stream == GST_NONE)
			return true;
	return t->counters.streams_untracked != 0;
}

static bool add_carried(struct trace *t, const struct known *known, int64_t from_ns)
{
	struct carried *carried = array_new(t->n_streams + t->n_devices + 1, sizeof(*carried));
	struct busy_lists lists;
	size_t n = 0;

	if (!busy_lists_new(&lists, t) || !carried) {
		busy_lists_free(&lists);
		free(carried);
		return false;
	}
	for (uint32_t s = 0; s < t->n_streams; s++) {
		uint64_t seq = carried_seq(t, &known[s]);

		/* a list speaks of work whose record was written before */
		if (seq)
			carried[n++] = carried_new(
				s, t->streams[s].device, seq, from_ns,
				busy_lists_idle(&lists, s, max64(from_ns, known[s].written_ns), !known[s].first));
	}
	busy_lists_free(&lists);
	for (size_t i = 0; i < t->n_devices && has_unlinked(t); i++)
		carried[n++] = carried_new(GST_NONE, (uint16_t)t->devices[i].device, 1, from_ns, INT64_MAX);
	free(t->carried);
	t->carried = carried;
	t->n_carried = n;
	return true;
}

/* ---- leaving out ------------------------------------------------------------------------------------ */

static void leave_out(struct trace *t, int64_t from_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_calls; i++)
		if (t->calls[i].end_ns > from_ns)
			t->calls[n++] = t->calls[i];
	t->n_calls = n;
	if (t->rare)
		trace_rare_mark(t);
	n = 0;
	for (size_t i = 0; i < t->n_edges; i++)
		if (t->edges[i].done_ns > from_ns)
			t->edges[n++] = t->edges[i];
	t->n_edges = n;
	n = 0;
	for (size_t i = 0; i < t->n_bursts; i++)
		if (t->bursts[i].end_ns > from_ns)
			t->bursts[n++] = t->bursts[i];
	t->n_bursts = n;
	n = 0;
	for (size_t i = 0; i < t->n_polls; i++)
		if (t->polls[i].end_ns > from_ns)
			t->polls[n++] = t->polls[i];
	t->n_polls = n;
	n = 0;
	for (size_t i = 0; i < t->n_measured; i++)
		if (t->measured[i].end_ns > from_ns)
			t->measured[n++] = t->measured[i];
	t->n_measured = n;
	n = 0;
	for (size_t i = 0; i < t->n_samples; i++)
		if (t->samples[i].time_ns > from_ns)
			t->samples[n++] = t->samples[i];
	t->n_samples = n;
	n = 0;
	for (size_t i = 0; i < t->n_nccl; i++)
		if (t->nccl[i].end_ns > from_ns)
			t->nccl[n++] = t->nccl[i];
	t->n_nccl = n;
	n = 0;
	for (size_t i = 0; i < t->n_usages; i++)
		if (t->usages[i].time_ns > from_ns)
			t->usages[n++] = t->usages[i];
	t->n_usages = n;
	trace_memory_leave_out(&t->memory, from_ns);
}

bool front_cut(struct trace *t, int64_t from_ns)
{
	struct known *known = array_new(t->n_streams, sizeof(*known));
	bool ok;

	if (!known)
		return false;
	know(known, t, from_ns);
	ok = know_written(known, t, from_ns);
	leave_out(t, t->cut_ns && t->cut_ns <= from_ns ? INT64_MAX : from_ns);
	ok = ok && add_carried(t, known, from_ns);
	free(known);
	if (!ok)
		return false;
	t->from_ns = from_ns;
	if (t->end_ns < from_ns)
		t->end_ns = from_ns;
	return true;
}

/* ---- several processes ------------------------------------------------------------------------------ */

static bool shares_device(const struct trace *a, const struct trace *b)
{
	for (size_t i = 0; i < a->n_devices; i++)
		for (size_t k = 0; k < b->n_devices; k++)
			if (one_device(a, &a->devices[i], b, &b->devices[k]))
				return true;
	return false;
}

/* The latest begin among those that share a device with it. */
static int64_t latest_begin(struct trace **traces, size_t n, const struct trace *t)
{
	int64_t from_ns = t->from_ns;

	for (size_t i = 0; i < n; i++)
		if (traces[i]->from_ns > from_ns && shares_device(t, traces[i]))
			from_ns = traces[i]->from_ns;
	return from_ns;
}

bool front_align(struct trace **traces, size_t n)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			int64_t from_ns = latest_begin(traces, n, traces[i]);

			if (from_ns <= traces[i]->from_ns)
				continue;
			if (!front_cut(traces[i], from_ns))
				return false;
			more = true;
		}
	}
	return true;
}
