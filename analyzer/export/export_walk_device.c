/* SPDX-License-Identifier: BSD-2-Clause */
/* export_walk_device.c: what a device did, stream by stream, and when it did nothing. */
#include "export_walk.h"

#include <stdio.h>

/* ---- device work ---- */

static const char *copy_name(uint8_t kind)
{
	switch (kind) {
	case GST_COPY_H2D_PAGEABLE:
		return "Memcpy HtoD (Pageable -> Device)";
	case GST_COPY_H2D_PINNED:
		return "Memcpy HtoD (Pinned -> Device)";
	case GST_COPY_D2H_PAGEABLE:
		return "Memcpy DtoH (Device -> Pageable)";
	case GST_COPY_D2H_PINNED:
		return "Memcpy DtoH (Device -> Pinned)";
	case GST_COPY_D2D:
		return "Memcpy DtoD (Device -> Device)";
	case GST_COPY_PEER:
		return "Memcpy PtoP (Device -> Device)";
	case GST_COPY_H2H:
		return "Memcpy HtoH (Pageable -> Pageable)";
	default:
		return "Memcpy";
	}
}

static const char *op_category(const struct op *op)
{
	return op->of->class == OP_COPY ? "gpu_memcpy" : op->of->class == OP_MEMSET ? "gpu_memset" : "kernel";
}

static const char *op_name(const struct op *op)
{
	if (op->of->class == OP_COPY)
		return copy_name(op->of->copy);
	if (op->of->class == OP_MEMSET)
		return "Memset (Device)";
	if (*op_title(op))
		return op_title(op);
	return op->call->family == GST_FAMILY_GRAPH_LAUNCH && !op->of->node &&
			       (!op->of->exact || op->of->measured->kind == GST_ACTIVITY_GRAPH)
		       ? "CUDA graph"
		       : "kernel without a name";
}

/* How sure the drawn time is: measured, to within an error; else somewhere in a stretch, within which it could lie earlier or later. */
static void timing_args(struct walk *w, const struct op *op, int64_t begin, int64_t end)
{
	int64_t earlier, later;

	if (op->of->exact) {
		arg_ns(w, "error", op->of->measured->error_ns);
		return;
	}
	earlier = since_zero(w, begin) - since_zero(w, op->stretch_begin_ns);
	later = since_zero(w, op->stretch_end_ns) - since_zero(w, end);
	if (earlier > 0)
		arg_ns(w, "earlier", earlier);
	if (later > 0)
		arg_ns(w, "later", later);
}

/* Work that nobody is known to have asked for has a number that no call has. */
static uint64_t correlation_of(const struct walk *w, const struct op *op, size_t process)
{
	const struct exact *exact = &w->s->timeline->exact[process];

	if (op->of->unlinked)
		return w->first_correlation[process] + op->of->trace->n_calls + (uint64_t)(op->call - exact->unlinked);
	return w->first_correlation[process] + (uint64_t)(op->call - op->of->trace->calls);
}

/* Pieces that its call is known to have had, where each was measured by itself. */
static size_t pieces_of(const struct walk *w, const struct op *op, size_t process)
{
	size_t n = 1;

	if (op->of->exact && !op->of->unlinked)
		exact_of(&w->s->timeline->exact[process], op->call, &n);
	return n;
}

static void launch_shape(struct walk *w, const struct call *c)
{
	const uint32_t grid[] = { (uint32_t)c->args[0], (uint32_t)(c->args[0] >> 32), (uint32_t)c->args[1] };

	w->sink->arg_shape(w->to, grid, (uint32_t)(c->args[1] >> 32));
}

static void graph_args(struct walk *w, const struct op *op)
{
	bool node = op->of->node || (op->of->exact && op->of->measured->kind != GST_ACTIVITY_GRAPH);

	arg_text(w, "graph", !node ? "launch" : op->of->exact ? "node" : "node: placed within the launch's stretch");
	arg_int(w, "graph id", op->of->trace->graphs[op->call->graph].id);
	if (!node)
		arg_int(w, "operations", op->of->count);
}

static void work_args(struct walk *w, const struct op *op)
{
	const struct call *c = op->call;

	if (op->of->unlinked)
		arg_text(w, "launch", "not known");
	if (op->of->class == OP_COPY || op->of->class == OP_MEMSET)
		arg_int(w, "bytes", op_bytes(op) > INT64_MAX ? INT64_MAX : (int64_t)op_bytes(op));
	else if (c->family == GST_FAMILY_LAUNCH && !op->of->unlinked)
		launch_shape(w, c);
	if (c->family == GST_FAMILY_GRAPH_LAUNCH && !op->of->unlinked)
		graph_args(w, op);
}

/* A host function is no device work: without a stream it counts as none in any tool. */
static void host_function(struct walk *w, size_t device, const struct op *op)
{
	int64_t begin = op->begin_ns, end = op->end_ns;
	uint32_t pid = w->device_pid[device];
	uint32_t tid = place(w, &w->s->devices[device], TID_HOSTFN, pid, TID_HOSTFN, "host functions in streams", false,
			     &begin, &end);

	if (w->failed)
		return;
	slice_begin(w, "host_function", "host function", pid, tid, begin, end);
	timing_args(w, op, begin, end);
	slice_end(w);
}

/* The track of the stream that it is in, which is new where none of its work was drawn before. NULL: no memory. */
static struct track *stream_track(struct walk *w, size_t device, const struct op *op, uint64_t id, uint32_t *streams,
				  char name[96])
{
	const struct stream *stream =
		op->call->stream < op->of->trace->n_streams ? &op->of->trace->streams[op->call->stream] : NULL;
	bool is_new;
	struct track *track = tracks_find(&w->tracks, w->s->devices[device].timeline, id, *streams, &is_new);

	if (stream)
		snprintf(name, 96, "stream %u%s of process %u", stream->id,
			 stream->kind == GST_STREAM_LEGACY ? " (default)" : "", op->of->trace->header.pid);
	else
		snprintf(name, 96, "stream not known, of process %u", op->of->trace->header.pid);
	if (track && is_new) {
		name_track(w, w->device_pid[device], *streams, name, *streams);
		++*streams;
	}
	return track;
}

/* Of a graph's nodes: the launch points to one, all bear its number. */
static bool is_first(struct walk *w, const struct op *op, size_t process)
{
	uint8_t *call = op->of->unlinked ? NULL : &w->calls[process][op->call - op->of->trace->calls];

	if (!call || *call & CALL_DRAWN)
		return false;
	*call |= CALL_DRAWN;
	return true;
}

static void work(struct walk *w, size_t device, const struct op *op, uint32_t *streams)
{
	const void *owner = w->s->devices[device].timeline;
	size_t process = walk_process(w, op->of->trace), pieces;
	uint64_t id = (uint64_t)process << 32 | op->call->stream, correlation = correlation_of(w, op, process);
	int64_t begin = op->begin_ns, end = op->end_ns;
	uint32_t pid = w->device_pid[device], stream, tid;
	bool first = is_first(w, op, process);
	char name[96];
	struct track *track = stream_track(w, device, op, id, streams, name);

	if (!track) {
		w->failed = true;
		return;
	}
	stream = track->lanes[0].tid;
	tid = place(w, owner, id, pid, stream, name, false, &begin, &end);
	if (w->failed)
		return;
	slice_begin_flow(w, op_category(op), op_name(op), pid, tid, begin, end, first ? FLOW_TO : FLOW_NONE,
			 correlation);
	arg_link(w, "device", w->s->devices[device].number);
	arg_link(w, "stream", tid);
	if (first)
		arg_link(w, "correlation", (int64_t)correlation);
	else
		arg_int(w, "correlation", (int64_t)correlation);
	work_args(w, op);
	timing_args(w, op, begin, end);
	pieces = op->call->family == GST_FAMILY_GRAPH_LAUNCH ? 1 : pieces_of(w, op, process);
	if (pieces > 1)
		arg_int(w, "pieces", (int64_t)pieces);
	slice_end(w);
}

/* Time between gaps that counts as busy, though which work ran in it is not known. Readers take for idle what has no slice with a
 * stream: so it has one. */
static void undrawn(struct walk *w, size_t device)
{
	const struct device_timeline *d = w->s->devices[device].timeline;
	bool named = false;

	for (size_t i = 0; i < d->n_undrawn; i++) {
		const struct interval *u = &d->undrawn[i];

		if (!wanted(w, u->begin_ns, u->end_ns))
			continue;
		if (!named)
			name_track(w, w->device_pid[device], TID_UNDRAWN, "busy, with what is not known", TID_UNDRAWN);
		named = true;
		slice_begin(w, "unresolved", "work not known", w->device_pid[device], TID_UNDRAWN, u->begin_ns,
			    u->end_ns);
		arg_link(w, "device", w->s->devices[device].number);
		arg_link(w, "stream", TID_UNDRAWN);
		slice_end(w);
	}
}

void device_calls(struct walk *w, size_t device)
{
	const struct device_timeline *d = w->s->devices[device].timeline;

	for (size_t i = 0; i < d->n_ops; i++) {
		const struct op *op = &d->ops[i];

		if (op->of->class != OP_HOSTFN && !op->of->unlinked && wanted(w, op->begin_ns, op->end_ns))
			w->calls[walk_process(w, op->of->trace)][op->call - op->of->trace->calls] |= CALL_WANTED;
	}
}

void device_work(struct walk *w, size_t device)
{
	const struct device_timeline *d = w->s->devices[device].timeline;
	uint32_t streams = 1;

	for (size_t i = 0; i < d->n_ops && !w->failed; i++) {
		const struct op *op = &d->ops[i];

		if (!wanted(w, op->begin_ns, op->end_ns))
			w->left_out++;
		else if (op->of->class == OP_HOSTFN)
			host_function(w, device, op);
		else
			work(w, device, op, &streams);
	}
	undrawn(w, device);
}

/* ---- idle time ---- */

/* The evidence is most of the bytes: of a long run it is there where everything else is. */
static void idle_slice(struct walk *w, size_t device, size_t number, const struct gap_story *g,
		       const struct gap_cause *c)
{
	char name[64];

	snprintf(name, sizeof(name), "idle: %s", cause_name(c->cause));
	slice_begin(w, "idle", name, w->device_pid[device], TID_IDLE, c->begin_ns, c->end_ns);
	arg_int(w, "gap", (int64_t)number);
	arg_text(w, "cause", cause_name(c->cause));
	arg_text(w, "confidence", confidence_name(c->confidence));
	if (wanted(w, g->gap->begin_ns, g->gap->end_ns)) {
		w->sink->arg_texts(w->to, "evidence", (const char *const *)c->evidence, c->n_evidence);
		arg_text(w, "because", cause_title(c->cause));
		arg_ns(w, "gap", g->gap->end_ns - g->gap->begin_ns);
		arg_ns(w, "begin_error", g->gap->begin_error_ns);
		arg_ns(w, "end_error", g->gap->end_error_ns);
	}
	slice_end(w);
}

void device_idle(struct walk *w, size_t device)
{
	const struct summary_device *d = &w->s->devices[device];

	if (d->attribution.n_gaps)
		name_track(w, w->device_pid[device], TID_IDLE, "idle, and why", 0);
	for (size_t i = 0; i < d->attribution.n_gaps; i++) {
		const struct gap_story *g = &d->attribution.gaps[i];

		for (size_t k = 0; k < g->n_causes; k++)
			idle_slice(w, device, d->first_gap + i, g, &g->causes[k]);
	}
	if (d->timeline->n_unresolved)
		name_track(w, w->device_pid[device], TID_UNRESOLVED, "cannot tell busy from idle", TID_UNRESOLVED);
	for (size_t i = 0; i < d->timeline->n_unresolved; i++) {
		const struct interval *u = &d->timeline->unresolved[i];

		if (!wanted(w, u->begin_ns, u->end_ns))
			continue;
		slice_begin(w, "unresolved", "unresolved", w->device_pid[device], TID_UNRESOLVED, u->begin_ns,
			    u->end_ns);
		slice_end(w);
	}
}
