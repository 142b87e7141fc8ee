/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_counted.c: collectives that carry no numbers of their own (comm.counted).
 *
 * The first of a group that a rank has on record is then number one, and that is right only where all ranks' records begin with the same
 * collective: so the n-th is compared with the others' n-th only where all ranks have the same list, of as many, with the same kinds, types
 * and, where all ranks have to say the same, counts. Else the kernels of the group are nobody's collectives, and stay unsplit. On one clock
 * ranks_match.c looks besides whether they ran at once. */
#include "ranks_steps.h"

#include "run/comm_hashes.h"
#include "tools/alloc.h"
#include "tools/fnv.h"

#include <stdlib.h>

struct list { /* of one process, of one communicator */
	uint64_t hash, print;
	uint32_t trace, comm;
	uint32_t n;
	bool counted, told;
};

static int by_hash(const void *a, const void *b)
{
	const struct list *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->trace != y->trace)
		return x->trace < y->trace ? -1 : 1;
	return (x->comm > y->comm) - (x->comm < y->comm);
}

static bool same_count_everywhere(uint8_t kind)
{
	return kind == GST_NCCL_ALL_REDUCE || kind == GST_NCCL_BROADCAST || kind == GST_NCCL_REDUCE;
}

static void add_call(struct list *l, const struct nccl_call *c)
{
	uint64_t words[] = { c->kind, c->datatype, same_count_everywhere(c->kind) ? c->count : 0 };

	l->print = fnv1a(l->print, words, sizeof(words));
	l->n++;
}

/* lists: one for each communicator of each process, in their order. */
static void read_lists(struct list *lists, const struct run *run, const struct comm_hashes *hashes)
{
	for (size_t i = 0; i < run->n_traces; i++) {
		const struct trace *t = run->traces[i];

		for (uint32_t k = 0; k < t->n_comms; k++)
			lists[k] = (struct list){ .hash = ranks_hash(hashes, t, k),
						  .print = FNV_BEGIN,
						  .trace = (uint32_t)i,
						  .comm = k,
						  .counted = t->comms[k].counted };
		for (size_t k = 0; k < t->n_nccl; k++)
			if (t->nccl[k].comm < t->n_comms && nccl_is_collective(t->nccl[k].kind))
				add_call(&lists[t->nccl[k].comm], &t->nccl[k]);
		lists += t->n_comms;
	}
}

/* Where not all ranks are in each window, clocks of hosts may be so far apart that windows seem to be the same which are not. */
static bool same_window(const struct ranks *r, const struct list *at, size_t n)
{
	for (size_t i = 1; r->timeline->run->windows_uneven && i < n; i++)
		if (r->clock_of[at[i].trace] != r->clock_of[at->trace])
			return false;
	return true;
}

static bool alike(const struct list *at, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (!at[i].counted || at[i].n != at->n || at[i].print != at->print)
			return false;
	return at->counted;
}

/* Of which groups the numbers tell nothing. */
static void judge(struct ranks *r, struct list *lists, size_t n)
{
	array_sort(lists, n, sizeof(*lists), by_hash);
	for (size_t i = 0, end; i < n; i = end) {
		bool counted = false, told;

		for (end = i; end < n && lists[end].hash == lists[i].hash; end++)
			counted |= lists[end].counted;
		told = !counted || (alike(&lists[i], end - i) && same_window(r, &lists[i], end - i));
		r->groups_apart += !told;
		for (size_t k = i; k < end; k++)
			lists[k].told = told;
	}
}

static bool list_before(const void *element, const void *key)
{
	return by_hash(element, key) < 0;
}

static void drop_parts(struct ranks *r, const struct list *lists, size_t n, const struct comm_hashes *hashes)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n_parts; i++) {
		const struct rank_part *p = &r->parts[i];
		const struct trace *t = r->members[p->member].trace;
		struct list key = { .hash = ranks_hash(hashes, t, p->comm) };
		size_t at = array_first(lists, n, sizeof(*lists), list_before, &key);

		if (lists[at].told)
			r->parts[kept++] = *p;
	}
	r->n_parts = kept;
}

static size_t communicators(const struct run *run, bool *counted)
{
	size_t n = 0;

	*counted = false;
	for (size_t i = 0; i < run->n_traces; i++) {
		n += run->traces[i]->n_comms;
		for (size_t k = 0; k < run->traces[i]->n_comms; k++)
			*counted |= run->traces[i]->comms[k].counted;
	}
	return n;
}

bool ranks_check_counted(struct ranks *r)
{
	const struct run *run = r->timeline->run;
	struct comm_hashes hashes;
	struct list *lists;
	bool counted;
	size_t n = communicators(run, &counted);

	if (!counted)
		return true;
	lists = array_new(n, sizeof(*lists));
	if (!lists || !comm_hashes_build(&hashes, run)) {
		free(lists);
		return false;
	}
	read_lists(lists, run, &hashes);
	judge(r, lists, n);
	drop_parts(r, lists, n, &hashes);
	comm_hashes_free(&hashes);
	free(lists);
	return true;
}
