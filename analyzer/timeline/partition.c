/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/ns.h"

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
	switch (op->of->class) {
	case OP_KERNEL:
		return OWNER_COMPUTE;
	case OP_COMM:
		return OWNER_COMM;
	case OP_COPY:
		return OWNER_COPY + copy_places[op->of->copy];
	default:
		return OWNER_MEMSET;
	}
}

struct running { /* ends then; of those that run now, a heap by that: few run at a time, however many there are */
	int64_t end_ns;
	uint8_t owner;
};

/* What computes owns its time whatever runs beside it: of kernels nothing but until when they run is kept, the rest is in the heap. */
struct sweep {
	const struct device_timeline *out;
	size_t begun;       /* the next op to begin */
	int64_t compute_ns; /* until then some kernel runs */
	struct running *heap;
	size_t n_heap, cap_heap;
	size_t running[OWNER_COUNT];
	uint32_t owners;  /* a bit for each that runs something */
	enum owner last;  /* who owns a busy nanosecond that no placed op covers */
	int64_t until_ns; /* what counts */
	int64_t owned[OWNER_COUNT];
	const int64_t *instants;
	size_t n_instants;             /* those to come: what was owned before each is asked for … */
	struct partition *before;      /* … and said here, one behind the other */
	struct intervals *comm, *copy; /* where these own it; NULL nobody asks */
	struct partition_marks *marks; /* NULL: none are made; else one every so many gaps */
	size_t every;
};

static enum owner first_running(const struct sweep *p)
{
	return p->owners ? (enum owner)__builtin_ctz(p->owners) : p->last;
}

static bool begin_other(struct sweep *p, const struct op *op, enum owner owner)
{
	size_t i;

	if (!array_room(p->heap, p->n_heap, p->cap_heap))
		return false;
	for (i = p->n_heap++; i > 0 && p->heap[(i - 1) / 2].end_ns > op->end_ns; i = (i - 1) / 2)
		p->heap[i] = p->heap[(i - 1) / 2];
	p->heap[i] = (struct running){ op->end_ns, (uint8_t)owner };
	p->running[owner]++;
	p->owners |= 1u << owner;
	return true;
}

static bool begin(struct sweep *p, const struct op *op)
{
	if (op->of->class == OP_HOSTFN)
		return true;
	p->last = owner_of(op);
	if (p->last != OWNER_COMPUTE)
		return begin_other(p, op, p->last);
	p->compute_ns = max64(p->compute_ns, op->end_ns);
	return true;
}

static void end_first(struct sweep *p)
{
	struct running last = p->heap[--p->n_heap];
	uint8_t owner = p->heap[0].owner;
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < p->n_heap; i = child) {
		child += child + 1 < p->n_heap && p->heap[child + 1].end_ns < p->heap[child].end_ns;
		if (p->heap[child].end_ns >= last.end_ns)
			break;
		p->heap[i] = p->heap[child];
	}
	p->heap[i] = last;
	if (--p->running[owner] == 0)
		p->owners &= ~(1u << owner);
}

/* Takes in what begins and ends at or before now. False: no memory. */
static bool advance(struct sweep *p, int64_t now)
{
	const struct device_timeline *out = p->out;

	for (; p->begun < out->n_ops && out->ops[p->begun].begin_ns <= now; p->begun++)
		if (!begin(p, &out->ops[p->begun]))
			return false;
	while (p->n_heap && p->heap[0].end_ns <= now)
		end_first(p);
	return true;
}

/* While some kernel runs: takes in all that begins meanwhile. It ends where none does, or at end_ns. */
static bool compute(struct sweep *p, int64_t end_ns)
{
	const struct device_timeline *out = p->out;

	for (; p->begun < out->n_ops && out->ops[p->begun].begin_ns <= p->compute_ns &&
	       out->ops[p->begun].begin_ns < end_ns;
	     p->begun++)
		if (!begin(p, &out->ops[p->begun]))
			return false;
	return true;
}

static int64_t next_event(const struct sweep *p, int64_t end_ns)
{
	const struct device_timeline *out = p->out;
	int64_t next = end_ns;

	if (p->begun < out->n_ops)
		next = min64(next, out->ops[p->begun].begin_ns);
	return p->n_heap ? min64(next, p->heap[0].end_ns) : next;
}

/* Stretches come one after another; those that touch are one. */
static bool keep(struct intervals *s, int64_t begin_ns, int64_t end_ns)
{
	if (!s->n || s->at[s->n - 1].end_ns != begin_ns)
		return intervals_add(s, begin_ns, end_ns);
	s->at[s->n - 1].end_ns = end_ns;
	return true;
}

static void say(struct partition *out, const int64_t owned[OWNER_COUNT], int64_t times)
{
	out->compute_ns += times * owned[OWNER_COMPUTE];
	out->comm_ns += times * owned[OWNER_COMM];
	out->memset_ns += times * owned[OWNER_MEMSET];
	for (int i = 0; i < COPY_KINDS; i++)
		out->copy_ns[i] += times * owned[OWNER_COPY + copy_places[i]];
}

static void own(struct sweep *p, enum owner owner, int64_t now, int64_t next)
{
	for (; p->n_instants && *p->instants < next; p->instants++, p->n_instants--) {
		int64_t at = max64(now, *p->instants);

		p->owned[owner] += at - now;
		say(p->before++, p->owned, 1);
		now = at;
	}
	p->owned[owner] += max64(0, min64(next, p->until_ns) - now);
}

/* Shares out [begin, end), in which there is no gap. False: no memory. */
static bool share_out(struct sweep *p, int64_t begin_ns, int64_t end_ns)
{
	for (int64_t now = begin_ns; now < end_ns;) {
		enum owner owner = OWNER_COMPUTE;
		int64_t next;

		if (!advance(p, now) || (p->compute_ns > now && !compute(p, end_ns)))
			return false;
		if (p->compute_ns > now) {
			next = min64(p->compute_ns, end_ns);
		} else {
			next = next_event(p, end_ns);
			owner = first_running(p);
		}
		own(p, owner, now, next);
		if (p->comm && owner != OWNER_COMPUTE && !keep(owner == OWNER_COMM ? p->comm : p->copy, now, next))
			return false;
		now = next;
	}
	return true;
}

static enum owner first_owner(const struct device_timeline *out)
{
	for (size_t i = 0; i < out->n_ops; i++)
		if (out->ops[i].of->class != OP_HOSTFN)
			return owner_of(&out->ops[i]);
	return OWNER_COMPUTE;
}

/* ---- marks: where a sweep can begin that is about a part ---- */

/* Behind a gap, where nothing runs: all that is before it is summed up. */
struct partition_mark {
	int64_t at_ns; /* the gap's end */
	size_t next_gap, begun;
	enum owner last;
	int64_t owned[OWNER_COUNT];
};

static bool add_mark(struct sweep *p, size_t gap)
{
	struct partition_marks *marks = p->marks;
	int64_t at_ns = p->out->gaps[gap].end_ns;
	struct partition_mark *m;

	while (p->n_heap && p->heap[0].end_ns <= at_ns)
		end_first(p);
	if (p->n_heap || p->compute_ns > at_ns)
		return true;
	if (!array_room(marks->at, marks->n, marks->cap))
		return false;
	m = &marks->at[marks->n++];
	*m = (struct partition_mark){ .at_ns = at_ns, .next_gap = gap + 1, .begun = p->begun, .last = p->last };
	memcpy(m->owned, p->owned, sizeof(m->owned));
	return true;
}

/* From that mark on, NULL: from the beginning. */
static bool sweep(struct sweep *p, const struct partition_mark *from)
{
	const struct device_timeline *out = p->out;
	int64_t at = from ? from->at_ns : out->begin_ns;
	bool ok = true;

	p->compute_ns = INT64_MIN;
	p->begun = from ? from->begun : 0;
	p->last = from ? from->last : first_owner(out);
	if (from)
		memcpy(p->owned, from->owned, sizeof(p->owned));
	for (size_t i = from ? from->next_gap : 0; i < out->n_gaps && ok && at < p->until_ns; i++) {
		ok = share_out(p, at, out->gaps[i].begin_ns);
		at = out->gaps[i].end_ns;
		if (ok && p->marks && i % p->every == p->every - 1)
			ok = add_mark(p, i);
	}
	ok = ok && share_out(p, at, min64(out->end_ns, p->until_ns));
	free(p->heap);
	return ok;
}

bool partition_exposed(struct intervals *comm, struct intervals *copy, const struct device_timeline *d)
{
	struct sweep p = { .out = d, .until_ns = INT64_MAX, .comm = comm, .copy = copy };

	return sweep(&p, NULL);
}

static bool marked_by(const void *element, const void *key)
{
	return ((const struct partition_mark *)element)->at_ns <= *(const int64_t *)key;
}

/* Adds what is owned before that instant, `times` times. */
static bool add_until(struct partition *out, const struct device_timeline *d, int64_t until_ns, int64_t times)
{
	const struct partition_marks *marks = &d->marks;
	size_t n = array_first(marks->at, marks->n, sizeof(*marks->at), marked_by, &until_ns);
	struct sweep p = { .out = d, .until_ns = until_ns };

	if (!sweep(&p, n ? &marks->at[n - 1] : NULL))
		return false;
	say(out, p.owned, times);
	return true;
}

bool partition_before(struct partition *out, const struct device_timeline *d, const int64_t *instants, size_t n)
{
	struct sweep p = { .out = d, .until_ns = INT64_MAX, .instants = instants, .n_instants = n, .before = out };

	memset(out, 0, n * sizeof(*out));
	if (!sweep(&p, NULL))
		return false;
	for (; p.n_instants; p.n_instants--)
		say(p.before++, p.owned, 1);
	return true;
}

bool partition_of(struct partition *out, const struct device_timeline *d, int64_t begin_ns, int64_t end_ns)
{
	*out = (struct partition){ 0 };
	return end_ns <= begin_ns || (add_until(out, d, end_ns, 1) && add_until(out, d, begin_ns, -1));
}

bool partition_mark(struct device_timeline *d, size_t every)
{
	struct sweep p = { .out = d, .until_ns = INT64_MAX, .marks = &d->marks, .every = every };

	return sweep(&p, NULL);
}
