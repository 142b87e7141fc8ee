/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_parts.c: which kernels of NCCL's are which calls'.
 *
 * A call outside of a group launches its kernel before it returns. Inside a group calls only enqueue: the outermost ncclGroupEnd launches,
 * for each communicator, in one of the streams that its calls named. Both in the thread that calls. What a communicator that does not block
 * launches later, in a thread of NCCL's, belongs to no call here; nor does what a graph replays, nor a kernel that also moves messages: these go
 * between some ranks only. */
#include "ranks_steps.h"

#include "tools/alloc.h"

#include <stdlib.h>

/* Of one process: what the calls of a group asked for on one communicator, in one stream. */
struct request {
	uint32_t group, comm, stream;
	uint32_t seq;   /* the first of all its collectives in that group */
	uint16_t kinds; /* of all these */
};

struct process {
	struct request *requests; /* by group, stream and communicator */
	size_t n;
	bool ready;
	uint32_t member; /* on the device that is looked at, if it is that one's */
	uint32_t clock;
};

struct finder {
	struct ranks *r;
	const struct threads *threads;
	struct process *processes; /* like threads->processes */
	size_t cap_members, cap_parts;
};

static bool took(const struct nccl_call *c)
{
	return c->result == 0 && c->comm != GST_NONE;
}

static bool asks(const struct nccl_call *c)
{
	return took(c) && ((nccl_is_collective(c->kind) && c->seq) || nccl_is_message(c->kind));
}

static uint16_t kind_bit(uint8_t kind)
{
	return (uint16_t)(1u << (kind <= GST_NCCL_SCATTER ? kind : 0)); /* 1: it is, or is among, something else */
}

/* ---- groups ----------------------------------------------------------------------------------------- */

static int by_communicator(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static int by_stream(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->comm > y->comm) - (x->comm < y->comm);
}

/* A communicator has one kernel for all its calls, whatever their streams: each of its requests knows the whole. */
static void share(struct request *requests, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		uint16_t kinds = 0;

		for (end = i;
		     end < n && requests[end].group == requests[i].group && requests[end].comm == requests[i].comm;
		     end++)
			kinds |= requests[end].kinds;
		for (size_t k = i; k < end; k++) {
			requests[k].seq = requests[i].seq;
			requests[k].kinds = kinds;
		}
	}
}

static bool read_groups(struct process *p, const struct trace *t)
{
	size_t kept = 0;

	p->ready = true;
	p->requests = array_new(t->n_nccl, sizeof(*p->requests));
	if (!p->requests)
		return false;
	for (size_t i = 0; i < t->n_nccl; i++) {
		const struct nccl_call *c = &t->nccl[i];

		if (c->group && asks(c))
			p->requests[p->n++] = (struct request){ c->group, c->comm, c->stream,
								nccl_is_collective(c->kind) ? c->seq : UINT32_MAX,
								kind_bit(c->kind) };
	}
	array_sort(p->requests, p->n, sizeof(*p->requests), by_communicator);
	share(p->requests, p->n);
	array_sort(p->requests, p->n, sizeof(*p->requests), by_stream);
	for (size_t i = 0; i < p->n; i++)
		if (!kept || by_stream(&p->requests[kept - 1], &p->requests[i]) != 0)
			p->requests[kept++] = p->requests[i];
	p->n = kept;
	return true;
}

static bool request_before(const void *element, const void *key)
{
	return by_stream(element, key) < 0;
}

/* The one communicator of the group that may have launched into this stream; NULL: none, or it may be one of two. */
static const struct request *request_of(const struct process *p, uint32_t group, uint32_t stream)
{
	struct request key = { .group = group, .stream = stream };
	size_t i = array_first(p->requests, p->n, sizeof(*p->requests), request_before, &key);
	const struct request *found = &p->requests[i];

	if (i == p->n || found->group != group || found->stream != stream)
		return NULL;
	if (i + 1 < p->n && found[1].group == group && found[1].stream == stream)
		return NULL;
	return found;
}

/* ---- kernels ---------------------------------------------------------------------------------------- */

static bool begins_before(const void *element, const void *key)
{
	return (*(const struct nccl_call *const *)element)->begin_ns <= *(const int64_t *)key;
}

/* The NCCL call of the thread in which the launch was made. */
static const struct nccl_call *call_around(const struct thread_records *r, const struct call *launch)
{
	size_t i = array_first(r->nccl, r->n_nccl, sizeof(const struct nccl_call *), begins_before, &launch->begin_ns);

	return i && r->nccl[i - 1]->end_ns >= launch->end_ns ? r->nccl[i - 1] : NULL;
}

/* What the kernel does, if it can be told. comm GST_NONE: it cannot. */
static struct request purpose(struct process *p, const struct thread_records *r, const struct op *op)
{
	const struct nccl_call *c = r ? call_around(r, op->call) : NULL;
	const struct request *of, none = { .comm = GST_NONE };

	if (!c)
		return none;
	if (c->kind == GST_NCCL_GROUP_END && c->group) {
		of = request_of(p, c->group, op->call->stream);
		return of && !(of->kinds & 1) ? *of : none;
	}
	if (c->group || !took(c) || !nccl_is_collective(c->kind) || !c->seq)
		return none;
	return (struct request){ .comm = c->comm, .seq = c->seq, .kinds = kind_bit(c->kind) };
}

static bool add_part(struct finder *f, uint32_t member, const struct op *op, const struct request *why)
{
	struct ranks *r = f->r;

	if (!array_room(r->parts, r->n_parts, f->cap_parts))
		return false;
	r->parts[r->n_parts++] = (struct rank_part){ .op = op,
						     .begin_low_ns = op->stretch_begin_ns,
						     .begin_high_ns = op_begun_ns(op),
						     .end_low_ns = op_unfinished_ns(op),
						     .end_high_ns = op->stretch_end_ns,
						     .error_ns = op->of->measured ? op->of->measured->error_ns : 0,
						     .wait_ns = -1,
						     .seq = why->seq,
						     .member = member,
						     .comm = why->comm,
						     .kinds = why->kinds };
	return true;
}

static bool find_part(struct finder *f, uint32_t member, struct process *p, const struct process_records *records,
		      const struct op *op)
{
	struct request why;

	f->r->members[member].operations += op->of->count;
	if (op->of->node || op->of->lost || op->of->unlinked || op->call->family != GST_FAMILY_LAUNCH)
		return true;
	if (!p->ready && !read_groups(p, op->of->trace))
		return false;
	why = purpose(p, threads_find(records, op->call->tid), op);
	return why.comm == GST_NONE || add_part(f, member, op, &why);
}

static uint32_t ordinal_of(const struct op *op)
{
	if (op->of->measured)
		return op->of->measured->device;
	return op->call->stream < op->of->trace->n_streams ? op->of->trace->streams[op->call->stream].device
							   : op->call->device;
}

/* The process's member on this device, made with its first work there. */
static bool find_member(struct finder *f, struct process *p, uint32_t device, const struct op *op)
{
	struct ranks *r = f->r;

	if (p->member < r->n_members && r->members[p->member].device == device)
		return true;
	if (!array_room(r->members, r->n_members, f->cap_members))
		return false;
	p->member = (uint32_t)r->n_members++;
	r->members[p->member] = (struct rank_member){
		.trace = op->of->trace, .device = device, .ordinal = ordinal_of(op), .clock = p->clock, .rank = GST_NONE
	};
	return true;
}

static bool find_on(struct finder *f, uint32_t device)
{
	const struct device_timeline *d = &f->r->timeline->devices[device];

	/* behind the first op of a device's only process none but communication says more */
	for (size_t i = 0; i < d->n_ops; i = d->only ? timeline_other(d, i + 1) : i + 1) {
		const struct op *op = &d->ops[i];
		const struct process_records *records = threads_process(f->threads, op->of->trace);
		struct process *p;

		if (!records)
			continue;
		p = &f->processes[records - f->threads->processes];
		if (!find_member(f, p, device, op))
			return false;
		if (op->of->class == OP_COMM && !find_part(f, p->member, p, records, op))
			return false;
	}
	return true;
}

static bool open_processes(struct finder *f)
{
	const struct run *run = f->r->timeline->run;

	f->processes = array_new(f->threads->n_processes, sizeof(*f->processes));
	for (size_t i = 0; f->processes && i < run->n_traces; i++) {
		const struct process_records *records = threads_process(f->threads, run->traces[i]);

		if (records)
			f->processes[records - f->threads->processes] =
				(struct process){ .member = GST_NONE, .clock = f->r->clock_of[i] };
	}
	return f->processes != NULL;
}

bool ranks_find_parts(struct ranks *r, const struct threads *threads)
{
	struct finder f = { .r = r, .threads = threads };
	bool ok = open_processes(&f);

	for (size_t i = 0; ok && i < r->timeline->n_devices; i++)
		ok = find_on(&f, (uint32_t)i);
	for (size_t i = 0; f.processes && i < threads->n_processes; i++)
		free(f.processes[i].requests);
	free(f.processes);
	return ok;
}
