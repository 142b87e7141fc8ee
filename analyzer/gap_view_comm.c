/* SPDX-License-Identifier: BSD-2-Clause */
/* gap_view_comm.c: the submitting thread's NCCL calls that may have held it up. */
#include "alloc.h"
#include "gap_view.h"
#include "ns.h"

/* A damaged record may claim a call of hours: looking back for calls that go on stops after this many. */
#define LOOK_BACK 64
/* A call that puts work into a stream costs microseconds; one that takes this long connects ranks first, or waits for them. */
#define LONG_CALL_NS 200000
/* Other threads' calls in between; a damaged file may have any number at one instant. */
#define LOOK_AHEAD 1024
/* Ranks meet over sockets, and then make their communicator. */
#define MEETING_NS 10000000

static bool makes_or_ends(const struct nccl_call *c)
{
	return c->kind >= GST_NCCL_INIT && c->kind <= GST_NCCL_DEREGISTER;
}

static bool holds_up(const struct gap_view *v, const struct nccl_call *c)
{
	if (c->tid != v->tid || c->flags & (GST_NCCL_OURS | GST_NCCL_INNER))
		return false;
	switch (c->kind) {
	case GST_NCCL_QUERY:
	case GST_NCCL_MEMORY:
	case GST_NCCL_GROUP_START:
	case GST_NCCL_GROUP_SIMULATE:
		return false;
	default:
		return makes_or_ends(c) || c->end_ns - c->begin_ns >= LONG_CALL_NS;
	}
}

static bool begun_by(const void *element, const void *key)
{
	return ((const struct nccl_call *)element)->begin_ns <= *(const int64_t *)key;
}

static size_t first_after(const struct trace *t, int64_t ns)
{
	return array_first(t->nccl, t->n_nccl, sizeof(*t->nccl), begun_by, &ns);
}

const struct nccl_call *gap_view_comm(const struct gap_view *v, int64_t after_ns, int64_t until_ns)
{
	const struct trace *t = v->trace;
	size_t i;

	if (!v->tid || v->ready || !t->n_nccl)
		return NULL;
	until_ns = min64(until_ns, v->submit_begin_ns);
	i = first_after(t, after_ns);
	for (i = i > LOOK_BACK ? i - LOOK_BACK : 0; i < t->n_nccl && t->nccl[i].begin_ns < until_ns; i++)
		if (t->nccl[i].end_ns > after_ns && holds_up(v, &t->nccl[i]))
			return &t->nccl[i];
	return NULL;
}

bool gap_view_meets_ranks(const struct gap_view *v, int64_t ns)
{
	const struct trace *t = v->trace;

	if (!v->tid || v->ready)
		return false;
	for (size_t i = first_after(t, ns - 1), ahead = 0; i < t->n_nccl && ahead < LOOK_AHEAD; i++, ahead++) {
		if (t->nccl[i].begin_ns > ns + MEETING_NS)
			break;
		if (t->nccl[i].tid == v->tid && t->nccl[i].kind >= GST_NCCL_INIT && t->nccl[i].kind <= GST_NCCL_GROW)
			return true;
	}
	return false;
}
