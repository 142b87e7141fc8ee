/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_trace_decode.h"

#include "tools/alloc.h"
#include "tools/ns.h"

/* ---- records ---------------------------------------------------------------------------------------- */

/* The task was on a CPU then. */
static void ran(struct host_trace *t, uint32_t task, int64_t at_ns)
{
	if (task != HOST_NOBODY && at_ns > t->tasks[task].end_ns)
		t->tasks[task].end_ns = at_ns;
}

static struct host_what what_of(const struct host_decoder *d, const struct gst_wait_for *r)
{
	return (struct host_what){ .file = r->file ? names_in(d->names, d->t->text, GST_SPACE_FILE, r->file) : NULL,
				   .arg = r->arg,
				   .offset = r->offset,
				   .bytes = r->bytes,
				   .inode = r->inode,
				   .dev = r->dev,
				   .fs = r->fs,
				   .syscall = r->syscall,
				   .flags = r->flags,
				   .fd_kind = r->fd_kind };
}

/* A task gives its memory back behind its end, which may take seconds, and wakes who joins it or waits for it as a child. Of any other wake so
 * late the number may be another's by then, one that is not on record. */
#define SURELY_NS 100000000

static uint32_t waker_of(const struct host_trace *t, uint32_t tid, uint32_t woken, int64_t wake_ns)
{
	uint32_t number = host_trace_dying(t, tid, wake_ns);
	const struct host_task *task = &t->tasks[woken], *waker;

	if (number == HOST_NOBODY || number == woken)
		return HOST_NOBODY;
	waker = &t->tasks[number];
	if (!waker->ended || wake_ns - waker->said_end_ns <= SURELY_NS || waker->pid == task->pid)
		return number;
	return waker->creator != HOST_NOBODY && t->tasks[waker->creator].pid == task->pid ? number : HOST_NOBODY;
}

/* Its end is when the task ran again, so whose it is goes by that; the wait of a new task may seem to begin before it does. */
static bool add_wait(struct host_decoder *d, const struct gst_wait *r, uint64_t byte)
{
	struct host_trace *t = d->t;
	int64_t in = clock_clamp(r->in);
	uint32_t task = host_trace_dying(t, r->tid, in);
	struct host_wait *w;

	if (task == HOST_NOBODY) {
		t->strays++;
		return true;
	}
	if (!array_room(t->waits, t->n_waits, d->waits))
		return false;
	w = &t->waits[t->n_waits++];
	*w = (struct host_wait){ .out_ns = max64(clock_clamp(r->out), t->tasks[task].begin_ns),
				 .in_ns = in,
				 .throttled_ns = clock_clamp(r->throttled_ns),
				 .task = task,
				 .waker = HOST_NOBODY,
				 .by = r->by <= GST_WOKEN_TIMER ? (uint8_t)r->by : GST_WOKEN_UNKNOWN,
				 .wake_known = r->wake != 0,
				 .what = what_of(d, &r->what),
				 .byte = byte };
	w->wake_ns = w->wake_known ? clamp64(clock_clamp(r->wake), w->out_ns, max64(w->out_ns, in)) : in;
	if (w->by == GST_WOKEN_TASK && w->wake_known)
		w->waker = waker_of(t, r->waker, task, w->wake_ns);
	ran(t, w->waker, w->wake_ns);
	ran(t, task, in);
	return true;
}

static bool add_stalls(struct host_decoder *d, const struct gst_stalls *r, uint64_t byte)
{
	struct host_trace *t = d->t;
	int64_t end = clock_clamp(r->end), begin = min64(clock_clamp(r->begin), end), span;
	uint32_t task = host_trace_dying(t, r->tid, end);
	struct host_stalls *s;

	if (task == HOST_NOBODY) {
		t->strays++;
		return true;
	}
	if (!array_room(t->stalls, t->n_stalls, d->stalls))
		return false;
	begin = clamp64(begin, t->tasks[task].begin_ns, max64(t->tasks[task].begin_ns, end));
	span = max64(end - begin, 0);
	s = &t->stalls[t->n_stalls++];
	*s = (struct host_stalls){ .begin_ns = begin,
				   .end_ns = begin + span,
				   .queued_ns = min64(clock_clamp(r->queued_ns), span),
				   .last_offset = r->last_offset,
				   .task = task,
				   .count = r->count,
				   .what = what_of(d, &r->what),
				   .byte = byte };
	s->blocked_ns = min64(clock_clamp(r->blocked_ns), span - s->queued_ns);
	s->throttled_ns = min64(clock_clamp(r->throttled_ns), s->queued_ns);
	ran(t, task, end);
	return true;
}

static bool add_reclaim(struct host_decoder *d, const struct gst_reclaim *r)
{
	struct host_trace *t = d->t;
	int64_t end = clock_clamp(r->end);
	uint32_t task = host_trace_dying(t, r->tid, end);

	if (task == HOST_NOBODY) {
		t->strays++;
		return true;
	}
	if (!array_room(t->reclaims, t->n_reclaims, d->reclaims))
		return false;
	t->reclaims[t->n_reclaims++] =
		(struct host_reclaim){ min64(clock_clamp(r->begin), end), end, r->pages, task, r->group != 0 };
	ran(t, task, end);
	return true;
}

static bool add_written(struct host_decoder *d, const struct gst_written *r, uint64_t byte)
{
	struct host_trace *t = d->t;
	int64_t end = clock_clamp(r->end);
	uint32_t task = host_trace_dying(t, r->tid, end);

	if (task == HOST_NOBODY || r->begin >= r->end) {
		t->strays++;
		return true;
	}
	if (!array_room(t->written, t->n_written, d->written))
		return false;
	t->written[t->n_written++] = (struct host_written){ .begin_ns = min64(clock_clamp(r->begin), end),
							    .end_ns = end,
							    .task = task,
							    .what = what_of(d, &r->what),
							    .byte = byte };
	ran(t, task, end);
	return true;
}

static bool add_on_cpu(struct host_decoder *d, const struct gst_on_cpu *r)
{
	struct host_trace *t = d->t;
	int64_t at = clock_clamp(r->at);
	uint32_t task = host_trace_dying(t, r->tid, at);
	uint64_t *frames;

	if (task == HOST_NOBODY) {
		t->strays++;
		return true;
	}
	if (!array_room(t->on_cpu, t->n_on_cpu, d->on_cpu))
		return false;
	frames = arena_alloc(&t->frames, (r->count + 1ull) * sizeof(*frames));
	if (!frames)
		return false;
	for (uint32_t i = 0; i < r->count; i++)
		frames[i] = r->frames[i];
	t->on_cpu[t->n_on_cpu++] = (struct host_on_cpu){ at, frames, r->count, task };
	ran(t, task, at);
	return true;
}

static bool add_request(struct host_decoder *d, const struct gst_request *r)
{
	struct host_trace *t = d->t;
	int64_t done = clock_clamp(r->done);
	struct host_request *q;

	if (!array_room(t->requests, t->n_requests, d->requests))
		return false;
	q = &t->requests[t->n_requests++];
	*q = (struct host_request){ .issued_ns = r->issued ? min64(clock_clamp(r->issued), done) : done,
				    .done_ns = done,
				    .queued_known = r->queued != 0,
				    .issued_known = r->issued != 0,
				    .inode = r->inode,
				    .offset = r->offset,
				    .sector = r->sector,
				    .dev = r->dev,
				    .file_dev = r->file_dev,
				    .bytes = r->bytes,
				    .flags = r->flags };
	q->queued_ns = r->queued ? min64(clock_clamp(r->queued), q->issued_ns) : q->issued_ns;
	q->task = host_trace_dying(t, r->tid, q->queued_ns);
	return true;
}

static bool add_pipe_end(struct host_decoder *d, const struct gst_pipe_end *r)
{
	struct host_trace *t = d->t;
	int64_t at = clock_clamp(r->at);

	if (!array_room(t->pipe_ends, t->n_pipe_ends, d->pipe_ends))
		return false;
	t->pipe_ends[t->n_pipe_ends++] = (struct host_pipe_end){ .at_ns = at,
								 .inode = r->inode,
								 .peer = r->peer,
								 .task = host_trace_dying(t, r->pid, at),
								 .flags = r->flags,
								 .fd_kind = r->fd_kind };
	return true;
}

static bool add_pressure(struct host_decoder *d, const struct gst_pressure *r)
{
	struct host_trace *t = d->t;
	int64_t end = clock_clamp(r->end);

	if (!array_room(t->pressure, t->n_pressure, d->pressure))
		return false;
	t->pressure[t->n_pressure++] = (struct host_pressure){ .begin_ns = min64(clock_clamp(r->begin), end),
							       .end_ns = end,
							       .cpu_some_us = r->cpu_some_us,
							       .memory_some_us = r->memory_some_us,
							       .memory_full_us = r->memory_full_us,
							       .io_some_us = r->io_some_us,
							       .io_full_us = r->io_full_us,
							       .throttled_us = r->throttled_us,
							       .throttled_periods = r->throttled_periods };
	return true;
}

static bool add(struct host_decoder *d, const struct record_view *v)
{
	const void *r = v->record;

	switch (v->record->type) {
	case GST_WAIT:
		return add_wait(d, r, v->byte);
	case GST_STALLS:
		return add_stalls(d, r, v->byte);
	case GST_REQUEST:
		return add_request(d, r);
	case GST_RECLAIM:
		return add_reclaim(d, r);
	case GST_WRITTEN:
		return add_written(d, r, v->byte);
	case GST_PIPE_END:
		return add_pipe_end(d, r);
	case GST_PRESSURE:
		return add_pressure(d, r);
	case GST_ON_CPU:
		return add_on_cpu(d, r);
	default:
		return true;
	}
}

enum err_kind host_trace_events(struct host_decoder *d, struct error *e)
{
	struct host_trace *t = d->t;
	struct record_view v;

	for (size_t i = 0; i < t->n_tasks; i++) {
		t->tasks[i].ended &= t->tasks[i].end_ns <= d->until_ns;
		t->tasks[i].said_end_ns = t->tasks[i].end_ns;
		if (!t->tasks[i].ended)
			t->tasks[i].end_ns = t->tasks[i].begin_ns;
	}
	for (size_t i = 0; i < t->n_tasks; i++)
		if (t->tasks[i].begin_ns <= d->until_ns)
			ran(t, t->tasks[i].creator, t->tasks[i].begin_ns);
	reader_rewind(d->reader);
	while (reader_next(d->reader, &v))
		if (clock_clamp(record_ticks(v.record)) <= d->until_ns && !add(d, &v))
			return host_no_memory(t, e);
	return reader_counts(d->reader).no_memory ? host_no_memory(t, e) : ERR_NONE;
}
