/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_model.h: two processes that allocate ranges on one device and hand out blocks in them, at random, as a recording would have it; and beside it a model
 * that has a place for each unit of memory. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

#define EVENTS 6000
#define RANGES 12
#define UNITS 40 /* of each range */
#define PROCESSES 2

enum { HOOK_ALLOC, HOOK_FREE, HOOK_LAUNCH };
static const char *names[] = { "cuMemAlloc_v2", "cuMemFree_v2", "cuLaunchKernel" };

static struct process {
	struct trace trace;
	struct {
		bool held, shared_out;
		uint16_t block[UNITS]; /* its number, 0 free */
	} range[RANGES];
} processes[PROCESSES];

static struct run run;
static uint32_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* ---- what is recorded ---- */

static void setup(uint32_t with)
{
	static struct trace *traces[PROCESSES];

	seed = with;
	memset(processes, 0, sizeof(processes));
	for (size_t i = 0; i < PROCESSES; i++) {
		struct trace *t = traces[i] = &processes[i].trace;

		t->hooks = names;
		t->n_hooks = 3;
		t->calls = calloc(EVENTS, sizeof(*t->calls));
		t->memory.blocks = calloc(EVENTS, sizeof(*t->memory.blocks));
		assert_non_null(t->calls);
		assert_non_null(t->memory.blocks);
	}
	run = (struct run){ .traces = traces, .n_traces = PROCESSES };
}

static void teardown(void)
{
	for (size_t i = 0; i < PROCESSES; i++) {
		free(processes[i].trace.calls);
		free(processes[i].trace.memory.blocks);
	}
}

static uint64_t address_of(size_t process, size_t range, size_t unit)
{
	return 1000000 * (process + 1) + 1000 * range + unit;
}

static struct call *call(size_t process, uint16_t hook, int64_t time_ns, uint64_t address, uint64_t bytes)
{
	struct trace *t = &processes[process].trace;
	struct call *c = &t->calls[t->n_calls++];

	*c = (struct call){ .begin_ns = time_ns,
			    .end_ns = time_ns,
			    .hook = hook,
			    .family = hook == HOOK_ALLOC  ? GST_FAMILY_ALLOC
				      : hook == HOOK_FREE ? GST_FAMILY_FREE
							  : GST_FAMILY_LAUNCH,
			    .stream = GST_NONE,
			    .args = { address, bytes } };
	return c;
}

static struct block_event *block(size_t process, enum gst_block_kind kind, int64_t time_ns, uint64_t address,
				 uint64_t bytes)
{
	struct trace *t = &processes[process].trace;
	struct block_event *b = &t->memory.blocks[t->memory.n_blocks++];

	*b = (struct block_event){ .time_ns = time_ns, .address = address, .bytes = bytes, .kind = (uint8_t)kind };
	return b;
}

/* ---- the model ---- */

static struct memory_use use_now(void)
{
	struct memory_use u = { 0 };

	for (size_t p = 0; p < PROCESSES; p++)
		for (size_t r = 0; r < RANGES; r++) {
			uint64_t hole = 0;

			for (size_t i = 0; processes[p].range[r].held && i < UNITS; i++) {
				bool is_free = processes[p].range[r].shared_out && !processes[p].range[r].block[i];

				hole = is_free ? hole + 1 : 0;
				u.reserved++;
				u.allocated += !is_free;
				u.largest_free = hole > u.largest_free ? hole : u.largest_free;
			}
		}
	return u;
}

/* A block somewhere in the range, if there is room where it is looked for. */
static bool take(size_t p, size_t r, int64_t time_ns, uint16_t number)
{
	size_t from = below(UNITS), n = 1 + below(8);

	n = from + n > UNITS ? UNITS - from : n;
	for (size_t i = from; i < from + n; i++)
		if (processes[p].range[r].block[i])
			return false;
	for (size_t i = from; i < from + n; i++)
		processes[p].range[r].block[i] = number;
	block(p, GST_BLOCK_TAKEN, time_ns, address_of(p, r, from), n);
	return true;
}

static bool give(size_t p, size_t r, int64_t time_ns)
{
	size_t from = below(UNITS), n = 0;
	uint16_t number = processes[p].range[r].block[from];

	if (!number)
		return false;
	while (from > 0 && processes[p].range[r].block[from - 1] == number)
		from--;
	while (from + n < UNITS && processes[p].range[r].block[from + n] == number)
		processes[p].range[r].block[from + n++] = 0;
	block(p, GST_BLOCK_GIVEN, time_ns, address_of(p, r, from), n);
	return true;
}

/* One event, or none; a framework's allocator takes a block right behind its allocation. */
static bool act(int64_t time_ns, uint16_t number)
{
	size_t p = below(PROCESSES), r = below(RANGES);
	bool held = processes[p].range[r].held;

	if (!held) {
		memset(&processes[p].range[r], 0, sizeof(processes[p].range[r]));
		processes[p].range[r].held = true;
		processes[p].range[r].shared_out = below(3) != 0;
		call(p, HOOK_ALLOC, time_ns, address_of(p, r, 0), UNITS);
		if (processes[p].range[r].shared_out)
			take(p, r, time_ns + 1, number);
		return true;
	}
	if (below(30) == 0) {
		processes[p].range[r].held = false;
		call(p, HOOK_FREE, time_ns, address_of(p, r, 0), 0);
		return true;
	}
	return processes[p].range[r].shared_out && (below(2) ? take(p, r, time_ns, number) : give(p, r, time_ns));
}

static struct call *refused(int64_t time_ns, uint32_t tid, uint64_t bytes)
{
	struct call *c = call(0, HOOK_ALLOC, time_ns, 0, bytes);

	c->tid = tid;
	c->result = 2;
	return c;
}
