/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace.h"

#include "alloc.h"
#include "clock.h"
#include "names.h"
#include "reader.h"
#include "sequence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* While a file is decoded. Arrays of the trace grow by array_room; their capacities live here. */
struct decoder {
	struct trace *t;
	struct reader *reader;
	struct clock *clock;
	struct names *names;
	struct graphs *graphs;
	size_t calls, edges, polls, samples, usages, streams, devices, threads; /* capacities */
};

static enum err_kind no_memory(const struct trace *t, struct error *e)
{
	return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
}

/* A call that returns before it began is a payload gone wrong: it keeps its entry. */
static int64_t end_ns(const struct decoder *d, int64_t begin_ns, uint64_t ticks)
{
	int64_t end = clock_ns(d->clock, ticks);

	return end < begin_ns ? begin_ns : end;
}

/* ---- first pass: names, streams, devices, anchors --------------------------------------------------- */

static bool add_stream(struct decoder *d, const struct gst_stream *r)
{
	struct trace *t = d->t;

	if (!array_room(t->streams, t->n_streams, d->streams))
		return false;
	t->streams[t->n_streams++] = (struct stream){ .handle = r->handle,
						      .context = r->context,
						      .id = r->id,
						      .flags = r->flags,
						      .device = r->device,
						      .kind = r->kind,
						      .priority = r->priority };
	return true;
}

static bool add_device(struct decoder *d, const struct gst_device *r)
{
	struct trace *t = d->t;
	struct device *device;

	for (size_t i = 0; i < t->n_devices; i++)
		if (t->devices[i].device == r->device)
			return true;
	if (!array_room(t->devices, t->n_devices, d->devices))
		return false;
	device = &t->devices[t->n_devices++];
	*device = (struct device){ .device = r->device, .memory_bytes = r->memory_bytes };
	memcpy(device->uuid, r->uuid, sizeof(device->uuid));
	memcpy(device->name, r->name, sizeof(device->name) - 1);
	return true;
}

static bool add_thread(struct decoder *d, uint32_t tid, const char name[16])
{
	struct trace *t = d->t;
	struct thread *thread = NULL;

	for (size_t i = t->n_threads; i-- > 0 && !thread;)
		if (t->threads[i].tid == tid)
			thread = &t->threads[i];
	if (!thread) {
		if (!array_room(t->threads, t->n_threads, d->threads))
			return false;
		thread = &t->threads[t->n_threads++];
	}
	*thread = (struct thread){ .tid = tid };
	memcpy(thread->name, name, sizeof(thread->name) - 1);
	return true;
}

static enum err_kind first_pass(struct decoder *d, struct error *e)
{
	struct record_view v;
	uint32_t segment = GST_NONE;

	while (reader_next(d->reader, &v)) {
		bool ok = true;

		if (v.segment != segment) {
			const struct gst_segment_header *s = reader_segment(d->reader);

			segment = v.segment;
			ok = add_thread(d, s->tid, s->thread_name);
		}
		switch (v.record->type) {
		case GST_NAME:
			ok = ok && names_add(d->names, (const struct gst_name *)v.record);
			break;
		case GST_STREAM:
			ok = ok && add_stream(d, (const struct gst_stream *)v.record);
			break;
		case GST_DEVICE:
			ok = ok && add_device(d, (const struct gst_device *)v.record);
			break;
		case GST_THREAD:
			ok = ok && add_thread(d, v.tid, ((const struct gst_thread *)v.record)->name);
			break;
		case GST_GRAPH:
		case GST_GRAPH_NODES:
		case GST_GRAPH_EDGES:
			ok = ok && graphs_add(d->graphs, v.record);
			break;
		case GST_ANCHOR:
			ok = ok && clock_add(d->clock, (const struct gst_anchor *)v.record, e) == ERR_NONE;
			break;
		default:
			break;
		}
		if (!ok)
			return no_memory(d->t, e);
	}
	return ERR_NONE;
}

static int stream_by_id(const void *a, const void *b)
{
	const struct stream *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int thread_by_tid(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static void sort_streams(struct trace *t)
{
	size_t kept = 0;

	array_sort(t->streams, t->n_streams, sizeof(*t->streams), stream_by_id);
	for (size_t i = 0; i < t->n_streams; i++)
		if (kept == 0 || t->streams[kept - 1].id != t->streams[i].id)
			t->streams[kept++] = t->streams[i];
	t->n_streams = kept;
}

/* Ids from the file become indexes, GST_NONE where there is no such stream. */
static uint32_t stream_index(const struct trace *t, uint32_t id)
{
	size_t low = 0, high = t->n_streams;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->streams[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->n_streams && t->streams[low].id == id ? (uint32_t)low : GST_NONE;
}

/* ---- second pass: what happened --------------------------------------------------------------------- */

/* Of a file that is still being written: not complete yet when its reading began. Records of one thread without those that another
 * wrote meanwhile would tell of work whose submission is missing; so it is as if the process had been killed at that instant. */
static bool came_later(const struct trace *t, int64_t complete_ns)
{
	return complete_ns > t->seen_ns;
}

static bool add_call(struct decoder *d, const struct gst_call *r, const struct record_view *v)
{
	struct trace *t = d->t;
	struct call *c;
	int64_t begin = clock_ns(d->clock, r->begin), end = end_ns(d, begin, r->end);

	if (came_later(t, end))
		return true;
	if (!array_room(t->calls, t->n_calls, d->calls))
		return false;
	c = &t->calls[t->n_calls++];
	*c = (struct call){ .begin_ns = begin,
			    .end_ns = end,
			    .seq = r->seq,
			    .stream = stream_index(t, r->stream),
			    .tid = v->tid,
			    .result = r->result,
			    .hook = r->hook < GST_HOOK_MAX ? r->hook : GST_HOOK_MAX,
			    .device = r->device,
			    .detail = r->detail,
			    .family = r->family < GST_FAMILY_COUNT ? r->family : GST_FAMILY_OTHER,
			    .flags = r->flags,
			    .args = { r->args[0], r->args[1] },
			    .byte = v->byte };
	if (c->family == GST_FAMILY_COPY)
		c->copies = r->name;
	if (c->family == GST_FAMILY_GRAPH_LAUNCH)
		c->graph = graphs_index(t, r->name);
	if (c->family == GST_FAMILY_GRAPH_CHANGE)
		c->graph = graphs_index(t, r->seq);
	if (r->name && (c->family == GST_FAMILY_LAUNCH || c->family == GST_FAMILY_MODULE ||
			c->family == GST_FAMILY_GRAPH_CHANGE)) {
		c->name = names_kernel(d->names, r->name);
		t->names_missing += c->name == 0;
	}
	return true;
}

static bool add_edge(struct decoder *d, const struct gst_edge *r)
{
	struct trace *t = d->t;
	struct edge *edge;

	if (came_later(t, clock_ns(d->clock, r->done > r->end ? r->done : r->end)))
		return true;
	if (!array_room(t->edges, t->n_edges, d->edges))
		return false;
	edge = &t->edges[t->n_edges++];
	*edge = (struct edge){ .begin_ns = clock_ns(d->clock, r->begin),
			       .done_ns = r->done ? clock_ns(d->clock, r->done) : INT64_MAX,
			       .device_ns = NAN,
			       .covers = r->covers,
			       .stream = stream_index(t, r->stream),
			       .id = r->edge,
			       .base = r->base,
			       .elapsed_ms = r->elapsed_ms,
			       .device = r->device,
			       .kind = r->kind,
			       .tid = r->tid };
	edge->end_ns = end_ns(d, edge->begin_ns, r->end);
	if (edge->done_ns < edge->begin_ns)
		edge->done_ns = edge->begin_ns;
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
			       .stream = stream_index(t, r->stream),
			       .ready = r->ready == 1 };
	poll->end_ns = end_ns(d, poll->begin_ns, r->end);
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
						      .state = r->state };
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
						   .major_faults = r->major_faults };
	return true;
}

static enum err_kind second_pass(struct decoder *d, struct error *e)
{
	struct record_view v;

	reader_rewind(d->reader);
	while (reader_next(d->reader, &v)) {
		bool ok = true;

		switch (v.record->type) {
		case GST_CALL:
			ok = add_call(d, (const struct gst_call *)v.record, &v);
			break;
		case GST_EDGE:
			ok = add_edge(d, (const struct gst_edge *)v.record);
			break;
		case GST_POLL:
			ok = add_poll(d, (const struct gst_poll *)v.record);
			break;
		case GST_SAMPLE:
			ok = add_sample(d, (const struct gst_sample *)v.record);
			break;
		case GST_USAGE:
			ok = add_usage(d, (const struct gst_usage *)v.record, v.tid);
			break;
		default:
			break;
		}
		if (!ok)
			return no_memory(d->t, e);
	}
	return ERR_NONE;
}

/* ---- order, cut, lifetime --------------------------------------------------------------------------- */

#define BY_TIME(name, type, field)                                    \
	static int name(const void *a, const void *b)                 \
	{                                                             \
		const struct type *x = a, *y = b;                     \
		return (x->field > y->field) - (x->field < y->field); \
	}
BY_TIME(edge_by_time, edge, begin_ns)
BY_TIME(poll_by_time, poll, begin_ns)
BY_TIME(sample_by_time, sample, time_ns)
BY_TIME(usage_by_time, usage, time_ns)

static int call_by_time(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->byte > y->byte) - (x->byte < y->byte);
}

static void sort_all(struct trace *t)
{
	array_sort(t->calls, t->n_calls, sizeof(*t->calls), call_by_time);
	array_sort(t->edges, t->n_edges, sizeof(*t->edges), edge_by_time);
	array_sort(t->polls, t->n_polls, sizeof(*t->polls), poll_by_time);
	array_sort(t->samples, t->n_samples, sizeof(*t->samples), sample_by_time);
	array_sort(t->usages, t->n_usages, sizeof(*t->usages), usage_by_time);
	array_sort(t->threads, t->n_threads, sizeof(*t->threads), thread_by_tid);
}

/* The arrays are sorted, so what began after the cut is their tail. */
static void apply_cut(struct trace *t)
{
	while (t->n_calls && t->calls[t->n_calls - 1].begin_ns > t->cut_ns)
		t->n_calls--;
	while (t->n_edges && t->edges[t->n_edges - 1].begin_ns > t->cut_ns)
		t->n_edges--;
	while (t->n_polls && t->polls[t->n_polls - 1].begin_ns > t->cut_ns)
		t->n_polls--;
	while (t->n_samples && t->samples[t->n_samples - 1].time_ns > t->cut_ns)
		t->n_samples--;
	while (t->n_usages && t->usages[t->n_usages - 1].time_ns > t->cut_ns)
		t->n_usages--;
}

static void set_lifetime(struct decoder *d)
{
	struct trace *t = d->t;
	int64_t end;

	t->begin_ns = clock_ns(d->clock, t->header.start_ticks);
	end = t->begin_ns;
	if (t->counters.last_ticks)
		end = clock_ns(d->clock, t->counters.last_ticks);
	for (size_t i = 0; i < t->n_calls; i++)
		end = t->calls[i].end_ns > end ? t->calls[i].end_ns : end;
	for (size_t i = 0; i < t->n_polls; i++)
		end = t->polls[i].end_ns > end ? t->polls[i].end_ns : end;
	for (size_t i = 0; i < t->n_edges; i++) {
		end = t->edges[i].end_ns > end ? t->edges[i].end_ns : end;
		if (t->edges[i].done_ns != INT64_MAX && t->edges[i].done_ns > end)
			end = t->edges[i].done_ns;
	}
	if (t->n_samples && t->samples[t->n_samples - 1].time_ns > end)
		end = t->samples[t->n_samples - 1].time_ns;
	end = end > t->cut_ns ? t->cut_ns : end;
	end = end > t->seen_ns ? t->seen_ns : end;
	t->end_ns = end > t->begin_ns ? end : t->begin_ns;
	t->process_start_ns = t->begin_ns;
	if (t->header.process_start_mono_ns && t->header.process_start_mono_ns < (uint64_t)t->begin_ns)
		t->process_start_ns = (int64_t)t->header.process_start_mono_ns;
}

static void take_counts(struct decoder *d)
{
	struct trace *t = d->t;
	struct reader_counts counts = reader_counts(d->reader);
	const struct damage *damage = reader_damage(d->reader);

	t->records = counts.records;
	t->unfinished = counts.unfinished;
	t->unknown_records = counts.unknown;
	memcpy(t->injected, t->counters.injected, sizeof(t->injected));
	t->cut_ns = INT64_MAX;
	if (damage) {
		t->damage = damage->error;
		t->cut_ns = clock_ns(d->clock, damage->cut_ticks);
	}
}

/* ---- opening ---------------------------------------------------------------------------------------- */

/* now_ns: a moment ago; 0 for what is no file. One that ended since then may have grown after others of its run were read. */
static void set_life(struct decoder *d, int64_t now_ns)
{
	struct trace *t = d->t;
	int64_t last_ns = clock_ns(d->clock, t->counters.last_ticks);

	t->life = t->counters.exited ? LIFE_ENDED : LIFE_UNKNOWN;
	t->seen_ns = INT64_MAX;
	if (!now_ns)
		return;
	t->life = life_of(t->path, &t->header, &t->counters, last_ns);
	if (t->life == LIFE_RUNNING || (last_ns > now_ns && last_ns <= life_now_ns()))
		t->seen_ns = now_ns;
}

static enum err_kind decode(struct decoder *d, int64_t now_ns, struct error *e)
{
	enum err_kind kind;

	if ((kind = clock_new(&d->clock, &d->t->header, e)) || (kind = names_new(&d->names, e)) ||
	    (kind = graphs_new(&d->graphs, e)) || (kind = first_pass(d, e)) || (kind = clock_ready(d->clock, e)) ||
	    (kind = names_publish(d->names, d->t, e)))
		return kind;
	if (!graphs_publish(d->graphs, d->t, d->names))
		return no_memory(d->t, e);
	sort_streams(d->t);
	set_life(d, now_ns);
	if ((kind = second_pass(d, e)))
		return kind;
	take_counts(d);
	sort_all(d->t);
	apply_cut(d->t);
	set_lifetime(d);
	if (!graphs_apply(d->t))
		return no_memory(d->t, e);
	if ((kind = sequence_unwrap(d->t, e)))
		return kind;
	return sequence_edges(d->t, e);
}

/* Takes the reader over. */
static enum err_kind trace_read(struct trace **out, struct reader *reader, const char *name, int64_t now_ns,
				struct error *e)
{
	struct decoder d = { .reader = reader, .t = calloc(1, sizeof(struct trace)) };
	enum err_kind kind = ERR_SYSTEM;

	if (d.t)
		d.t->path = strdup(name);
	if (d.t && d.t->path) {
		d.t->header = *reader_header(reader);
		d.t->counters = *reader_counters(reader);
		kind = decode(&d, now_ns, e);
	} else {
		err_set(e, ERR_SYSTEM, name, ERR_NO_BYTE, "out of memory");
	}
	clock_free(d.clock);
	names_free(d.names);
	graphs_free(d.graphs);
	reader_free(reader);
	if (kind != ERR_NONE) {
		trace_free(d.t);
		return kind;
	}
	*out = d.t;
	return ERR_NONE;
}

enum err_kind trace_open(struct trace **out, const char *path, int64_t now_ns, struct error *e)
{
	struct reader *reader;
	enum err_kind kind = reader_open(&reader, path, e);

	*out = NULL;
	return kind ? kind : trace_read(out, reader, path, now_ns, e);
}

enum err_kind trace_open_mem(struct trace **out, const void *buf, size_t len, const char *name, struct error *e)
{
	struct reader *reader;
	enum err_kind kind = reader_open_mem(&reader, buf, len, name, e);

	*out = NULL;
	return kind ? kind : trace_read(out, reader, name, 0, e);
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	free(t->path);
	free(t->calls);
	free(t->edges);
	free(t->polls);
	free(t->samples);
	free(t->usages);
	free(t->streams);
	free(t->devices);
	free(t->threads);
	graphs_release(t);
	free(t->hooks);
	free(t->kernels);
	free(t->entries);
	free(t->text);
	free(t);
}
