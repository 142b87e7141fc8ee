/* SPDX-License-Identifier: BSD-2-Clause */
/* The longest gaps: however many are asked for, they are the first of all gaps in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "summary/summary.h"

#define GAPS 200
#define DEVICES 3

static struct gap gaps[GAPS];
static struct gap_story stories[GAPS];
static struct summary_device devices[DEVICES];
static const struct summary all = { .devices = devices, .n_devices = DEVICES, .n_gaps = GAPS };

/* Lengths of 0 to most_ns; the devices have 1, 99 and 100 of the gaps. */
static void make(int64_t most_ns)
{
	const size_t ends[] = { 1, 100, GAPS };
	size_t at = 0;

	for (size_t d = 0; d < DEVICES; d++) {
		devices[d].first_gap = at;
		devices[d].attribution.gaps = &stories[at];
		devices[d].attribution.n_gaps = ends[d] - at;
		for (; at < ends[d]; at++) {
			gaps[at] = (struct gap){ .begin_ns = (int64_t)at * 1000 };
			gaps[at].end_ns = gaps[at].begin_ns + rand() % (most_ns + 1);
			stories[at].gap = &gaps[at];
		}
	}
}

static int64_t length(size_t number)
{
	return gaps[number].end_ns - gaps[number].begin_ns;
}

static int by_length(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (length(x) != length(y))
		return length(x) > length(y) ? -1 : 1;
	return (x > y) - (x < y);
}

static void they_are_the_first_in_order(void **state)
{
	const size_t asked[] = { 0, 1, 2, 3, 10, 99, GAPS - 1, GAPS, GAPS + 5 };
	size_t sorted[GAPS];

	(void)state;
	for (int round = 0; round < 300; round++) {
		make(round % 3 ? 900 : 5); /* of few lengths many are alike */
		for (size_t i = 0; i < GAPS; i++)
			sorted[i] = i;
		qsort(sorted, GAPS, sizeof(*sorted), by_length);
		for (size_t k = 0; k < sizeof(asked) / sizeof(asked[0]); k++) {
			size_t n = asked[k], *found = summary_longest(&all, &n);

			assert_non_null(found);
			assert_int_equal(n, asked[k] < GAPS ? asked[k] : GAPS);
			assert_memory_equal(found, sorted, n * sizeof(*found));
			free(found);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_the_first_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
