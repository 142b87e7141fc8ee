/* SPDX-License-Identifier: BSD-2-Clause */
#include "comm_hashes.h"

#include "tools/alloc.h"

#include <stdlib.h>

static int by_from(const void *a, const void *b)
{
	const struct comm_alias *x = a, *y = b;

	return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

static bool alias_before(const void *element, const void *key)
{
	return ((const struct comm_alias *)element)->from < *(const uint64_t *)key;
}

bool comm_hashes_build(struct comm_hashes *out, const struct run *run)
{
	size_t all = 0;

	for (size_t i = 0; i < run->n_traces; i++)
		all += run->traces[i]->n_comms;
	*out = (struct comm_hashes){ .aliases = array_new(all, sizeof(*out->aliases)) };
	if (!out->aliases)
		return false;
	for (size_t i = 0; i < run->n_traces; i++) {
		const struct trace *t = run->traces[i];

		for (size_t k = 0; k < t->n_comms; k++)
			if (t->comms[k].also)
				out->aliases[out->n++] = (struct comm_alias){ t->comms[k].also, t->comms[k].hash };
	}
	array_sort(out->aliases, out->n, sizeof(*out->aliases), by_from);
	return true;
}

void comm_hashes_free(struct comm_hashes *h)
{
	free(h->aliases);
	*h = (struct comm_hashes){ 0 };
}

uint64_t comm_hash_of(const struct comm_hashes *h, uint64_t hash)
{
	size_t i = array_first(h->aliases, h->n, sizeof(*h->aliases), alias_before, &hash);

	return i < h->n && h->aliases[i].from == hash ? h->aliases[i].to : hash;
}
