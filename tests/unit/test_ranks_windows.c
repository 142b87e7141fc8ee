/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ranks with two traces each, one after the other: a window's collectives are compared with the same window's only, whether they carry
 * numbers or are counted, and no clock is aligned by those of another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/ranks_world.h"

#define US 1000
#define CALLS 10
#define TRACES 4 /* rank 0, rank 1; then both again */
#define LATER_NS 5000000000

static struct imported imported[TRACES];

/* Rank 1 comes 200 us later; 300 us after that all are done. The numbers begin with 1 in each window. */
static void begin(struct world *w, bool counted, const uint32_t windows[TRACES])
{
	world_begin(w, TRACES, CALLS);
	for (size_t i = 0; i < TRACES; i++) {
		struct trace *t = &w->ranks[i].trace;

		imported[i] = (struct imported){ .rank = (uint32_t)i % 2, .ranks = 2, .window = windows[i] };
		t->imported = &imported[i];
		t->comms[0].rank = (uint32_t)i % 2;
		t->comms[0].size = 2;
		t->comms[0].counted = counted;
		snprintf(t->header.host, sizeof(t->header.host), "node%zu", i % 2);
		for (uint32_t k = 0; k < CALLS; k++) {
			int64_t at = (int64_t)k * 1000 * US + (i < 2 ? 0 : LATER_NS);

			world_kernel(w, i, 0, k + 1, at + (i % 2 ? 200 : 0) * US, at + 500 * US);
		}
	}
}

static void expect(struct world *w, uint64_t whole, size_t clocks)
{
	assert_int_equal(world_compare(w), ERR_NONE);
	assert_int_equal(w->got.whole, whole);
	for (size_t i = 0; i < TRACES; i++) {
		assert_int_equal(w->got.devices[i].wait_ns, whole && i % 2 == 0 ? CALLS * 200 * US : 0);
		assert_int_equal(w->got.devices[i].unsplit_ns, whole ? 0 : CALLS * (i % 2 ? 300 : 500) * US);
	}
	assert_int_equal(w->got.n_clocks, clocks);
	for (size_t i = 0; i < clocks; i++) {
		assert_int_equal(w->got.clocks[i].violations, 0);
		assert_int_equal(w->got.clocks[i].offset_ns, 0);
		assert_int_equal(w->got.clocks[i].residual_p99_ns, 0);
	}
	world_end(w);
}

static void within_windows(void **state)
{
	struct world w;

	(void)state;
	for (int counted = 0; counted < 2; counted++) {
		begin(&w, counted, (const uint32_t[]){ 0, 0, 1, 1 });
		expect(&w, 2 * CALLS, 2);
	}
}

static void in_no_window_with_another(void **state)
{
	struct world w;

	(void)state;
	for (int counted = 0; counted < 2; counted++) {
		begin(&w, counted, (const uint32_t[]){ 0, 1, 2, 3 });
		expect(&w, 0, 2);
	}
}

/* A clock for each trace: those of different windows have nothing in common. */
static void clocks_of_windows(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true, (const uint32_t[]){ 0, 0, 1, 1 });
	for (size_t i = 2; i < TRACES; i++)
		snprintf(w.ranks[i].trace.header.host, sizeof(w.ranks[i].trace.header.host), "node%zu", i);
	assert_int_equal(world_compare(&w), ERR_NONE);
	assert_int_equal(w.got.whole, 2 * CALLS);
	assert_int_equal(w.got.n_clocks, 4);
	assert_true(w.got.clocks[0].aligned && w.got.clocks[1].aligned);
	assert_false(w.got.clocks[2].aligned || w.got.clocks[3].aligned || w.got.aligned);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(w.got.clocks[i].offset_ns, 0);
	world_end(&w);
}

/* Counted, and on different clocks: which window is which goes by the time of day alone, and one is missing. Numbers say it themselves. */
static void uneven(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true, (const uint32_t[]){ 0, 0, 1, 1 });
	w.run.windows_uneven = true;
	expect(&w, 0, 2);
	begin(&w, false, (const uint32_t[]){ 0, 0, 1, 1 });
	w.run.windows_uneven = true;
	expect(&w, 2 * CALLS, 2);
	begin(&w, true, (const uint32_t[]){ 0, 0, 1, 1 });
	w.run.windows_uneven = true;
	for (size_t i = 0; i < TRACES; i++)
		snprintf(w.ranks[i].trace.header.host, sizeof(w.ranks[i].trace.header.host), "a");
	expect(&w, 2 * CALLS, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_windows),
		cmocka_unit_test(in_no_window_with_another),
		cmocka_unit_test(clocks_of_windows),
		cmocka_unit_test(uneven),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
