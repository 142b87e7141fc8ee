/* SPDX-License-Identifier: BSD-2-Clause */
#include "poll.h"

#include <string.h>

#include "edge.h"
#include "file.h"
#include "gate.h"
#include "hooks.h"
#include "self_time.h"
#include "settings.h"
#include "stream.h"

#define SILENT_STREAM_NS 200000ull
#define POLL_GRAIN_NS 2000
#define UNSAID_NS 10000000ull /* a stream still busy is written down this often, or when its answer changes */

/* A stream that was still busy when last asked; the helper's. */
static struct gst_poll unsaid;
static uint64_t unsaid_since;

struct asker {
	struct ring *ring;
	struct thread *thread; /* NULL: the helper */
	bool (*usable)(uint64_t context);
};

/* Rounded to both sides: it proves a little less then, and takes less room in an archive. */
static void write_poll(struct ring *r, const struct gst_poll *p)
{
	uint64_t grain = clock_grain(POLL_GRAIN_NS);
	struct gst_poll wide = *p;

	wide.begin = clock_floor(wide.begin, grain);
	wide.end = clock_floor(wide.end + grain - 1, grain);
	ring_append(r, GST_POLL, sizeof(wide), &wide);
}

void polls_end(struct ring *r)
{
	if (unsaid.stream)
		write_poll(r, &unsaid);
	unsaid.stream = 0;
}

static void note(struct ring *r, const struct gst_poll *p)
{
	if (p->ready || unsaid.stream != p->stream || unsaid.covers != p->covers ||
	    p->begin - unsaid_since > clock_ticks_in(UNSAID_NS)) {
		polls_end(r);
		unsaid_since = p->begin;
	}
	if (p->ready)
		write_poll(r, p);
	else
		unsaid = *p;
}

/* False: no answer. Inside the gate. */
static bool ask(struct stream *s, const struct asker *a, struct gst_poll *p)
{
	uint64_t covers;
	CUresult rc;

	if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) != STREAM_LIVE || !(covers = stream_covers(s)) ||
	    !a->usable(s->context))
		return false;
	*p = (struct gst_poll){ .stream = s->id, .covers = (uint32_t)covers, .begin = clock_ticks() };
	rc = INJECT(cuStreamQuery, (CUstream)(uintptr_t)s->handle);
	p->end = clock_ticks();
	p->ready = rc == CUDA_SUCCESS;
	if (p->ready)
		stream_finished(s, covers);
	return rc == CUDA_SUCCESS || rc == CUDA_ERROR_NOT_READY;
}

static void ask_if_silent(struct stream *s, void *arg)
{
	const struct asker *a = arg;
	struct gst_poll p;

	/* A per-thread default stream can only be named by its own thread. */
	if (s->kind == GST_STREAM_PER_THREAD ||
	    clock_ticks() - __atomic_load_n(&s->last_submit, __ATOMIC_RELAXED) < clock_ticks_in(SILENT_STREAM_NS) ||
	    !gate_enter())
		return;
	if (ask(s, a, &p))
		note(a->ring, &p);
	gate_leave();
}

void polls_silent(struct ring *r, bool (*usable)(uint64_t context))
{
	struct asker a = { r, NULL, usable };

	streams_each_unmarked(ask_if_silent, &a);
}

static void ask_now(struct stream *s, void *arg)
{
	const struct asker *a = arg;
	struct gst_poll p;

	if ((s->kind == GST_STREAM_PER_THREAD && s->tid != a->thread->tid) || !gate_enter())
		return;
	if (ask(s, a, &p)) {
		write_poll(a->ring, &p);
		self_time_injected(a->thread, p.end - p.begin);
	}
	gate_leave();
}

void polls_after_block(struct thread *t)
{
	struct asker a = { &t->ring, t, edges_context_is_current };

	if (settings.level >= GST_LEVEL_EDGES)
		streams_each_unmarked(ask_now, &a);
}

void polls_forget(void)
{
	memset(&unsaid, 0, sizeof(unsaid));
}
