/* SPDX-License-Identifier: BSD-2-Clause */
/* gap_view_comm.c: the submitting thread's NCCL calls that may have held it up. */
#include "gap_view.h"
#include "tools/alloc.h"
#include "tools/ns.h"

/* A damaged record may claim a call of hours: looking back for calls of the thread that go on stops after this many. */
#define LOOK_BACK 64
/* A call that puts work into a stream costs microseconds; one that takes this long connects ranks first, or waits for them. */
#define LONG_CALL_NS 200000
/* A damaged file may have any number at one instant. */
#define LOOK_AHEAD 1024
/* Ranks meet over sockets, and then make their communicator. */
#define MEETING_NS 10000000

static bool makes_or_ends(const struct nccl_call *c)
{
	return c->kind >= GST_NCCL_INIT && c->kind <= GST_NCCL_DEREGISTER;
}

static bool holds_up(const struct nccl_call *c)
{
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
	return (*(const struct nccl_call *const *)element)->begin_ns <= *(const int64_t *)key;
}

static size_t first_after(const struct thread_records *r, int64_t ns)
{
	return array_first(r->nccl, r->n_nccl, sizeof(*r->nccl), begun_by, &ns);
}

const struct nccl_call *gap_view_comm(const struct gap_view *v, int64_t after_ns, int64_t until_ns)
{
	const struct thread_records *r = v->records;
	size_t i;

	if (!r || v->ready)
		return NULL;
	until_ns = min64(until_ns, v->submit_begin_ns);
	i = first_after(r, after_ns);
	for (i = i > LOOK_BACK ? i - LOOK_BACK : 0; i < r->n_nccl && r->nccl[i]->begin_ns < until_ns; i++)
		if (r->nccl[i]->end_ns > after_ns && holds_up(r->nccl[i]))
			return r->nccl[i];
	return NULL;
}

bool gap_view_meets_ranks(const struct gap_view *v, int64_t ns)
{
	const struct thread_records *r = v->records;

	if (!r || v->ready)
		return false;
	for (size_t i = first_after(r, ns - 1), ahead = 0; i < r->n_nccl && ahead < LOOK_AHEAD; i++, ahead++) {
		if (r->nccl[i]->begin_ns > ns + MEETING_NS)
			break;
		if (r->nccl[i]->kind >= GST_NCCL_INIT && r->nccl[i]->kind <= GST_NCCL_GROW)
			return true;
	}
	return false;
}
