/* SPDX-License-Identifier: BSD-2-Clause */
/* export_walk_nccl.c: each thread's NCCL calls, on a track beside its driver calls, which they contain. The arguments have the names
 * that Kineto gives those of record_param_comms. */
#include <inttypes.h>
#include <stdio.h>

#include "export_walk.h"
#include "tools/text.h"

/* Elements that this rank brings and gets; 0 for calls without data. */
static void elements(const struct nccl_call *c, const struct comm *comm, uint64_t *in, uint64_t *out)
{
	uint64_t ranks = comm && comm->size != GST_NONE ? comm->size : 1;

	*in = *out = c->count;
	switch (c->kind) {
	case GST_NCCL_ALL_GATHER:
	case GST_NCCL_GATHER:
		*out = c->count * ranks;
		break;
	case GST_NCCL_REDUCE_SCATTER:
	case GST_NCCL_SCATTER:
		*in = c->count * ranks;
		break;
	case GST_NCCL_ALL_TO_ALL:
		*in = *out = c->count * ranks;
		break;
	default:
		break;
	}
}

static void communicator(struct walk *w, const struct comm *comm)
{
	char hash[20], clean[96];

	snprintf(hash, sizeof(hash), "%016" PRIx64, comm->hash);
	arg_text(w, "Process Group Name", hash);
	if (comm->name)
		arg_text(w, "Process Group Description", text_clean(clean, sizeof(clean), comm->name, 64));
	if (comm->rank != GST_NONE)
		arg_int(w, "Rank", comm->rank);
	if (comm->size != GST_NONE)
		arg_int(w, "Group size", comm->size);
}

static void data(struct walk *w, const struct nccl_call *c, const struct comm *comm)
{
	uint64_t in, out;

	elements(c, comm, &in, &out);
	arg_text(w, "Collective name", nccl_kind_name(c->kind));
	arg_text(w, "dtype", nccl_datatype_name(c->datatype));
	arg_int(w, "In msg nelems", (int64_t)(in & INT64_MAX));
	arg_int(w, "Out msg nelems", (int64_t)(out & INT64_MAX));
	if (c->op != 0xffff)
		arg_text(w, "reduction", nccl_op_name(c->op));
	arg_int(w, "Seq", c->seq);
	if (c->peer >= 0)
		arg_int(w, nccl_is_collective(c->kind) ? "root" : "peer", c->peer);
}

static void call(struct walk *w, size_t process, const struct nccl_call *c)
{
	const struct trace *t = w->s->run->traces[process];
	const struct comm *comm = c->comm == GST_NONE ? NULL : &t->comms[c->comm];
	const char *hook = t->nccl_hooks[c->hook];
	int64_t begin = c->begin_ns, end = c->end_ns;
	char name[48];
	uint32_t tid;

	snprintf(name, sizeof(name), "thread %u: NCCL", c->tid);
	tid = place(w, t->nccl, c->tid, w->trace_pid[process], TID_NCCL + c->tid % TID_NCCL, name, true, &begin, &end);
	if (w->failed)
		return;
	slice_begin(w, "nccl", hook ? hook : "unknown", w->trace_pid[process], tid, begin, end);
	if (comm)
		communicator(w, comm);
	if (nccl_is_collective(c->kind) || nccl_is_message(c->kind))
		data(w, c, comm);
	if (c->stream != GST_NONE) /* readers take what has a "stream" for device work */
		arg_int(w, "into stream", t->streams[c->stream].id);
	if (c->group)
		arg_int(w, "group", c->group);
	if (c->result)
		arg_int(w, "result", c->result);
	arg_int(w, "byte", (int64_t)c->byte);
	slice_end(w);
}

void nccl_calls(struct walk *w, size_t process)
{
	const struct trace *t = w->s->run->traces[process];

	for (size_t i = 0; i < t->n_nccl && !w->failed; i++) {
		if (t->nccl[i].flags & GST_NCCL_OURS)
			continue;
		if (wanted(w, t->nccl[i].begin_ns, t->nccl[i].end_ns))
			call(w, process, &t->nccl[i]);
		else
			w->left_out++;
	}
}
