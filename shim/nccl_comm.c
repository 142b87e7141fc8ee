/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl_comm.h"

#include <string.h>

#include "file.h"
#include "names.h"
#include "nccl_hash.h"
#include "peek.h"

#define COMMS 1024 /* power of two */
#define PROBES 64
#define PEERS 16384 /* power of two: communicator and peer, for the numbers of messages and of shrinks */

static struct nccl_comm table[COMMS];
static uint32_t last_id;

/* ---- the table ------------------------------------------------------------------------------------------------------ */

static struct nccl_comm *place(uint64_t handle, unsigned i)
{
	return &table[((handle * 0x9e3779b97f4a7c15u >> 40) + i) % COMMS];
}

static bool is_live(const struct nccl_comm *m, uint64_t handle)
{
	return m && __atomic_load_n(&m->state, __ATOMIC_ACQUIRE) == NCCL_COMM_LIVE && m->handle == handle;
}

/* One thread makes a call on a communicator at a time, and mostly on the same one again. */
struct nccl_comm *nccl_comm_find(struct thread *t, ncclComm_t comm)
{
	uint64_t handle = (uintptr_t)comm;

	if (t && is_live(t->last_comm, handle))
		return t->last_comm;
	for (unsigned i = 0; i < PROBES; i++) {
		struct nccl_comm *m = place(handle, i);

		if (is_live(m, handle)) {
			if (t)
				t->last_comm = m;
			return m;
		}
		if (__atomic_load_n(&m->state, __ATOMIC_RELAXED) == NCCL_COMM_FREE)
			break;
	}
	return NULL;
}

struct nccl_copy *nccl_comm_copy(ncclComm_t handle)
{
	const struct nccl_comm *m = nccl_comm_find(NULL, handle);

	return m ? m->copy : NULL;
}

static struct nccl_comm *claim(uint64_t handle)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct nccl_comm *m = place(handle, i);
		uint32_t state = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

		if ((state == NCCL_COMM_FREE || state == NCCL_COMM_DEAD) &&
		    __atomic_compare_exchange_n(&m->state, &state, NCCL_COMM_CLAIMED, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return m;
	}
	__atomic_fetch_add(&file_counters()->nccl_untracked, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Its number is free of the place: a thread that still holds the old one sees that by it. */
static void clear(struct nccl_comm *m)
{
	__atomic_store_n(&m->id, 0, __ATOMIC_RELEASE);
	memset(&m->copy, 0, sizeof(*m) - offsetof(struct nccl_comm, copy));
}

struct nccl_comm *nccl_comm_new(struct nccl_call *c, uint64_t handle)
{
	struct nccl_comm *m = claim(handle);

	if (!m)
		return NULL;
	clear(m);
	m->handle = handle;
	m->copy = c->copy;
	m->tid = c->thread->tid;
	m->in_group = c->group->depth > 0;
	m->record = (struct gst_comm){ .ticks = c->record.end,
				       .rank = GST_NONE,
				       .size = GST_NONE,
				       .device = 0xffff,
				       .made = c->record.kind,
				       .comm = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED) };
	__atomic_store_n(&m->id, m->record.comm, __ATOMIC_RELEASE);
	return m;
}

/* ---- records -------------------------------------------------------------------------------------------------------- */

static void write_question(struct thread *t, enum nccl_id id, uint32_t comm, uint64_t begin, ncclResult_t rc)
{
	struct gst_nccl r = { .begin = begin,
			      .end = clock_ticks(),
			      .comm = comm,
			      .hook = (uint16_t)id,
			      .kind = GST_NCCL_QUERY,
			      .flags = GST_NCCL_OURS,
			      .result = (int32_t)rc,
			      .stream = GST_NONE,
			      .count = 1,
			      .peer = -1,
			      .op = 0xffff,
			      .datatype = 0xff };

	ring_append(&t->ring, GST_NCCL, sizeof(r), &r);
}

/* One number, from a call of our own; -1: NCCL did not say. */
#define ASK(t, m, sym, ...)                                          \
	({                                                           \
		uint64_t begin_ = clock_ticks();                     \
		int value_ = -1;                                     \
		ncclResult_t rc_ = (m)->copy->real.sym(__VA_ARGS__); \
                                                                     \
		write_question(t, NCCL_##sym, (m)->id, begin_, rc_); \
		rc_ == ncclSuccess ? value_ : -1;                    \
	})

static void write_comm(struct thread *t, struct nccl_comm *m)
{
	if (!m->copy->version) {
		int version = ASK(t, m, ncclGetVersion, &value_);

		m->copy->version = version > 0 ? version : 0;
	}
	m->record.version = (uint32_t)m->copy->version;
	if (m->copy->path[0] && !__atomic_exchange_n(&m->copy->named, 1, __ATOMIC_ACQ_REL))
		names_write(&t->ring, GST_SPACE_LIBRARY, m->copy->index + 1, m->copy->path);
	m->record.library = m->copy->path[0] ? m->copy->index + 1 : 0;
	ring_append(&t->ring, GST_COMM, sizeof(m->record), &m->record);
}

void nccl_comm_publish(struct thread *t, struct nccl_comm *m)
{
	struct nccl_comm *old = nccl_comm_find(NULL, (ncclComm_t)(uintptr_t)m->handle);

	if (old) /* ended behind our back: the handle is this one's now */
		__atomic_store_n(&old->state, NCCL_COMM_DEAD, __ATOMIC_RELEASE);
	if (m->name[0])
		names_write(&t->ring, GST_SPACE_COMM, m->id, m->name);
	write_comm(t, m);
	__atomic_store_n(&m->state, NCCL_COMM_LIVE, __ATOMIC_RELEASE);
}

void nccl_comm_pend(struct nccl_comm *m, ncclComm_t *where, ncclComm_t there)
{
	m->where = where;
	m->there = there;
	__atomic_store_n(&m->state, NCCL_COMM_PENDING, __ATOMIC_RELEASE);
}

void nccl_comm_ask(struct thread *t, struct nccl_comm *m)
{
	ncclComm_t comm = (ncclComm_t)(uintptr_t)m->handle;
	const struct gst_comm was = m->record;
	int value;

	if (was.rank == GST_NONE && (value = ASK(t, m, ncclCommUserRank, comm, &value_)) >= 0)
		m->record.rank = (uint32_t)value;
	if (was.size == GST_NONE && (value = ASK(t, m, ncclCommCount, comm, &value_)) >= 0)
		m->record.size = (uint32_t)value;
	if (was.device == 0xffff && (value = ASK(t, m, ncclCommCuDevice, comm, &value_)) >= 0 && value < 0xffff)
		m->record.device = (uint16_t)value;
	if (was.rank == m->record.rank && was.size == m->record.size && was.device == m->record.device)
		return;
	if (__atomic_load_n(&m->state, __ATOMIC_ACQUIRE) == NCCL_COMM_LIVE)
		write_comm(t, m);
}

/* ---- the end of a group --------------------------------------------------------------------------------------------- */

/* The program's memory, which it may have given back since. */
static ncclComm_t fetch(ncclComm_t *where)
{
	ncclComm_t comm = NULL;

	return peek(&comm, where, sizeof(comm)) ? comm : NULL;
}

/* What was pending moves to the place where its handle is looked for. */
static struct nccl_comm *arrived(struct nccl_call *c, struct nccl_comm *pending)
{
	ncclComm_t comm = nccl_succeeded(c) ? fetch(pending->where) : NULL;
	struct nccl_comm *m = comm ? claim((uintptr_t)comm) : NULL;

	if (m) {
		clear(m);
		memcpy(&m->copy, &pending->copy, sizeof(*m) - offsetof(struct nccl_comm, copy));
		m->handle = (uintptr_t)comm;
		m->record.ticks = c->record.end;
		__atomic_store_n(&m->id, m->record.comm, __ATOMIC_RELEASE);
		nccl_comm_publish(c->thread, m);
	}
	__atomic_store_n(&pending->state, NCCL_COMM_DEAD, __ATOMIC_RELEASE);
	return m;
}

void nccl_comms_settle(struct nccl_call *c)
{
	for (unsigned i = 0; i < COMMS; i++) {
		struct nccl_comm *m = &table[i];
		uint32_t state = __atomic_load_n(&m->state, __ATOMIC_ACQUIRE);

		if ((state != NCCL_COMM_PENDING && state != NCCL_COMM_LIVE) || m->tid != c->thread->tid ||
		    m->copy != c->copy || !m->in_group)
			continue;
		if (state == NCCL_COMM_PENDING && !(m = arrived(c, m)))
			continue;
		m->in_group = false;
		if (c->record.result == ncclSuccess)
			nccl_comm_ask(c->thread, m);
	}
}

/* ---- counts --------------------------------------------------------------------------------------------------------- */

static struct peer {
	uint64_t key;  /* communicator << 32 | peer, or LEFT_OUT | who was left out; 0 free, GONE: was one's */
	uint32_t n[4]; /* SEND, RECV, PUT, SIGNAL; shrinks: the first */
} peers[PEERS];
#define GONE 1ull
#define LEFT_OUT 0x80000000u /* no peer has this bit */

/* The place of this key, else one that could be its; NULL: none. */
static struct peer *peer_find(uint64_t key)
{
	uint64_t first = nccl_hash_mix(key);
	struct peer *room = NULL;

	for (unsigned i = 0; i < PROBES; i++) {
		struct peer *p = &peers[(first + i) % PEERS];
		uint64_t found = __atomic_load_n(&p->key, __ATOMIC_ACQUIRE);

		if (found == key)
			return p;
		if (!room && found <= GONE)
			room = p;
		if (!found)
			break;
	}
	return room;
}

static struct peer *peer_at(uint32_t id, uint32_t which)
{
	uint64_t key = (uint64_t)id << 32 | which;

	for (unsigned i = 0; i < PROBES; i++) {
		struct peer *p = peer_find(key);
		uint64_t found = p ? __atomic_load_n(&p->key, __ATOMIC_RELAXED) : 0;

		if (!p || found == key)
			return p;
		if (found <= GONE &&
		    __atomic_compare_exchange_n(&p->key, &found, key, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return p;
		/* another thread was faster: the next one, then */
	}
	return NULL;
}

static uint32_t count(struct nccl_comm *m, uint32_t id, uint32_t which, unsigned kind)
{
	struct peer *p = __atomic_load_n(&m->id, __ATOMIC_ACQUIRE) == id ? peer_at(id, which) : NULL;

	if (!p)
		return 0;
	m->counted = 1;
	return __atomic_add_fetch(&p->n[kind], 1, __ATOMIC_RELAXED);
}

uint32_t nccl_comm_collective(struct nccl_comm *m, uint32_t id)
{
	return __atomic_load_n(&m->id, __ATOMIC_ACQUIRE) == id
		       ? __atomic_add_fetch(&m->collectives, 1, __ATOMIC_RELAXED)
		       : 0;
}

uint32_t nccl_comm_message(struct nccl_comm *m, uint32_t id, uint8_t kind, int32_t peer)
{
	return count(m, id, (uint32_t)peer & ~LEFT_OUT, (kind - GST_NCCL_SEND) % 4);
}

uint32_t nccl_comm_shrink(struct nccl_comm *m, uint32_t id, uint64_t left_out)
{
	return count(m, id, LEFT_OUT | (uint32_t)left_out, 0);
}

/* ---- the end of one ------------------------------------------------------------------------------------------------- */

void nccl_comm_end(struct nccl_comm *m)
{
	uint32_t live = NCCL_COMM_LIVE;

	__atomic_compare_exchange_n(&m->state, &live, NCCL_COMM_ENDING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void nccl_comm_ended(struct nccl_comm *m, uint32_t id, bool really)
{
	uint32_t ending = NCCL_COMM_ENDING;

	if (__atomic_load_n(&m->id, __ATOMIC_ACQUIRE) != id)
		return;
	for (unsigned i = 0; really && m->counted && i < PEERS; i++) {
		if (__atomic_load_n(&peers[i].key, __ATOMIC_RELAXED) >> 32 != id)
			continue;
		memset(peers[i].n, 0, sizeof(peers[i].n));
		__atomic_store_n(&peers[i].key, GONE, __ATOMIC_RELEASE);
	}
	__atomic_compare_exchange_n(&m->state, &ending, really ? NCCL_COMM_DEAD : NCCL_COMM_LIVE, false,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void nccl_comms_forget(void)
{
	memset(table, 0, sizeof(table));
	memset(peers, 0, sizeof(peers));
	last_id = 0;
}
