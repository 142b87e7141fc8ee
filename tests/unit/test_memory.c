/* SPDX-License-Identifier: BSD-2-Clause */
/* Device memory over time: random allocations, blocks and frees of two processes on one device against a model that has a place for each
 * unit; and stories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "memory.h"

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

static void test_random(void **state)
{
	static struct memory_use truth[EVENTS];

	(void)state;
	for (uint32_t with = 1; with <= 5; with++) {
		struct memory m;
		struct error e;
		uint64_t peak_reserved = 0, peak_allocated = 0;

		setup(with);
		for (int64_t i = 0; i < EVENTS / 2; i++) {
			act(10 * i, (uint16_t)(i + 1));
			truth[i] = use_now();
			peak_reserved = truth[i].reserved > peak_reserved ? truth[i].reserved : peak_reserved;
			peak_allocated = truth[i].allocated > peak_allocated ? truth[i].allocated : peak_allocated;
		}
		assert_int_equal(memory_build(&m, &run, &e), ERR_NONE);
		assert_int_equal(m.n_devices, 1);
		for (int64_t i = 0; i < EVENTS / 2; i++) {
			struct memory_use use = memory_at(&m.devices[0], 10 * i + 5);

			assert_int_equal(use.reserved, truth[i].reserved);
			assert_int_equal(use.allocated, truth[i].allocated);
			assert_int_equal(use.largest_free, truth[i].largest_free);
		}
		assert_int_equal(m.devices[0].peak_reserved, peak_reserved);
		assert_int_equal(m.devices[0].peak_allocated, peak_allocated);
		assert_int_equal(m.devices[0].worst.use.reserved, peak_reserved);
		assert_int_equal(m.devices[0].framework.strays, 0);
		memory_free(&m);
		teardown();
	}
}

/* ---- stories ---- */

static struct call *refused(int64_t time_ns, uint32_t tid, uint64_t bytes)
{
	struct call *c = call(0, HOOK_ALLOC, time_ns, 0, bytes);

	c->tid = tid;
	c->result = 2;
	return c;
}

/* Whose a refusal is: the framework's, where the same thread hears from it before it goes on to something else. */
static void test_whose_story(void **state)
{
	struct memory m;
	struct error e;

	(void)state;
	setup(1);
	refused(100, 1, 500); /* thread 1: retried */
	refused(110, 2, 600); /* thread 2: its own, it goes on to a launch */
	call(0, HOOK_LAUNCH, 120, 0, 0)->tid = 2;
	processes[0].trace.calls[2].flags = GST_SUBMISSION;
	block(0, GST_BLOCK_TAKEN, 150, 5000, 500)->tid = 1;
	block(0, GST_BLOCK_TAKEN, 160, 6000, 10)->tid = 2;
	refused(200, 3, 700); /* thread 3: twice, then out of memory */
	refused(210, 3, 700);
	block(0, GST_BLOCK_REFUSED, 250, 0, 650)->tid = 3;
	block(0, GST_BLOCK_REFUSED, 300, 0, 40)->tid = 4; /* a limit of the framework's own: nobody asked the driver */
	assert_int_equal(memory_build(&m, &run, &e), ERR_NONE);
	assert_int_equal(m.stories.n, 4);
	assert_int_equal(m.stories.at[0].tid, 2); /* by their ends */
	assert_int_equal(m.stories.at[0].asked, 600);
	assert_null(m.stories.at[0].block);
	assert_int_equal(m.stories.at[1].outcome, MEMORY_RETRIED);
	assert_int_equal(m.stories.at[1].asked, 500);
	assert_int_equal(m.stories.at[2].refusals, 2);
	assert_int_equal(m.stories.at[2].asked, 650);
	assert_int_equal(m.stories.at[2].outcome, MEMORY_FAILED);
	assert_null(m.stories.at[3].first);
	assert_int_equal(m.devices[0].out_of_memory, 3);
	assert_int_equal(m.devices[0].retries, 1);
	assert_ptr_equal(memory_story_of(&m, run.traces[0], &run.traces[0]->calls[3]), &m.stories.at[2]);
	assert_null(memory_story_of(&m, run.traces[0], &run.traces[0]->calls[2]));
	memory_free(&m);
	teardown();
}

/* 200,000 times refused: seconds would mean that each looks at all of them. The last eight keep their map; of the others it is left out, and of
 * one on a device that nobody names there is none. */
static void test_many_refusals(void **state)
{
	enum { N = 200000, KEPT = 8 };
	struct memory m;
	struct error e;

	(void)state;
	setup(1);
	free(processes[0].trace.memory.blocks);
	processes[0].trace.memory.blocks = calloc(N + 1, sizeof(struct block_event));
	assert_non_null(processes[0].trace.memory.blocks);
	call(0, HOOK_ALLOC, 10, 5000, 100);
	for (int64_t i = 0; i < N; i++)
		block(0, GST_BLOCK_REFUSED, 100 + i, 0, 200);
	block(0, GST_BLOCK_REFUSED, 100 + N, 0, 200)->device = 0xffff;
	assert_int_equal(memory_build(&m, &run, &e), ERR_NONE);
	assert_int_equal(m.stories.n, N + 1);
	assert_int_equal(m.devices[0].out_of_memory, N);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(m.stories.at[i].device, 0);
		assert_int_equal(m.stories.at[i].n_pieces, i + KEPT >= N);
		assert_int_equal(m.stories.at[i].pieces_left_out, i + KEPT < N);
		assert_int_equal(m.stories.at[i].at.reserved, 100);
	}
	assert_int_equal(m.stories.at[N].device, MEMORY_NOWHERE);
	assert_int_equal(m.stories.at[N].at.reserved, 0);
	assert_null(m.stories.at[N].pieces);
	memory_free(&m);
	teardown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_whose_story),
		cmocka_unit_test(test_many_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
