/* SPDX-License-Identifier: BSD-2-Clause */
/* Collectives that carry no numbers: the n-th of one rank is the n-th of the others where all have the same list and, on one clock, ran at
 * once; else nobody's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/unit/ranks_world.h"

#define US 1000
#define RANKS 3
#define CALLS 20

/* The last rank comes 300 us after the others; all are done 100 us later. */
static void begin(struct world *w, bool one_host)
{
	world_begin(w, RANKS, CALLS + 1);
	for (size_t i = 0; i < RANKS; i++) {
		w->ranks[i].comms[0].counted = true;
		if (one_host)
			snprintf(w->ranks[i].trace.header.host, sizeof(w->ranks[i].trace.header.host), "a");
	}
}

static void fill(struct world *w, int shift_of_the_last)
{
	for (uint32_t k = 0; k < CALLS; k++)
		for (size_t i = 0; i < RANKS; i++) {
			int64_t at = (int64_t)(k + (i == RANKS - 1 ? shift_of_the_last : 0)) * 1000 * US;

			world_kernel(w, i, 0, k + 1, at + (i == RANKS - 1 ? 300 : 0) * US, at + 400 * US);
		}
}

static void expect(struct world *w, uint64_t whole, size_t parts, uint64_t apart)
{
	assert_int_equal(world_compare(w), ERR_NONE);
	assert_int_equal(w->got.whole, whole);
	assert_int_equal(w->got.n_parts, parts);
	assert_int_equal(w->got.groups_apart, apart);
	assert_int_equal(w->got.devices[0].wait_ns, whole * 300 * US);
	assert_int_equal(w->got.devices[0].unsplit_ns, (CALLS - whole) * 400 * US);
	world_end(w);
}

static void the_same_lists(void **state)
{
	struct world w;

	(void)state;
	for (int one_host = 0; one_host < 2; one_host++) {
		begin(&w, one_host);
		fill(&w, 0);
		expect(&w, CALLS, RANKS * CALLS, 0);
	}
}

static void other_lists(void **state)
{
	struct world w;

	(void)state;
	begin(&w, false);
	fill(&w, 0);
	w.ranks[1].nccl[7].count = 9;
	expect(&w, 0, 0, 1);
	begin(&w, false);
	fill(&w, 0);
	w.ranks[1].nccl[7].kind = GST_NCCL_REDUCE;
	expect(&w, 0, 0, 1);
	begin(&w, false);
	fill(&w, 0);
	w.ranks[1].trace.n_nccl--;
	expect(&w, 0, 0, 1);
	begin(&w, false);
	fill(&w, 0);
	w.ranks[2].comms[0].counted = false; /* its numbers are others' */
	expect(&w, 0, 0, 1);
}

/* A share that is each rank's own says nothing. */
static void counts_that_may_differ(void **state)
{
	struct world w;

	(void)state;
	begin(&w, false);
	fill(&w, 0);
	for (size_t i = 0; i < RANKS; i++)
		for (size_t k = 0; k < CALLS; k++) {
			w.ranks[i].nccl[k].kind = GST_NCCL_ALL_GATHER;
			w.ranks[i].nccl[k].count = 100 * i;
		}
	expect(&w, CALLS, RANKS * CALLS, 0);
}

static void not_at_once(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	fill(&w, 1);
	expect(&w, 0, RANKS * CALLS, 0);
}

static void no_memory(void **state)
{
	enum err_kind kind = ERR_SYSTEM;
	unsigned refused = 0;
	struct world w;

	(void)state;
	for (long n = 1; kind == ERR_SYSTEM; n++, refused++) {
		begin(&w, true);
		fill(&w, 0);
		for (size_t i = 0; i < RANKS; i++)
			world_device(&w, i);
		fail_at = n;
		kind = world_compare(&w);
		fail_at = 0;
		assert_true(kind == ERR_SYSTEM || w.got.whole == CALLS);
		world_end(&w);
	}
	assert_true(refused > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_lists),
		cmocka_unit_test(other_lists),
		cmocka_unit_test(counts_that_may_differ),
		cmocka_unit_test(not_at_once),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
