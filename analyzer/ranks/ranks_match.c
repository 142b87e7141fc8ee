/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_match.c: the kernels of all ranks that are one collective, and how long each of them waited for the last to come. */
#include "ranks_steps.h"

#include "run/comm_hashes.h"
#include "tools/alloc.h"
#include "tools/fnv.h"
#include "tools/ns.h"

#include <stdlib.h>

#define KNOWN_NS 5000 /* a duration is known where its error is no more, or no more than a share of it: */
#define KNOWN_SHARE 10

static const struct comm *comm_of(const struct ranks *r, const struct rank_part *p)
{
	return &r->members[p->member].trace->comms[p->comm];
}

uint64_t ranks_hash(const struct comm_hashes *hashes, const struct trace *t, uint32_t comm)
{
	uint64_t hash = comm_hash_of(hashes, t->comms[comm].hash);
	uint32_t window = trace_window(t);

	return window ? fnv1a(hash, &window, sizeof(window)) : hash;
}

/* ---- several kernels of one group ------------------------------------------------------------------- */

static int by_call(const void *a, const void *b)
{
	const struct rank_part *x = a, *y = b;

	if (x->member != y->member)
		return x->member < y->member ? -1 : 1;
	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x->op->call > y->op->call) - (x->op->call < y->op->call);
}

static void number_pieces(struct ranks *r)
{
	array_sort(r->parts, r->n_parts, sizeof(*r->parts), by_call);
	for (size_t i = 1; i < r->n_parts; i++) {
		const struct rank_part *before = &r->parts[i - 1];
		struct rank_part *p = &r->parts[i];

		if (p->member == before->member && p->comm == before->comm && p->seq == before->seq)
			p->piece = before->piece + 1;
	}
}

/* ---- collectives ------------------------------------------------------------------------------------ */

struct keyed {
	struct rank_part part;
	uint32_t rank;
};

static int by_collective(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->part.hash != y->part.hash)
		return x->part.hash < y->part.hash ? -1 : 1;
	if (x->part.seq != y->part.seq)
		return x->part.seq < y->part.seq ? -1 : 1;
	if (x->part.piece != y->part.piece)
		return x->part.piece < y->part.piece ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->part.member > y->part.member) - (x->part.member < y->part.member);
}

static bool sort_parts(struct ranks *r)
{
	struct keyed *all = array_new(r->n_parts, sizeof(*all));
	struct comm_hashes hashes;

	if (!all || !comm_hashes_build(&hashes, r->timeline->run)) {
		free(all);
		return false;
	}
	for (size_t i = 0; i < r->n_parts; i++) {
		const struct comm *c = comm_of(r, &r->parts[i]);

		r->parts[i].hash = ranks_hash(&hashes, r->members[r->parts[i].member].trace, r->parts[i].comm);
		all[i] = (struct keyed){ r->parts[i], c->rank };
	}
	array_sort(all, r->n_parts, sizeof(*all), by_collective);
	for (size_t i = 0; i < r->n_parts; i++)
		r->parts[i] = all[i].part;
	comm_hashes_free(&hashes);
	free(all);
	return true;
}

static bool same_collective(const struct rank_part *a, const struct rank_part *b)
{
	return a->hash == b->hash && a->seq == b->seq && a->piece == b->piece;
}

struct window { /* of one clock: of the parts of a collective that are on it */
	int64_t last_begin_ns, first_end_ns;
};

/* On each clock there is an instant at which all were at it: the last had begun before the first ended. windows: like clocks. */
static bool at_once(const struct ranks *r, const struct rank_part *parts, size_t n, struct window *windows)
{
	bool fine = true;

	for (size_t i = 0; i < n; i++)
		windows[r->members[parts[i].member].clock] = (struct window){ INT64_MIN, INT64_MAX };
	for (size_t i = 0; i < n; i++) {
		struct window *w = &windows[r->members[parts[i].member].clock];

		w->last_begin_ns = max64(w->last_begin_ns, parts[i].begin_low_ns);
		w->first_end_ns = min64(w->first_end_ns, parts[i].end_high_ns);
		fine = fine && w->last_begin_ns <= w->first_end_ns;
	}
	return fine;
}

/* Each rank of the communicator once, and all did the same. */
static bool is_whole(const struct ranks *r, const struct rank_collective *c, struct window *windows)
{
	const struct rank_part *parts = &r->parts[c->first];
	uint32_t size = comm_of(r, parts)->size;

	if (size != c->n || size < 2)
		return false;
	for (size_t i = 0; i < c->n; i++)
		if (comm_of(r, &parts[i])->rank != i || comm_of(r, &parts[i])->size != size ||
		    parts[i].kinds != parts[0].kinds)
			return false;
	return !comm_of(r, parts)->counted || at_once(r, parts, c->n, windows);
}

static bool ends_together(uint16_t kinds)
{
	const uint16_t all = 1u << GST_NCCL_ALL_REDUCE | 1u << GST_NCCL_ALL_GATHER | 1u << GST_NCCL_REDUCE_SCATTER;

	return !(kinds & ~all);
}

/* ---- durations -------------------------------------------------------------------------------------- */

/* Of the instants between two bounds the middle, doubled: halves count. */
static int64_t doubled_duration(const struct rank_part *p)
{
	return (p->end_low_ns - p->begin_low_ns) + (p->end_high_ns - p->begin_high_ns);
}

static bool duration_known(const struct rank_part *p)
{
	int64_t ns = doubled_duration(p) / 2;
	int64_t error = ((p->begin_high_ns - p->begin_low_ns) + (p->end_high_ns - p->end_low_ns)) / 2;

	return ns >= 0 && error >= 0 && error <= max64(KNOWN_NS, ns / KNOWN_SHARE);
}

static void set_waits(struct ranks *r, struct rank_collective *c)
{
	struct rank_part *parts = &r->parts[c->first];
	int64_t shortest = INT64_MAX;
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < c->n; i++) {
		int64_t ns = doubled_duration(&parts[i]) / 2;

		if (!duration_known(&parts[i]))
			return;
		last = ns == shortest ? SIZE_MAX : ns < shortest ? i : last;
		shortest = min64(shortest, ns);
	}
	c->timed = true;
	for (size_t i = 0; i < c->n; i++)
		parts[i].wait_ns = doubled_duration(&parts[i]) / 2 - shortest;
	if (last != SIZE_MAX)
		c->last = (uint32_t)(c->first + last);
}

static void count(struct ranks *r, const struct rank_collective *c)
{
	r->whole += c->whole;
	for (size_t i = c->first; i < c->first + c->n; i++) {
		struct rank_member *m = &r->members[r->parts[i].member];

		m->collectives += c->whole;
		m->timed += c->timed && c->together;
		m->last += c->together && c->last == i;
	}
}

static bool match(struct ranks *r, struct window *windows)
{
	size_t cap = 0;

	for (size_t i = 0, end; i < r->n_parts; i = end) {
		struct rank_collective *c;

		for (end = i + 1; end < r->n_parts && same_collective(&r->parts[i], &r->parts[end]);)
			end++;
		if (!array_room(r->collectives, r->n_collectives, cap))
			return false;
		c = &r->collectives[r->n_collectives++];
		*c = (struct rank_collective){ .first = i, .n = end - i, .last = GST_NONE };
		c->whole = is_whole(r, c, windows);
		c->together = ends_together(r->parts[i].kinds);
		if (c->whole)
			set_waits(r, c);
		count(r, c);
	}
	return true;
}

bool ranks_match(struct ranks *r)
{
	struct window *windows = array_new(r->n_clocks, sizeof(*windows));
	bool ok;

	number_pieces(r);
	ok = windows && sort_parts(r) && match(r, windows);
	free(windows);
	return ok;
}
