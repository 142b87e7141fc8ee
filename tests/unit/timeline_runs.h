/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_runs.h: many runs of the model (timeline_model.h), of each kind of machine that there is. */
#pragma once

#include <stdlib.h>

#include "timeline_model.h"
#include "tests/unit/fewer.h"

#define LAST_SEED FEWER(4000)

struct totals { /* of all runs */
	int64_t span, idle, error, unresolved;
	size_t devices;
};

static void totals_add(struct totals *sum, const struct device_timeline *d)
{
	sum->span += d->end_ns - d->begin_ns;
	sum->idle += d->idle_ns;
	sum->error += d->idle_error_ns;
	sum->unresolved += d->unresolved_ns;
	sum->devices++;
}

/* What the test does with one of them: false where it does not hold, which it has said. */
static bool one(uint64_t seed, size_t n_processes, uint32_t n_devices, bool legacy, struct totals *sum);

/* SEED in the environment: that one alone. */
static void all_seeds(size_t n_processes, uint32_t n_devices, bool legacy, uint64_t until)
{
	const char *only = getenv("SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1, last = only ? first : until;
	struct totals sum = { 0 };
	size_t failed = 0;

	for (uint64_t seed = first; seed <= last; seed++)
		failed += !one(seed, n_processes, n_devices, legacy, &sum);
	print_message("idle %.1f%%, error %.2f%%, unresolved %.2f%% of the span; %zu devices; %zu seeds failed\n",
		      100.0 * (double)sum.idle / (double)sum.span, 100.0 * (double)sum.error / (double)sum.span,
		      100.0 * (double)sum.unresolved / (double)sum.span, sum.devices, failed);
	assert_int_equal(failed, 0);
	assert_true(sum.unresolved < sum.span / 2); /* a bound that is right because it says nothing is none */
}

static void one_process(void **state)
{
	(void)state;
	all_seeds(1, 1, false, LAST_SEED);
}

static void several_processes_share_a_device(void **state)
{
	(void)state;
	all_seeds(PROCESSES, 1, false, LAST_SEED / 2);
}

static void devices_wait_for_each_other(void **state)
{
	(void)state;
	all_seeds(1, DEVICES, false, LAST_SEED);
}

static void processes_number_devices_in_their_own_way(void **state)
{
	(void)state;
	all_seeds(2, 2, false, LAST_SEED / 2);
}

static void the_legacy_stream_orders_the_others(void **state)
{
	(void)state;
	all_seeds(1, 1, true, LAST_SEED);
}

static void legacy_streams_of_devices_that_wait_for_each_other(void **state)
{
	(void)state;
	all_seeds(1, 2, true, LAST_SEED);
}

#define MODEL_TESTS                                                                   \
	cmocka_unit_test(one_process), cmocka_unit_test(several_processes_share_a_device), \
		cmocka_unit_test(devices_wait_for_each_other),                        \
		cmocka_unit_test(processes_number_devices_in_their_own_way),          \
		cmocka_unit_test(the_legacy_stream_orders_the_others),                \
		cmocka_unit_test(legacy_streams_of_devices_that_wait_for_each_other)
