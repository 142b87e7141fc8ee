/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.c: what a kernel of ours does on the device: messages to and from the other ranks, each behind a header that says when the
 * sender's kernel began, then the arithmetic. So nobody ends before all have begun, and all know the same end: the last beginning and
 * the time of the transfer. It runs as a kernel's body, so it never waits: what cannot go on is tried again at the next call.
 *
 * In each lane the messages of a pair of ranks keep their order. The other lane, and other ranks, do not wait for them. */
#include "standin.h"
#include "tests/simgpu/kernel_body.h"

#include <stdlib.h>
#include <string.h>

enum { LATENCY_NS = 20000, BYTES_PER_NS = 50 };

struct header {
	uint64_t start_ns, bytes;
};

/* One message, one way. */
struct flow {
	enum lane lane;
	bool out, rendezvous; /* rendezvous: not done before the reader took everything */
	int peer;
	char *data; /* NULL: whatever comes is thrown away */
	size_t bytes, moved;
	size_t header_moved;
	struct header header;
	bool done;
};

/* A launch, from its first call on: one block, which free() takes back. */
struct run {
	struct flow *flows;
	unsigned flow_count;
	bool *held;         /* in this round, for each lane, way and peer: an earlier message of theirs is under way */
	char **scratch;     /* for each item: what it needs beside the program's buffers */
	const char **sends; /* for each item: what it sends, which the scalar of a reduction may change */
	const void **from;  /* room for one pointer a rank */
	uint64_t last_start_ns;
	bool failed;
};

static size_t most(const struct plan *plan, size_t bytes)
{
	return bytes < plan->data_limit ? bytes : plan->data_limit;
}

static bool reduces(enum function function)
{
	return function <= FUNCTION_REDUCE_SCATTER;
}

/* ---- what each item comes to ----------------------------------------------------------------------------- */

static bool is_blocked_send(const struct item *item) /* another piece of the buffer for each rank */
{
	return item->function == FUNCTION_REDUCE_SCATTER || item->function == FUNCTION_ALL_TO_ALL ||
	       item->function == FUNCTION_SCATTER;
}

static bool gives(const struct item *item, int rank, int to)
{
	switch (item->function) {
	case FUNCTION_BROADCAST:
	case FUNCTION_SCATTER:
		return rank == item->peer;
	case FUNCTION_REDUCE:
	case FUNCTION_GATHER:
		return to == item->peer;
	default:
		return true;
	}
}

static char *scratch_of(const struct run *run, unsigned item, const struct plan *plan, int rank)
{
	const struct item *i = &plan->items[item];

	return run->scratch[item] + (size_t)rank * most(plan, i->count * type_bytes(i->type));
}

/* Where what `from` sends belongs. */
static char *sink(const struct run *run, const struct plan *plan, unsigned item, int from)
{
	const struct item *i = &plan->items[item];

	if (reduces(i->function))
		return scratch_of(run, item, plan, from);
	if (i->function == FUNCTION_BROADCAST || i->function == FUNCTION_SCATTER)
		return i->recv;
	return (char *)i->recv + (size_t)from * i->count * type_bytes(i->type);
}

static const char *source(const struct run *run, const struct plan *plan, unsigned number, int to)
{
	const struct item *item = &plan->items[number];

	return run->sends[number] + (is_blocked_send(item) ? (size_t)to * item->count * type_bytes(item->type) : 0);
}

static void add_flow(struct run *run, struct flow flow, uint64_t start_ns)
{
	flow.header = (struct header){ start_ns, flow.bytes };
	run->flows[run->flow_count++] = flow;
}

static void add_pair(struct run *run, const struct plan *plan, const struct item *item, uint64_t start_ns)
{
	bool out = item->function == FUNCTION_SEND;

	add_flow(run,
		 (struct flow){ .lane = LANE_PAIRS,
				.out = out,
				.rendezvous = out,
				.peer = item->peer,
				.data = out ? (char *)(uintptr_t)item->send : item->recv,
				.bytes = most(plan, item->count * type_bytes(item->type)) },
		 start_ns);
}

/* A header goes to everybody, also where no data does. */
static void add_collective(struct run *run, const struct plan *plan, unsigned number, uint64_t start_ns)
{
	const struct item *item = &plan->items[number];
	const int rank = plan->comm->rank;
	size_t bytes = most(plan, item->count * type_bytes(item->type));

	for (int peer = 0; peer < plan->comm->nranks; peer++) {
		bool sends = gives(item, rank, peer), receives = gives(item, peer, rank);

		add_flow(run,
			 (struct flow){ .lane = LANE_COLLECTIVES,
					.out = true,
					.peer = peer,
					.data = (char *)(uintptr_t)source(run, plan, number, peer),
					.bytes = sends ? bytes : 0 },
			 start_ns);
		add_flow(run,
			 (struct flow){ .lane = LANE_COLLECTIVES,
					.peer = peer,
					.data = receives ? sink(run, plan, number, peer) : NULL,
					.bytes = receives ? bytes : 0 },
			 start_ns);
	}
}

/* The scalar is a rank's own: what it sends is multiplied first, in a buffer that counts as the program's from then on. */
static const void *multiplied(const struct plan *plan, const struct item *item, char *to, size_t bytes)
{
	const struct premultiply *by = &item->by;
	size_t pieces = is_blocked_send(item) ? (size_t)plan->comm->nranks : 1,
	       whole = item->count * type_bytes(item->type);

	for (size_t i = 0; i < pieces; i++)
		premultiply(to + i * whole, (const char *)item->send + i * whole, by->on_device ? by->where : by->value,
			    bytes / type_bytes(item->type), item->type);
	return to;
}

static size_t scratch_bytes(const struct plan *plan, const struct item *item)
{
	size_t whole = item->count * type_bytes(item->type), ranks = (size_t)plan->comm->nranks;

	if (!reduces(item->function))
		return 0;
	return ranks * most(plan, whole) + (item->op >= ncclNumOps ? (is_blocked_send(item) ? ranks : 1) * whole : 0);
}

static struct run *run_new(const struct plan *plan, uint64_t start_ns)
{
	size_t flows = 0, scratch = 0, at, held;
	struct run *run;

	for (unsigned i = 0; i < plan->count; i++) {
		flows += plan->items[i].function >= FUNCTION_SEND ? 1 : 2 * (size_t)plan->comm->nranks;
		scratch += scratch_bytes(plan, &plan->items[i]);
	}
	at = sizeof(*run) + flows * sizeof(struct flow) +
	     (plan->count * 2 + (size_t)plan->comm->nranks) * sizeof(char *);
	held = LANES * 2 * (size_t)plan->comm->nranks;
	run = calloc(1, at + scratch + held);
	if (!run)
		return NULL;
	run->flows = (struct flow *)(run + 1);
	run->scratch = (char **)(run->flows + flows);
	run->sends = (const char **)(run->scratch + plan->count);
	run->from = (const void **)(run->sends + plan->count);
	run->held = (bool *)run + at + scratch;
	run->last_start_ns = start_ns;
	for (unsigned i = 0; i < plan->count; i++) {
		const struct item *item = &plan->items[i];
		size_t bytes = most(plan, item->count * type_bytes(item->type));
		size_t pieces = (size_t)plan->comm->nranks * bytes;

		run->scratch[i] = (char *)run + at;
		at += scratch_bytes(plan, item);
		run->sends[i] = item->send;
		if (reduces(item->function) && item->op >= ncclNumOps)
			run->sends[i] = multiplied(plan, item, run->scratch[i] + pieces, bytes);
		if (item->function >= FUNCTION_SEND)
			add_pair(run, plan, item, start_ns);
		else
			add_collective(run, plan, i, start_ns);
	}
	return run;
}

/* ---- moving ---------------------------------------------------------------------------------------------- */

static size_t flow_write(const struct ncclComm *comm, struct flow *f)
{
	size_t n = 0;

	if (f->header_moved < sizeof(f->header)) {
		n = channel_write(&comm->segment, f->lane, (unsigned)comm->rank, (unsigned)f->peer,
				  (char *)&f->header + f->header_moved, sizeof(f->header) - f->header_moved);
		f->header_moved += n;
	}
	if (f->header_moved == sizeof(f->header)) {
		size_t moved = channel_write(&comm->segment, f->lane, (unsigned)comm->rank, (unsigned)f->peer,
					     f->data + f->moved, f->bytes - f->moved);

		f->moved += moved;
		n += moved;
	}
	return n;
}

static size_t flow_read(const struct ncclComm *comm, struct run *run, struct flow *f)
{
	struct channel *channel = segment_channel(&comm->segment, f->lane, (unsigned)f->peer, (unsigned)comm->rank);
	uint64_t start_ns = f->header.start_ns;
	size_t n = 0;

	if (f->header_moved < sizeof(f->header)) {
		struct header *header = &f->header;
		size_t expected = f->bytes;

		atomic_store(&channel->taken_ns, start_ns);
		if (atomic_load(&channel->head) - atomic_load(&channel->tail) < sizeof(*header))
			return 0;
		n = channel_read(&comm->segment, f->lane, (unsigned)f->peer, (unsigned)comm->rank, header,
				 sizeof(*header));
		f->header_moved = n;
		if (header->start_ns > run->last_start_ns)
			run->last_start_ns = header->start_ns;
		if (header->bytes != expected) /* the ranks do not agree what they do */
			run->failed = true;
	}
	if (!run->failed) {
		size_t moved = channel_read(&comm->segment, f->lane, (unsigned)f->peer, (unsigned)comm->rank,
					    f->data ? f->data + f->moved : NULL, f->bytes - f->moved);

		f->moved += moved;
		n += moved;
	}
	return n;
}

/* How much it moved. */
static size_t flow_step(const struct ncclComm *comm, struct run *run, struct flow *f)
{
	size_t n = f->out ? flow_write(comm, f) : flow_read(comm, run, f);

	f->done = f->header_moved == sizeof(f->header) && f->moved == f->bytes;
	if (f->done && f->rendezvous) {
		struct channel *channel =
			segment_channel(&comm->segment, f->lane, (unsigned)comm->rank, (unsigned)f->peer);
		uint64_t taken_ns = atomic_load(&channel->taken_ns);

		f->done = atomic_load(&channel->tail) == atomic_load(&channel->head);
		if (f->done && taken_ns > run->last_start_ns)
			run->last_start_ns = taken_ns;
	}
	return n + f->done;
}

/* One round over all messages; how much moved. */
static size_t round_of_steps(const struct ncclComm *comm, struct run *run, bool *all)
{
	const size_t nranks = (size_t)comm->nranks;
	size_t moved = 0;

	*all = true;
	memset(run->held, 0, LANES * 2 * nranks);
	for (unsigned i = 0; i < run->flow_count; i++) {
		struct flow *f = &run->flows[i];
		bool *held = &run->held[((size_t)f->lane * 2 + f->out) * nranks + (size_t)f->peer];

		if (!f->done && !*held)
			moved += flow_step(comm, run, f);
		if (!f->done)
			*all = false;
		*held = *held || !f->done;
	}
	return moved;
}

/* True: everything has been moved. */
static bool run_step(const struct ncclComm *comm, struct run *run)
{
	bool all;
	size_t moved;

	do {
		moved = round_of_steps(comm, run, &all);
	} while (moved && !all && !run->failed);
	return all;
}

static void arithmetic(const struct plan *plan, const struct run *run)
{
	const int nranks = plan->comm->nranks;

	for (unsigned i = 0; i < plan->count; i++) {
		const struct item *item = &plan->items[i];
		size_t bytes = most(plan, item->count * type_bytes(item->type));

		if (!reduces(item->function) || (item->function == FUNCTION_REDUCE && item->peer != plan->comm->rank))
			continue;
		for (int r = 0; r < nranks; r++)
			run->from[r] = scratch_of(run, i, plan, r);
		reduce(item->recv, run->from, nranks, bytes / type_bytes(item->type), item->type,
		       item->op < ncclNumOps ? item->op : ncclSum);
	}
}

/* ---- the kernel ------------------------------------------------------------------------------------------ */

static uint64_t end(struct plan *plan, uint64_t end_ns)
{
	if (!plan->persistent) {
		atomic_fetch_add(&plan->comm->ended, 1);
		free(plan);
	}
	return end_ns;
}

uint64_t exchange_body(struct kernel_body_call *call)
{
	struct plan *plan = *(struct plan *const *)call->parameter;
	struct ncclComm *comm = plan->comm;
	struct run *run = call->state;

	if (atomic_load(&comm->aborted) || atomic_load(&comm->revoked))
		return end(plan, call->now_ns);
	if (!run)
		call->state = run = run_new(plan, call->start_ns);
	if (!run || run->failed) {
		atomic_store(&comm->state, run ? ncclInvalidUsage : ncclSystemError);
		return end(plan, call->now_ns);
	}
	if (!run_step(comm, run))
		return 0;
	arithmetic(plan, run);
	return end(plan, run->last_start_ns + plan->transfer_ns);
}

uint64_t exchange_transfer_ns(const struct item *items, unsigned count, int nranks)
{
	double bytes = 0;

	for (unsigned i = 0; i < count; i++) {
		double share = nranks > 1 ? (double)(nranks - 1) / nranks : 0,
		       own = (double)(items[i].count * type_bytes(items[i].type));

		switch (items[i].function) {
		case FUNCTION_ALL_REDUCE:
			bytes += 2 * share * own;
			break;
		case FUNCTION_REDUCE:
		case FUNCTION_BROADCAST:
		case FUNCTION_SEND:
		case FUNCTION_RECV:
			bytes += own;
			break;
		default:
			bytes += share * own * nranks;
		}
	}
	return LATENCY_NS + (uint64_t)(bytes / BYTES_PER_NS);
}
