/* SPDX-License-Identifier: BSD-2-Clause */
/* Work for the device, waits and queries. The rest of capture.h is in capture_objects.c. */
#include "capture.h"

#include "burst.h"
#include "edge.h"
#include "gate.h"
#include "graph.h"
#include "names.h"
#include "nccl_copy.h"
#include "stream.h"

/* The driver stages this much pageable memory without waiting (CUDA driver API, "API synchronization behavior"). */
#define STAGED_AT_ONCE_BYTES (64u * 1024u)

/* A copy of this many bytes takes some 10 us on any link: worth its own edges, so that copies and kernels are told apart. */
#define LARGE_COPY_BYTES (256u * 1024u)

/* A launch has fewer attributes: there are some twenty. */
#define ATTRIBUTES_MAX 64

static bool ask_capturing(const struct stream *s)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return INJECT(cuStreamIsCapturing, (CUstream)(uintptr_t)s->handle, &status) != CUDA_SUCCESS ||
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static inline bool being_captured(const struct stream *s)
{
	return __builtin_expect(__atomic_load_n(&gate.captures, __ATOMIC_RELAXED) != 0, 0) && ask_capturing(s);
}

bool stream_is_captured(const struct stream *s)
{
	return being_captured(s);
}

static void set_stream(struct call *c, struct stream *s)
{
	c->stream = s;
	c->record.stream = s->id;
	c->record.device = s->device;
}

/* A kernel that NCCL launches waits on the device until the last rank has come: it has edges of its own, as a host function has. Not where a
 * programmatic launch has ever been: the next may be one, and an event behind this kernel would keep it from beginning early. In the legacy
 * default stream they would have other streams wait for them. */
static void mark_nccl(struct call *c, struct stream *s)
{
	if (settings.level < GST_LEVEL_EDGES || s->kind == GST_STREAM_LEGACY ||
	    __atomic_load_n(&s->programmatic, __ATOMIC_RELAXED) || !edge_may_touch(c->thread, s) ||
	    !edge_pair_take(s) || !edge_record(c->thread, s, GST_EDGE_CLASS, stream_covers(s)))
		return;
	edges_count_nccl();
	c->edge_after = GST_EDGE_CLASS;
}

/* No burst has put one before it. */
static inline void mark_before_submit(struct call *c, struct stream *s, uint32_t large)
{
	if (__builtin_expect(nccl_inside != NULL, 0) && c->record.family == GST_FAMILY_LAUNCH &&
	    large != EDGE_PROGRAMMATIC)
		mark_nccl(c, s);
	edge_before_submit(c->thread, s, large);
}

/* Gives the work its number in its stream. False: the call is not work (not recorded, no context, captured into a graph). */
static inline bool submit(struct call *c, CUstream handle, uint32_t large)
{
	struct thread *t = c->thread;
	struct stream *s = t ? stream_get(t, handle) : NULL;

	if (!s)
		return false;
	set_stream(c, s);
	if (being_captured(s)) {
		c->record.flags |= GST_CAPTURED;
		return false;
	}
	if (!burst_before_submit(c, s, large))
		mark_before_submit(c, s, large);
	c->role = CALL_SUBMITS;
	c->record.flags |= GST_SUBMISSION;
	c->record.seq = (uint32_t)stream_enter(t, s);
	t->submitting.begin = c->record.begin;
	t->submitting.seq = c->record.seq;
	t->submitting.hook = c->record.hook;
	t->submitting.family = c->record.family;
	t->submitting.stream = s; /* last */
	return true;
}

static inline void describe_kernel(struct call *c, CUfunction f, uint64_t grid_x, uint64_t grid_y, uint64_t grid_z,
				   uint64_t block_threads)
{
	c->record.name = names_kernel(c->thread, f);
	c->record.args[0] = grid_x | grid_y << 32;
	c->record.args[1] = grid_z | block_threads << 32;
}

void launch_kernel(struct call *c, CUstream s, CUfunction f, uint64_t grid_x, uint64_t grid_y, uint64_t grid_z,
		   uint64_t block_threads)
{
	if (!c->thread)
		return;
	submit(c, s, 0);
	describe_kernel(c, f, grid_x, grid_y, grid_z, block_threads);
}

/* It may begin before the kernel in front of it ends, or the one behind it before it does: an event between them would part them. */
static bool is_programmatic(const CUlaunchConfig *config)
{
	if (config->numAttrs > ATTRIBUTES_MAX)
		return true; /* not ours to read */
	for (unsigned i = 0; config->attrs && i < config->numAttrs; i++) {
		const CUlaunchAttribute *a = &config->attrs[i];

		if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
		    (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
		     a->value.programmaticStreamSerializationAllowed))
			return true;
	}
	return false;
}

void launch_config(struct call *c, const CUlaunchConfig *config, CUfunction f, bool ptsz)
{
	if (!c->thread || !config)
		return;
	submit(c, ptsz ? per_thread(config->hStream) : config->hStream,
	       is_programmatic(config) ? EDGE_PROGRAMMATIC : 0);
	describe_kernel(c, f, config->gridDimX, config->gridDimY, config->gridDimZ,
			config->blockDimX * config->blockDimY * config->blockDimZ);
}

void launch_host_function(struct call *c, CUstream s, void *function)
{
	struct stream *stream = c->thread ? stream_get(c->thread, s) : NULL;
	bool marked;

	if (!stream)
		return;
	/* Where the stream's earlier work ended and where the host function ended: between them the device waits for the host. */
	marked = !being_captured(stream) && edge_may_stand(c->thread, stream) && edge_pair_take(stream);
	if (marked && stream_covers(stream))
		marked = edge_record(c->thread, stream, GST_EDGE_HOSTFN_BEFORE, stream_covers(stream));
	if (submit(c, s, 0) && marked)
		c->edge_after = GST_EDGE_HOSTFN_AFTER;
	c->record.args[0] = (uintptr_t)function;
}

void launch_graph(struct call *c, CUstream s, CUgraphExec exec)
{
	if (!c->thread)
		return;
	submit(c, s, 0);
	c->record.name = graph_of(exec);
	c->record.args[0] = (uintptr_t)exec;
}

void memset_work(struct call *c, CUstream s, CUdeviceptr to, size_t bytes)
{
	if (!c->thread)
		return;
	submit(c, s, 0);
	c->record.args[0] = bytes;
	c->record.args[1] = to;
}

void put_in(struct call *c, CUstream handle)
{
	struct stream *s = c->thread ? stream_find(c->thread, handle) : NULL;

	if (s) /* in one that is not known yet there is no edge either */
		stream_others(s);
}

void put_in_each(struct call *c, CUresult rc, const CUDA_LAUNCH_PARAMS *launches, unsigned count)
{
	for (unsigned i = 0; launches && rc == CUDA_SUCCESS && i < count; i++)
		put_in(c, launches[i].hStream);
}

static void put_in_one(struct stream *s, void *arg)
{
	(void)arg;
	stream_others(s);
}

void put_in_all(struct call *c)
{
	if (c->thread)
		streams_each_busy(put_in_one, NULL);
}

/* CUDA driver API, "API synchronization behavior". */
static bool waits_for_end(enum gst_copy_kind kind, enum copy_mode mode)
{
	if (kind == GST_COPY_D2H_PAGEABLE)
		return true; /* even the Async form returns when the copy has completed */
	return mode == WAITS && (kind == GST_COPY_H2D_PINNED || kind == GST_COPY_D2H_PINNED || kind == GST_COPY_H2H);
}

/* The thread's accounts right before the driver is called and after it returned: only what it computed meanwhile tells a device that was
 * busy from a late wake-up. */
static void account_wait(struct call *c)
{
	c->account = ACCOUNT_WAIT_ENDED;
	thread_account(c->thread, 0, ACCOUNT_WAIT_BEGINS);
}

static void copy_work(struct call *c, CUstream s, enum gst_copy_kind kind, uintptr_t device_pointer, size_t bytes,
		      enum copy_mode mode)
{
	/* From pageable memory the host waits for the stream, then stages; the last piece may still be on its way at return. */
	bool stages = kind == GST_COPY_H2D_PAGEABLE && (mode == WAITS || bytes > STAGED_AT_ONCE_BYTES);
	bool waits = waits_for_end(kind, mode);
	struct stream *stream = stream_get(c->thread, s);
	uint64_t before;

	c->record.detail = (uint16_t)kind;
	c->record.args[0] = bytes;
	c->record.args[1] = device_pointer;
	if (!stream)
		return;
	if (kind == GST_COPY_H2H) { /* the device has no part in it */
		stream_others(stream);
		return;
	}
	if ((waits || stages) && !being_captured(stream))
		edges_before_block(c->thread, stream);
	before = stream_covers(stream);
	if (!submit(c, s, bytes >= LARGE_COPY_BYTES ? kind : 0))
		return;
	if (waits && c->record.seq == (uint32_t)(before + 1))
		c->record.flags |= GST_BLOCKING; /* no other thread put work in front of it meanwhile */
	if (stages && !c->edge_after)
		c->edge_after = GST_EDGE_BLOCK;
	if (waits || stages) /* the last thing before the driver: from here to its return, what the copy itself took */
		account_wait(c);
}

void copy(struct call *c, CUstream s, enum copy_direction direction, uintptr_t dst, uintptr_t src, size_t bytes,
	  enum copy_mode mode)
{
	if (c->thread)
		copy_work(c, s, copy_kind(c->thread, direction, dst, src), direction == COPY_D2H ? src : dst, bytes,
			  mode);
}

void copy_2d(struct call *c, CUstream s, const CUDA_MEMCPY2D *p, enum copy_mode mode)
{
	if (c->thread && p)
		copy_work(c, s, copy_kind_2d(c->thread, p), p->dstDevice, p->WidthInBytes * p->Height, mode);
}

void copy_3d(struct call *c, CUstream s, const CUDA_MEMCPY3D *p, enum copy_mode mode)
{
	if (c->thread && p)
		copy_work(c, s, copy_kind_3d(c->thread, p), p->dstDevice, p->WidthInBytes * p->Height * p->Depth, mode);
}

/* ---- waiting and asking ---------------------------------------------------------------------------------------------- */

/* told: an edge says when the work was over that is waited for, or it is known to be. */
static void account_synchronise(struct call *c, bool told)
{
	if (told)
		c->account = ACCOUNT_PLAIN;
	else
		account_wait(c);
}

static bool nothing_untold(void)
{
	return settings.level >= GST_LEVEL_EDGES || !streams_any_busy();
}

void sync_stream(struct call *c, CUstream handle)
{
	struct stream *s = c->thread ? stream_get(c->thread, handle) : NULL;
	uint64_t covers;

	if (!s)
		return;
	set_stream(c, s);
	covers = stream_covers(s);
	c->record.seq = (uint32_t)covers;
	c->role = CALL_AWAITS;
	edges_before_block(c->thread, s);
	account_synchronise(c, stream_is_empty(s) || __atomic_load_n(&s->marked, __ATOMIC_RELAXED) >= covers);
}

void sync_context(struct call *c, CUcontext context)
{
	if (!c->thread)
		return;
	c->record.args[0] = context ? (uintptr_t)context : thread_context(c->thread);
	if (c->record.args[0] && c->thread->context_known)
		c->record.device = c->thread->device;
	c->role = CALL_AWAITS;
	edges_before_block(c->thread, NULL);
	account_synchronise(c, nothing_untold());
}

void sync_event(struct call *c, CUevent e)
{
	static const struct stream
		no_stream; /* awaited, but never a stream of the table: the legacy stream stays unmarked */

	if (!c->thread)
		return;
	c->record.args[0] = (uintptr_t)e;
	edges_before_block(c->thread, &no_stream);
	account_synchronise(c, nothing_untold());
}

void query_stream(struct call *c, CUstream handle)
{
	struct stream *s = c->thread ? stream_get(c->thread, handle) : NULL;

	if (!s)
		return;
	set_stream(c, s);
	c->role = CALL_QUERIES;
	c->record.seq = (uint32_t)stream_covers(s);
}

void name_event(struct call *c, CUevent e)
{
	if (c->thread)
		c->record.args[0] = (uintptr_t)e;
}

void record_event(struct call *c, CUstream handle, CUevent e)
{
	in_stream_order(c, handle);
	if (c->thread)
		c->record.args[0] = (uintptr_t)e;
}

void in_stream_order(struct call *c, CUstream handle)
{
	struct stream *s = c->thread ? stream_get(c->thread, handle) : NULL;

	if (!s)
		return;
	set_stream(c, s);
	stream_others(s);
	if (being_captured(s))
		c->record.flags |= GST_CAPTURED;
	else
		c->record.seq = (uint32_t)stream_covers(s);
}

/* Edges tell where the stream's earlier work ended and where the wait was over. Before a wait for an event only one that exists already; where
 * there is none, the one behind has to do. */
static void mark_wait(struct call *c, enum call_role role)
{
	struct stream *s = c->stream;
	bool of_event = role == CALL_WAITS;
	uint64_t covers;

	if (!c->thread || !s || (c->record.flags & GST_CAPTURED) || !edge_may_stand(c->thread, s) ||
	    !(of_event ? edge_wait_take(s) : edge_pair_take(s)))
		return;
	covers = stream_covers(s);
	if (covers > s->marked && of_event)
		edge_record_warm(c->thread, s, GST_EDGE_BLOCK, covers);
	else if (covers > s->marked && !edge_record(c->thread, s, GST_EDGE_BLOCK, covers))
		return;
	c->role = role;
	c->edge_after = GST_EDGE_BLOCK;
}

/* What it waits for may be another device's, while this one stands idle. An event's is not where there is but one context, as a stream then waits
 * for work of its own device, which shows. */
void wait_event(struct call *c, CUstream handle, CUevent e)
{
	record_event(c, handle, e);
	if (edges_several_contexts())
		mark_wait(c, CALL_WAITS);
}

void wait_marked(struct call *c)
{
	if (c->thread && c->stream) /* first: from now on no edge of another thread waits for it */
		stream_value_awaited(c->thread, c->stream);
	mark_wait(c, CALL_STALLS);
}

/* A wait for an event of a capture takes its stream into the capture. */
void wait_began(struct call *c, CUresult rc)
{
	if (c->thread && c->stream && rc == CUDA_SUCCESS && being_captured(c->stream))
		c->record.flags |= GST_CAPTURED;
}
