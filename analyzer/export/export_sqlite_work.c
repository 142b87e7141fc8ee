/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sqlite_work.c: what devices and programs did: operations, calls, NCCL's calls, NVTX ranges, and the streams they name. */
#include <inttypes.h>
#include <stdio.h>

#include "export_sqlite_parts.h"
#include "tools/ns.h"

/* ---- operations ------------------------------------------------------------------------------------------------------------ */

/* Of copies the number is KIND_COPY and their enum gst_copy_kind. */
enum { KIND_KERNEL, KIND_COMM, KIND_MEMSET, KIND_HOSTFN, KIND_COPY, KINDS = KIND_COPY + 8 };

static const char *const kinds[KINDS] = {
	"kernel",          "communication",     "memset",          "host-function", "copy",      "copy-h2d-pageable",
	"copy-h2d-pinned", "copy-d2h-pageable", "copy-d2h-pinned", "copy-d2d",      "copy-peer", "copy-h2h",
};

static int64_t kind_of(const struct op *op)
{
	switch (op->of->class) {
	case OP_COMM:
		return KIND_COMM;
	case OP_COPY:
		return KIND_COPY + (op->of->copy < 8 ? op->of->copy : 0);
	case OP_MEMSET:
		return KIND_MEMSET;
	case OP_HOSTFN:
		return KIND_HOSTFN;
	default:
		return KIND_KERNEL;
	}
}

static void operation(struct tables *t, size_t device, size_t number)
{
	struct rows *r = &t->rows;
	const struct op *op = &t->s->devices[device].timeline->ops[number];
	size_t process = tables_process(t, op->of->trace);
	bool known = !op->of->unlinked && op->call >= op->of->trace->calls &&
		     op->call < op->of->trace->calls + op->of->trace->n_calls;
	bool moves = op->of->class == OP_COPY || op->of->class == OP_MEMSET;

	row_begin(r, TABLE_operations);
	row_int(r, t->first_operation[device] + (int64_t)number);
	row_int(r, t->s->devices[device].number);
	row_int(r, (int64_t)process);
	tables_stream(t, op->of->trace, op->call->stream);
	row_int(r, kind_of(op));
	row_kernel(r, op_title(op), op->of->trace->kernels[op_kernel_index(op)]);
	row_int(r, op->begin_ns);
	row_int(r, op->end_ns);
	row_int_or_null(r, !op->of->exact, max64(0, op->begin_ns - op->stretch_begin_ns));
	row_int_or_null(r, !op->of->exact, max64(0, op->stretch_end_ns - op->end_ns));
	if (moves)
		row_bytes(r, op_bytes(op));
	else
		row_null(r);
	row_int(r, op->of->count);
	row_int_or_null(r, known, known ? t->first_call[process] + (op->call - op->of->trace->calls) : 0);
	row_end(r);
}

static void kind_rows(struct rows *r)
{
	for (int i = 0; i < KINDS; i++) {
		row_begin(r, TABLE_kinds);
		row_int(r, i);
		row_text(r, kinds[i]);
		row_end(r);
	}
}

/* ---- calls ----------------------------------------------------------------------------------------------------------------- */

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* A launch's grid, and what is in a block. */
static void launch(struct rows *r, const struct call *c)
{
	if (c->family != GST_FAMILY_LAUNCH) {
		row_null(r);
		row_null(r);
		return;
	}
	row_bytes(r, times(times((uint32_t)c->args[0], c->args[0] >> 32), (uint32_t)c->args[1]));
	row_bytes(r, c->args[1] >> 32);
}

static void bytes(struct rows *r, const struct call *c)
{
	if (c->family == GST_FAMILY_COPY || c->family == GST_FAMILY_MEMSET)
		row_bytes(r, c->args[0]);
	else if (c->family == GST_FAMILY_ALLOC)
		row_bytes(r, c->args[1]);
	else
		row_null(r);
}

static void call(struct tables *t, size_t process, const struct call *c)
{
	struct rows *r = &t->rows;
	const struct trace *trace = t->s->run->traces[process];
	const char *name = trace->hooks[c->hook];

	row_begin(r, TABLE_calls);
	row_int(r, t->first_call[process] + (c - trace->calls));
	row_int(r, (int64_t)process);
	row_int(r, c->tid);
	row_name(r, name && *name ? name : "?");
	row_int(r, c->begin_ns);
	row_int(r, c->end_ns);
	tables_stream(t, trace, c->stream);
	row_kernel(r, kernel_title(trace, c->name), trace->kernels[c->name]);
	launch(r, c);
	bytes(r, c);
	row_int(r, c->result);
	row_end(r);
}

static void nccl_call(struct tables *t, size_t process, const struct nccl_call *c)
{
	struct rows *r = &t->rows;
	const struct trace *trace = t->s->run->traces[process];
	const char *name = trace->nccl_hooks[c->hook];
	char hash[24];

	row_begin(r, TABLE_nccl_calls);
	row_int(r, (int64_t)process);
	row_int(r, c->tid);
	row_name(r, name && *name ? name : "?");
	row_int(r, c->begin_ns);
	row_int(r, c->end_ns);
	row_text(r, nccl_kind_name(c->kind));
	row_bytes(r, nccl_bytes(c));
	if (c->comm < trace->n_comms) {
		snprintf(hash, sizeof(hash), "%016" PRIx64, trace->comms[c->comm].hash);
		row_text(r, hash);
	} else {
		row_null(r);
	}
	row_int(r, c->seq);
	tables_stream(t, trace, c->stream);
	row_int(r, c->result);
	row_end(r);
}

static void range(struct tables *t, size_t process, const struct range *x)
{
	struct rows *r = &t->rows;

	row_begin(r, TABLE_ranges);
	row_int(r, (int64_t)process);
	row_int(r, x->tid);
	row_name(r, x->domain);
	row_name(r, x->name);
	row_int_or_null(r, x->numbered, x->number);
	row_name(r, x->category);
	row_int(r, x->begin_ns);
	row_int_or_null(r, x->end_ns != INT64_MAX, x->end_ns);
	row_int(r, x->level);
	row_end(r);
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------- */

static void streams(struct tables *t, size_t process)
{
	static const char *const words[] = { "created", "legacy", "per-thread" };
	struct rows *r = &t->rows;
	const struct trace *trace = t->s->run->traces[process];
	char handle[24];

	for (size_t i = 0; i < trace->n_streams; i++) {
		const struct stream *s = &trace->streams[i];

		snprintf(handle, sizeof(handle), "0x%" PRIx64, s->handle);
		row_begin(r, TABLE_streams);
		row_int(r, t->first_stream[process] + (int64_t)i);
		row_int(r, (int64_t)process);
		row_int(r, s->id);
		row_int(r, s->device);
		row_text(r, handle);
		row_text(r, s->kind < sizeof(words) / sizeof(words[0]) ? words[s->kind] : "?");
		row_int(r, s->priority);
		row_end(r);
	}
}

static void process_work(struct tables *t, size_t process)
{
	const struct trace *trace = t->s->run->traces[process];
	uint32_t clock = t->s->ranks.clock_of[process];

	streams(t, process);
	for (size_t i = 0; i < trace->n_calls; i++)
		if (tables_wants(t, clock, trace->calls[i].begin_ns, trace->calls[i].end_ns))
			call(t, process, &trace->calls[i]);
	for (size_t i = 0; i < trace->n_nccl; i++)
		if (tables_wants(t, clock, trace->nccl[i].begin_ns, trace->nccl[i].end_ns))
			nccl_call(t, process, &trace->nccl[i]);
	for (size_t i = 0; i < trace->n_ranges; i++)
		if (tables_wants(t, clock, trace->ranges[i].begin_ns, trace->ranges[i].end_ns))
			range(t, process, &trace->ranges[i]);
}

void tables_work(struct tables *t)
{
	kind_rows(&t->rows);
	for (size_t i = 0; i < t->s->n_devices; i++) {
		const struct device_timeline *d = t->s->devices[i].timeline;
		uint32_t clock = ranks_device_clock(&t->s->ranks, i);

		for (size_t k = 0; k < d->n_ops; k++)
			if (tables_wants(t, clock, d->ops[k].begin_ns, d->ops[k].end_ns))
				operation(t, i, k);
	}
	for (size_t i = 0; i < t->s->run->n_traces; i++)
		process_work(t, i);
}
