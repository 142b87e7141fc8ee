/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of shim/FORMAT.md's "Error budget" that end in a gap's two ends, each by itself: a trace in which that row is all there is, and the
 * instants between which the end is then said to lie. The rows of a device's clock are test_device_clock.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "built.h"
#include "timeline/facts.h"

/* Said to lie there, to the nanosecond that a half leaves. */
static void assert_between(int64_t at_ns, int64_t error_ns, double low_us, double high_us)
{
	int64_t low_ns = EPOCH + (int64_t)(low_us * US), high_ns = EPOCH + (int64_t)(high_us * US);

	if (llabs(at_ns - error_ns - low_ns) > 1 || llabs(at_ns + error_ns - high_ns) > 1)
		fail_msg("%.3f to %.3f us, not %.3f to %.3f", (double)(at_ns - error_ns - EPOCH) / US,
			 (double)(at_ns + error_ns - EPOCH) / US, low_us, high_us);
}

static const struct gap *only_gap(const struct built *b)
{
	assert_int_equal(b->timeline.devices[0].n_gaps, 1);
	return &b->timeline.devices[0].gaps[0];
}

static void the_allowances_are_those_of_the_table(void **state)
{
	(void)state;
	assert_int_equal(EVENT_NS, 2000);
	assert_int_equal(LATENCY_NS, 25000);
	assert_int_equal(WAKE_NS, 30000);
	assert_int_equal(WAIT_PROVES, 8);
	assert_int_equal(NODE_NS, 2000);
}

/* ---- wake-up, start ---------------------------------------------------------------------------------------------------- */

#define HOST "process 100 level=host end=9ms\nthread 10 main\ndevice 0\nstream 1\n"
#define WAITED                                            \
	"launch t=100us..102us stream=1 seq=1 kernel=a\n" \
	"usage t=110us\nsync-stream t=110us..1110us stream=1 seq=1\nusage t=1110us\n"
#define AGAIN                                               \
	"launch t=2000us..2002us stream=1 seq=2 kernel=b\n" \
	"usage t=2010us\nsync-stream t=2010us..3010us stream=1 seq=2\nusage t=3010us\n"

static void a_blocking_call_returns_30_us_behind_its_work_at_most(void **state)
{
	struct built *b = build(HOST WAITED AGAIN);
	const struct gap *g = only_gap(b);

	(void)state;
	assert_between(g->begin_ns, g->begin_error_ns, 1110 - 30, 1110);
	assert_int_equal(g->begin_known_by, BOUNDARY_BLOCKING_RETURN);
	finish(b);
}

/* As the kernel counts it, in the accounts at its entry and behind it. */
static void and_what_its_thread_waited_for_a_cpu(void **state)
{
	struct built *b = build(HOST "launch t=100us..102us stream=1 seq=1 kernel=a\n"
				     "usage t=110us cpu=1ms delay=500us\n"
				     "sync-stream t=110us..1110us stream=1 seq=1\n"
				     "usage t=1112us cpu=1ms delay=570us\n" AGAIN);
	const struct gap *g = only_gap(b);

	(void)state;
	assert_between(g->begin_ns, g->begin_error_ns, 1110 - 30 - 70, 1110);
	finish(b);
}

static void work_on_an_empty_stream_has_begun_25_us_behind_its_call(void **state)
{
	struct built *b = build(HOST WAITED AGAIN);
	const struct gap *g = only_gap(b);

	(void)state;
	assert_between(g->end_ns, g->end_error_ns, 2000, 2002 + 25);
	finish(b);
}

/* Quick ones tie the clocks together. All but two of the starts took 60 us: then half as much again is allowed. */
static void slow_starts_are_allowed_for(void **state)
{
	char text[4096] = "process 100 drift=0 end=90ms\nthread 10 main\ndevice 0\nstream 1\n", line[256];
	const struct gap *g;
	struct built *b;

	(void)state;
	for (int i = 1; i <= 8; i++) {
		int at_us = 1000 * i, fired_us = at_us + (i <= 2 ? 1 : 60);

		snprintf(line, sizeof(line), "edge %d t=%dus..%dus stream=1 covers=0 fired=%dus done=%dus kind=start\n",
			 i, at_us, at_us + 1, fired_us, fired_us + 1);
		strcat(text, line);
	}
	strcat(text, "launch t=10100us..10102us stream=1 seq=1 kernel=a\n"
		     "usage t=10110us\nsync-stream t=10110us..11110us stream=1 seq=1\nusage t=11110us\n"
		     "launch t=12000us..12002us stream=1 seq=2 kernel=b\n"
		     "usage t=12010us\nsync-stream t=12010us..13010us stream=1 seq=2\nusage t=13010us\n");
	b = build(text);
	g = only_gap(b);
	assert_in_range(g->end_ns + g->end_error_ns, EPOCH + (12002 + 89) * US, EPOCH + (12002 + 91) * US);
	assert_in_range(g->end_ns - g->end_error_ns, EPOCH + 12000 * US - 1, EPOCH + 12000 * US);
	finish(b);
}

/* A launch, nobody looks for 10 ms, a wait of so long: the work ended between these two. */
static void assert_ended(const char *sync, double low_us, double high_us)
{
	char text[1024];
	const struct gap *g;
	struct built *b;

	snprintf(
		text, sizeof(text),
		HOST
		"launch t=100us..102us stream=1 seq=1 kernel=a\n%s\n"
		"launch t=15000us..15002us stream=1 seq=2 kernel=b\nusage t=15005us\nsync-stream t=15005us..16005us stream=1 seq=2\nusage t=16005us\n",
		sync);
	b = build(text);
	g = only_gap(b);
	assert_between(g->begin_ns, g->begin_error_ns, low_us, high_us);
	finish(b);
}

/* An eighth of 10 ms is 1.25 ms, the wake-up not counted. */
static void a_wait_proves_eight_times_its_length(void **state)
{
	(void)state;
	assert_ended("usage t=10102us\nsync-stream t=10102us..11382us stream=1 seq=1\nusage t=11382us", 11382 - 30,
		     11382);
	assert_ended("usage t=10102us\nsync-stream t=10102us..11381us stream=1 seq=1\nusage t=11381us", 100, 11381);
}

/* ---- perturbation ------------------------------------------------------------------------------------------------------ */

/* The edge behind the work is known to lie in [first, last] by the clocks; the work ended up to 2 us before it. */
static void an_event_fires_2_us_behind_its_work_at_most(void **state)
{
	struct built *b = build("process 100 drift=0 end=9ms\nthread 10 main\ndevice 0\nstream 1\n"
				"edge 1 t=95us..96us stream=1 covers=0 fired=96us done=97us kind=start\n"
				"launch t=98us..99us stream=1 seq=1 kernel=a\n"
				"edge 2 t=100us..101us stream=1 covers=1 fired=600us done=620us\n"
				"sync-stream t=102us..615us stream=1 seq=1\n"
				"launch t=2000us..2002us stream=1 seq=2 kernel=b\n"
				"edge 3 t=2003us..2004us stream=1 covers=2 fired=2500us done=2520us\n"
				"sync-stream t=2005us..2512us stream=1 seq=2\n");
	const struct gap *g = only_gap(b);
	struct firing *firings;

	(void)state;
	assert_int_equal(device_clock_map(&firings, b->traces[0], NULL), ERR_NONE);
	assert_true(firings[1].exact && firings[1].error_ns < 2000);
	assert_int_equal(g->begin_ns + g->begin_error_ns, firings[1].time_ns + firings[1].error_ns);
	assert_int_equal(g->begin_ns - g->begin_error_ns, firings[1].time_ns - firings[1].error_ns - 2000);
	assert_int_equal(g->begin_known_by, BOUNDARY_EDGE);
	free(firings);
	finish(b);
}

/* A query that says "not yet" may speak of an event of ours. */
static void so_may_one_that_a_query_met(void **state)
{
	struct built *b = build(HOST "launch t=100us..102us stream=1 seq=1 kernel=a\n"
				     "query-stream t=500us..501us stream=1 seq=1 result=600\n"
				     "query-stream t=520us..521us stream=1 seq=1\n" AGAIN);
	const struct gap *g = only_gap(b);

	(void)state;
	assert_between(g->begin_ns, g->begin_error_ns, 500 - 2, 521);
	assert_int_equal(g->begin_known_by, BOUNDARY_QUERY);
	finish(b);
}

/* ---- a graph's nodes --------------------------------------------------------------------------------------------------- */

#define NODES \
	"node 1 handle=11 kernel=a\nnode 1 handle=12 kernel=b\nnode 1 handle=13 kernel=c\nnode 1 handle=14 kernel=d\n"
#define LAUNCHED \
	"graph t=100us..110us stream=1 seq=1 structure=1\nusage t=113us\nsync-stream t=113us..1110us stream=1 seq=1\nusage t=1110us\n"

static void within_a_graph_each_node_of_the_longest_way_may_cost_2_us(void **state)
{
	struct built *b = build(HOST NODES "depends 1 from=11 to=12\ndepends 1 from=12 to=13\ndepends 1 from=13 to=14\n"
					   "structure 1 t=50us\n" LAUNCHED);

	(void)state;
	assert_int_equal(b->timeline.devices[0].unresolved_ns, 4 * 2000);
	finish(b);
	b = build(
		HOST NODES
		"depends 1 from=11 to=12\ndepends 1 from=11 to=13\ndepends 1 from=11 to=14\nstructure 1 t=50us\n" LAUNCHED);
	assert_int_equal(b->timeline.devices[0].unresolved_ns, 2 * 2000);
	finish(b);
	b = build(HOST NODES "structure 1 t=50us\n" LAUNCHED); /* side by side */
	assert_int_equal(b->timeline.devices[0].unresolved_ns, 2000);
	finish(b);
}

/* ---- anchor: the host's own clock ---------------------------------------------------------------------------------------- */

#define TSC "process 100 level=host clock=tsc end=9s\nthread 10 main\ndevice 0\nstream 1\n"
#define SECONDS(width)                                                                       \
	"anchor t=0s width=" width "\nanchor t=1s width=" width "\nanchor t=2s width=" width \
	"\nanchor t=3s width=" width "\n"

/* Read 20 us apart, the two clocks are known to each other to 10 us: by so much each end of each gap is known less well. */
static void an_anchors_width_reaches_both_ends(void **state)
{
	struct built *b = build(TSC SECONDS("0") WAITED AGAIN), *wide = build(TSC SECONDS("20000") WAITED AGAIN);
	const struct gap *g = only_gap(b), *w = only_gap(wide);

	(void)state;
	assert_between(g->begin_ns, g->begin_error_ns, 1110 - 30, 1110);
	assert_int_equal(b->timeline.devices[0].host_error_ns, 0);
	assert_between(w->begin_ns, w->begin_error_ns, 1110 - 30 - 10, 1110 + 10);
	assert_between(w->end_ns, w->end_error_ns, 2000 - 10, 2002 + 25 + 10);
	assert_int_equal(wide->timeline.devices[0].host_error_ns, 10 * US);
	assert_int_equal(wide->timeline.devices[0].idle_error_ns, w->begin_error_ns + w->end_error_ns);
	finish(b);
	finish(wide);
}

/* From 2 s on CLOCK_MONOTONIC runs slow by 500 ppm. A gap in that second may be off by 500 us, one well before it by nothing. */
static void slewing_reaches_the_ends_of_the_gaps_it_meets(void **state)
{
	struct built *b =
		build(TSC "anchor t=0s\nanchor t=1s\nanchor t=2s\nanchor t=3s mono=2.9995s\nanchor t=4s mono=3.9995s\n"
			  "launch t=100us..102us stream=1 seq=1 kernel=a\n"
			  "usage t=110us\nsync-stream t=110us..1110us stream=1 seq=1\nusage t=1110us\n"
			  "launch t=500ms..500.002ms stream=1 seq=2 kernel=b\n"
			  "usage t=500.01ms\nsync-stream t=500.01ms..2500ms stream=1 seq=2\nusage t=2500ms\n"
			  "launch t=2600ms..2600.002ms stream=1 seq=3 kernel=c\n"
			  "usage t=2600.01ms\nsync-stream t=2600.01ms..2700ms stream=1 seq=3\nusage t=2700ms\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->n_gaps, 2);
	assert_int_equal(d->gaps[0].begin_error_ns, 15 * US);
	assert_int_equal(d->gaps[0].end_error_ns, 13500);
	assert_in_range(d->gaps[1].begin_error_ns, (15 + 499) * US, (15 + 502) * US);
	assert_in_range(d->gaps[1].end_error_ns, (13 + 499) * US, (14 + 502) * US);
	assert_in_range(d->host_error_ns, 499 * US, 502 * US);
	finish(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_allowances_are_those_of_the_table),
		cmocka_unit_test(a_blocking_call_returns_30_us_behind_its_work_at_most),
		cmocka_unit_test(and_what_its_thread_waited_for_a_cpu),
		cmocka_unit_test(work_on_an_empty_stream_has_begun_25_us_behind_its_call),
		cmocka_unit_test(slow_starts_are_allowed_for),
		cmocka_unit_test(a_wait_proves_eight_times_its_length),
		cmocka_unit_test(an_event_fires_2_us_behind_its_work_at_most),
		cmocka_unit_test(so_may_one_that_a_query_met),
		cmocka_unit_test(within_a_graph_each_node_of_the_longest_way_may_cost_2_us),
		cmocka_unit_test(an_anchors_width_reaches_both_ends),
		cmocka_unit_test(slewing_reaches_the_ends_of_the_gaps_it_meets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
