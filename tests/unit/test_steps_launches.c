/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps from what a program launches: synthetic loops whose truth is known, and programs that have none. Those that train: test_steps_training.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/fewer.h"
#include "tests/unit/launch_program.h"

static void graph(struct program *p, uint32_t which)
{
	submit(p, GST_FAMILY_GRAPH_LAUNCH, 9000)->graph = which;
}

static void synchronize(struct program *p)
{
	submit(p, GST_FAMILY_SYNC_STREAM, 900000)->flags = 0;
}

static void assert_none(struct program *p)
{
	assert_null(find(p));
}

static void a_graph_is_replayed(void **state)
{
	(void)state;
	for (int eager = 0; eager < 3; eager++) {
		struct program *p = begin(7);

		start_up(p);
		for (int i = 0; i < 30; i++) {
			step_begins(p);
			copy(p, GST_COPY_H2D_PAGEABLE, 200000);
			copy(p, GST_COPY_H2D_PAGEABLE, 256);
			if (i < eager) /* before it is captured */
				for (int k = 0; k < 60; k++)
					launch(p, k % 3 ? "r_4_16" : "E_32");
			else
				graph(p, 1);
			item(p);
			if (i % 5 == 0)
				copy(p, GST_COPY_D2H_PAGEABLE, 200000);
			pause_us(p, 300);
		}
		assert_steps(p, 0, 0);
		end(p);
	}
}

/* Layers come more often than tokens, but do nothing with the host. */
static void layers_are_no_steps(void **state)
{
	struct program *p = begin(9);

	(void)state;
	for (int i = 0; i < 40; i++) {
		step_begins(p);
		launch(p, "embed");
		for (int k = 0; k < 60; k++) {
			launch(p, "norm");
			launch(p, "qkv");
			launch(p, "attend");
			launch(p, "project");
		}
		launch(p, "sample");
		item(p);
		pause_us(p, 50);
	}
	assert_steps(p, 0, 0);
	end(p);
}

/* The last of the layers alone is shorter, and has what is copied behind them. */
static void the_last_layer_is_no_step_either(void **state)
{
	struct program *p = begin(9);

	(void)state;
	for (int i = 0; i < 40; i++) {
		step_begins(p);
		copy(p, GST_COPY_H2D_PAGEABLE, 4096);
		for (int k = 0; k < 10; k++)
			for (int kernel = 0; kernel < (k == 9 ? 14 : 20); kernel++) {
				char text[32];

				snprintf(text, sizeof(text), "layer_%d", kernel);
				launch(p, text);
			}
		pause_us(p, 50);
	}
	assert_steps(p, 0, 0);
	end(p);
}

/* Of kernels without names their grids are what is known. */
static void kernels_without_names(void **state)
{
	struct program *p = begin(9);

	(void)state;
	for (int i = 0; i < 40; i++) {
		step_begins(p);
		copy(p, GST_COPY_H2D_PAGEABLE, 4096);
		for (uint64_t kernel = 0; kernel < 20; kernel++)
			submit(p, GST_FAMILY_LAUNCH, 4000)->args[0] = 1 + kernel % 7;
		item(p);
		pause_us(p, 50);
	}
	assert_steps(p, 0, 0);
	end(p);
}

static void what_waits_in_between(void **state)
{
	struct program *p = begin(3);

	(void)state;
	for (int i = 0; i < 20; i++) { /* the wait in the middle is longer than any pause */
		step_begins(p);
		for (int k = 0; k < 9; k++)
			launch(p, k % 2 ? "a" : "b");
		synchronize(p);
		for (int k = 0; k < 9; k++)
			launch(p, k % 3 ? "c" : "d");
		pause_us(p, 200);
	}
	assert_steps(p, 0, 0);
	end(p);
}

/* It takes its time between a batch's copy and the first kernel, more than between two batches. */
static void the_batch_comes_first(void **state)
{
	struct program *p = begin(3);

	(void)state;
	for (int i = 0; i < 20; i++) {
		step_begins(p);
		copy(p, GST_COPY_H2D_PAGEABLE, 200000);
		copy(p, GST_COPY_H2D_PAGEABLE, 256);
		pause_us(p, 100000);
		for (int k = 0; k < 9; k++)
			launch(p, k % 2 ? "a" : "b");
		item(p);
		pause_us(p, 500);
	}
	assert_steps(p, 0, 0);
	end(p);
}

/* ---- none ------------------------------------------------------------------------------------------------------------------ */

static void random_launches(struct program *p, int kernels, int n, int more_of_one)
{
	char text[16];

	while (n-- > 0) {
		uint64_t which = below(p, (uint64_t)kernels + 3), times = below(p, 3) ? 1 : 1 + below(p, 20);

		which = below(p, 4) < (uint64_t)more_of_one ? 0 : which;
		snprintf(text, sizeof(text), "k%u", (unsigned)which);
		for (; times; times--, n--)
			if (which == (uint64_t)kernels)
				copy(p, GST_COPY_H2D_PAGEABLE, 1 << below(p, 20));
			else if (which == (uint64_t)kernels + 1)
				item(p);
			else if (which == (uint64_t)kernels + 2)
				synchronize(p);
			else
				launch(p, text);
	}
}

static void random_launches_have_none(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= FEWER(240); seed++) {
		static const int kernels[] = { 2, 3, 6, 12, 60 }, lengths[] = { 12, 60, 400, 3000 };
		struct program *p = begin(seed);

		random_launches(p, kernels[seed % 5], lengths[seed % 4], (int)(seed / 20 % 4));
		assert_none(p);
		end(p);
	}
}

static void one_kernel_again_and_again_is_no_loop(void **state)
{
	struct program *p = begin(1);

	(void)state;
	for (int i = 0; i < 500; i++) {
		launch(p, "tick");
		synchronize(p);
	}
	assert_none(p);
	end(p);
	p = begin(1);
	for (int i = 0; i < 500; i++)
		copy(p, i % 2 ? GST_COPY_H2D_PAGEABLE : GST_COPY_D2H_PAGEABLE, 64);
	assert_none(p);
	end(p);
	p = begin(1);
	assert_none(p);
	end(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_graph_is_replayed),
		cmocka_unit_test(layers_are_no_steps),
		cmocka_unit_test(the_last_layer_is_no_step_either),
		cmocka_unit_test(kernels_without_names),
		cmocka_unit_test(what_waits_in_between),
		cmocka_unit_test(the_batch_comes_first),
		cmocka_unit_test(random_launches_have_none),
		cmocka_unit_test(one_kernel_again_and_again_is_no_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
