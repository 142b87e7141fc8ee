/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_world.h: processes on a device each, which call collectives, as the stages before ranks.h leave them. All work is measured. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/ranks.h"
#include "timeline/partition.h"
#include "tools/alloc.h"

#define WORLD_EPOCH 1000000000

static uint64_t world_seed;

static inline int64_t below(int64_t n)
{
	world_seed = world_seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(world_seed >> 33) % n;
}

struct world_rank {
	struct trace trace;
	struct attribution attribution;
	struct call *calls;
	struct measured *measured;
	struct op *ops;
	struct op_of *of; /* … of those */
	struct nccl_call *nccl;
	struct comm comms[4];
	struct stream stream;
	size_t room;
	/* its clock: it said this much more when the true time was 0, and gains so much */
	int64_t offset_ns;
	double ppm;
};

struct world {
	struct world_rank *ranks;
	struct trace **traces;
	const struct attribution **attributions;
	struct run run;
	struct timeline timeline;
	struct threads threads;
	struct ranks got;
	size_t n;
};

static inline int64_t world_own(const struct world_rank *r, int64_t ns)
{
	return ns + r->offset_ns + (int64_t)((double)ns * r->ppm * 1e-6);
}

/* Each on a host of its own. room: operations of each. One communicator of all. */
static inline void world_begin(struct world *w, size_t n, size_t room)
{
	*w = (struct world){ .n = n };
	w->ranks = array_new(n, sizeof(*w->ranks));
	w->traces = array_new(n, sizeof(*w->traces));
	w->attributions = array_new(n, sizeof(*w->attributions));
	w->timeline.devices = array_new(n, sizeof(*w->timeline.devices));
	w->timeline.n_devices = n;
	for (size_t i = 0; i < n; i++) {
		struct world_rank *r = &w->ranks[i];

		r->room = room;
		r->calls = array_new(room, sizeof(*r->calls));
		r->measured = array_new(room, sizeof(*r->measured));
		r->ops = array_new(room, sizeof(*r->ops));
		r->of = array_new(room, sizeof(*r->of));
		r->nccl = array_new(room, sizeof(*r->nccl));
		r->trace = (struct trace){ .calls = r->calls, .nccl = r->nccl, .comms = r->comms, .streams = &r->stream };
		r->trace.n_streams = 1;
		r->trace.n_comms = 1;
		r->stream.device = (uint16_t)i;
		r->comms[0] = (struct comm){ .hash = 7, .id = 1, .rank = (uint32_t)i, .size = (uint32_t)n, .device = (uint16_t)i };
		snprintf(r->trace.header.host, sizeof(r->trace.header.host), "node%zu", i);
		w->traces[i] = &r->trace;
		w->attributions[i] = &r->attribution;
	}
	w->run = (struct run){ .traces = w->traces, .n_traces = n };
	w->timeline.run = &w->run;
}

/* A kernel of the rank; true times. Of a collective where seq is not 0: launched inside its call. By one of 64 threads, whose calls do not overlap. */
static inline struct op *world_kernel(struct world *w, size_t rank, uint32_t comm, uint32_t seq, int64_t begin, int64_t end)
{
	struct world_rank *r = &w->ranks[rank];
	struct trace *t = &r->trace;
	size_t i = t->n_calls++;
	struct op *op = &r->ops[i];

	begin = world_own(r, WORLD_EPOCH + begin);
	end = world_own(r, WORLD_EPOCH + end);
	r->calls[i] = (struct call){ .begin_ns = begin - 20, .end_ns = begin - 10, .family = GST_FAMILY_LAUNCH, .tid = 5 + (uint32_t)(i % 64), .seq = i + 1 };
	r->measured[i] = (struct measured){ .begin_ns = begin, .end_ns = end, .seq = i + 1, .device = (uint16_t)rank };
	*op = (struct op){ .begin_ns = begin,
			   .end_ns = end,
			   .stretch_begin_ns = begin,
			   .stretch_end_ns = end,
			   .call = &r->calls[i],
			   .of = &r->of[i] };
	r->of[i] = (struct op_of){ .trace = t,
				   .measured = &r->measured[i],
				   .count = 1,
				   .class = seq ? OP_COMM : OP_KERNEL,
				   .exact = true };
	if (seq)
		r->nccl[t->n_nccl++] = (struct nccl_call){ .begin_ns = begin - 30,
							   .end_ns = begin - 5,
							   .comm = comm,
							   .tid = 5 + (uint32_t)(i % 64),
							   .seq = seq,
							   .kind = GST_NCCL_ALL_REDUCE };
	return op;
}

static inline int world_by_begin(const void *a, const void *b)
{
	const struct op *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Gaps and the partition, as they follow from the ops. gaps: room for as many as there are ops. */
static inline void world_device(struct world *w, size_t rank)
{
	struct world_rank *r = &w->ranks[rank];
	struct device_timeline *d = &w->timeline.devices[rank];
	struct partition all;
	int64_t until;

	d->ops = r->ops;
	d->n_ops = r->trace.n_calls;
	if (!d->n_ops)
		return;
	qsort(d->ops, d->n_ops, sizeof(*d->ops), world_by_begin);
	d->gaps = array_new(d->n_ops, sizeof(*d->gaps));
	d->begin_ns = until = d->ops[0].begin_ns;
	for (size_t i = 0; i < d->n_ops; i++) {
		if (d->ops[i].begin_ns > until) {
			d->gaps[d->n_gaps++] = (struct gap){ .begin_ns = until, .end_ns = d->ops[i].begin_ns };
			d->idle_ns += d->ops[i].begin_ns - until;
		}
		until = d->ops[i].end_ns > until ? d->ops[i].end_ns : until;
	}
	d->end_ns = until;
	if (!partition_of(&all, d, d->begin_ns, d->end_ns))
		abort();
	d->compute_ns = all.compute_ns;
	d->comm_ns = all.comm_ns;
}

static inline enum err_kind world_compare(struct world *w)
{
	struct error e;
	enum err_kind kind;

	for (size_t i = 0; i < w->n; i++)
		if (!w->timeline.devices[i].n_ops)
			world_device(w, i);
	kind = threads_build(&w->threads, &w->run, &e);
	return kind ? kind : ranks_build(&w->got, &w->timeline, &w->threads, w->attributions, &e);
}

static inline void world_end(struct world *w)
{
	ranks_free(&w->got);
	threads_free(&w->threads);
	for (size_t i = 0; i < w->n; i++) {
		free(w->ranks[i].calls);
		free(w->ranks[i].measured);
		free(w->ranks[i].ops);
		free(w->ranks[i].of);
		free(w->ranks[i].nccl);
		free(w->timeline.devices[i].gaps);
	}
	free(w->ranks);
	free(w->traces);
	free(w->attributions);
	free(w->timeline.devices);
}
