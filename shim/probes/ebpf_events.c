/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_events.c: what comes from the kernel, as records. */
#include "ebpf.h"

#include <string.h>

/* from: a record as the kernel made it, its header left out. */
static void *begin(struct ebpf *e, uint16_t type, const void *from, uint16_t size)
{
	char *r = host_file_reserve(e->file, type, size);

	if (r)
		memcpy(r + sizeof(struct gst_record), (const char *)from + sizeof(struct gst_record),
		       size - sizeof(struct gst_record));
	return r;
}

static void copy(struct ebpf *e, uint16_t type, const void *from, uint16_t size)
{
	void *r = begin(e, type, from, size);

	if (r)
		host_file_commit(r);
}

/* In an interrupt whoever ran then had no part in it, but where a packet to this very machine is delivered: that is done by its sender, in
 * an interrupt's guise; the kernel's side names a waker there if it was sending something. A limit of time ends in a timer's interrupt. */
static enum gst_woken_by woken_by(struct ebpf *e, const struct event_wait *w)
{
	if (w->record.what.flags & GST_WAIT_PREEMPTED || !w->record.wake)
		return GST_WOKEN_UNKNOWN;
	switch ((enum wake_context)w->context) {
	case WAKE_TASK:
		return w->record.waker ? GST_WOKEN_TASK : GST_WOKEN_UNKNOWN;
	case WAKE_SOFT:
		return w->record.waker && ebpf_names_local(e->names, &w->record.what, w->generation)
			       ? GST_WOKEN_TASK
			       : GST_WOKEN_INTERRUPT;
	case WAKE_HARD:
		return w->timed ? GST_WOKEN_TIMER : GST_WOKEN_INTERRUPT;
	case WAKE_UNKNOWN:
		break;
	}
	return GST_WOKEN_UNKNOWN;
}

static void wait_over(struct ebpf *e, const struct event_wait *w)
{
	uint32_t file = ebpf_names_find(e->names, &w->record.what, w->generation);
	enum gst_woken_by by = woken_by(e, w);
	struct gst_wait *r = begin(e, GST_WAIT, &w->record, sizeof(*r));

	if (!r)
		return;
	r->what.file = file;
	r->by = by;
	if (by != GST_WOKEN_TASK)
		r->waker = 0;
	host_file_commit(r);
}

static void stalls(struct ebpf *e, const struct event_stalls *s)
{
	uint32_t file = ebpf_names_find(e->names, &s->record.what, s->generation);
	struct gst_stalls *r = begin(e, GST_STALLS, &s->record, sizeof(*r));

	if (!r)
		return;
	r->what.file = file;
	host_file_commit(r);
}

static void written(struct ebpf *e, const struct event_written *w)
{
	uint32_t file = ebpf_names_find(e->names, &w->record.what, w->generation);
	struct gst_written *r = begin(e, GST_WRITTEN, &w->record, sizeof(*r));

	if (!r)
		return;
	r->what.file = file;
	host_file_commit(r);
}

static void task_end(struct ebpf *e, const struct event_end *end)
{
	struct gst_task_end r = { .at = end->at, .tid = end->tid };

	copy(e, GST_TASK_END, &r, sizeof(r));
}

static void on_cpu(struct ebpf *e, const struct event_on_cpu *s)
{
	uint64_t frames = s->bytes > 0 ? (uint64_t)s->bytes / 8 : 0;
	struct gst_on_cpu *r;

	if (frames > EVENT_FRAMES)
		frames = EVENT_FRAMES;
	r = host_file_reserve(e->file, GST_ON_CPU, (uint16_t)(sizeof(*r) + frames * 8));
	if (!r)
		return;
	r->at = s->at;
	r->tid = s->tid;
	r->count = (uint32_t)frames;
	memcpy(r->frames, s->frames, frames * 8);
	host_file_commit(r);
}

int ebpf_event(void *ctx, void *event, size_t size)
{
	struct ebpf *e = ctx;
	(void)size;

	switch (*(enum event_kind *)event) {
	case EVENT_TASK:
		copy(e, GST_TASK, &((struct event_task *)event)->record, sizeof(struct gst_task));
		break;
	case EVENT_END:
		task_end(e, event);
		break;
	case EVENT_WAIT:
		wait_over(e, event);
		break;
	case EVENT_STALLS:
		stalls(e, event);
		break;
	case EVENT_REQUEST:
		copy(e, GST_REQUEST, &((struct event_request *)event)->record, sizeof(struct gst_request));
		break;
	case EVENT_RECLAIM:
		copy(e, GST_RECLAIM, &((struct event_reclaim *)event)->record, sizeof(struct gst_reclaim));
		break;
	case EVENT_PATH:
		ebpf_names_path(e->names, event);
		break;
	case EVENT_SOCKET:
		ebpf_names_socket(e->names, event);
		break;
	case EVENT_ON_CPU:
		on_cpu(e, event);
		break;
	case EVENT_WRITTEN:
		written(e, event);
		break;
	}
	return 0;
}
