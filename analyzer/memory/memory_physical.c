/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_physical.h"

#include "memory_pools.h"
#include "tools/alloc.h"

#include <string.h>

struct memory_handle {
	uint64_t handle, bytes, mapped;
	/* Of all that were made: the driver gives out a handle again though memory of its old meaning is mapped still. */
	uint64_t number;
	uint32_t references;
	size_t where;
};

struct memory_mapped {
	uint64_t address, bytes, handle;
	uint64_t number; /* the handle's */
	size_t where;
};

/* ---- sorted lists: the first word of each entry is its key ------------------------------------------------------------ */

static bool lower(const void *entry, const void *key)
{
	return *(const uint64_t *)entry < *(const uint64_t *)key;
}

/* A place for an entry with this key, before those that have a greater one. */
#define LIST_ADD(list, n, cap, entry)                                                         \
	({                                                                                    \
		bool room_ = array_room(list, n, cap);                                        \
		if (room_) {                                                                  \
			size_t at_ = array_first(list, n, sizeof(*(list)), lower, &(entry));  \
			memmove(&(list)[at_ + 1], &(list)[at_], ((n)-at_) * sizeof(*(list))); \
			(list)[at_] = (entry);                                                \
			(n)++;                                                                \
		}                                                                             \
		room_;                                                                        \
	})

#define LIST_DROP(list, n, at)                                                           \
	do {                                                                             \
		(n)--;                                                                   \
		memmove(&(list)[at], &(list)[(at) + 1], ((n) - (at)) * sizeof(*(list))); \
	} while (0)

static struct memory_handle *find_handle(struct memory_process *p, uint64_t handle)
{
	size_t at = array_first(p->handles, p->n_handles, sizeof(*p->handles), lower, &handle);

	return at < p->n_handles && p->handles[at].handle == handle ? &p->handles[at] : NULL;
}

struct memory_reserved *memory_reserved_around(const struct memory_process *p, uint64_t address)
{
	uint64_t beyond = address + 1;
	size_t at =
		beyond ? array_first(p->reserved, p->n_reserved, sizeof(*p->reserved), lower, &beyond) : p->n_reserved;

	return at && address - p->reserved[at - 1].address < p->reserved[at - 1].bytes ? &p->reserved[at - 1] : NULL;
}

static uint64_t loose_of(const struct memory_handle *h)
{
	return h->references && h->mapped < h->bytes ? h->bytes - h->mapped : 0;
}

/* What a handle means changes from `before`; one that stands for nothing any more goes. */
static void settle(struct memory_process *p, struct memory_handle *h, uint64_t before)
{
	size_t at = (size_t)(h - p->handles);

	p->held[h->where].loose += loose_of(h) - before;
	if (!h->references && !h->mapped)
		LIST_DROP(p->handles, p->n_handles, at);
}

bool memory_create(struct memory_process *p, const struct call *c, size_t where)
{
	struct memory_handle h = {
		.handle = c->args[0], .bytes = c->args[1], .number = ++p->handles_made, .references = 1, .where = where
	};
	struct memory_handle *old = find_handle(p, h.handle);

	if (h.bytes > MEMORY_BEYOND_ANY)
		return true;
	if (old) { /* its end was not seen */
		uint64_t before = loose_of(old);

		old->references = 0;
		old->mapped = 0;
		settle(p, old, before);
	}
	p->held[where].loose += h.bytes;
	return LIST_ADD(p->handles, p->n_handles, p->cap_handles, h);
}

void memory_refer(struct memory_process *p, uint64_t handle, int by, size_t *where)
{
	struct memory_handle *h = find_handle(p, handle);
	uint64_t before = h ? loose_of(h) : 0;

	if (!h || (by < 0 && !h->references))
		return;
	*where = h->where;
	h->references += (uint32_t)by;
	settle(p, h, before);
}

bool memory_reserve(struct memory_process *p, const struct memory_event *e)
{
	struct memory_reserved r = { e->call->args[0], e->call->args[1], e->shared_out };

	return LIST_ADD(p->reserved, p->n_reserved, p->cap_reserved, r);
}

void memory_unreserve(struct memory_process *p, uint64_t address)
{
	size_t at = array_first(p->reserved, p->n_reserved, sizeof(*p->reserved), lower, &address);

	if (at < p->n_reserved && p->reserved[at].address == address)
		LIST_DROP(p->reserved, p->n_reserved, at);
}

bool memory_stand_no_more(struct memory_process *p, uint64_t address, uint64_t bytes, size_t *where, uint64_t *given)
{
	size_t at = array_first(p->mapped, p->n_mapped, sizeof(*p->mapped), lower, &address);

	while (at < p->n_mapped && p->mapped[at].address - address < bytes) {
		struct memory_mapped m = p->mapped[at];
		struct memory_handle *h = find_handle(p, m.handle);

		LIST_DROP(p->mapped, p->n_mapped, at);
		*where = m.where;
		*given += m.bytes;
		if (!memory_map_remove(&p->held[m.where].map, m.address, m.bytes))
			return false;
		if (h && h->number == m.number) {
			uint64_t before = loose_of(h);

			h->mapped -= m.bytes < h->mapped ? m.bytes : h->mapped;
			settle(p, h, before);
		}
	}
	return true;
}

/* Memory of another process's, of which no handle was made here, is not ours to count. */
bool memory_stand(struct memory_process *p, const struct mapping *m, size_t *where)
{
	struct memory_handle *h = find_handle(p, m->handle);
	struct memory_mapped entry = { .address = m->address, .bytes = m->bytes, .handle = m->handle };
	const struct memory_reserved *r = memory_reserved_around(p, m->address);
	struct memory_piece piece = { m->address, m->bytes, r ? r->address : m->address, MEMORY_MAPPED,
				      r && r->shared_out ? MEMORY_FREE : MEMORY_WHOLE };
	uint64_t before, given = 0;

	if (!h || m->bytes > MEMORY_BEYOND_ANY)
		return true;
	if (!memory_stand_no_more(p, m->address, m->bytes, where, &given))
		return false;
	if (!(h = find_handle(p, m->handle))) /* it went with its last mapping */
		return true;
	*where = entry.where = h->where;
	entry.number = h->number;
	before = loose_of(h);
	h->mapped += m->bytes;
	settle(p, h, before);
	memory_pools_lose(p, *where, piece.address, piece.bytes);
	return memory_map_add(&p->held[*where].map, &piece) && LIST_ADD(p->mapped, p->n_mapped, p->cap_mapped, entry);
}

void memory_physical_forget(struct memory_process *p, size_t where)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n_mapped; i++)
		if (p->mapped[i].where != where)
			p->mapped[kept++] = p->mapped[i];
	p->n_mapped = kept;
	kept = 0;
	for (size_t i = 0; i < p->n_handles; i++)
		if (p->handles[i].where != where)
			p->handles[kept++] = p->handles[i];
	p->n_handles = kept;
	p->held[where].loose = 0;
}
