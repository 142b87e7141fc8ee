/* SPDX-License-Identifier: BSD-2-Clause */
/* What a bound on the offset of two clocks is worth elsewhere: carried both ways, loosened by the rates that are known and the steps of the chain
 * of bases, to the nanosecond. Each test is a handful of points, most of which know nothing by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "trace/device_rate.h"
#include "trace/sequence.h"

#define S 1e9
#define US 1000.0
#define NOTHING 1e9 /* a bound that says as good as nothing */

static struct clock_point point(double at_s, double low, double high)
{
	return (struct clock_point){ .device_ns = at_s * S, .low = low, .high = high, .section = 1, .root = 1 };
}

static void assert_window(const struct clock_point *p, double low, double high)
{
	if (fabs(p->low - low) > 0.5 || fabs(p->high - high) > 0.5)
		fail_msg("%.1f to %.1f, not %.1f to %.1f", p->low, p->high, low, high);
}

/* Over so little time nothing is known of the rates: 100 ppm. */
static void a_bound_is_carried_both_ways(void **state)
{
	struct clock_point p[5];

	(void)state;
	for (int known = 0; known < 5; known++) {
		for (int i = 0; i < 5; i++)
			p[i] = point(0.01 * i, -NOTHING, NOTHING);
		p[known] = point(0.01 * known, -700, 300);
		assert_true(device_rate_fit(p, 5));
		for (int i = 0; i < 5; i++)
			assert_window(&p[i], -700 - 1000.0 * abs(i - known), 300 + 1000.0 * abs(i - known));
	}
}

/* A base far from the one before it is known to it in coarse steps: by the later one's, whichever of two edges fired first. */
static void between_sections_lies_the_later_ones_step(void **state)
{
	struct clock_point p[4];

	(void)state;
	for (int later = 0; later < 2; later++) {
		for (int known = 0; known < 4; known += 3) {
			for (int i = 0; i < 4; i++) {
				p[i] = point(0.01 * i, -NOTHING, NOTHING);
				p[i].section = (i < 2) == later ? 9 : 2;
				p[i].link_ns = p[i].section == 9 ? 7812 : 244;
			}
			p[known].low = -300;
			p[known].high = 100;
			assert_true(device_rate_fit(p, 4));
			for (int i = 0; i < 4; i++) {
				double away = 1000.0 * abs(i - known) + ((i < 2) == (known < 2) ? 0 : 7812);

				assert_window(&p[i], -300 - away, 100 + away);
			}
		}
	}
}

/* How well a rate is known from two exact offsets so far apart: events and floats have steps. */
static double measured(double apart_s)
{
	return 2 * EVENT_STEP_NS / (apart_s * S) + RATE_FLOAT;
}

/* Behind a block of 8 s whose rate is known, so long, nobody looked: how much more or less than that rate it may have been. */
static double known_behind(double away_s, double drift)
{
	struct clock_point p[] = { point(0, 0, 0), point(7.5, drift * 7.5 * S, drift * 7.5 * S),
				   point(7.5 + away_s, -NOTHING, NOTHING) };

	assert_true(device_rate_fit(p, 3));
	assert_true(fabs((p[2].low + p[2].high) / 2 - drift * (7.5 + away_s) * S) < 0.5);
	return (p[2].high - p[2].low) / 2 / (away_s * S);
}

static void assert_rate(double rate, double expected)
{
	if (fabs(rate - expected) > 1e-10)
		fail_msg("%.4f ppm, not %.4f", rate * 1e6, expected * 1e6);
}

static void a_rate_wanders_by_5_ppm_and_as_much_again_for_each_block(void **state)
{
	(void)state;
	for (int i = -1; i < 2; i++) {
		double drift = 50e-6 * i;

		assert_rate(known_behind(0.4, drift), 5e-6 + measured(7.5)); /* of the same block */
		assert_rate(known_behind(6, drift), 5e-6 * (1 + 6. / 8) + measured(7.5));
		assert_rate(known_behind(7.9, drift), 5e-6 * (1 + 7.9 / 8) + measured(7.5));
	}
	assert_rate(known_behind(8.1, 0), 100e-6); /* no neighbour any more */
}

/* In front of one as well. */
static void backwards_too(void **state)
{
	struct clock_point p[] = { point(0, -NOTHING, NOTHING), point(9, 0, 0), point(16.5, 0, 0) };

	(void)state;
	assert_true(device_rate_fit(p, 3));
	assert_rate(p[0].high / (9 * S), 100e-6);
	p[0] = point(3, -NOTHING, NOTHING);
	p[1] = point(9, 0, 0); /* a block of its own with the first */
	p[2] = point(16.5, 0, 0);
	assert_true(device_rate_fit(p, 3));
	assert_rate(p[0].high / (6 * S), 5e-6 + measured(7.5));
}

/* Of points close together the one that is known best speaks for them, wherever it stands. */
static void the_best_of_neighbours_counts(void **state)
{
	(void)state;
	for (int best = 0; best < 2; best++) {
		struct clock_point p[] = { point(0, -10 * US, 10 * US), point(0.1, -10 * US, 10 * US), point(7.5, 0, 0),
					   point(7.9, -NOTHING, NOTHING) };

		p[best].low = p[best].high = 0;
		assert_true(device_rate_fit(p, 4));
		assert_rate(p[3].high / (0.4 * S), 5e-6 + measured(7.5 - 0.1 * best));
	}
}

/* The offset has changed by 60 ppm of the time between two blocks that know their rates. The point in the first one, 0.9 s from where it is
 * known, says by how much rates were taken to wander. */
static double wandered(double blocks_apart)
{
	double at = 7.9 + 8 * blocks_apart, offset = 60e-6 * 8 * blocks_apart * S;
	struct clock_point p[] = { point(0, 0, 0), point(7, 0, 0), point(7.9, -NOTHING, NOTHING),
				   point(at, offset, offset), point(at + 7, offset, offset) };

	assert_true(device_rate_fit(p, 5));
	for (int i = 0; i < 5; i++)
		assert_true(p[i].residual_ns == 0);
	assert_window(&p[2], -p[2].high, p[2].high);
	return p[2].high / (0.9 * S) - measured(7);
}

static void beyond_eight_blocks_the_rate_may_have_been_anything(void **state)
{
	(void)state;
	assert_rate(wandered(8.1), 5e-6);
	assert_rate(wandered(7.9),
		    4 * 5e-6); /* 44.5 ppm are less than the 60 that were: a contradiction, and four times as much */
}

/* Three blocks one behind the other, then a contradiction by 10 us: the last of them wandered more than was allowed for, so perhaps did its
 * neighbour, and the one before is left alone. In each, the third point is where nothing is known. */
static void widen(struct clock_point p[11], double second_s, double third_s)
{
	const double at = 25.9 + 7.9 * 8, offset = (5e-6 * 8.9 + measured(7)) * 7.9 * 8 * S + 10 * US;
	const double at_s[11] = { 0, second_s, 7.9, third_s, 15, 15.9, 18.6, 25, 25.9, at, at + 7 };

	for (int i = 0; i < 11; i++)
		p[i] = i < 9 ? point(at_s[i], 0, 0) : point(at_s[i], offset, offset);
	for (int i = 2; i < 9; i += 3)
		p[i] = point(at_s[i], -NOTHING, NOTHING);
	assert_true(device_rate_fit(p, 11));
	for (int i = 0; i < 11; i++)
		assert_true(p[i].residual_ns == 0);
}

static void a_contradiction_widens_its_neighbourhood(void **state)
{
	struct clock_point p[11];

	(void)state;
	widen(p, 7, 9.5);
	assert_rate(p[2].high / (0.9 * S), 5e-6 + measured(15));
	assert_rate(p[5].high / (0.9 * S), 4 * 5e-6 + measured(25));
	assert_rate(p[8].high / (0.9 * S), 4 * 5e-6 + measured(25 - 9.5));
}

/* What lies between one that wanders little and one that wanders much may have wandered much. */
static void across_two_blocks_the_less_sure_one_counts(void **state)
{
	struct clock_point p[11];

	(void)state;
	widen(p, 0.5, 8.1);
	assert_rate(p[2].high / (0.2 * S), 4 * 5e-6 * (1 + 0.2 / 8) + measured(15));
}

/* 1 ms apart within a tenth of a second: nobody's clock does that, even one that is slewed by 600 ppm. */
static void what_cannot_be_is_said(void **state)
{
	const double high[] = { 0, 0, 30 * US, 60 * US }, low[] = { 940 * US, 970 * US, 1000 * US, 1000 * US };
	struct clock_point p[] = { point(0, 0, 0), point(0.05, 0, 0), point(0.1, 1e6, 1e6), point(0.15, 1e6, 1e6) };

	(void)state;
	assert_true(device_rate_fit(p, 4));
	for (int i = 0; i < 4; i++) {
		assert_window(&p[i], low[i], high[i]);
		assert_true(fabs(p[i].residual_ns - (low[i] - high[i] - EVENT_STEP_NS)) < 1);
	}
}

/* … and one that is slewed does. */
static void what_slewing_can_do_is_no_contradiction(void **state)
{
	struct clock_point p[] = { point(0, 0, 0), point(1, 590 * US, 590 * US) };

	(void)state;
	assert_true(device_rate_fit(p, 2));
	assert_true(p[0].residual_ns == 0 && p[1].residual_ns == 0);
	assert_window(&p[0], 0, 0);
}

/* Bounds that miss each other by less than the steps of what they were read from say the same. */
static void steps_are_no_contradiction(void **state)
{
	(void)state;
	for (int much = 0; much < 2; much++) {
		struct clock_point p[] = { point(0, 0, 0), point(1e-9, much ? 741 : 739, 5000) };

		p[0].loose_ns = p[1].loose_ns = 120;
		assert_true(device_rate_fit(p, 2));
		for (int i = 0; i < 2; i++)
			assert_true(much ? fabs(p[i].residual_ns - 1) < 0.01 : p[i].residual_ns == 0);
	}
}

/* ---- the chain of bases ------------------------------------------------------------------------------------------------- */

struct placed {
	uint32_t base;
	float elapsed_ms;
	uint32_t root, section; /* expected, as the rest */
	double device_ms, step_ns, link_ns;
};

/* A float's step at 1.5 s is 122 ns, at 2.5 s 244, at 5 s 488, at 10 ms 0.95. */
static void edges_are_as_exact_as_their_base_is_near(void **state)
{
	static const struct placed rows[] = {
		{ 1, 0, 1, 1, 0, 0, 0 }, /* the first base */
		{ 1, 1500, 1, 1, 1500, 122.07, 0 },
		{ 1, 2500, 1, 3, 2500, 0, 244.14 }, /* a base of others: a section of its own */
		{ 3, 10, 1, 3, 2510, 0.95, 244.14 },
		{ 3, -10, 1, 3, 2490, 0.95, 244.14 },
		{ 3, 5000, 1, 6, 7500, 0, 488.28 }, /* beyond what bases are renewed at: by itself */
		{ 7, 0, 7, 7, 0, 0, 0 },            /* begins anew */
		{ 7, 4200, 7, 7, 4200, 488.28, 0 },
		{ 99, 10, 99, 99, 10, 0.95, 0 }, /* whose base was given up */
	};
	struct edge edges[sizeof(rows) / sizeof(*rows)] = { { 0 } };
	struct trace t = { .edges = edges, .n_edges = sizeof(rows) / sizeof(*rows) };

	(void)state;
	for (size_t i = 0; i < t.n_edges; i++)
		edges[i] = (struct edge){ .id = (uint32_t)i + 1,
					  .base = rows[i].base,
					  .elapsed_ms = rows[i].elapsed_ms,
					  .done_ns = 1,
					  .device_ns = NAN };
	assert_int_equal(sequence_edges(&t, NULL), ERR_NONE);
	for (size_t i = 0; i < t.n_edges; i++) {
		assert_int_equal(edges[i].root, rows[i].root);
		assert_int_equal(edges[i].section, rows[i].section);
		assert_true(fabs(edges[i].device_ns - rows[i].device_ms * 1e6) < 1);
		assert_true(fabs(edges[i].step_ns - rows[i].step_ns) < 0.01);
		assert_true(fabs(edges[i].link_ns - rows[i].link_ns) < 0.01);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bound_is_carried_both_ways),
		cmocka_unit_test(between_sections_lies_the_later_ones_step),
		cmocka_unit_test(a_rate_wanders_by_5_ppm_and_as_much_again_for_each_block),
		cmocka_unit_test(backwards_too),
		cmocka_unit_test(beyond_eight_blocks_the_rate_may_have_been_anything),
		cmocka_unit_test(the_best_of_neighbours_counts),
		cmocka_unit_test(a_contradiction_widens_its_neighbourhood),
		cmocka_unit_test(across_two_blocks_the_less_sure_one_counts),
		cmocka_unit_test(what_cannot_be_is_said),
		cmocka_unit_test(what_slewing_can_do_is_no_contradiction),
		cmocka_unit_test(steps_are_no_contradiction),
		cmocka_unit_test(edges_are_as_exact_as_their_base_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
