/* SPDX-License-Identifier: BSD-2-Clause */
/* import_streams.c: the streams that calls name, by a number without a context. Where several streams have it nobody knows which is meant. */
#include "import_build.h"

#include "alloc.h"

#include <stdlib.h>

struct known {
	const struct trace *t;
	struct hash_index by_number, by_device; /* the first stream of that number; of that number and device */
	bool *several, *several_of_device;      /* by stream: others are like it */
};

static uint64_t number_hash(uint64_t number)
{
	return import_hash(number, 4);
}

static uint64_t device_hash(uint64_t number, uint32_t device)
{
	return import_hash(number, import_hash(device, 5));
}

static uint32_t find(const struct known *k, uint64_t number, uint32_t device)
{
	bool any = device == IMPORT_NO_DEVICE;
	const struct hash_index *index = any ? &k->by_number : &k->by_device;
	uint64_t hash = any ? number_hash(number) : device_hash(number, device);
	uint32_t i;

	for (size_t at = 0; (i = hash_next(index, hash, &at)) != HASH_NONE;)
		if (k->t->streams[i].handle == number && (any || k->t->streams[i].device == device))
			return i;
	return GST_NONE;
}

static bool add(struct known *k, uint32_t i)
{
	const struct stream *s = &k->t->streams[i];
	uint32_t first = find(k, s->handle, IMPORT_NO_DEVICE), here = find(k, s->handle, s->device);

	if (first != GST_NONE)
		k->several[first] = true;
	else if (!hash_add(&k->by_number, number_hash(s->handle), i))
		return false;
	if (here != GST_NONE)
		k->several_of_device[here] = true;
	else if (!hash_add(&k->by_device, device_hash(s->handle, s->device), i))
		return false;
	return true;
}

static uint32_t meant_by(const struct known *k, const struct import_said *said)
{
	uint32_t i = find(k, said->stream, said->device);

	if (i == GST_NONE)
		return GST_NONE;
	return (said->device == IMPORT_NO_DEVICE ? k->several : k->several_of_device)[i] ? GST_NONE : i;
}

bool import_streams_resolve(struct import_process *p)
{
	struct trace *t = p->t;
	struct known k = { .t = t,
			   .several = array_new(t->n_streams, sizeof(*k.several)),
			   .several_of_device = array_new(t->n_streams, sizeof(*k.several_of_device)) };
	uint32_t *meant = array_new(p->n_said, sizeof(*meant));
	bool ok = k.several && k.several_of_device && meant;

	for (uint32_t i = 0; ok && i < t->n_streams; i++)
		ok = add(&k, i);
	for (size_t i = 0; ok && i < p->n_said; i++)
		meant[i] = meant_by(&k, &p->said[i]);
	for (size_t i = 0; ok && i < t->n_calls; i++)
		if (t->calls[i].stream != GST_NONE)
			t->calls[i].stream = meant[t->calls[i].stream];
	hash_free(&k.by_number);
	hash_free(&k.by_device);
	free(k.several);
	free(k.several_of_device);
	free(meant);
	return ok;
}
