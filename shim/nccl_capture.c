/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl_capture.h"

#include "nccl_comm.h"
#include "stream.h"

static uint32_t last_group;

void data(struct nccl_call *c, size_t count, int type, int op, int peer)
{
	if (!c->thread)
		return;
	c->record.count = count;
	c->record.datatype = type >= 0 && type < 0xff ? (uint8_t)type : 0xff;
	c->record.op = op >= 0 && (op < 0xfffe || op == 0xffff) ? (uint16_t)op : 0xfffe;
	c->record.peer = peer;
}

void amount(struct nccl_call *c, size_t bytes)
{
	if (c->thread)
		c->record.count = bytes;
}

/* NCCL took it, so the handle is a stream: a first sight of it may be asked for. Where NCCL launched something it has been seen. */
void enqueued(struct nccl_call *c, CUstream stream)
{
	const struct stream *s;

	if (!nccl_succeeded(c))
		return;
	s = stream_get(c->thread, stream);
	if (s)
		c->record.stream = s->id;
	if (c->group->depth)
		c->group->enqueued++;
}

void collective(struct nccl_call *c, CUstream stream)
{
	enqueued(c, stream);
	if (nccl_succeeded(c) && c->comm)
		c->record.seq = nccl_comm_collective(c->comm, c->record.comm);
}

void message(struct nccl_call *c, CUstream stream)
{
	enqueued(c, stream);
	if (nccl_succeeded(c) && c->comm)
		c->record.seq = nccl_comm_message(c->comm, c->record.comm, c->record.kind, c->record.peer);
}

/* ---- groups --------------------------------------------------------------------------------------------------------- */

void group_start(struct nccl_call *c)
{
	struct nccl_group *g = c->group;

	if (!nccl_succeeded(c))
		return;
	if (g->depth++ == 0) {
		g->id = __atomic_add_fetch(&last_group, 1, __ATOMIC_RELAXED);
		g->begin = c->record.begin;
		g->enqueued = 0;
		g->comms = false;
	}
	c->record.group = g->id;
	c->record.seq = g->depth;
	c->record.flags = g->depth > 1 ? GST_NCCL_INNER : 0;
}

void group_leave(struct nccl_call *c)
{
	if (c->thread && c->group->depth > 1)
		c->record.flags = GST_NCCL_INNER;
}

/* Whatever it returns, NCCL has left the group. */
void group_left(struct nccl_call *c)
{
	struct nccl_group *g = c->thread ? c->group : NULL;

	if (!g || !g->depth || --g->depth)
		return;
	c->record.seq = g->enqueued;
	c->record.count = g->begin;
	g->id = 0;
	if (g->comms)
		nccl_comms_settle(c);
}
