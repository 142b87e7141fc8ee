/* SPDX-License-Identifier: BSD-2-Clause */
/* import_streams.c: the streams that calls name, by a number, and its context or device where they say one. Where several streams have it nobody
 * knows which is meant. */
#include "import_build.h"

#include "tools/alloc.h"

#include <stdlib.h>

enum by { BY_NUMBER, BY_DEVICE, BY_CONTEXT, BYS };

struct known {
	const struct trace *t;
	struct hash_index index[BYS]; /* the first stream of that number; of that number and device, or context */
	bool *several[BYS];           /* by stream: others are like it */
	bool contexts;                /* some work says its own */
};

static uint64_t owner_of(const struct stream *s, enum by by)
{
	return by == BY_NUMBER ? 0 : by == BY_DEVICE ? s->device : s->context;
}

static uint64_t hash_of(uint64_t number, enum by by, uint64_t owner)
{
	return import_hash(number, import_hash(owner, 4 + by));
}

static uint32_t find(const struct known *k, uint64_t number, enum by by, uint64_t owner)
{
	uint32_t i;

	for (size_t at = 0; (i = hash_next(&k->index[by], hash_of(number, by, owner), &at)) != HASH_NONE;)
		if (k->t->streams[i].handle == number && owner_of(&k->t->streams[i], by) == owner)
			return i;
	return GST_NONE;
}

static bool add(struct known *k, uint32_t i)
{
	const struct stream *s = &k->t->streams[i];

	k->contexts |= s->context < IMPORT_MADE_UP;
	for (enum by by = 0; by < BYS; by++) {
		uint64_t owner = owner_of(s, by);
		uint32_t first = find(k, s->handle, by, owner);

		if (first != GST_NONE)
			k->several[by][first] = true;
		else if (!hash_add(&k->index[by], hash_of(s->handle, by, owner), i))
			return false;
	}
	return true;
}

static uint32_t meant_by(const struct known *k, const struct import_said *said)
{
	enum by by = said->context && k->contexts       ? BY_CONTEXT
		     : said->device != IMPORT_NO_DEVICE ? BY_DEVICE
							: BY_NUMBER;
	uint64_t owner = by == BY_CONTEXT ? said->context : by == BY_DEVICE ? said->device : 0;
	uint32_t i = find(k, said->stream, by, owner);

	return i == GST_NONE || k->several[by][i] ? GST_NONE : i;
}

bool import_streams_resolve(struct import_process *p)
{
	struct trace *t = p->t;
	struct known k = { .t = t };
	uint32_t *meant = array_new(p->n_said, sizeof(*meant));
	bool ok = meant != NULL;

	for (enum by by = 0; by < BYS; by++) {
		k.several[by] = array_new(t->n_streams, sizeof(*k.several[by]));
		ok = ok && k.several[by];
	}
	for (uint32_t i = 0; ok && i < t->n_streams; i++)
		ok = add(&k, i);
	for (size_t i = 0; ok && i < p->n_said; i++)
		meant[i] = meant_by(&k, &p->said[i]);
	for (size_t i = 0; ok && i < t->n_calls; i++)
		if (t->calls[i].stream != GST_NONE)
			t->calls[i].stream = meant[t->calls[i].stream];
	for (enum by by = 0; by < BYS; by++) {
		hash_free(&k.index[by]);
		free(k.several[by]);
	}
	free(meant);
	return ok;
}
