/* SPDX-License-Identifier: BSD-2-Clause */
/* Slices become items: at any level none of their time is lost, as many come out as were foretold, and none hides more than its level allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support/failing_alloc.h"
#include "html/html_lanes_merge.h"

#define SLICES 2000

static uint64_t seed;

static uint64_t next(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 33;
}

/* Short ones in crowds, long ones, pauses, some of no length, some that touch. */
static void make(struct lane_slice *slices, size_t n, uint64_t from)
{
	uint64_t at = 0;

	seed = from;
	for (size_t i = 0; i < n; i++) {
		at += next() % 4 ? next() % (1u << (next() % 16)) : 0;
		slices[i] = (struct lane_slice){
			.begin_ns = at, .number = i, .of = &slices[i], .class = (uint8_t)(next() % 5 * 25)
		};
		slices[i].length_ns = next() % 8 ? next() % (1u << (next() % 18)) : 0;
		at += slices[i].length_ns;
	}
}

static struct lane_merge merged(const struct lane_slice *slices, size_t n, unsigned level)
{
	struct lane_merge m;

	assert_true(lane_merge_begin(&m, level));
	for (size_t i = 0; i < n; i++)
		assert_true(lane_merge_add(&m, &slices[i], false));
	lane_merge_end(&m);
	return m;
}

/* The item against the slices that it stands for, from that one on. */
static void check_item(const struct lane_item *item, const struct lane_slice *all, size_t at, unsigned level)
{
	uint64_t busy[LANE_CLASSES] = { 0 }, longest = 0, sum = 0, end = 0, most = 0;
	const struct lane_slice *of = &all[item->number];

	for (size_t i = at; i < at + item->count; i++) {
		busy[all[i].class] += all[i].length_ns;
		sum += all[i].length_ns;
		end = all[i].begin_ns + all[i].length_ns;
		assert_true(item->count == 1 || all[i].length_ns < UINT64_C(1) << level);
	}
	for (size_t i = 0; i < LANE_CLASSES; i++)
		most = busy[i] > most ? busy[i] : most;
	assert_int_equal(item->begin_ns, all[at].begin_ns);
	assert_int_equal(item->begin_ns + item->length_ns, end);
	assert_int_equal(item->length_ns - item->empty_ns, sum);
	assert_int_equal(busy[item->class], most);
	for (size_t i = at; i < at + item->count; i++)
		if (all[i].class == item->class && all[i].length_ns > longest)
			longest = all[i].length_ns;
	assert_ptr_equal(item->of, of);
	assert_int_equal(of->length_ns, longest);
	assert_int_equal(of->class, item->class);
	assert_true(item->count == 1 || item->length_ns >> level < 2);
}

static void test_levels(void **state)
{
	static struct lane_slice slices[SLICES];

	(void)state;
	for (uint64_t from = 1; from <= 5; from++) {
		struct lane_levels levels = { 0 };
		uint64_t least = SLICES;

		make(slices, SLICES, from);
		for (size_t i = 0; i < SLICES; i++)
			lane_levels_add(&levels, slices[i].begin_ns, slices[i].length_ns);
		assert_int_equal(lane_levels_items(&levels, 0), SLICES);
		for (unsigned level = 0; level < LANE_LEVELS; level++) {
			struct lane_merge m = merged(slices, SLICES, level);
			size_t at = 0;

			assert_int_equal(lane_levels_items(&levels, level), m.n);
			assert_true(m.n <= least);
			least = m.n;
			for (size_t i = 0; i < m.n; i++) {
				check_item(&m.items[i], slices, at, level);
				at += m.items[i].count;
			}
			assert_int_equal(at, SLICES);
			assert_true(level < 40 || m.n == 1);
			lane_merge_free(&m);
		}
	}
}

static void test_a_million_stay_as_they_are(void **state)
{
	struct lane_merge m;
	uint64_t sum = 0;

	(void)state;
	assert_true(lane_merge_begin(&m, 0));
	for (uint64_t i = 0; i < 1000000; i++) {
		struct lane_slice s = {
			.begin_ns = i * 10, .length_ns = 1 + i % 9, .number = i, .class = (uint8_t)(i % 3)
		};

		assert_true(lane_merge_add(&m, &s, false));
	}
	lane_merge_end(&m);
	assert_int_equal(m.n, 1000000);
	for (uint64_t i = 0; i < 1000000; i++) {
		assert_true(m.items[i].begin_ns == i * 10 && m.items[i].length_ns == 1 + i % 9 &&
			    m.items[i].count == 1);
		assert_true(m.items[i].number == i && m.items[i].class == i % 3 && !m.items[i].empty_ns);
		sum += m.items[i].length_ns;
	}
	assert_int_equal(sum, 4999996);
	lane_merge_free(&m);
}

/* Where a clock runs slow, the next may begin a nanosecond before the last one's end: their sum is what counts. */
static void test_ends_that_reach_over(void **state)
{
	const struct lane_slice slices[] = { { .begin_ns = 0, .length_ns = 100 },
					     { .begin_ns = 99, .length_ns = 100 } };
	struct lane_merge m = merged(slices, 2, 10);

	(void)state;
	assert_int_equal(m.n, 1);
	assert_int_equal(m.items[0].length_ns, 200);
	assert_int_equal(m.items[0].empty_ns, 0);
	lane_merge_free(&m);
}

/* What is to stay alone does, and parts what is on either side. */
static void test_alone(void **state)
{
	const struct lane_slice slices[] = { { .begin_ns = 0, .length_ns = 1, .number = 0 },
					     { .begin_ns = 2, .length_ns = 1, .number = 1 },
					     { .begin_ns = 4, .length_ns = 1, .number = 2 },
					     { .begin_ns = 6, .length_ns = 1, .number = 3 },
					     { .begin_ns = 8, .length_ns = 1, .number = 4 } };
	struct lane_merge m;

	(void)state;
	assert_true(lane_merge_begin(&m, 10));
	for (size_t i = 0; i < 5; i++)
		assert_true(lane_merge_add(&m, &slices[i], i == 2));
	lane_merge_end(&m);
	assert_int_equal(m.n, 3);
	assert_int_equal(m.items[0].count, 2);
	assert_int_equal(m.items[1].count, 1);
	assert_int_equal(m.items[1].number, 2);
	assert_int_equal(m.items[2].begin_ns, 6);
	assert_int_equal(m.items[2].count, 2);
	lane_merge_free(&m);
}

static void test_the_ends_of_time(void **state)
{
	const struct lane_slice slices[] = { { .begin_ns = 0, .length_ns = UINT64_MAX },
					     { .begin_ns = UINT64_MAX, .length_ns = 0 } };
	struct lane_levels levels = { 0 };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		lane_levels_add(&levels, slices[i].begin_ns, slices[i].length_ns);
	for (unsigned level = 0; level < LANE_LEVELS; level++) {
		struct lane_merge m = merged(slices, 2, level);

		assert_int_equal(m.n, lane_levels_items(&levels, level));
		assert_int_equal(m.n, 2);
		assert_true(m.items[0].length_ns == UINT64_MAX && m.items[1].length_ns == 0);
		lane_merge_free(&m);
	}
}

static void test_no_memory(void **state)
{
	static struct lane_slice slices[100];
	bool done = false;
	long n = 0;

	(void)state;
	make(slices, 100, 7);
	for (; !done; n++) {
		struct lane_merge m;

		fail_at = n + 1;
		done = lane_merge_begin(&m, 4);
		for (size_t i = 0; done && i < 100; i++)
			done = lane_merge_add(&m, &slices[i], false);
		done = done && fail_at > 0;
		fail_at = 0;
		lane_merge_free(&m);
	}
	assert_true(n > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_a_million_stay_as_they_are),
		cmocka_unit_test(test_ends_that_reach_over),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_the_ends_of_time),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
