/* SPDX-License-Identifier: BSD-2-Clause */
/* export_chrome_device.c: what a device did, stream by stream, and when it did nothing. */
#include "export_chrome_event.h"

/* ---- device work ---- */

static size_t trace_index(const struct chrome *x, const struct trace *t)
{
	size_t i = 0;

	while (i < x->s->run->n_traces && x->s->run->traces[i] != t)
		i++;
	return i;
}

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
	return op->class == OP_COPY ? "gpu_memcpy" : op->class == OP_MEMSET ? "gpu_memset" : "kernel";
}

static const char *op_name(const struct op *op)
{
	if (op->class == OP_COPY)
		return copy_name(op->copy);
	if (op->class == OP_MEMSET)
		return "Memset (Device)";
	if (*op_title(op))
		return op_title(op);
	return op->call->family == GST_FAMILY_GRAPH_LAUNCH && !op->node &&
			       (!op->exact || op->measured->kind == GST_ACTIVITY_GRAPH)
		       ? "CUDA graph"
		       : "kernel without a name";
}

static void timing_args(struct chrome *x, const struct op *op)
{
	json_key_text(&x->json, "timing", op->exact ? "exact" : "bounded");
	if (op->exact) {
		number_us(x, "error_us", op->measured->error_ns);
		return;
	}
	number_us(x, "stretch_begin_us", since_zero(x, op->stretch_begin_ns));
	number_us(x, "stretch_end_us", since_zero(x, op->stretch_end_ns));
}

/* Work that nobody is known to have asked for has a number that no call has. */
static uint64_t correlation_of(const struct chrome *x, const struct op *op, size_t process)
{
	const struct exact *exact = &x->s->timeline->exact[process];

	if (op->unlinked)
		return x->first_correlation[process] + op->trace->n_calls + (uint64_t)(op->call - exact->unlinked);
	return x->first_correlation[process] + (uint64_t)(op->call - op->trace->calls);
}

/* Pieces that its call is known to have had, where each was measured by itself. */
static size_t pieces_of(const struct chrome *x, const struct op *op, size_t process)
{
	size_t n = 1;

	if (op->exact && !op->unlinked)
		exact_of(&x->s->timeline->exact[process], op->call, &n);
	return n;
}

static void work_args(struct chrome *x, const struct op *op, uint32_t device, uint64_t stream, uint64_t correlation)
{
	struct json *j = &x->json;
	const struct call *c = op->call;

	json_key_int(j, "device", device);
	json_key_int(j, "stream", (int64_t)stream);
	json_key_int(j, "correlation", (int64_t)correlation);
	if (op->unlinked)
		json_key_text(j, "launch", "not known");
	if (op->class == OP_COPY || op->class == OP_MEMSET) {
		json_key_int(j, "bytes", op_bytes(op) > INT64_MAX ? INT64_MAX : (int64_t)op_bytes(op));
	} else if (c->family == GST_FAMILY_LAUNCH && !op->unlinked) {
		json_key_array(j, "grid");
		json_int(j, (uint32_t)c->args[0]);
		json_int(j, (uint32_t)(c->args[0] >> 32));
		json_int(j, (uint32_t)c->args[1]);
		json_array_end(j);
		json_key_int(j, "threads per block", (int64_t)(c->args[1] >> 32));
	}
	if (c->family == GST_FAMILY_GRAPH_LAUNCH && !op->unlinked) {
		bool node = op->node || (op->exact && op->measured->kind != GST_ACTIVITY_GRAPH);

		json_key_text(j, "graph",
			      !node       ? "launch"
			      : op->exact ? "node"
					  : "node: placed within the launch's stretch");
		json_key_int(j, "graph id", op->trace->graphs[c->graph].id);
		if (!node)
			json_key_int(j, "operations", op->count);
	}
	timing_args(x, op);
}

/* A host function is no device work: without a stream it counts as none in any tool. */
static void host_function(struct chrome *x, size_t device, const struct op *op)
{
	int64_t begin = op->begin_ns, end = op->end_ns;
	uint32_t pid = x->device_pid[device];
	uint32_t tid = place(x, &x->s->devices[device], TID_HOSTFN, pid, TID_HOSTFN, "host functions in streams", false,
			     &begin, &end);

	if (x->failed)
		return;
	slice_begin(x, "host_function", "host function", pid, tid, begin, end);
	timing_args(x, op);
	slice_end(x);
}

static void work(struct chrome *x, size_t device, const struct op *op, uint32_t *streams)
{
	size_t process = trace_index(x, op->trace);
	uint64_t id = (uint64_t)process << 32 | op->stream, correlation;
	size_t call = op->unlinked ? 0 : (size_t)(op->call - op->trace->calls), pieces;
	int64_t begin = op->begin_ns, end = op->end_ns;
	uint32_t pid = x->device_pid[device], tid;
	const struct stream *stream = op->stream < op->trace->n_streams ? &op->trace->streams[op->stream] : NULL;
	char name[96];
	/* of a graph's nodes: the launch points to one, all bear its number */
	bool is_new, first = !op->unlinked && !x->wanted[process][call];
	struct track *track = tracks_find(&x->tracks, x->s->devices[device].timeline, id, *streams, &is_new);

	if (!track) {
		x->failed = true;
		return;
	}
	if (stream)
		snprintf(name, sizeof(name), "stream %u%s of process %u", stream->id,
			 stream->kind == GST_STREAM_LEGACY ? " (default)" : "", op->trace->header.pid);
	else
		snprintf(name, sizeof(name), "stream not known, of process %u", op->trace->header.pid);
	if (is_new) {
		name_thread(x, pid, *streams, name, *streams);
		++*streams;
	}
	tid = track->lanes[0].tid;
	correlation = correlation_of(x, op, process);
	if (!op->unlinked)
		x->wanted[process][call] = 1;
	tid = place(x, x->s->devices[device].timeline, id, pid, tid, name, false, &begin, &end);
	if (x->failed)
		return;
	slice_begin(x, op_category(op), op_name(op), pid, tid, begin, end);
	work_args(x, op, x->s->devices[device].number, tid, correlation);
	pieces = op->call->family == GST_FAMILY_GRAPH_LAUNCH ? 1 : pieces_of(x, op, process);
	if (pieces > 1)
		json_key_int(&x->json, "pieces", (int64_t)pieces);
	slice_end(x);
	if (!first)
		return;
	flow(x, "s", x->trace_pid[process], op->call->tid, op->call->begin_ns, correlation);
	flow(x, "f", pid, tid, begin, correlation);
}

/* Time between gaps that counts as busy, though which work ran in it is not known. Readers take for idle what has no slice with a
 * stream: so it has one. */
static void undrawn(struct chrome *x, size_t device)
{
	const struct device_timeline *d = x->s->devices[device].timeline;
	bool named = false;

	for (size_t i = 0; i < d->n_undrawn; i++) {
		const struct interval *u = &d->undrawn[i];

		if (!wanted(x, u->begin_ns, u->end_ns))
			continue;
		if (!named)
			name_thread(x, x->device_pid[device], TID_UNDRAWN, "busy, with what is not known", TID_UNDRAWN);
		named = true;
		slice_begin(x, "unresolved", "work not known", x->device_pid[device], TID_UNDRAWN, u->begin_ns,
			    u->end_ns);
		json_key_int(&x->json, "device", x->s->devices[device].number);
		json_key_int(&x->json, "stream", TID_UNDRAWN);
		slice_end(x);
	}
}

void device_work(struct chrome *x, size_t device)
{
	const struct device_timeline *d = x->s->devices[device].timeline;
	uint32_t streams = 1;

	for (size_t i = 0; i < d->n_ops && !x->failed; i++) {
		const struct op *op = &d->ops[i];

		if (!wanted(x, op->begin_ns, op->end_ns))
			x->left_out++;
		else if (op->class == OP_HOSTFN)
			host_function(x, device, op);
		else
			work(x, device, op, &streams);
	}
	undrawn(x, device);
}

/* ---- idle time ---- */

static void idle_slice(struct chrome *x, size_t device, size_t number, const struct gap_story *g,
		       const struct gap_cause *c)
{
	struct json *j = &x->json;
	char name[64];

	snprintf(name, sizeof(name), "idle: %s", cause_name(c->cause));
	slice_begin(x, "idle", name, x->device_pid[device], TID_IDLE, c->begin_ns, c->end_ns);
	json_key_int(j, "gap", (int64_t)number);
	json_key_text(j, "cause", cause_name(c->cause));
	json_key_text(j, "confidence", confidence_name(c->confidence));
	json_key_array(j, "evidence");
	for (size_t i = 0; i < c->n_evidence; i++)
		json_text(j, c->evidence[i]);
	json_array_end(j);
	json_key_text(j, "because", cause_title(c->cause));
	number_us(x, "gap_us", g->gap->end_ns - g->gap->begin_ns);
	number_us(x, "begin_error_us", g->gap->begin_error_ns);
	number_us(x, "end_error_us", g->gap->end_error_ns);
	slice_end(x);
}

void device_idle(struct chrome *x, size_t device)
{
	const struct summary_device *d = &x->s->devices[device];

	if (d->attribution.n_gaps)
		name_thread(x, x->device_pid[device], TID_IDLE, "idle, and why", 0);
	for (size_t i = 0; i < d->attribution.n_gaps; i++) {
		const struct gap_story *g = &d->attribution.gaps[i];

		for (size_t k = 0; k < g->n_causes; k++)
			idle_slice(x, device, d->first_gap + i, g, &g->causes[k]);
	}
	if (d->timeline->n_unresolved)
		name_thread(x, x->device_pid[device], TID_UNRESOLVED, "cannot tell busy from idle", TID_UNRESOLVED);
	for (size_t i = 0; i < d->timeline->n_unresolved; i++) {
		const struct interval *u = &d->timeline->unresolved[i];

		if (!wanted(x, u->begin_ns, u->end_ns))
			continue;
		slice_begin(x, "unresolved", "unresolved", x->device_pid[device], TID_UNRESOLVED, u->begin_ns,
			    u->end_ns);
		slice_end(x);
	}
}
