/* SPDX-License-Identifier: BSD-2-Clause */
/* import_collectives.c: what calls and kernels say of collectives -> communicators and NCCL calls, as our own recordings have them.
 *
 * A process group is a communicator; it goes by its name, its ranks and its size, the same on all of them. Whose kernel is which call's is found
 * as for our own, by the launch inside the call (ranks_parts.c). Where only the kernel says what it is, its launch stands for the call.
 * Calls that have no number in their group are counted, from the first on record: whether the other ranks counted the same ones
 * ranks_counted.c finds out. */
#include "import_build.h"

#include "tools/alloc.h"
#include "tools/fnv.h"
#include "tools/spill.h"

#include <stdlib.h>
#include <string.h>

#define NAMES 64     /* of collectives in a process; the others' are lost */
#define UNKNOWN 0xfe /* datatype */
#define NO_OP 0xffff /* reduction */
#define ANY_DEVICE 0xffff

/* ---- words ------------------------------------------------------------------------------------------------ */

/* How a name begins, of which only the letters count; the first that fits. */
static const struct {
	const char *begin;
	uint8_t kind;
} kinds[] = {
	{ "allreduce", GST_NCCL_ALL_REDUCE },
	{ "allgather", GST_NCCL_ALL_GATHER },
	{ "reducescatter", GST_NCCL_REDUCE_SCATTER },
	{ "alltoall", GST_NCCL_ALL_TO_ALL },
	{ "broadcast", GST_NCCL_BROADCAST },
	{ "barrier", GST_NCCL_ALL_REDUCE },
	{ "reduce", GST_NCCL_REDUCE },
	{ "gather", GST_NCCL_GATHER },
	{ "scatter", GST_NCCL_SCATTER },
	{ "send", GST_NCCL_SEND },
	{ "recv", GST_NCCL_RECV },
};

/* OTHER: it moves nothing ("wait"), or nobody knows. */
static uint8_t kind_of(const char *name)
{
	char letters[32];
	size_t n = 0;

	for (; *name && n < sizeof(letters) - 1; name++)
		if ((*name | 32) >= 'a' && (*name | 32) <= 'z')
			letters[n++] = (char)(*name | 32);
	letters[n] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(letters, kinds[i].begin, strlen(kinds[i].begin)) == 0)
			return kinds[i].kind;
	return GST_NCCL_OTHER;
}

/* As NCCL numbers them, by PyTorch's names. */
static uint8_t datatype_of(const char *name)
{
	static const char *const names[] = { "Char", "Byte",  "Int",    "UInt32",   "Long",          "UInt64",
					     "Half", "Float", "Double", "BFloat16", "Float8_e4m3fn", "Float8_e5m2" };

	for (uint8_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return strcmp(name, "Bool") == 0 ? 1 : UNKNOWN;
}

static const char *text_of(const struct import_build *b, uint32_t name)
{
	return b->names.at[name].text;
}

/* Its place in "[0, 4, 8, ...]"; GST_NONE: it is not in there, as far as it is written. */
static uint32_t place_in(const char *list, uint32_t rank)
{
	uint32_t place = 0;
	char *end;

	for (list += *list == '['; *list >= '0' && *list <= '9'; place++) {
		if (strtoull(list, &end, 10) == rank)
			return place;
		list = end + strspn(end, ", ");
	}
	return GST_NONE;
}

/* The process's number in the group. */
static uint32_t rank_in(const struct import_build *b, const struct import_process *p, const struct import_collective *c)
{
	const char *list = text_of(b, c->ranks);
	uint32_t place = GST_NONE;

	if (p->rank == GST_NONE || c->size == GST_NONE)
		return GST_NONE;
	if (list[0] == '[' && list[1] != ']')
		place = place_in(list, p->rank);
	else if (c->size == p->ranks)
		place = p->rank;
	if (place == GST_NONE && c->first != GST_NONE && c->stride != GST_NONE && c->stride && p->rank >= c->first &&
	    (p->rank - c->first) % c->stride == 0)
		place = (p->rank - c->first) / c->stride;
	return place < c->size ? place : GST_NONE;
}

/* ---- facts ------------------------------------------------------------------------------------------------ */

void import_collective(struct import_build *b, const struct import_collective *c)
{
	struct import_process *p = c->process < b->n && !b->no_memory ? &b->processes[c->process] : NULL;

	if (!p || kind_of(text_of(b, c->name)) == GST_NCCL_OTHER)
		return;
	if (c->begin_ns < 0 || c->end_ns < c->begin_ns)
		return; /* the operator or the kernel that says so was left out, and counted */
	if (spill_room(p->collectives, p->n_collectives, p->cap_collectives))
		p->collectives[p->n_collectives++] = *c;
	else
		b->no_memory = true;
}

/* ---- one for each ----------------------------------------------------------------------------------------- */

/* Calls before the kernels launched in them. */
static int by_thread(const void *a, const void *b)
{
	const struct import_collective *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (!x->correlation != !y->correlation)
		return x->correlation ? 1 : -1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* Leaves out the calls around others (a barrier is an all-reduce), and what kernels say of the calls they were launched in. */
static void keep_one_for_each(struct import_process *p)
{
	struct import_collective *at = p->collectives;
	size_t kept = 0, call = SIZE_MAX;

	array_sort(at, p->n_collectives, sizeof(*at), by_thread);
	for (size_t i = 0; i < p->n_collectives; i++) {
		bool within = call != SIZE_MAX && at[call].tid == at[i].tid && at[i].end_ns <= at[call].end_ns;

		if (at[i].process == UINT32_MAX || (at[i].correlation && within))
			continue;
		if (within && call == kept - 1)
			kept--;
		call = at[i].correlation ? call : kept;
		at[kept++] = at[i];
	}
	p->n_collectives = kept;
}

/* ---- communicators ---------------------------------------------------------------------------------------- */

static bool same_group(const struct import_collective *x, const struct import_collective *y)
{
	return x->group == y->group && x->ranks == y->ranks && x->size == y->size;
}

static int by_group(const void *a, const void *b)
{
	const struct import_collective *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->ranks != y->ranks)
		return x->ranks < y->ranks ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static uint64_t hash_of(const struct import_build *b, const struct import_collective *c)
{
	const char *group = text_of(b, c->group), *ranks = text_of(b, c->ranks);
	uint64_t h = fnv1a(FNV_BEGIN, group, strlen(group) + 1);

	h = fnv1a(h, ranks, strlen(ranks) + 1);
	return fnv1a(h, &c->size, sizeof(c->size));
}

/* Calls that name neither a group nor its ranks are of none. */
static uint32_t add_comm(struct import_build *b, struct import_process *p, size_t *cap,
			 const struct import_collective *c, bool counted)
{
	struct trace *t = p->t;

	if ((!c->group && !c->ranks) || c->size == GST_NONE)
		return GST_NONE;
	if (!array_room(t->comms, t->n_comms, *cap)) {
		b->no_memory = true;
		return GST_NONE;
	}
	t->comms[t->n_comms] = (struct comm){ .hash = hash_of(b, c),
					      .id = (uint32_t)t->n_comms + 1,
					      .library_name = c->group,
					      .rank = rank_in(b, p, c),
					      .size = c->size,
					      .device = ANY_DEVICE,
					      .made = GST_NCCL_OTHER,
					      .counted = counted };
	return (uint32_t)t->n_comms++;
}

static uint16_t hook_of(struct import_build *b, struct import_process *p, uint32_t name)
{
	size_t i = 0;

	while (i < p->n_nccl_names && p->nccl_names[i] != name)
		i++;
	if (i < p->n_nccl_names || i == NAMES)
		return (uint16_t)i;
	if (array_room(p->nccl_names, p->n_nccl_names, p->cap_nccl_names))
		p->nccl_names[p->n_nccl_names++] = name;
	else
		b->no_memory = true;
	return (uint16_t)i;
}

static struct nccl_call call_of(struct import_build *b, struct import_process *p, const struct import_collective *c)
{
	uint8_t kind = kind_of(text_of(b, c->name));

	return (struct nccl_call){ .begin_ns = c->begin_ns,
				   .end_ns = c->end_ns,
				   .count = kind == GST_NCCL_REDUCE_SCATTER ? c->elements_out : c->elements_in,
				   .byte = c->place,
				   .comm = GST_NONE,
				   .stream = GST_NONE,
				   .tid = c->tid,
				   .peer = -1,
				   .hook = hook_of(b, p, c->name),
				   .op = NO_OP,
				   .kind = kind,
				   .datatype = datatype_of(text_of(b, c->dtype)) };
}

/* All of one group: their own numbers, if each collective has one. */
static void add_group(struct import_build *b, struct import_process *p, size_t *cap, size_t first, size_t n)
{
	const struct import_collective *at = &p->collectives[first];
	struct trace *t = p->t;
	bool counted = false;
	uint32_t comm, seq = 0;

	for (size_t i = 0; i < n; i++)
		counted |=
			nccl_is_collective(kind_of(text_of(b, at[i].name))) && (!at[i].seq || at[i].seq >= UINT32_MAX);
	comm = add_comm(b, p, cap, at, counted);
	for (size_t i = 0; i < n; i++) {
		struct nccl_call c = call_of(b, p, &at[i]);

		c.comm = comm;
		if (nccl_is_collective(c.kind) && comm != GST_NONE)
			c.seq = counted ? ++seq : (uint32_t)at[i].seq;
		t->nccl[t->n_nccl++] = c;
	}
}

bool import_collectives(struct import_build *b, struct import_process *p)
{
	size_t cap = 0;

	if (!p->n_collectives)
		return true;
	keep_one_for_each(p);
	p->t->nccl = array_new(p->n_collectives, sizeof(*p->t->nccl));
	if (!p->t->nccl)
		return false;
	array_sort(p->collectives, p->n_collectives, sizeof(*p->collectives), by_group);
	for (size_t i = 0, end; i < p->n_collectives; i = end) {
		for (end = i + 1; end < p->n_collectives && same_group(&p->collectives[i], &p->collectives[end]);)
			end++;
		add_group(b, p, &cap, i, end - i);
	}
	return !b->no_memory;
}
