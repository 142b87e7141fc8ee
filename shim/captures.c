/* SPDX-License-Identifier: BSD-2-Clause */
#include "captures.h"

#include <string.h>

#include "gate.h"

#define OPEN_MAX 256
#define TAKEN ((uintptr_t)CU_STREAM_LEGACY) /* a place being filled: no capture is ever the legacy stream's */

static struct open {
	struct stream_key
		key; /* handle 0: free. The context is noted for every stream, and tells default streams apart. */
} open[OPEN_MAX];

static struct open *find(const struct stream_key *stream)
{
	for (unsigned i = 0; __atomic_load_n(&gate.captures, __ATOMIC_RELAXED) && i < OPEN_MAX; i++) {
		const struct stream_key *k = &open[i].key;

		if (__atomic_load_n(&k->handle, __ATOMIC_ACQUIRE) == stream->handle && k->tid == stream->tid &&
		    (!stream->tid || k->context == stream->context))
			return &open[i];
	}
	return NULL;
}

bool captures_has(const struct stream_key *stream)
{
	return find(stream) != NULL;
}

void captures_add(const struct stream_key *stream)
{
	/* Counted first, and also where there is no place for it: then nothing is ever injected again, and nothing is spoilt. */
	__atomic_fetch_add(&gate.captures, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < OPEN_MAX; i++) {
		uint64_t none = 0;

		if (!__atomic_compare_exchange_n(&open[i].key.handle, &none, TAKEN, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		open[i].key.context = stream->context;
		open[i].key.tid = stream->tid;
		__atomic_store_n(&open[i].key.handle, stream->handle, __ATOMIC_RELEASE);
		return;
	}
}

static void end(struct open *o, uint64_t handle)
{
	if (__atomic_compare_exchange_n(&o->key.handle, &handle, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		__atomic_fetch_sub(&gate.captures, 1, __ATOMIC_SEQ_CST);
}

void captures_remove(const struct stream_key *stream)
{
	struct open *o = find(stream);

	if (o)
		end(o, stream->handle);
}

void captures_context_gone(uint64_t context)
{
	for (unsigned i = 0; i < OPEN_MAX; i++) {
		uint64_t handle = __atomic_load_n(&open[i].key.handle, __ATOMIC_ACQUIRE);

		if (handle > TAKEN && open[i].key.context == context)
			end(&open[i], handle);
	}
}

void captures_forget(void)
{
	memset(open, 0, sizeof(open));
}
