/* SPDX-License-Identifier: BSD-2-Clause */
#include "gap_view.h"

#include <stdlib.h>
#include <string.h>

#include "gap_view_ops.h"
#include "timeline/facts.h"
#include "timeline/latency.h"
#include "tools/alloc.h"
#include "tools/ns.h"

/* The account after a blocking call is taken this long after its return at most, and never counts for more of a short silence. */
#define ACCOUNT_LATE_NS 200000

/* ---- calls ---- */

bool call_blocks(const struct call *c)
{
	switch (c->family) {
	case GST_FAMILY_SYNC_STREAM:
	case GST_FAMILY_SYNC_CONTEXT:
	case GST_FAMILY_SYNC_EVENT:
		return true;
	case GST_FAMILY_COPY:
	case GST_FAMILY_MEMSET:
	case GST_FAMILY_LAUNCH:
		return (c->flags & GST_BLOCKING) != 0;
	default:
		return false;
	}
}

static const struct call *blocking_call(const struct gap_view *v)
{
	for (size_t i = 0; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];

		if (c->begin_ns > v->gap->begin_ns)
			break;
		if (!call_same(c, v->submit) && call_blocks(c) &&
		    c->end_ns >= v->gap->begin_ns - v->gap->begin_error_ns)
			return c;
	}
	return NULL;
}

/* ---- silences ---- */

static bool add_silence(struct gap_view *v, const struct thread_records *r, int64_t begin, int64_t end,
			bool begin_known)
{
	struct silence *s;
	size_t before, after;

	if (end <= begin || end <= v->gap->begin_ns)
		return true;
	if (!array_room(v->silences, v->n_silences, v->cap_silences))
		return false;
	s = &v->silences[v->n_silences++];
	*s = (struct silence){ .begin_ns = begin, .end_ns = end, .begin_known = begin_known };
	before = threads_usage_after(r, begin + min64(ACCOUNT_LATE_NS, (end - begin) / 20));
	s->before = before ? r->usages[before - 1] : NULL;
	after = threads_usage_after(r, end - 1); /* the account before the next call is as old as that call's entry */
	s->after = after < r->n_usages ? r->usages[after] : NULL;
	return true;
}

static bool set_silences(struct gap_view *v, const struct thread_records *r)
{
	int64_t at = v->gap->begin_ns;
	bool known = false;

	for (size_t i = 0; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];

		if (c->begin_ns >= v->submit_begin_ns)
			break;
		if (c->begin_ns > at && !add_silence(v, r, at, c->begin_ns, known))
			return false;
		if (!known || c->end_ns > at)
			at = c->end_ns;
		known = true;
	}
	return add_silence(v, r, at, v->submit_begin_ns, known);
}

/* ---- what the host probes say ---- */

static bool room_for_chains(struct gap_view *v)
{
	while (v->cap_chains < v->n_silences) {
		size_t had = v->cap_chains;

		if (!array_room(v->chains, v->cap_chains, v->cap_chains))
			return false;
		memset(v->chains + had, 0, (v->cap_chains - had) * sizeof(*v->chains));
	}
	return true;
}

static bool walk(const struct gap_view *v, struct chain *c, int64_t begin_ns, int64_t end_ns)
{
	begin_ns = max64(begin_ns, v->gap->begin_ns);
	end_ns = min64(end_ns, v->gap->end_ns);
	return begin_ns >= end_ns || chain_walk_on(c, v->host.host, v->host.task, begin_ns, end_ns);
}

/* Through submit, what lies between the silences. */
static bool walk_calls(struct gap_view *v)
{
	int64_t at = v->gap->begin_ns;

	chain_clear(&v->in_calls);
	v->in_calls.looked = &v->looked;
	for (size_t i = 0; i < v->n_silences; i++) {
		if (!walk(v, &v->in_calls, at, v->silences[i].begin_ns))
			return false;
		at = max64(at, v->silences[i].end_ns);
	}
	if (!walk(v, &v->in_calls, at, v->submit->end_ns))
		return false;
	chain_settle(&v->in_calls);
	return true;
}

static bool set_chains(struct gap_view *v, const struct run *run)
{
	if (!run || !run->n_hosts)
		return true;
	v->host = host_match_find(run->hosts, run->n_hosts, v->trace, v->tid, v->submit_begin_ns);
	if (!v->host.task)
		return true;
	if (!room_for_chains(v))
		return false;
	for (; v->n_chains < v->n_silences; v->n_chains++) {
		const struct silence *s = &v->silences[v->n_chains];

		chain_clear(&v->chains[v->n_chains]);
		v->chains[v->n_chains].looked = &v->looked;
		if (!walk(v, &v->chains[v->n_chains], s->begin_ns, s->end_ns))
			return false;
		chain_settle(&v->chains[v->n_chains]);
	}
	return walk_calls(v);
}

/* ---- the view ---- */

int64_t gap_view_ready_ns(const struct gap_view *v)
{
	const struct dependency *d = gap_depends(v->gap);
	int64_t at = v->gap->begin_ns;

	if (v->submit)
		at = max64(at, v->submit->end_ns);
	if (d->producer)
		at = max64(at, d->end_ns);
	return min64(at, v->gap->end_ns);
}

int64_t gap_view_ready_by_ns(const struct gap_view *v)
{
	int64_t at = gap_view_ready_ns(v);

	if (gap_depends(v->gap)->producer)
		at = max64(at, gap_depends(v->gap)->latest_end_ns);
	return min64(at, v->gap->end_ns);
}

int64_t gap_view_held_up_ns(const struct gap_view *v)
{
	const struct op *after = v->gap->after;

	return after && call_same(after->call, v->submit) && after->of->trace == v->trace ? op_usual_ns(after) : 0;
}

int64_t gap_view_latency_ns(const struct gap_view *v)
{
	return v->device->latency_ns ? LATENCY_TIMES * v->device->latency_ns : LATENCY_NS;
}

bool gap_view_is_brief(const struct gap_view *v, const struct silence *s)
{
	int64_t cost_ns = v->submit && v->records ? v->records->cost_ns[v->submit->family] : 0;

	if (v->in_a_row)
		return true;
	return v->blocking && s->begin_known && since64(s->end_ns, s->begin_ns) <= max64(BRIEF_NS, 2 * cost_ns);
}

bool gap_view_first_launch(const struct gap_view *v, const struct call *c)
{
	return v->process && c->family == GST_FAMILY_LAUNCH && c->name > 0 && c->name < v->trace->n_kernels &&
	       v->process->first_launch[c->name] == c;
}

static void set_submitter(struct gap_view *v, const struct threads *threads)
{
	const struct op *after = v->gap->after;

	v->trace = after ? after->of->trace : v->gap->before ? v->gap->before->of->trace : NULL;
	v->submit = after && !after->of->unlinked ? after->call : NULL;
	if (!v->submit)
		return;
	v->tid = v->submit->tid;
	v->ready = v->submit->end_ns <= v->gap->begin_ns;
	v->submit_begin_ns = max64(v->gap->begin_ns, min64(v->gap->end_ns, v->submit->begin_ns));
	v->process = threads_process(threads, v->trace);
}

bool gap_view_set(struct gap_view *v, const struct device_timeline *d, const struct gap *gap,
		  const struct threads *threads)
{
	const struct thread_records *r;

	v->gap = gap;
	v->device = d;
	v->submit = v->blocking = NULL;
	v->records = NULL;
	v->tid = 0;
	v->process = NULL;
	v->ready = v->in_a_row = false;
	v->submit_begin_ns = gap->end_ns;
	v->calls = NULL;
	v->n_calls = v->n_silences = v->n_activities = v->n_stretches = v->n_chains = 0;
	v->host = (struct host_match){ 0 };
	v->in_calls.n = 0;
	v->proven = gap->begin_ns + gap->begin_error_ns < gap->end_ns - gap->end_error_ns;
	v->memory = threads->memory;
	v->run = threads->run;
	set_submitter(v, threads);
	r = v->process ? threads_find(v->process, v->tid) : NULL;
	v->records = r;
	if (!r || v->ready)
		return true;
	if (!gap_view_set_calls(v, r))
		return false;
	v->blocking = blocking_call(v);
	gap_view_set_row(v);
	if (!set_silences(v, r))
		return false;
	for (size_t i = 0; i < v->n_silences; i++) {
		if (!gap_view_add_activities(v, r, &v->silences[i]))
			return false;
	}
	return gap_view_set_ops(v) && set_chains(v, threads->run);
}

bool gap_view_unwatched(const struct gap_view *v)
{
	return v->n_chains == 0;
}

static bool is_to_host(uint16_t kind)
{
	return kind == GST_COPY_D2H_PAGEABLE || kind == GST_COPY_D2H_PINNED;
}

int64_t gap_view_copied_out_ns(const struct gap_view *v)
{
	const struct op *before = v->gap->before;
	int64_t at =
		before && before->of->class == OP_COPY && is_to_host(before->of->copy) ? v->gap->begin_ns : INT64_MAX;

	for (size_t i = 0; i < v->n_calls; i++)
		if (v->calls[i]->family == GST_FAMILY_COPY && is_to_host(v->calls[i]->detail))
			at = min64(at, v->calls[i]->end_ns);
	return at;
}

void gap_view_free(struct gap_view *v)
{
	free(v->silences);
	free(v->activities);
	free(v->stretches);
	free(v->unfolded.calls);
	free(v->unfolded.list);
	free(v->unfolded.places);
	for (size_t i = 0; i < v->cap_chains; i++)
		chain_free(&v->chains[i]);
	free(v->chains);
	chain_free(&v->in_calls);
	*v = (struct gap_view){ 0 };
}
