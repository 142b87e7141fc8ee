/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl_capture_comm.c: communicators that are made and end. */
#include "nccl_capture.h"

#include <string.h>
#include <unistd.h>

#include "nccl_comm.h"
#include "nccl_hash.h"

#define CONFIG_NAMED 22700u /* the first version whose configuration has a name */

static uint32_t last_hash;

void comm_made_by(struct nccl_call *c, ncclComm_t *where)
{
	if (!c->thread || !where)
		return;
	c->where = where;
	c->there = *where;
}

/* A configuration is as long as it says; what lies beyond is not ours to read. */
static bool config_has(const ncclConfig_t *config, size_t end)
{
	return config && config->magic == (unsigned)NCCL_CONFIG_MAGIC && config->size >= end;
}
#define CONFIG_HAS(config, field) config_has(config, offsetof(ncclConfig_t, field) + sizeof(((ncclConfig_t *)0)->field))

static void take_config(struct nccl_comm *m, const ncclConfig_t *config)
{
	if (CONFIG_HAS(config, blocking) && config->blocking != NCCL_CONFIG_UNDEF_INT)
		m->record.flags = config->blocking ? 0 : GST_COMM_NONBLOCKING;
	if (CONFIG_HAS(config, commName) && config->version >= CONFIG_NAMED && config->commName)
		strncpy(m->name, config->commName, sizeof(m->name) - 1);
}

/* The communicator that this call made; NULL: none, or no room. One that libnccl hands out only when the group ends is left pending. */
static struct nccl_comm *made(struct nccl_call *c)
{
	ncclComm_t now = c->where ? *c->where : NULL;
	bool pending = c->group->depth && now == c->there;
	struct nccl_comm *m;

	if (!c->where || (!now && !pending))
		return NULL;
	m = nccl_comm_new(c, pending ? (uintptr_t)c->where : (uintptr_t)now);
	if (!m)
		return NULL;
	m->where = pending ? c->where : NULL;
	c->group->comms |= c->group->depth > 0;
	return m;
}

static void finish(struct nccl_call *c, struct nccl_comm *m)
{
	if (m->where) {
		nccl_comm_pend(m, m->where, c->there);
		return;
	}
	if (!c->group->depth && c->record.result == ncclSuccess)
		nccl_comm_ask(c->thread, m);
	nccl_comm_publish(c->thread, m);
}

void comm_init(struct nccl_call *c, int nranks, const ncclUniqueId *ids, int n, int rank, const ncclConfig_t *config)
{
	struct nccl_comm *m = nccl_succeeded(c) ? made(c) : NULL;

	if (!m)
		return;
	m->record.hash = nccl_hash_ids(ids, (size_t)n * sizeof(*ids));
	m->record.rank = (uint32_t)rank;
	m->record.size = (uint32_t)nranks;
	if (thread_context(c->thread))
		m->record.device = c->thread->device;
	take_config(m, config);
	c->record.comm = m->id;
	c->record.count = 1;
	finish(c, m);
}

/* Where other processes have no part, or none that we know. */
static uint64_t hash_like_no_other(void)
{
	uint64_t moment = clock_mono_ns() ^ (uint64_t)getpid() << 40;

	return nccl_hash_child(moment, GST_NCCL_INIT, __atomic_add_fetch(&last_hash, 1, __ATOMIC_RELAXED), 0);
}

void comm_init_all(struct nccl_call *c, const ncclComm_t *comms, int n, const int *devices)
{
	uint64_t hash = hash_like_no_other();

	if (!nccl_succeeded(c) || !comms)
		return;
	for (int i = 0; i < n; i++) {
		struct nccl_comm *m = comms[i] ? nccl_comm_new(c, (uintptr_t)comms[i]) : NULL;

		if (!m)
			continue;
		m->record.hash = hash;
		m->record.rank = (uint32_t)i;
		m->record.size = (uint32_t)n;
		m->record.device = (uint16_t)(devices ? devices[i] : i);
		m->record.flags = GST_COMM_ALL;
		if (!c->record.comm)
			c->record.comm = m->id;
		nccl_comm_publish(c->thread, m);
	}
	c->record.count = n > 0 ? (uint64_t)n : 0;
}

/* What a child has of its parent; and in the call's record, which is the parent's, the child. */
static void take_parent(struct nccl_call *c, struct nccl_comm *m, uint64_t hash)
{
	m->record.parent = c->record.comm;
	m->record.hash = hash ? hash : hash_like_no_other();
	if (c->comm)
		m->record.flags = c->comm->record.flags & GST_COMM_NONBLOCKING;
	c->record.seq = m->id;
}

void comm_split(struct nccl_call *c, int color, const ncclConfig_t *config)
{
	struct nccl_comm *m;
	uint64_t hash = 0;

	if (!nccl_succeeded(c))
		return;
	c->record.peer = color;
	if (c->comm)
		hash = nccl_hash_child(c->comm->record.hash, GST_NCCL_SPLIT,
				       __atomic_add_fetch(&c->comm->splits, 1, __ATOMIC_RELAXED),
				       (uint64_t)(uint32_t)color);
	m = color == NCCL_SPLIT_NOCOLOR ? NULL : made(c);
	if (!m)
		return;
	take_parent(c, m, hash);
	take_config(m, config);
	finish(c, m);
}

void comm_shrink(struct nccl_call *c, const int *exclude, int n, const ncclConfig_t *config)
{
	uint64_t left_out, hash = 0;
	struct nccl_comm *m;
	uint32_t nth;

	if (!nccl_succeeded(c))
		return; /* nor is the list to be read */
	left_out = exclude ? nccl_hash_ranks(exclude, n) : 0;
	/* Who is left out makes no call and counts nothing: all others have counted the same of these. */
	nth = c->comm ? nccl_comm_shrink(c->comm, c->record.comm, left_out) : 0;
	if (nth)
		hash = nccl_hash_child(c->comm->record.hash, GST_NCCL_SHRINK, nth, left_out);
	m = made(c);
	if (!m)
		return;
	take_parent(c, m, hash);
	take_config(m, config);
	finish(c, m);
}

void comm_grow(struct nccl_call *c, int nranks, const ncclUniqueId *id, int rank, const ncclConfig_t *config)
{
	struct nccl_comm *m;
	uint64_t by_parent = 0;

	if (!nccl_succeeded(c))
		return;
	if (c->comm)
		by_parent = nccl_hash_child(c->comm->record.hash, GST_NCCL_GROW,
					    __atomic_add_fetch(&c->comm->grows, 1, __ATOMIC_RELAXED), 0);
	m = made(c);
	if (!m)
		return;
	take_parent(c, m, id ? nccl_hash_ids(id, sizeof(*id)) : by_parent);
	m->record.also = id ? by_parent : 0;
	m->record.size = (uint32_t)nranks;
	if (rank >= 0)
		m->record.rank = (uint32_t)rank;
	take_config(m, config);
	finish(c, m);
}

/* ---- the end, and questions ----------------------------------------------------------------------------------------- */

void comm_ends(struct nccl_call *c)
{
	if (c->thread && c->comm)
		nccl_comm_end(c->comm);
}

void comm_ended(struct nccl_call *c)
{
	if (c->thread && c->comm)
		nccl_comm_ended(c->comm, c->record.comm, nccl_succeeded(c));
}

/* The program learns that a non-blocking communicator is ready, and so do we. */
void comm_asked(struct nccl_call *c, const ncclResult_t *answer)
{
	if (!nccl_succeeded(c) || !answer)
		return;
	c->record.peer = (int32_t)*answer;
	if (*answer == ncclSuccess && c->comm && c->comm->id == c->record.comm)
		nccl_comm_ask(c->thread, c->comm);
}
