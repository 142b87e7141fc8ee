/* SPDX-License-Identifier: BSD-2-Clause */
/* export_chrome_nccl.c: each thread's NCCL calls, on a track beside its driver calls, which they contain. The arguments have the names
 * that Kineto gives those of record_param_comms. */
#include <inttypes.h>

#include "export_chrome_event.h"
#include "text.h"

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

static void communicator(struct json *j, const struct comm *comm)
{
	char hash[20], clean[96];

	snprintf(hash, sizeof(hash), "%016" PRIx64, comm->hash);
	json_key_text(j, "Process Group Name", hash);
	if (comm->name)
		json_key_text(j, "Process Group Description", text_clean(clean, sizeof(clean), comm->name, 64));
	if (comm->rank != GST_NONE)
		json_key_int(j, "Rank", comm->rank);
	if (comm->size != GST_NONE)
		json_key_int(j, "Group size", comm->size);
}

static void data(struct json *j, const struct nccl_call *c, const struct comm *comm)
{
	uint64_t in, out;

	elements(c, comm, &in, &out);
	json_key_text(j, "Collective name", nccl_kind_name(c->kind));
	json_key_text(j, "dtype", nccl_datatype_name(c->datatype));
	json_key_int(j, "In msg nelems", (int64_t)(in & INT64_MAX));
	json_key_int(j, "Out msg nelems", (int64_t)(out & INT64_MAX));
	if (c->op != 0xffff)
		json_key_text(j, "reduction", nccl_op_name(c->op));
	json_key_int(j, "Seq", c->seq);
	if (c->peer >= 0)
		json_key_int(j, nccl_is_collective(c->kind) ? "root" : "peer", c->peer);
}

static void call(struct chrome *x, size_t process, const struct nccl_call *c)
{
	const struct trace *t = x->s->run->traces[process];
	const struct comm *comm = c->comm == GST_NONE ? NULL : &t->comms[c->comm];
	const char *hook = t->nccl_hooks[c->hook];
	struct json *j = &x->json;
	int64_t begin = c->begin_ns, end = c->end_ns;
	char name[48];
	uint32_t tid;

	snprintf(name, sizeof(name), "thread %u: NCCL", c->tid);
	tid = place(x, t->nccl, c->tid, x->trace_pid[process], TID_NCCL + c->tid % TID_NCCL, name, true, &begin, &end);
	if (x->failed)
		return;
	slice_begin(x, "nccl", hook ? hook : "unknown", x->trace_pid[process], tid, begin, end);
	if (comm)
		communicator(j, comm);
	if (nccl_is_collective(c->kind) || nccl_is_message(c->kind))
		data(j, c, comm);
	if (c->stream != GST_NONE) /* readers take what has a "stream" for device work */
		json_key_int(j, "into stream", t->streams[c->stream].id);
	if (c->group)
		json_key_int(j, "group", c->group);
	if (c->result)
		json_key_int(j, "result", c->result);
	json_key_int(j, "byte", (int64_t)c->byte);
	slice_end(x);
}

void nccl_calls(struct chrome *x, size_t process)
{
	const struct trace *t = x->s->run->traces[process];

	for (size_t i = 0; i < t->n_nccl && !x->failed; i++) {
		if (t->nccl[i].flags & GST_NCCL_OURS)
			continue;
		if (wanted(x, t->nccl[i].begin_ns, t->nccl[i].end_ns))
			call(x, process, &t->nccl[i]);
		else
			x->left_out++;
	}
}
