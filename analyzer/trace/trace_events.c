/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_decode.h"

#include "launch_publish.h"
#include "tools/alloc.h"
#include "tools/pool.h"
#include "tools/spill.h"
#include "trace_measured.h"

#include <math.h>
#include <stdlib.h>

/* A call that returns before it began is a payload gone wrong: it keeps its entry. */
static int64_t end_ns(const struct decoder *d, int64_t begin_ns, uint64_t ticks)
{
	int64_t end = clock_ns(d->clock, ticks);

	return end < begin_ns ? begin_ns : end;
}

static bool lower_id(const void *element, const void *key)
{
	return ((const struct stream *)element)->id < *(const uint32_t *)key;
}

uint32_t trace_stream(const struct trace *t, uint32_t id)
{
	size_t at;

	/* mostly they are numbered one by one */
	if (t->n_streams && id - t->streams[0].id < t->n_streams && t->streams[id - t->streams[0].id].id == id)
		return id - t->streams[0].id;
	at = array_first(t->streams, t->n_streams, sizeof(*t->streams), lower_id, &id);

	return at < t->n_streams && t->streams[at].id == id ? (uint32_t)at : GST_NONE;
}

/* Of a file that is still being written: not complete yet when its reading began. Records of one thread without those that another
 * wrote meanwhile would tell of work whose submission is missing; so it is as if the process had been killed at that instant. */
static bool came_later(const struct trace *t, int64_t complete_ns)
{
	return complete_ns > t->seen_ns;
}

/* What r->name and r->seq are depends on the family. */
static inline void name_call(struct decoder *d, struct call *c, const struct gst_call *r)
{
	struct trace *t = d->t;

	if (c->family == GST_FAMILY_COPY)
		c->copies = r->name;
	if (c->family == GST_FAMILY_POOL)
		c->pool = r->name;
	if (c->family == GST_FAMILY_GRAPH_LAUNCH)
		c->graph = graphs_index(t, r->name);
	if (c->family == GST_FAMILY_GRAPH_CHANGE)
		c->graph = graphs_index(t, r->seq);
	if (r->name && (c->family == GST_FAMILY_LAUNCH || c->family == GST_FAMILY_MODULE ||
			c->family == GST_FAMILY_GRAPH_CHANGE)) {
		c->name = names_kernel(d->names, r->name);
		t->names_missing += c->name == 0;
	}
}

static bool add_call(struct decoder *d, const struct gst_call *r, const struct record_view *v)
{
	struct trace *t = d->t;
	int64_t begin = clock_ns(d->clock, r->begin), end = end_ns(d, begin, r->end);
	struct call c = { .begin_ns = begin,
			  .end_ns = end,
			  .seq = r->seq,
			  .stream = trace_stream(t, r->stream),
			  .tid = v->tid,
			  .result = r->result,
			  .hook = r->hook < GST_HOOK_MAX ? r->hook : GST_HOOK_MAX,
			  .device = r->device,
			  .detail = r->family == GST_FAMILY_LAUNCH ? 0 : r->detail,
			  .family = r->family < GST_FAMILY_COUNT ? r->family : GST_FAMILY_OTHER,
			  .flags = r->flags,
			  .args = { r->args[0], r->args[1] },
			  .byte = v->byte };

	if (came_later(t, end))
		return true;
	d->calls_end_ns = end > d->calls_end_ns ? end : d->calls_end_ns;
	name_call(d, &c, r);
	if (!spill_room(t->calls, t->n_calls, d->calls))
		return false;
	t->calls[t->n_calls++] = c;
	return true;
}

static bool add_nccl(struct decoder *d, const struct gst_nccl *r, const struct record_view *v)
{
	struct trace *t = d->t;
	struct nccl_call *c;
	int64_t begin = clock_ns(d->clock, r->begin), end = end_ns(d, begin, r->end);
	bool group = r->kind == GST_NCCL_GROUP_END || r->kind == GST_NCCL_GROUP_SIMULATE;

	if (came_later(t, end))
		return true;
	if (!array_room(t->nccl, t->n_nccl, d->comms.calls))
		return false;
	c = &t->nccl[t->n_nccl++];
	*c = (struct nccl_call){ .begin_ns = begin,
				 .end_ns = end,
				 .group_begin_ns = group && r->count ? clock_ns(d->clock, r->count) : 0,
				 .count = group ? 0 : r->count,
				 .byte = v->byte,
				 .comm = comms_index(t, r->comm),
				 .stream = trace_stream(t, r->stream),
				 .tid = v->tid,
				 .group = r->group,
				 .seq = r->seq,
				 .result = r->result,
				 .peer = r->peer,
				 .hook = r->hook < GST_NCCL_MAX ? r->hook : GST_NCCL_MAX,
				 .op = r->op,
				 .kind = r->kind < GST_NCCL_KIND_COUNT ? r->kind : GST_NCCL_OTHER,
				 .datatype = r->datatype,
				 .flags = r->flags };
	return true;
}

static bool add_edge(struct decoder *d, const struct gst_edge *r)
{
	struct trace *t = d->t;
	struct edge *edge;

	if (came_later(t, clock_ns(d->clock, r->done > r->end ? r->done : r->end)))
		return true;
	if (!spill_room(t->edges, t->n_edges, d->edges))
		return false;
	edge = &t->edges[t->n_edges++];
	*edge = (struct edge){ .begin_ns = clock_ns(d->clock, r->begin),
			       .done_ns = r->done ? clock_ns(d->clock, r->done) : INT64_MAX,
			       .device_ns = NAN,
			       .covers = r->covers,
			       .stream = trace_stream(t, r->stream),
			       .id = r->edge,
			       .base = r->base,
			       .elapsed_ms = r->elapsed_ms,
			       .device = r->device,
			       .kind = r->kind,
			       .tid = r->tid,
			       .burst = r->burst };
	edge->end_ns = end_ns(d, edge->begin_ns, r->end);
	if (edge->done_ns < edge->begin_ns)
		edge->done_ns = edge->begin_ns;
	return true;
}

static bool add_burst(struct decoder *d, const struct gst_burst *r)
{
	struct trace *t = d->t;
	struct burst *b;
	uint64_t cost = r->cost_ticks < r->end - r->begin ? r->cost_ticks : r->end - r->begin;

	if (came_later(t, clock_ns(d->clock, r->end)))
		return true;
	if (!array_room(t->bursts, t->n_bursts, d->bursts))
		return false;
	b = &t->bursts[t->n_bursts++];
	*b = (struct burst){ .begin_ns = clock_ns(d->clock, r->begin),
			     .number = r->burst,
			     .submissions = r->submissions,
			     .edges = r->edges,
			     .passed = r->passed };
	b->end_ns = end_ns(d, b->begin_ns, r->end);
	/* several threads may have paid at once, but none for longer than the burst */
	b->cost_ns = r->end > r->begin ? clock_ns(d->clock, r->begin + cost) - b->begin_ns : 0;
	return true;
}

static bool add_poll(struct decoder *d, const struct gst_poll *r)
{
	struct trace *t = d->t;
	struct poll *poll;

	if (came_later(t, clock_ns(d->clock, r->end)))
		return true;
	if (!array_room(t->polls, t->n_polls, d->polls))
		return false;
	poll = &t->polls[t->n_polls++];
	*poll = (struct poll){ .begin_ns = clock_ns(d->clock, r->begin),
			       .covers = r->covers,
			       .stream = trace_stream(t, r->stream),
			       .ready = r->ready == 1 };
	poll->end_ns = end_ns(d, poll->begin_ns, r->end);
	return true;
}

static bool add_measured(struct decoder *d, const struct gst_activity *r)
{
	struct trace *t = d->t;
	struct measured *m;

	if (!measured_is_sane(r)) {
		t->measured_bad++;
		return true;
	}
	if (came_later(t, (int64_t)r->end_ns))
		return true;
	if (!array_room(t->measured, t->n_measured, d->measured))
		return false;
	m = &t->measured[t->n_measured++];
	*m = (struct measured){ .begin_ns = (int64_t)r->begin_ns,
				.end_ns = (int64_t)r->end_ns,
				.seq = r->seq,
				.node = r->node,
				.bytes = r->bytes,
				.stream = trace_stream(t, r->stream),
				.error_ns = r->error_ns,
				.device = r->device,
				.kind = r->kind,
				.copy = r->copy <= GST_COPY_H2H ? r->copy : GST_COPY_UNKNOWN };
	if (r->name) {
		m->name = names_kernel(d->names, r->name);
		t->names_missing += m->name == 0;
	}
	return true;
}

static bool add_sample(struct decoder *d, const struct gst_sample *r)
{
	struct trace *t = d->t;

	if (came_later(t, clock_ns(d->clock, r->ticks)))
		return true;
	if (!array_room(t->samples, t->n_samples, d->samples))
		return false;
	t->samples[t->n_samples++] = (struct sample){ .time_ns = clock_ns(d->clock, r->ticks),
						      .arg = r->arg,
						      .file = names_file(d->names, t, r->file),
						      .tid = r->tid,
						      .syscall = r->syscall,
						      .fd_kind = r->fd_kind,
						      .state = r->state,
						      .holds = r->flags & GST_SAMPLE_HOLDS };
	return true;
}

static bool add_usage(struct decoder *d, const struct gst_usage *r, uint32_t tid)
{
	struct trace *t = d->t;

	if (came_later(t, clock_ns(d->clock, r->ticks)))
		return true;
	if (!array_room(t->usages, t->n_usages, d->usages))
		return false;
	t->usages[t->n_usages++] = (struct usage){ .time_ns = clock_ns(d->clock, r->ticks),
						   .cpu_ns = r->cpu_ns,
						   .run_delay_ns = r->run_delay_ns,
						   .tid = tid,
						   .voluntary = r->voluntary,
						   .involuntary = r->involuntary,
						   .major_faults = r->major_faults,
						   .throttled = r->throttled };
	return true;
}

static bool add_busy(struct decoder *d, const struct gst_busy *r)
{
	struct trace *t = d->t;
	struct busy_list *list;

	if (came_later(t, clock_ns(d->clock, r->ticks)))
		return true;
	if (!array_room(t->busy, t->n_busy, d->busy))
		return false;
	list = &t->busy[t->n_busy++];
	*list = (struct busy_list){ .time_ns = clock_ns(d->clock, r->ticks),
				    .first = t->n_busy_streams,
				    .open = r->flags & GST_BUSY_MORE,
				    .left = r->flags & GST_BUSY_LEFT };
	for (uint32_t i = 0; i < r->count; i++) {
		if (!array_room(t->busy_streams, t->n_busy_streams, d->busy_streams))
			return false;
		t->busy_streams[t->n_busy_streams++] = trace_stream(t, r->streams[i]);
	}
	list->n = r->count;
	return true;
}

static bool add_stack_at(struct decoder *d, const struct gst_stack_at *r)
{
	int64_t begin = clock_ns(d->clock, r->begin);

	return came_later(d->t, clock_ns(d->clock, r->end)) ||
	       stacks_take(&d->t->stacks, r, begin, end_ns(d, begin, r->end));
}

static bool publish(struct decoder *d)
{
	struct launch_rows **rows = array_new(d->split->n, sizeof(struct launch_rows *));
	bool ok = rows != NULL;

	for (size_t i = 0; rows && i < d->split->n; i++)
		rows[i] = &d->split->parts[i].rows;
	ok = ok && launch_publish(d->t, rows, d->split->n, d->names, &d->calls, &d->calls_end_ns);
	free(rows);
	return ok;
}

/* ---- all of them ---- */

static bool add(struct decoder *d, const struct record_view *v)
{
	switch (v->record->type) {
	case GST_CALL:
		return add_call(d, (const struct gst_call *)v->record, v);
	case GST_NCCL:
		return add_nccl(d, (const struct gst_nccl *)v->record, v);
	case GST_EDGE:
		return add_edge(d, (const struct gst_edge *)v->record);
	case GST_BURST:
		return add_burst(d, (const struct gst_burst *)v->record);
	case GST_POLL:
		return add_poll(d, (const struct gst_poll *)v->record);
	case GST_ACTIVITY:
		return add_measured(d, (const struct gst_activity *)v->record);
	case GST_SAMPLE:
		return add_sample(d, (const struct gst_sample *)v->record);
	case GST_USAGE:
		return add_usage(d, (const struct gst_usage *)v->record, v->tid);
	case GST_RANGE:
		return ranges_add(d->ranges, (const struct gst_range *)v->record, v->tid, d->names, d->t, d->clock);
	case GST_RANGE_DATA:
		return ranges_add_data(d->ranges, (const struct gst_range_data *)v->record, d->names, d->t);
	case GST_STACK_AT:
		return add_stack_at(d, (const struct gst_stack_at *)v->record);
	case GST_BUSY:
		return add_busy(d, (const struct gst_busy *)v->record);
	default:
		return trace_memory_add(&d->t->memory, d->clock, d->t->seen_ns, v->record, v->tid, v->byte);
	}
}

static bool add_all(struct decoder *d)
{
	struct record_view v;

	if (d->split)
		trace_split_rewind(d->split);
	else
		reader_rewind(d->reader);
	while (d->split ? trace_split_next(d->split, &v) : reader_next(d->reader, &v))
		if (!v.kept && !add(d, &v)) /* kept: what happened long ago */
			return false;
	return true;
}

/* What was kept, beside each part's rows and blocks: they have nothing in common but the clock, and of that only who adds changes anything. */
static enum err_kind add_or_settle(void *decoder, size_t task, struct error *e)
{
	struct decoder *d = decoder;

	return (task ? trace_split_settle(d->split, task - 1, d->clock) : add_all(d)) ? ERR_NONE : err_no_memory(e, "");
}

/* Ranges and memory, beside all calls. */
static enum err_kind publish_one(void *decoder, size_t task, struct error *e)
{
	struct decoder *d = decoder;
	bool ok = true;

	if (task == 0) {
		ok = !d->split || publish(d);
	} else {
		ranges_publish(d->ranges, d->names, d->t);
		ok = !d->split || trace_split_give_blocks(d->split, d->t);
		trace_memory_sort(&d->t->memory);
	}
	return ok ? ERR_NONE : err_no_memory(e, "");
}

enum err_kind trace_events(struct decoder *d, struct error *e)
{
	bool ok = d->split ? !pool_run(1 + d->split->n, add_or_settle, d, NULL) : add_all(d);

	return ok && !pool_run(2, publish_one, d, NULL) ? ERR_NONE : trace_no_memory(d->t, e);
}
