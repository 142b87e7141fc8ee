/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends of pushed ranges that were lost, against what was really so, and against a naive answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "trace/range_ends.h"
#include "trace/trace_ranges.h"

#define RANGES 200
#define STACKS 4 /* two threads, two domains */
#define DEEP 40

struct truth {
	struct range recorded[RANGES];
	int64_t end_ns[RANGES]; /* by id - 1; INT64_MAX: never popped */
	int parent[RANGES];     /* id - 1 of the one around it, or -1 */
	size_t n;
};

static const char *const domains[] = { NULL, "other" };

/* Threads push and pop; of some ranges the end is not recorded. */
static void make(struct truth *t, int events, int lost_of_ten)
{
	int stack[STACKS][DEEP], depth[STACKS] = { 0 };

	*t = (struct truth){ .n = 0 };
	for (int64_t now = 1; now <= events && t->n < RANGES; now++) {
		int of = rand() % STACKS;

		if (rand() % 2 && depth[of] < DEEP) {
			int parent = depth[of] ? stack[of][depth[of] - 1] : -1;

			t->parent[t->n] = parent;
			t->end_ns[t->n] = INT64_MAX;
			t->recorded[t->n] = (struct range){ .begin_ns = now,
							    .end_ns = INT64_MAX,
							    .domain = domains[of / 2],
							    .id = (uint32_t)t->n + 1,
							    .tid = 1 + (uint32_t)of % 2,
							    .level = (uint16_t)depth[of],
							    .kind = GST_RANGE_PUSHED };
			stack[of][depth[of]++] = (int)t->n++;
		} else if (depth[of]) {
			int popped = stack[of][--depth[of]];

			t->end_ns[popped] = now;
			if (rand() % 10 >= lost_of_ten)
				t->recorded[popped].end_ns = now;
		}
	}
}

static int64_t naive_end(const struct truth *t, size_t of)
{
	const struct range *r = &t->recorded[of];
	int64_t end = r->end_ns;

	if (end != INT64_MAX)
		return end;
	for (size_t i = 0; i < t->n; i++) {
		const struct range *next = &t->recorded[i];

		if (next->tid == r->tid && next->domain == r->domain && next->begin_ns > r->begin_ns &&
		    next->level <= r->level && next->begin_ns < end)
			end = next->begin_ns;
	}
	for (int up = t->parent[of]; up >= 0; up = t->parent[up])
		if (t->recorded[up].end_ns < end)
			end = t->recorded[up].end_ns;
	return end;
}

static void as_the_naive_answer(void **state)
{
	static struct truth t;
	static struct range found[RANGES];

	(void)state;
	srand(1);
	for (int round = 0; round < 500; round++) {
		make(&t, 10 + rand() % 300, rand() % 6);
		for (size_t i = 0; i < t.n; i++)
			found[i] = t.recorded[i];
		range_ends_find(found, t.n);
		for (size_t i = 0; i < t.n; i++) {
			size_t of = found[i].id - 1;

			assert_int_equal(found[i].begin_ns, t.recorded[of].begin_ns);
			assert_int_equal(found[i].end_ns, naive_end(&t, of));
			assert_true(found[i].end_ns >= t.end_ns[of]);
		}
	}
}

/* A started range's end says nothing, and nobody's begin ends it; nor does a mark's. */
static void others_are_left_alone(void **state)
{
	struct range r[] = {
		{ .id = 1, .tid = 1, .kind = GST_RANGE_STARTED, .begin_ns = 10, .end_ns = INT64_MAX },
		{ .id = 2, .tid = 1, .kind = GST_RANGE_PUSHED, .begin_ns = 20, .end_ns = INT64_MAX },
		{ .id = 3, .tid = 1, .kind = GST_RANGE_STARTED, .begin_ns = 30, .end_ns = 35 },
		{ .id = 4, .tid = 1, .kind = GST_RANGE_MARK, .begin_ns = 40, .end_ns = 40 },
		{ .id = 5, .tid = 2, .kind = GST_RANGE_PUSHED, .begin_ns = 50, .end_ns = 60 },
	};

	(void)state;
	range_ends_find(r, 5);
	for (size_t i = 0; i < 5; i++)
		if (r[i].id <= 2)
			assert_int_equal(r[i].end_ns, INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_naive_answer),
		cmocka_unit_test(others_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
