/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_memory.h"

#include "clock.h"
#include "tools/alloc.h"
#include "tools/spill.h"

#include <stdlib.h>
#include <string.h>

static bool add_block(struct trace_memory *m, const struct gst_block *r, int64_t time_ns, uint32_t tid, uint64_t byte)
{
	if (!spill_room(m->blocks, m->n_blocks, m->cap_blocks))
		return false;
	m->blocks[m->n_blocks++] = (struct block_event){ .time_ns = time_ns,
							 .address = r->address,
							 .bytes = r->bytes,
							 .allocated = r->allocated,
							 .reserved = r->reserved,
							 .byte = byte,
							 .tid = tid,
							 .device = r->device,
							 .kind = r->kind,
							 .said = BLOCK_ALLOCATED | BLOCK_RESERVED };
	return true;
}

bool trace_memory_add_block(struct trace_memory *m, const struct gst_block *r, uint32_t tid, uint64_t byte)
{
	return add_block(m, r, (int64_t)r->ticks, tid, byte);
}

void trace_memory_settle_blocks(struct trace_memory *m, const struct clock *clock)
{
	struct clock_line line = { 0 };

	for (size_t i = 0; i < m->n_blocks; i++) {
		uint64_t ticks = (uint64_t)m->blocks[i].time_ns;

		if (clock_is_ns(clock)) {
			m->blocks[i].time_ns = clock_clamp(ticks);
			continue;
		}
		if (ticks < line.from || ticks >= line.until)
			line = clock_line_at(clock, ticks);
		m->blocks[i].time_ns = clock_line_ns(&line, ticks);
	}
}

static bool add_mapping(struct trace_memory *m, const struct gst_mapping *r, int64_t time_ns)
{
	if (!array_room(m->mappings, m->n_mappings, m->cap_mappings))
		return false;
	m->mappings[m->n_mappings++] = (struct mapping){ time_ns, r->address, r->bytes, r->handle, r->offset };
	return true;
}

static bool add_pool(struct trace_memory *m, const struct gst_pool *r, int64_t time_ns)
{
	if (!array_room(m->pools, m->n_pools, m->cap_pools))
		return false;
	m->pools[m->n_pools++] = (struct pool_state){ time_ns,      r->reserved, r->reserved_high, r->used,
						      r->used_high, r->pool,     r->device };
	return true;
}

static bool add_left(struct trace_memory *m, const struct gst_memory_left *r, int64_t time_ns, uint32_t tid)
{
	if (!array_room(m->left, m->n_left, m->cap_left))
		return false;
	m->left[m->n_left++] = (struct memory_left){ time_ns, r->free, r->total, tid, r->device };
	return true;
}

bool trace_memory_add(struct trace_memory *m, struct clock *clock, int64_t seen_ns, const struct gst_record *r,
		      uint32_t tid, uint64_t byte)
{
	uint64_t ticks;
	int64_t time_ns;

	if (r->type != GST_BLOCK && r->type != GST_MAPPING && r->type != GST_POOL && r->type != GST_MEMORY_LEFT)
		return true;
	ticks = ((const struct gst_block *)r)->ticks; /* all have them first */
	time_ns = clock_ns(clock, ticks);
	if (time_ns > seen_ns)
		return true;
	switch (r->type) {
	case GST_BLOCK:
		return add_block(m, (const struct gst_block *)r, time_ns, tid, byte);
	case GST_MAPPING:
		return add_mapping(m, (const struct gst_mapping *)r, time_ns);
	case GST_POOL:
		return add_pool(m, (const struct gst_pool *)r, time_ns);
	default:
		return add_left(m, (const struct gst_memory_left *)r, time_ns, tid);
	}
}

#define BY_TIME(name, type)                                                   \
	static int name(const void *a, const void *b)                         \
	{                                                                     \
		const struct type *x = a, *y = b;                             \
		return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns); \
	}
BY_TIME(mapping_by_time, mapping)
BY_TIME(pool_by_time, pool_state)
BY_TIME(left_by_time, memory_left)

static int block_by_time(const void *a, const void *b)
{
	const struct block_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->byte > y->byte) - (x->byte < y->byte);
}

/* What follows is for lists of any of them: their time comes first. */
static int64_t time_of(const void *list, size_t size, size_t i)
{
	return *(const int64_t *)((const char *)list + i * size);
}

_Static_assert(offsetof(struct block_event, time_ns) == 0 && offsetof(struct mapping, time_ns) == 0 &&
		       offsetof(struct pool_state, time_ns) == 0 && offsetof(struct memory_left, time_ns) == 0,
	       "time_of");

void trace_memory_sort(struct trace_memory *m)
{
	array_sort(m->blocks, m->n_blocks, sizeof(*m->blocks), block_by_time);
	array_sort(m->mappings, m->n_mappings, sizeof(*m->mappings), mapping_by_time);
	array_sort(m->pools, m->n_pools, sizeof(*m->pools), pool_by_time);
	array_sort(m->left, m->n_left, sizeof(*m->left), left_by_time);
}

static void cut(const void *list, size_t *n, size_t size, int64_t cut_ns)
{
	while (*n && time_of(list, size, *n - 1) > cut_ns)
		--*n;
}

void trace_memory_cut(struct trace_memory *m, int64_t cut_ns)
{
	cut(m->blocks, &m->n_blocks, sizeof(*m->blocks), cut_ns);
	cut(m->mappings, &m->n_mappings, sizeof(*m->mappings), cut_ns);
	cut(m->pools, &m->n_pools, sizeof(*m->pools), cut_ns);
	cut(m->left, &m->n_left, sizeof(*m->left), cut_ns);
}

static void leave_out(void *list, size_t *n, size_t size, int64_t from_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (time_of(list, size, i) > from_ns)
			memmove((char *)list + kept++ * size, (char *)list + i * size, size);
	*n = kept;
}

void trace_memory_leave_out(struct trace_memory *m, int64_t from_ns)
{
	leave_out(m->blocks, &m->n_blocks, sizeof(*m->blocks), from_ns);
	leave_out(m->mappings, &m->n_mappings, sizeof(*m->mappings), from_ns);
	leave_out(m->pools, &m->n_pools, sizeof(*m->pools), from_ns);
	leave_out(m->left, &m->n_left, sizeof(*m->left), from_ns);
}

int64_t trace_memory_end(const struct trace_memory *m, int64_t end_ns)
{
	return m->n_blocks && m->blocks[m->n_blocks - 1].time_ns > end_ns ? m->blocks[m->n_blocks - 1].time_ns : end_ns;
}

void trace_memory_free(struct trace_memory *m)
{
	spill_free(m->blocks);
	free(m->mappings);
	free(m->pools);
	free(m->left);
	*m = (struct trace_memory){ 0 };
}
