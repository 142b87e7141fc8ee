/* SPDX-License-Identifier: BSD-2-Clause */
/* One clock against another: the line through instants that both saw, some of them wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "ranks/ranks_fit.h"

#define N 4000

static uint64_t seed = 1;

static int64_t below(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(seed >> 33) % n;
}

static struct fit_point points[N];

/* away = offset + drift * t, every `apart` ns, and noise of up to so much to both sides. */
static void line(size_t n, int64_t offset, double drift, int64_t apart, int64_t noise)
{
	for (size_t i = 0; i < n; i++) {
		int64_t at = 1000000000 + (int64_t)i * apart;

		points[i] = (struct fit_point){ at, offset + (int64_t)llround(drift * (double)at) +
							    (noise ? below(2 * noise) - noise : 0) };
	}
}

static int64_t worst(const struct fit *f, size_t n, int64_t offset, double drift, int64_t apart)
{
	int64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t at = 1000000000 + (int64_t)i * apart;
		int64_t off = llabs(fit_away(f, at) - offset - (int64_t)llround(drift * (double)at));

		most = off > most ? off : most;
	}
	return most;
}

static void a_line_is_found(void **state)
{
	static const size_t sizes[] = { 8, 9, 63, 64, 65, 500, N };
	struct fit f;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		line(sizes[i], -5000000, 15e-6, 10000000, 0);
		assert_true(fit_line(&f, points, sizes[i]));
		assert_true(worst(&f, sizes[i], -5000000, 15e-6, 10000000) <= 2);
		assert_true(fabs(f.drift - 15e-6) < 1e-8);
	}
}

static void days_apart_and_in_any_order(void **state)
{
	const int64_t days = 400ll * 86400 * 1000000000;
	struct fit f;

	(void)state;
	line(1000, -days, -40e-6, 3000000, 0);
	for (size_t i = 0; i < 1000; i++) {
		size_t k = (size_t)below(1000);
		struct fit_point p = points[i];

		points[i] = points[k];
		points[k] = p;
	}
	assert_true(fit_line(&f, points, 1000));
	assert_true(worst(&f, 1000, -days, -40e-6, 3000000) <= 2);
}

/* One in five is late by up to a millisecond, the rest are off by up to 5 us. */
static void outliers_do_not_move_it(void **state)
{
	struct fit f;

	(void)state;
	for (size_t n = 40; n <= N; n *= 10) {
		line(n, 123456, 10e-6, 20000000, 5000);
		for (size_t i = 0; i < n; i += 5)
			points[i].away_ns += 50000 + below(1000000);
		assert_true(fit_line(&f, points, n));
		assert_true(worst(&f, n, 123456, 10e-6, 20000000) <= (n == 40 ? 5000 : 1000));
	}
}

static void all_at_one_time(void **state)
{
	struct fit f;

	(void)state;
	line(100, 777, 0, 0, 0);
	assert_true(fit_line(&f, points, 100));
	assert_int_equal(fit_away(&f, 1000000000), 777);
	assert_true(f.drift == 0);
}

/* What no two clocks do is no drift. */
static void drift_is_bounded(void **state)
{
	struct fit f;

	(void)state;
	line(100, 0, 0.01, 1000000, 0);
	assert_true(fit_line(&f, points, 100));
	assert_true(fabs(f.drift) <= 1e-3);
}

static void any_numbers(void **state)
{
	struct fit f;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		size_t n = 8 + (size_t)below(300);

		for (size_t k = 0; k < n; k++) {
			points[k].at_ns = below(2) ? below(1000) : (int64_t)1 << below(59);
			points[k].away_ns = below(3) ? below(1000) : (below(2) ? 1 : -1) * ((int64_t)1 << below(62));
		}
		assert_true(fit_line(&f, points, n));
		assert_true(fabs(f.drift) <= 1e-3);
		fit_away(&f, 0);
		fit_away(&f, (int64_t)1 << 58);
	}
}

static void percentiles(void **state)
{
	int64_t values[200];

	(void)state;
	for (int i = 0; i < 200; i++)
		values[i] = 200 - i;
	assert_int_equal(fit_percentile(values, 200, 99), 198);
	assert_int_equal(fit_percentile(values, 200, 50), 100);
	assert_int_equal(fit_percentile(values, 1, 99), 1);
	assert_int_equal(fit_percentile(values, 0, 99), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_found),
		cmocka_unit_test(days_apart_and_in_any_order),
		cmocka_unit_test(outliers_do_not_move_it),
		cmocka_unit_test(all_at_one_time),
		cmocka_unit_test(drift_is_bounded),
		cmocka_unit_test(any_numbers),
		cmocka_unit_test(percentiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
