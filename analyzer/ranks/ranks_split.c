/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_split.c: exposed communication is waiting, transfer, or neither is known.
 *
 * A collective's kernel waits until the last rank has come: its own duration less the shortest participant's. That comes first, then the
 * transfer. Where several collectives run at once, what one of them transfers is no waiting of the others. What no other
 * rank's records match stays unsplit, and so does all that is drawn as communication without a kernel of its own there: the three sum to
 * exposed communication by construction. */
#include "ranks_steps.h"

#include "timeline/partition.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#include <stdlib.h>

enum phase { PHASE_NONE, PHASE_WAIT, PHASE_TRANSFER, PHASE_UNKNOWN, PHASE_COUNT };

struct change {
	int64_t at_ns;
	uint8_t from, to; /* enum phase */
};

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static int by_address(const void *a, const void *b)
{
	const struct rank_part *const *x = a, *const *y = b;

	return ((*x)->op > (*y)->op) - ((*x)->op < (*y)->op);
}

static bool address_before(const void *element, const void *key)
{
	return (*(const struct rank_part *const *)element)->op < *(const struct op *const *)key;
}

struct splitter {
	struct ranks *r;
	struct rank_part **parts; /* by address of their op */
	bool *matched;            /* like r->devices: there are such */
	struct change *changes;   /* of one device */
	size_t n, cap;
};

static struct rank_part *part_of(const struct splitter *s, const struct op *op)
{
	size_t i = array_first(s->parts, s->r->n_parts, sizeof(const struct rank_part *), address_before, &op);

	return i < s->r->n_parts && s->parts[i]->op == op ? s->parts[i] : NULL;
}

/* How much of the op's place is waiting; -1 not known. */
static int64_t wait_of(const struct rank_part *p, const struct op *op)
{
	return p && p->wait_ns >= 0 ? min64(p->wait_ns, op->end_ns - op->begin_ns) : -1;
}

static bool add(struct splitter *s, int64_t at_ns, enum phase from, enum phase to)
{
	if (!array_room(s->changes, s->n, s->cap))
		return false;
	s->changes[s->n++] = (struct change){ at_ns, (uint8_t)from, (uint8_t)to };
	return true;
}

static bool add_op(struct splitter *s, const struct op *op)
{
	int64_t wait_ns = wait_of(part_of(s, op), op);
	enum phase first = wait_ns < 0 ? PHASE_UNKNOWN : PHASE_WAIT,
		   last = wait_ns < 0 ? PHASE_UNKNOWN : PHASE_TRANSFER;

	if (op->end_ns <= op->begin_ns)
		return true;
	if (!add(s, op->begin_ns, PHASE_NONE, wait_ns ? first : last) || !add(s, op->end_ns, last, PHASE_NONE))
		return false;
	return wait_ns <= 0 || add(s, op->begin_ns + wait_ns, first, last);
}

/* A stretch of exposed communication, in which so many kernels are in each phase. */
static bool own(struct rank_device *d, const size_t *running, int64_t begin_ns, int64_t end_ns)
{
	if (running[PHASE_TRANSFER])
		return intervals_add(&d->transfer, begin_ns, end_ns);
	if (running[PHASE_WAIT] && !running[PHASE_UNKNOWN])
		return intervals_add(&d->wait, begin_ns, end_ns);
	return true;
}

/* Goes through the device's exposed communication: what of it is waiting, and what transfer. */
static bool sweep(struct splitter *s, struct rank_device *d)
{
	size_t running[PHASE_COUNT] = { 0 }, at = 0;

	for (size_t i = 0; i < d->comm.n; i++) {
		const struct interval *stretch = &d->comm.at[i];

		for (int64_t now = stretch->begin_ns, next; now < stretch->end_ns; now = next) {
			for (; at < s->n && s->changes[at].at_ns <= now; at++) {
				running[s->changes[at].from]--; /* of PHASE_NONE nobody counts */
				running[s->changes[at].to]++;
			}
			next = at < s->n ? min64(s->changes[at].at_ns, stretch->end_ns) : stretch->end_ns;
			if (!own(d, running, now, next))
				return false;
		}
	}
	intervals_merge(&d->wait);
	intervals_merge(&d->transfer);
	return true;
}

/* Whose the exposed waiting is: of several that wait at once the first one's. */
static void share_out(struct splitter *s, const struct rank_device *d, const struct device_timeline *t)
{
	int64_t until = INT64_MIN;
	size_t from = 0;

	for (size_t i = timeline_other(t, 0); i < t->n_ops; i = timeline_other(t, i + 1)) {
		const struct op *op = &t->ops[i];
		struct rank_part *p = op->of->class == OP_COMM ? part_of(s, op) : NULL;
		int64_t wait_ns = wait_of(p, op), begin = max64(op->begin_ns, until);

		if (wait_ns <= 0 || op->begin_ns + wait_ns <= begin)
			continue;
		until = op->begin_ns + wait_ns;
		p->exposed_wait_ns = intervals_within(&d->wait, &from, begin, until);
	}
}

static int64_t length(const struct intervals *s)
{
	int64_t ns = 0;

	for (size_t i = 0; i < s->n; i++)
		ns += s->at[i].end_ns - s->at[i].begin_ns;
	return ns;
}

static bool split_device(struct splitter *s, size_t i)
{
	const struct device_timeline *t = &s->r->timeline->devices[i];
	struct rank_device *d = &s->r->devices[i];

	d->unsplit_ns = t->comm_ns;
	if (!s->matched[i])
		return true;
	if (!partition_exposed(&d->comm, &d->copy, t))
		return false;
	s->n = 0;
	for (size_t k = timeline_other(t, 0); k < t->n_ops; k = timeline_other(t, k + 1))
		if (t->ops[k].of->class == OP_COMM && !add_op(s, &t->ops[k]))
			return false;
	array_sort(s->changes, s->n, sizeof(*s->changes), by_time);
	if (!sweep(s, d))
		return false;
	d->wait_ns = length(&d->wait);
	d->transfer_ns = length(&d->transfer);
	d->unsplit_ns -= d->wait_ns + d->transfer_ns;
	share_out(s, d, t);
	return true;
}

bool ranks_split(struct ranks *r)
{
	struct splitter s = { .r = r,
			      .parts = array_new(r->n_parts, sizeof(const struct rank_part *)),
			      .matched = array_new(r->n_devices, sizeof(*s.matched)) };
	bool ok = s.parts && s.matched;

	for (size_t i = 0; ok && i < r->n_parts; i++) {
		s.parts[i] = &r->parts[i];
		s.matched[r->members[r->parts[i].member].device] = true;
	}
	if (ok)
		array_sort(s.parts, r->n_parts, sizeof(const struct rank_part *), by_address);
	for (size_t i = 0; ok && i < r->timeline->n_devices; i++)
		ok = split_device(&s, i);
	free(s.changes);
	free(s.parts);
	free(s.matched);
	return ok;
}
