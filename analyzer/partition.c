/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition.h"

#include <stdlib.h>

#include "alloc.h"
#include "ns.h"
#include "spill.h"

#define COPY_KINDS 8

/* Owners in the order of their claims: whoever comes first owns the nanosecond. */
enum owner { OWNER_COMPUTE, OWNER_COMM, OWNER_COPY, OWNER_MEMSET = OWNER_COPY + COPY_KINDS, OWNER_COUNT };

/* Among copies: over the host's link before the other links, those before the device's own memory; pageable, which most can be done about,
 * first; last what is not known. */
static const uint8_t copy_places[COPY_KINDS] = {
	[GST_COPY_H2D_PAGEABLE] = 0, [GST_COPY_H2D_PINNED] = 1, [GST_COPY_D2H_PAGEABLE] = 2, [GST_COPY_D2H_PINNED] = 3,
	[GST_COPY_PEER] = 4,         [GST_COPY_D2D] = 5,        [GST_COPY_H2H] = 6,          [GST_COPY_UNKNOWN] = 7,
};

static enum owner owner_of(const struct op *op)
{
	switch (op->class) {
	case OP_KERNEL:
		return OWNER_COMPUTE;
	case OP_COMM:
		return OWNER_COMM;
	case OP_COPY:
		return OWNER_COPY + copy_places[op->copy];
	default:
		return OWNER_MEMSET;
	}
}

struct ending {
	int64_t end_ns;
	uint8_t owner;
};

static int by_end(const void *a, const void *b)
{
	const struct ending *x = a, *y = b;

	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

struct sweep {
	const struct device_timeline *out;
	struct ending *endings; /* of all ops but host functions, by end */
	size_t n_endings;
	size_t begun, ended; /* cursors */
	size_t running[OWNER_COUNT];
	enum owner last;           /* who owns a busy nanosecond that no placed op covers */
	int64_t from_ns, until_ns; /* what counts */
	int64_t owned[OWNER_COUNT];
	struct intervals *comm, *copy; /* where these own it; NULL nobody asks */
};

static enum owner first_running(const struct sweep *p)
{
	for (int i = 0; i < OWNER_COUNT; i++)
		if (p->running[i])
			return (enum owner)i;
	return p->last;
}

/* Takes in what begins and ends at or before now. */
static void advance(struct sweep *p, int64_t now)
{
	const struct device_timeline *out = p->out;

	for (; p->begun < out->n_ops && out->ops[p->begun].begin_ns <= now; p->begun++) {
		if (out->ops[p->begun].class == OP_HOSTFN)
			continue;
		p->last = owner_of(&out->ops[p->begun]);
		p->running[p->last]++;
	}
	for (; p->ended < p->n_endings && p->endings[p->ended].end_ns <= now; p->ended++)
		p->running[p->endings[p->ended].owner]--;
}

static int64_t next_event(const struct sweep *p, int64_t end_ns)
{
	const struct device_timeline *out = p->out;
	int64_t next = end_ns;

	if (p->begun < out->n_ops)
		next = min64(next, out->ops[p->begun].begin_ns);
	if (p->ended < p->n_endings)
		next = min64(next, p->endings[p->ended].end_ns);
	return next;
}

/* Stretches come one after another; those that touch are one. */
static bool keep(struct intervals *s, int64_t begin_ns, int64_t end_ns)
{
	if (!s->n || s->at[s->n - 1].end_ns != begin_ns)
		return intervals_add(s, begin_ns, end_ns);
	s->at[s->n - 1].end_ns = end_ns;
	return true;
}

/* Shares out [begin, end), in which there is no gap. False: no memory. */
static bool share_out(struct sweep *p, int64_t begin_ns, int64_t end_ns)
{
	for (int64_t now = begin_ns; now < end_ns;) {
		enum owner owner;
		int64_t next;

		advance(p, now);
		next = next_event(p, end_ns);
		owner = first_running(p);
		p->owned[owner] += max64(0, min64(next, p->until_ns) - max64(now, p->from_ns));
		if (p->comm && owner != OWNER_COMPUTE && !keep(owner == OWNER_COMM ? p->comm : p->copy, now, next))
			return false;
		now = next;
	}
	return true;
}

static bool sweep(struct sweep *p)
{
	const struct device_timeline *out = p->out;
	int64_t at = out->begin_ns;
	bool ok = true;

	p->endings = spill_new(out->n_ops, sizeof(*p->endings));
	if (!p->endings)
		return false;
	for (size_t i = 0; i < out->n_ops; i++)
		if (out->ops[i].class != OP_HOSTFN)
			p->endings[p->n_endings++] =
				(struct ending){ out->ops[i].end_ns, (uint8_t)owner_of(&out->ops[i]) };
	array_sort(p->endings, p->n_endings, sizeof(*p->endings), by_end);
	for (size_t i = out->n_ops; i-- > 0;)
		if (out->ops[i].class != OP_HOSTFN)
			p->last = owner_of(&out->ops[i]);
	for (size_t i = 0; i < out->n_gaps && ok; i++) {
		ok = share_out(p, at, out->gaps[i].begin_ns);
		at = out->gaps[i].end_ns;
	}
	ok = ok && share_out(p, at, out->end_ns);
	spill_free(p->endings);
	return ok;
}

bool partition_exposed(struct intervals *comm, struct intervals *copy, const struct device_timeline *d)
{
	struct sweep p = { .out = d, .comm = comm, .copy = copy };

	return sweep(&p);
}

bool partition_of(struct partition *out, const struct device_timeline *d, int64_t begin_ns, int64_t end_ns)
{
	struct sweep p = { .out = d, .from_ns = begin_ns, .until_ns = end_ns };

	*out = (struct partition){ 0 };
	if (!sweep(&p))
		return false;
	out->compute_ns = p.owned[OWNER_COMPUTE];
	out->comm_ns = p.owned[OWNER_COMM];
	out->memset_ns = p.owned[OWNER_MEMSET];
	for (int i = 0; i < COPY_KINDS; i++)
		out->copy_ns[i] = p.owned[OWNER_COPY + copy_places[i]];
	return true;
}
