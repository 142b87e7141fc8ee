/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_decode.h"

#include "tools/alloc.h"

#include <string.h>

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

/* Its time is in ticks until the clock is known. */
static bool add_level(struct decoder *d, const struct gst_level *r)
{
	struct trace *t = d->t;

	if (!array_room(t->levels, t->n_levels, d->levels))
		return false;
	t->levels[t->n_levels++] = (struct level){ (int64_t)r->ticks, r->level, r->why, r->result };
	return true;
}

static int stream_by_id(const void *a, const void *b)
{
	const struct stream *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
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

static bool describe(struct decoder *d, const struct record_view *v, struct error *e)
{
	const struct gst_record *r = v->record;

	switch (r->type) {
	case GST_NAME:
		return names_add(d->names, (const struct gst_name *)r);
	case GST_STREAM:
		return add_stream(d, (const struct gst_stream *)r);
	case GST_DEVICE:
		return add_device(d, (const struct gst_device *)r);
	case GST_THREAD:
		return add_thread(d, v->tid, ((const struct gst_thread *)r)->name);
	case GST_GRAPH:
	case GST_GRAPH_NODES:
	case GST_GRAPH_EDGES:
		return graphs_add(d->graphs, r, v->kept);
	case GST_CALL: /* of a kept one, to say that it happened */
		return !v->kept || ((const struct gst_call *)r)->family != GST_FAMILY_GRAPH_CHANGE ||
		       graphs_unsure(d->graphs, ((const struct gst_call *)r)->seq);
	case GST_LEVEL:
		return add_level(d, (const struct gst_level *)r);
	case GST_COMM:
		return comms_add(d->t, &d->comms, (const struct gst_comm *)r);
	case GST_NVTX:
		return ranges_said(d->ranges, (const struct gst_nvtx *)r);
	case GST_STACK:
	case GST_OBJECT:
	case GST_CODE:
	case GST_STACK_COST:
		return stacks_describe(&d->t->stacks, r);
	case GST_ANCHOR:
		return clock_add(d->clock, (const struct gst_anchor *)r, e) == ERR_NONE;
	default:
		return true;
	}
}

static bool add_thread_of(struct decoder *d, const struct gst_segment_header *s)
{
	return add_thread(d, s->tid, s->thread_name);
}

/* What was kept, each segment's thread before what stands in it; some hold nothing that was kept. */
static bool describe_split(struct decoder *d, struct error *e)
{
	size_t segment = 0, n = reader_segments(d->reader);
	uint32_t index = GST_NONE;
	struct record_view v;
	bool ok = true;

	while (ok && trace_split_next(d->split, &v)) {
		while (ok && index != v.segment && segment < n) {
			const struct gst_segment_header *s = reader_segment_at(d->reader, segment++);

			index = s->index;
			ok = add_thread_of(d, s);
		}
		ok = ok && describe(d, &v, e);
	}
	while (ok && segment < n)
		ok = add_thread_of(d, reader_segment_at(d->reader, segment++));
	for (size_t i = 0; i < d->split->n; i++)
		for (size_t k = 0; k < TRACE_TYPES; k++)
			d->t->types[k] += d->split->parts[i].types[k];
	return ok;
}

enum err_kind trace_describe(struct decoder *d, struct error *e)
{
	struct record_view v;
	uint32_t segment = GST_NONE;

	if (d->split && !describe_split(d, e))
		return trace_no_memory(d->t, e);
	while (reader_next(d->reader, &v)) {
		bool ok = true;

		d->t->types[v.record->type < TRACE_TYPES ? v.record->type : 0]++;
		if (v.segment != segment && !v.kept) {
			segment = v.segment;
			ok = add_thread_of(d, reader_segment(d->reader));
		}
		if (!ok || !describe(d, &v, e))
			return trace_no_memory(d->t, e);
	}
	if (reader_counts(d->reader).no_memory)
		return trace_no_memory(d->t, e);
	d->t->segments = reader_counts(d->reader).segments;
	sort_streams(d->t);
	return ERR_NONE;
}
