/* SPDX-License-Identifier: BSD-2-Clause */
/* The map of memory: cases by hand, and random changes against a map that has a place for each byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory_map.h"

static struct memory_piece piece(uint64_t address, uint64_t bytes, uint64_t owner, enum memory_state state)
{
	return (struct memory_piece){ address, bytes, owner, MEMORY_ALLOCATED, (uint8_t)state };
}

static void add(struct memory_map *m, uint64_t address, uint64_t bytes, uint64_t owner, enum memory_state state)
{
	struct memory_piece p = piece(address, bytes, owner, state);

	assert_true(memory_map_add(m, &p));
}

static void test_holes_join(void **state)
{
	struct memory_map m = { 0 };
	struct memory_piece p;

	(void)state;
	add(&m, 1000, 100, 1000, MEMORY_FREE);
	for (uint64_t i = 0; i < 10; i++)
		assert_true(memory_map_set(&m, 1000 + 10 * i, 10, MEMORY_BLOCK));
	assert_int_equal(m.pieces, 10);
	assert_int_equal(memory_map_largest(&m), 0);
	for (uint64_t i = 0; i < 10; i += 2)
		assert_true(memory_map_set(&m, 1000 + 10 * i, 10, MEMORY_FREE));
	assert_int_equal(m.held, 100);
	assert_int_equal(m.used, 50);
	assert_int_equal(memory_map_largest(&m), 10);
	assert_true(memory_map_set(&m, 1010, 10, MEMORY_FREE));
	assert_int_equal(memory_map_largest(&m), 30);
	assert_true(memory_map_at(&m, 1029, &p));
	assert_int_equal(p.address, 1000);
	assert_int_equal(p.bytes, 30);
	assert_false(memory_map_at(&m, 1100, &p));
	assert_false(memory_map_next(&m, 1100, &p));
	memory_map_free(&m);
}

/* Two ranges of the driver's that touch are two: nothing can be handed out across. */
static void test_owners_stay_apart(void **state)
{
	struct memory_map m = { 0 };
	struct memory_piece p;

	(void)state;
	add(&m, 1000, 100, 1000, MEMORY_FREE);
	add(&m, 1100, 200, 1100, MEMORY_FREE);
	assert_int_equal(m.pieces, 2);
	assert_int_equal(memory_map_largest(&m), 200);
	assert_true(memory_map_largest_of(&m, MEMORY_ALLOCATED, 1000, &p));
	assert_int_equal(p.bytes, 100);
	assert_false(memory_map_largest_of(&m, MEMORY_POOLED, 1000, &p));
	/* of one owner they are one, and a part may go again */
	add(&m, 1300, 50, 1100, MEMORY_FREE);
	assert_int_equal(memory_map_largest(&m), 250);
	assert_true(memory_map_remove(&m, 1150, 100));
	assert_int_equal(m.held, 250);
	assert_int_equal(memory_map_largest(&m), 100);
	memory_map_free(&m);
}

static void test_addresses_that_go_round(void **state)
{
	struct memory_map m = { 0 };
	struct memory_piece p;

	(void)state;
	add(&m, UINT64_MAX - 10, 1000, 1, MEMORY_FREE);
	assert_int_equal(m.held, 10);
	assert_true(memory_map_at(&m, UINT64_MAX - 1, &p));
	assert_false(memory_map_at(&m, UINT64_MAX, &p));
	assert_true(memory_map_remove(&m, 0, UINT64_MAX));
	assert_int_equal(m.pieces, 0);
	add(&m, 5, 0, 1, MEMORY_FREE);
	assert_int_equal(m.pieces, 0);
	memory_map_free(&m);
}

/* ---- random changes ---- */

#define BYTES 512

static struct {
	uint8_t held, state, owner, source;
} naive[BYTES];

static uint32_t seed = 12345;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* The pieces as the naive map has them: used ones are compared byte by byte, as two that touch stay two. */
static void compare(struct memory_map *m)
{
	uint64_t held = 0, used = 0, largest = 0, run = 0;
	struct memory_piece p;
	size_t pieces = 0;

	for (unsigned i = 0; i < BYTES; i++) {
		bool is_free = naive[i].held && naive[i].state == MEMORY_FREE;
		bool goes_on = i && is_free && naive[i - 1].held && naive[i - 1].state == MEMORY_FREE &&
			       naive[i - 1].owner == naive[i].owner && naive[i - 1].source == naive[i].source;

		held += naive[i].held;
		used += naive[i].held && !is_free;
		run = !is_free ? 0 : goes_on ? run + 1 : 1;
		largest = run > largest ? run : largest;
		assert_int_equal(memory_map_at(m, i, &p), naive[i].held);
		if (!naive[i].held)
			continue;
		assert_int_equal(p.state, naive[i].state);
		assert_int_equal(p.owner, naive[i].owner);
		assert_int_equal(p.source, naive[i].source);
		assert_in_range(i, p.address, p.address + p.bytes - 1);
		if (is_free && !goes_on)
			assert_int_equal(p.address, i);
	}
	assert_int_equal(m->held, held);
	assert_int_equal(m->used, used);
	assert_int_equal(memory_map_largest(m), largest);
	for (uint64_t at = 0; memory_map_next(m, at, &p); at = p.address + p.bytes)
		pieces++;
	assert_int_equal(m->pieces, pieces);
}

static void test_random(void **state)
{
	struct memory_map m = { 0 };

	(void)state;
	memset(naive, 0, sizeof(naive));
	for (unsigned round = 0; round < 8000; round++) {
		uint32_t from = below(BYTES), n = below(below(4) ? 40 : BYTES - from + 1), what = below(8);
		struct memory_piece p = { from, n, 1 + below(3), (uint8_t)below(2), (uint8_t)below(3) };

		n = from + n > BYTES ? BYTES - from : n;
		p.bytes = n;
		if (what == 0)
			assert_true(memory_map_remove(&m, from, n));
		else if (what <= 3)
			assert_true(memory_map_add(&m, &p));
		else
			assert_true(memory_map_set(&m, from, n, p.state));
		for (uint32_t i = from; i < from + n; i++) {
			if (what == 0) {
				naive[i].held = 0;
			} else if (what <= 3) {
				naive[i].held = 1;
				naive[i].owner = (uint8_t)p.owner;
				naive[i].source = p.source;
			}
			naive[i].state = p.state;
		}
		if (round % 8 == 0 || round < 200)
			compare(&m);
	}
	compare(&m);
	memory_map_free(&m);
	assert_null(m.root);
}

/* 200,000 blocks, freed in another order: seconds would mean that it is no tree. */
static void test_many(void **state)
{
	enum { N = 200000 };
	struct memory_map m = { 0 };

	(void)state;
	add(&m, 4096, (uint64_t)N * 512, 4096, MEMORY_FREE);
	for (uint64_t i = 0; i < N; i++)
		assert_true(memory_map_set(&m, 4096 + i * 512, 512, MEMORY_BLOCK));
	assert_int_equal(m.pieces, N);
	for (uint64_t i = 0; i < N; i++)
		assert_true(memory_map_set(&m, 4096 + i * 7919 % N * 512, 512, MEMORY_FREE));
	assert_int_equal(m.pieces, 1);
	assert_int_equal(memory_map_largest(&m), (uint64_t)N * 512);
	memory_map_free(&m);
}

/* ---- addresses of somebody who knows the code --------------------------------------------------------------------------- */

enum { KNOWING = 20000, STACK = 256 << 10 };

static struct known {
	uint32_t priority, order;
} known[KNOWING];

static int by_priority(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return (x->priority < y->priority) - (x->priority > y->priority);
}

static void *add_knowing(void *unused)
{
	static uint64_t rank[KNOWING];
	struct memory_map m = { 0 };
	bool ok = true;

	(void)unused;
	for (uint64_t i = 0; i < KNOWING; i++)
		rank[known[i].order] = i;
	for (unsigned i = 0; ok && i < KNOWING; i++) {
		struct memory_piece p = piece(4096 * (1 + rank[i]), 512, 4096 * (1 + rank[i]), MEMORY_FREE);

		ok = memory_map_add(&m, &p);
	}
	ok = ok && m.pieces == KNOWING && memory_map_largest(&m) == 512;
	memory_map_free(&m);
	return ok ? known : NULL;
}

/* A trace's addresses that stand in the order of the priorities, which were a known sequence once: a list, and no stack deep enough. */
static void test_priorities_are_nobodys(void **state)
{
	pthread_attr_t small;
	pthread_t thread;
	uint64_t x = 0;
	void *ok;

	(void)state;
	for (unsigned i = 0; i < KNOWING; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		known[i] = (struct known){ (uint32_t)(x >> 32), i };
	}
	qsort(known, KNOWING, sizeof(known[0]), by_priority);
	assert_int_equal(pthread_attr_init(&small), 0);
	assert_int_equal(pthread_attr_setstacksize(&small, STACK), 0);
	assert_int_equal(pthread_create(&thread, &small, add_knowing, NULL), 0);
	assert_int_equal(pthread_join(thread, &ok), 0);
	assert_non_null(ok);
	pthread_attr_destroy(&small);
}

/* Which of equal pieces is the largest does not hang on chance. */
static void test_the_lowest_of_equal_ones(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		struct memory_map m = { 0 };
		struct memory_piece p;

		for (uint64_t i = 0; i < 20; i++)
			add(&m, 10000 - 200 * i, 100, 7, MEMORY_FREE);
		assert_true(memory_map_largest_of(&m, MEMORY_ALLOCATED, 7, &p));
		assert_int_equal(p.address, 10000 - 200 * 19);
		memory_map_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holes_join),
		cmocka_unit_test(test_owners_stay_apart),
		cmocka_unit_test(test_addresses_that_go_round),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_priorities_are_nobodys),
		cmocka_unit_test(test_the_lowest_of_equal_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
