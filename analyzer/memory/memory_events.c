/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_events.h"

#include "memory_contexts.h"
#include "memory_told.h"
#include "tools/alloc.h"
#include "tools/spill.h"
#include "trace/trace_rare.h"

#include <stdlib.h>
#include <string.h>

#define OUT_OF_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY */
#define NOTHING 0xff
#define SOON_EVENTS 256    /* behind an allocation */
#define SOON_RESERVED 8192 /* behind addresses, into which memory is mapped piece by piece first */

/* What the calls of these families do is in their names, without the suffixes of versions and of the per-thread stream. */
static const struct {
	const char *name;
	uint8_t family, what;
} calls[] = {
	{ "cuMemAlloc", GST_FAMILY_ALLOC, MEMORY_ALLOC },
	{ "cuMemAllocPitch", GST_FAMILY_ALLOC, MEMORY_ALLOC },
	{ "cuMemAllocManaged", GST_FAMILY_ALLOC, MEMORY_ALLOC },
	{ "cuMemFree", GST_FAMILY_FREE, MEMORY_DROP },
	{ "cuMemAllocAsync", GST_FAMILY_POOL, MEMORY_POOL_TAKE },
	{ "cuMemAllocFromPoolAsync", GST_FAMILY_POOL, MEMORY_POOL_TAKE },
	{ "cuMemFreeAsync", GST_FAMILY_POOL, MEMORY_DROP },
	{ "cuMemPoolCreate", GST_FAMILY_POOL, MEMORY_POOL_MADE },
	{ "cuMemPoolDestroy", GST_FAMILY_POOL, MEMORY_POOL_GONE },
	{ "cuMemAddressReserve", GST_FAMILY_VMM, MEMORY_RESERVE },
	{ "cuMemAddressFree", GST_FAMILY_VMM, MEMORY_UNRESERVE },
	{ "cuMemCreate", GST_FAMILY_VMM, MEMORY_CREATE },
	{ "cuMemRelease", GST_FAMILY_VMM, MEMORY_RELEASE },
	{ "cuMemRetainAllocationHandle", GST_FAMILY_VMM, MEMORY_RETAIN },
	{ "cuMemUnmap", GST_FAMILY_VMM, MEMORY_UNMAP },
	{ "cuCtxDestroy", GST_FAMILY_CONTEXT, MEMORY_CONTEXT_GONE },
	{ "cuDevicePrimaryCtxReset", GST_FAMILY_CONTEXT, MEMORY_RESET },
};

bool memory_refused(const struct call *c)
{
	return c->result == OUT_OF_MEMORY &&
	       (c->family == GST_FAMILY_ALLOC || c->family == GST_FAMILY_POOL || c->family == GST_FAMILY_VMM);
}

static size_t bare_length(const char *name)
{
	size_t n = strlen(name);
	const char *version = strstr(name, "_v"), *stream = strstr(name, "_ptsz");

	if (stream)
		n = (size_t)(stream - name);
	if (version && (size_t)(version - name) < n)
		n = (size_t)(version - name);
	return n;
}

static uint8_t happening(const char *name)
{
	size_t n = name ? bare_length(name) : 0;

	for (size_t i = 0; n && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i].name) == n && memcmp(calls[i].name, name, n) == 0)
			return (uint8_t)i;
	return NOTHING;
}

bool memory_event_add(struct memory_events *out, const struct memory_event *event)
{
	if (!spill_room(out->at, out->n, out->cap))
		return false;
	out->at[out->n] = *event;
	out->at[out->n].order = (uint32_t)out->n;
	out->n++;
	return true;
}

/* Memory is held from the moment the call returned that took it, and up to the one that gives it back was entered. */
static bool gives_back(uint8_t what)
{
	return what < MEMORY_POOL_GONE;
}

static bool add_call(struct memory_events *out, const struct call *c, uint8_t row, uint32_t process,
		     struct memory_contexts *contexts)
{
	struct memory_event e = { .call = c, .process = process };

	if (row == NOTHING || calls[row].family != c->family || c->result || (c->flags & GST_CAPTURED))
		return true;
	e.what = calls[row].what;
	if (e.what != MEMORY_POOL_GONE && e.what != MEMORY_POOL_MADE && !c->args[0])
		return true;
	if (c->family == GST_FAMILY_CONTEXT && (e.device = memory_contexts_end(contexts, c)) == 0xffff)
		return true;
	e.time_ns = gives_back(e.what) ? c->begin_ns : c->end_ns;
	return memory_event_add(out, &e);
}

/* Is there a call for which it matters which contexts were used before? No other has to do with launches. */
static bool ends_contexts(const struct trace *t, const uint8_t *rows)
{
	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1))
		if (t->calls[i].family == GST_FAMILY_CONTEXT && t->calls[i].hook < t->n_hooks &&
		    rows[t->calls[i].hook] != NOTHING)
			return true;
	return false;
}

static bool add_calls(struct memory_events *out, const struct trace *t, uint32_t process)
{
	uint8_t *rows = array_new(t->n_hooks, 1);
	struct memory_contexts contexts;
	bool all, ok = memory_contexts_build(&contexts, t) && rows;

	for (size_t i = 0; ok && i < t->n_hooks; i++)
		rows[i] = happening(t->hooks[i]);
	all = ok && ends_contexts(t, rows);
	for (size_t i = all ? 0 : trace_rare(t, 0); ok && i < t->n_calls; i = all ? i + 1 : trace_rare(t, i + 1)) {
		memory_contexts_use(&contexts, &t->calls[i]);
		if (t->calls[i].hook < t->n_hooks && rows[t->calls[i].hook] != NOTHING)
			ok = add_call(out, &t->calls[i], rows[t->calls[i].hook], process, &contexts);
	}
	memory_contexts_free(&contexts);
	free(rows);
	return ok;
}

/* False: it is none of those that change what is held. */
static bool block_event_of(const struct block_event *b, uint32_t process, struct memory_event *out)
{
	*out = (struct memory_event){ .time_ns = b->time_ns, .block = b, .process = process };
	out->what = b->kind == GST_BLOCK_TAKEN ? MEMORY_TAKE : MEMORY_GIVE;
	return b->kind == GST_BLOCK_TAKEN || b->kind == GST_BLOCK_GIVEN;
}

/* What of one instant is given back comes first, as the events' order has it? */
static bool in_order(const struct trace_memory *m)
{
	for (size_t i = 1; i < m->n_blocks; i++)
		if (m->blocks[i].time_ns == m->blocks[i - 1].time_ns && m->blocks[i].kind == GST_BLOCK_GIVEN &&
		    m->blocks[i - 1].kind == GST_BLOCK_TAKEN)
			return false;
	return true;
}

static bool add_blocks(struct memory_events *out, const struct trace_memory *m, uint32_t process, bool told)
{
	bool ok = true;

	for (size_t i = 0; ok && i < m->n_blocks; i++) {
		struct memory_event e;

		if (!block_event_of(&m->blocks[i], process, &e))
			continue;
		e.in_turn = told;
		ok = memory_event_add(out, &e);
	}
	return ok;
}

static bool add_others(struct memory_events *out, const struct trace_memory *m, uint32_t process)
{
	bool ok = true;

	for (size_t i = 0; ok && i < m->n_mappings; i++) {
		struct memory_event e = { .time_ns = m->mappings[i].time_ns, .process = process, .what = MEMORY_MAP };

		e.mapping = &m->mappings[i];
		ok = memory_event_add(out, &e);
	}
	for (size_t i = 0; ok && i < m->n_pools; i++) {
		struct memory_event e = { .time_ns = m->pools[i].time_ns, .process = process, .what = MEMORY_POOL_IS };

		e.pool = &m->pools[i];
		ok = memory_event_add(out, &e);
	}
	return ok;
}

bool memory_events_add(struct memory_events *out, const struct run *run)
{
	bool alone = run->n_traces == 1 && (memory_told_in(run->traces[0]) || in_order(&run->traces[0]->memory));

	if (alone) {
		out->blocks = run->traces[0]->memory.blocks;
		out->n_blocks = run->traces[0]->memory.n_blocks;
	}
	for (uint32_t i = 0; i < run->n_traces; i++) {
		const struct trace *t = run->traces[i];
		bool told = memory_told_in(t);

		if (!add_calls(out, t, i) || (!alone && !add_blocks(out, &t->memory, i, told)) ||
		    (told && !memory_told_add(out, t, i)) || !add_others(out, &t->memory, i))
			return false;
	}
	return true;
}

static uint8_t turn(const struct memory_event *e)
{
	return e->in_turn ? MEMORY_TAKE : e->what;
}

static int by_time(const void *a, const void *b)
{
	const struct memory_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (turn(x) != turn(y))
		return turn(x) < turn(y) ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

bool memory_walk_next(struct memory_walk *w, struct memory_event *out)
{
	const struct memory_events *m = w->of;
	const struct memory_event *other = w->at < m->n ? &m->at[w->at] : NULL;

	for (; w->block < m->n_blocks; w->block++) {
		if (!block_event_of(&m->blocks[w->block], 0, out))
			continue;
		if (other && (other->time_ns != out->time_ns ? other->time_ns < out->time_ns : other->what < out->what))
			break;
		w->block++;
		return true;
	}
	if (!other)
		return false;
	*out = *other;
	w->at++;
	return true;
}

static bool taken_before(const void *element, const void *key)
{
	return ((const struct block_event *)element)->time_ns < *(const int64_t *)key;
}

/* Behind the event. */
static struct memory_walk walk_behind(const struct memory_events *m, size_t index)
{
	const struct memory_event *e = &m->at[index];
	struct memory_walk w = { .of = m, .at = index + 1 };

	w.block = array_first(m->blocks, m->n_blocks, sizeof(*m->blocks), taken_before, &e->time_ns);
	/* of the same instant what is given back stands before it */
	while (w.block < m->n_blocks && m->blocks[w.block].time_ns == e->time_ns &&
	       m->blocks[w.block].kind != GST_BLOCK_TAKEN)
		w.block++;
	return w;
}

/* An allocator that asks the driver hands out a block of what it got right away; from the first moment on, the rest is free. */
static bool is_shared_out(const struct memory_events *m, size_t index)
{
	const struct memory_event *e = &m->at[index];
	uint64_t address = e->call->args[0], bytes = e->call->args[1];
	size_t soon = e->what == MEMORY_RESERVE ? SOON_RESERVED : SOON_EVENTS;
	struct memory_walk w = walk_behind(m, index);
	struct memory_event later;

	for (size_t i = 1; i < soon && memory_walk_next(&w, &later); i++) {
		if (later.process != e->process)
			continue;
		if (later.what == MEMORY_TAKE && later.block->address - address < bytes)
			return true;
		if ((later.what == MEMORY_DROP || later.what == MEMORY_UNRESERVE) && later.call->args[0] == address)
			return false;
	}
	return false;
}

void memory_events_sort(struct memory_events *m)
{
	bool blocks = m->n_blocks > 0;

	array_sort(m->at, m->n, sizeof(*m->at), by_time);
	for (size_t i = m->n; i-- > 0;) {
		blocks |= m->at[i].what == MEMORY_TAKE;
		if (blocks && (m->at[i].what == MEMORY_ALLOC || m->at[i].what == MEMORY_RESERVE))
			m->at[i].shared_out = is_shared_out(m, i);
	}
}

void memory_events_free(struct memory_events *m)
{
	spill_free(m->at);
	*m = (struct memory_events){ 0 };
}
