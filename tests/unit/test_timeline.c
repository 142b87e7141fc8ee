/* SPDX-License-Identifier: BSD-2-Clause */
/* What the timeline says about small traces whose answer is plain. The golden traces show the same through the report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "built.h"

/* The gap's two ends hold these instants (us), each within its own bound of at most 50 us. */
static void assert_gap(const struct gap *g, int64_t begin_us, int64_t end_us)
{
	assert_true(llabs(g->begin_ns - EPOCH - begin_us * US) <= g->begin_error_ns);
	assert_true(llabs(g->end_ns - EPOCH - end_us * US) <= g->end_error_ns);
	assert_true(g->begin_error_ns <= 50 * US && g->end_error_ns <= 50 * US);
}

#define ONE_STREAM                                                                  \
	"process 100 end=9ms\nthread 10 main\ndevice 0\nstream 1\n"                 \
	"edge 1 t=95us..96us stream=1 covers=0 fired=103us done=620us kind=start\n" \
	"launch t=97us..99us stream=1 seq=1 kernel=first\n"

static void gap_after_a_synchronise_begins_at_the_edge(void **state)
{
	struct built *b = build(ONE_STREAM "edge 2 t=100us..101us stream=1 covers=1 fired=600us done=620us\n"
					   "sync-stream t=102us..615us stream=1 seq=1\n"
					   "launch t=2000us..2002us stream=1 seq=2 kernel=second\n"
					   "edge 3 t=2003us..2004us stream=1 covers=2 fired=2500us done=2520us\n"
					   "sync-stream t=2005us..2512us stream=1 seq=2\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->n_gaps, 1);
	assert_gap(&d->gaps[0], 600, 2006);
	assert_string_equal(b->traces[0]->kernels[d->gaps[0].before->call->name], "first");
	assert_string_equal(b->traces[0]->kernels[d->gaps[0].after->call->name], "second");
	assert_int_equal(d->unresolved_ns, 0);
	assert_int_equal(d->operations, 2);
	finish(b);
}

/* The counter is so coarse that the edge behind a call begins and ends in the tick in which the call does: it says nothing of the start. */
static void an_edge_behind_bounds_no_start(void **state)
{
	static const char *const traces[] = {
		"launch t=97us..99us stream=1 seq=1 kernel=first\n"
		"edge 2 t=99us..99us stream=1 covers=1 fired=600us done=620us\n",
		"launch t=97us..97us stream=1 seq=1 kernel=first\n"
		"edge 2 t=97us..97us stream=1 covers=1 fired=600us done=620us\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
		char text[512];
		struct built *b;
		const struct device_timeline *d;

		snprintf(text, sizeof(text), "%s%s%s",
			 "process 100 end=9ms\nthread 10 main\ndevice 0\nstream 1\n"
			 "edge 1 t=95us..96us stream=1 covers=0 fired=103us done=620us kind=start\n",
			 traces[i], "sync-stream t=102us..615us stream=1 seq=1\n");
		b = build(text);
		d = &b->timeline.devices[0];
		assert_in_range(d->begin_ns, EPOCH + 90 * US, EPOCH + 130 * US);
		assert_in_range(d->end_ns, EPOCH + 590 * US, EPOCH + 610 * US);
		finish(b);
	}
}

static void silence_is_bounded_by_polls(void **state)
{
	struct built *b = build(ONE_STREAM "poll t=300us..301us stream=1 covers=1 ready=0\n"
					   "poll t=500us..501us stream=1 covers=1 ready=0\n"
					   "poll t=700us..701us stream=1 covers=1 ready=1\n"
					   "launch t=5000us..5002us stream=1 seq=2 kernel=second\n");
	const struct gap *g = b->timeline.devices[0].gaps;

	(void)state;
	assert_int_equal(b->timeline.devices[0].n_gaps, 1);
	assert_true(g->begin_ns - g->begin_error_ns >= EPOCH + 490 * US &&
		    g->begin_ns + g->begin_error_ns <= EPOCH + 701 * US);
	assert_int_equal(g->begin_known_by, BOUNDARY_POLL);
	finish(b);
}

/* The program asks right after it recorded an event of its own: that is not done yet, the work is. */
static void own_events_are_no_work(void **state)
{
	struct built *b = build(ONE_STREAM "edge 2 t=100us..101us stream=1 covers=1 fired=600us done=620us\n"
					   "sync-stream t=102us..615us stream=1 seq=1\n"
					   "record t=1500us..1501us stream=1 seq=1 event=5\n"
					   "query-stream t=1504us..1505us stream=1 seq=1 result=600\n"
					   "launch t=2000us..2002us stream=1 seq=2 kernel=second\n"
					   "edge 3 t=2003us..2004us stream=1 covers=2 fired=2500us done=2520us\n"
					   "poll t=2600us..2601us stream=1 covers=2 ready=1\n"
					   "record t=3000us..3001us stream=1 seq=2 event=5\n"
					   "poll t=3010us..3011us stream=1 covers=2 ready=0\n"
					   "launch t=4000us..4002us stream=1 seq=3 kernel=third\n"
					   "edge 4 t=4003us..4004us stream=1 covers=3 fired=4500us done=4520us\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->n_gaps, 2);
	assert_gap(&d->gaps[0], 600, 2006);
	assert_gap(&d->gaps[1], 2500, 4006);
	finish(b);
}

static void launches_far_apart_are_unresolved(void **state)
{
	struct built *b = build(ONE_STREAM "launch t=400us..402us stream=1 seq=2 kernel=k\n"
					   "launch t=800us..802us stream=1 seq=3 kernel=k\n"
					   "edge 2 t=803us..804us stream=1 covers=3 fired=840us done=860us\n"
					   "sync-stream t=805us..850us stream=1 seq=3\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->n_gaps, 0);
	assert_int_equal(d->unresolved_ns, 703 * US); /* first entry to last, and no more */
	finish(b);
}

static void host_function_is_idle_time(void **state)
{
	struct built *b =
		build(ONE_STREAM "edge 2 t=100us..101us stream=1 covers=1 fired=600us done=4520us kind=before\n"
				 "hostfn t=102us..104us stream=1 seq=2\n"
				 "edge 3 t=105us..106us stream=1 covers=2 fired=3600us done=4520us kind=after\n"
				 "launch t=107us..109us stream=1 seq=3 kernel=behind\n"
				 "edge 4 t=110us..111us stream=1 covers=3 fired=4500us done=4520us\n"
				 "sync-stream t=112us..4510us stream=1 seq=3\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->n_gaps, 1);
	assert_gap(&d->gaps[0], 600, 3600);
	assert_int_equal(gap_depends(&d->gaps[0])->kind, DEPEND_HOSTFN);
	assert_int_equal(gap_depends(&d->gaps[0])->producer->family, GST_FAMILY_HOSTFN);
	assert_int_equal(d->operations, 2);
	finish(b);
}

static void failed_and_captured_calls_are_no_work(void **state)
{
	struct built *b = build(ONE_STREAM "launch t=110us..112us stream=1 seq=2 kernel=k result=700\n"
					   "launch t=113us..115us stream=1 seq=3 kernel=k flags=captured\n"
					   "edge 2 t=120us..121us stream=1 covers=1 fired=600us done=620us\n"
					   "sync-stream t=122us..615us stream=1 seq=1\n");

	(void)state;
	assert_int_equal(b->timeline.devices[0].operations, 1);
	finish(b);
}

static void collectives_are_told_by_their_names(void **state)
{
	struct built *b = build("process 100 end=9ms\nthread 10 main\ndevice 0\nstream 1\n"
				"launch t=97us..99us stream=1 seq=1 kernel=ncclDevKernel_AllReduce_Sum_f32_RING_LL\n"
				"edge 1 t=100us..101us stream=1 covers=1 fired=600us done=620us\n"
				"sync-stream t=102us..615us stream=1 seq=1\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->compute_ns, 0);
	assert_int_equal(d->comm_ns, d->end_ns - d->begin_ns);
	finish(b);
}

static void processes_on_one_device_merge_by_uuid(void **state)
{
	struct built *b = build(ONE_STREAM "edge 2 t=100us..101us stream=1 covers=1 fired=600us done=620us\n"
					   "sync-stream t=102us..615us stream=1 seq=1\n"
					   "process 200 end=9ms\nthread 20 main\ndevice 3 uuid=1\nstream 1 device=3\n"
					   "launch t=300us..302us stream=1 seq=1 kernel=theirs device=3\n"
					   "sync-stream t=303us..1000us stream=1 seq=1\n");

	(void)state;
	assert_int_equal(b->timeline.n_devices, 1);
	assert_int_equal(b->timeline.devices[0].operations, 2);
	assert_int_equal(b->timeline.devices[0].n_gaps, 0);
	assert_int_equal(b->timeline.devices[0].n_streams, 2);
	finish(b);
}

/* A synchronise of an idle stream may take 75 us, the first one above all: it does not prove the 10 ms before it busy, in which nobody
 * looked. One that took as long as a tenth of them did wait. */
static void a_short_wait_proves_no_long_work(void **state)
{
	struct built *b = build("process 100 end=30ms\nthread 10 main\ndevice 0\nstream 1\n"
				"launch t=100us..102us stream=1 seq=1 kernel=k\n"
				"usage t=10100us\n"
				"sync-stream t=10100us..10175us stream=1 seq=1\n"
				"usage t=10175us\n"
				"launch t=12000us..12002us stream=1 seq=2 kernel=k\n"
				"sync-stream t=12005us..13005us stream=1 seq=2\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_true(d->idle_ns + d->idle_error_ns + d->unresolved_ns >= 11800 * US);
	finish(b);
	b = build("process 100 end=30ms\nthread 10 main\ndevice 0\nstream 1\n"
		  "launch t=100us..102us stream=1 seq=1 kernel=k\n"
		  "usage t=10100us\n"
		  "sync-stream t=10100us..11600us stream=1 seq=1\n"
		  "usage t=11600us\n"
		  "launch t=12000us..12002us stream=1 seq=2 kernel=k\n"
		  "sync-stream t=12005us..13005us stream=1 seq=2\n");
	d = &b->timeline.devices[0];
	assert_int_equal(d->n_gaps, 1);
	assert_gap(&d->gaps[0], 11590, 12015);
	finish(b);
}

/* Until when the work that ends before the one gap there is was certainly pending (us): the gap's begin lies between that and `return_us`,
 * when a wait for it returned. */
static void assert_pending_until(const char *accounts_and_wait, int64_t pending_us, int64_t return_us)
{
	char text[1024];
	struct built *b;
	const struct gap *g;

	snprintf(text, sizeof(text),
		 "process 100 end=30ms\nthread 10 main\ndevice 0\nstream 1\n"
		 "launch t=100us..102us stream=1 seq=1 kernel=k\n%s"
		 "launch t=8000us..8002us stream=1 seq=2 kernel=k\n",
		 accounts_and_wait);
	b = build(text);
	g = b->timeline.devices[0].gaps;
	assert_int_equal(b->timeline.devices[0].n_gaps, 1);
	assert_int_equal(g->begin_ns - EPOCH, (pending_us + return_us) * US / 2);
	assert_int_equal(g->begin_error_ns, (return_us - pending_us) * US / 2);
	finish(b);
}

/* A synchronise that took 2 ms may have waited for the device for 20 us, and for a CPU ever since. Nothing is proven but by what the
 * kernel says of the latter, and with it only what remains. */
static void a_late_wake_up_is_no_work(void **state)
{
	(void)state;
	assert_pending_until("sync-stream t=110us..2110us stream=1 seq=1\n", 100, 2110);
	assert_pending_until("sync-stream t=110us..2110us stream=1 seq=1\nusage t=2112us\n", 100, 2110);
	assert_pending_until("usage t=112us delay=unknown\nsync-stream t=110us..2110us stream=1 seq=1\n"
			     "usage t=2112us delay=unknown\n",
			     100, 2110);
	assert_pending_until("usage t=112us delay=5ms\nsync-stream t=110us..2110us stream=1 seq=1\n"
			     "usage t=2112us delay=unknown\n",
			     100, 2110);
	assert_pending_until("usage t=112us delay=5ms\nsync-stream t=110us..2110us stream=1 seq=1\n"
			     "usage t=2112us delay=6900us\n",
			     180, 2110);
	assert_pending_until("usage t=112us delay=5ms\nsync-stream t=110us..2110us stream=1 seq=1\n"
			     "usage t=2112us delay=5ms\n",
			     2080, 2110);
}

/* … and for a page of the program's own, from a disk. */
static void a_page_from_a_disk_is_no_work(void **state)
{
	(void)state;
	assert_pending_until(
		"usage t=112us faults=3\nsync-stream t=110us..2110us stream=1 seq=1\nusage t=2112us faults=4\n", 100,
		2110);
	assert_pending_until(
		"usage t=112us faults=4\nsync-stream t=110us..2110us stream=1 seq=1\nusage t=2112us faults=4\n", 2080,
		2110);
}

/* A thread that lost its CPU on its way to the driver did not wait for the device meanwhile. */
static void a_wait_begins_when_the_driver_is_asked(void **state)
{
	(void)state;
	assert_pending_until("usage t=2050us\nsync-stream t=110us..2110us stream=1 seq=1\nusage t=2112us\n", 100, 2110);
	assert_pending_until("usage t=310us\nsync-stream t=110us..2110us stream=1 seq=1\nusage t=2112us\n", 2080, 2110);
}

/* The device may take a while to get to an edge on an idle stream, which is no proof of work before it, in which nobody looked. */
static void a_late_edge_proves_no_long_work(void **state)
{
#define EDGE_LATE "edge 2 t=5100us..5101us stream=1 covers=1 fired=5160us done=5170us\n"
	static const struct {
		const char *looks;
		int64_t pending_us; /* at least: the edge's own error is some us */
	} cases[] = {
		{ EDGE_LATE, 103 },
		{ "poll t=3000us..3001us stream=1 covers=1 ready=0\n" EDGE_LATE, 2998 },
		{ "poll t=5000us..5001us stream=1 covers=1 ready=0\n" EDGE_LATE, 5140 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[1024];
		struct built *b;
		const struct gap *g;

		snprintf(text, sizeof(text), ONE_STREAM "%slaunch t=8000us..8002us stream=1 seq=2 kernel=second\n",
			 cases[i].looks);
		b = build(text);
		g = b->timeline.devices[0].gaps;
		assert_int_equal(b->timeline.devices[0].n_gaps, 1);
		assert_in_range(g->begin_ns - g->begin_error_ns - EPOCH, (cases[i].pending_us - 8) * US,
				(cases[i].pending_us + 15) * US);
		finish(b);
	}
}

/* The recorder puts an edge into the stream in the program's call, before the driver has it: the work starts behind that, at 2007 us. An edge
 * that another thread recorded meanwhile may stand behind the work. */
static void an_edge_bounds_the_start_of_its_own_call(void **state)
{
	static const struct {
		const char *thread;
		int64_t from_us, until_us; /* the earliest start */
	} cases[] = { { "", 2004, 2007 }, { "thread 11 other\n", 2000, 2000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[1024];
		struct built *b;
		const struct gap *g;

		snprintf(text, sizeof(text),
			 "process 100 end=9ms\nthread 10 main\ndevice 0\nstream 1\n"
			 "edge 1 t=95us..96us stream=1 covers=0 fired=97us done=620us kind=start\n"
			 "launch t=97us..99us stream=1 seq=1 kernel=first\n"
			 "edge 2 t=100us..101us stream=1 covers=1 fired=600us done=602us\n"
			 "sync-stream t=102us..602us stream=1 seq=1\n%s"
			 "edge 3 t=2002us..2003us stream=1 covers=1 fired=2007us done=2008us kind=start\n"
			 "thread 10 main\nlaunch t=2000us..2010us stream=1 seq=2 kernel=second\n",
			 cases[i].thread);
		b = build(text);
		assert_int_equal(b->timeline.devices[0].n_gaps, 1);
		g = b->timeline.devices[0].gaps;
		assert_in_range(g->end_ns - g->end_error_ns - EPOCH, cases[i].from_us * US - 1, cases[i].until_us * US);
		finish(b);
	}
}

static void nothing_submitted_is_no_device(void **state)
{
	struct built *b = build("process 100 end=9ms\nthread 10 main\ndevice 0\nother t=1us..2us\n");

	(void)state;
	assert_int_equal(b->timeline.n_devices, 0);
	finish(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gap_after_a_synchronise_begins_at_the_edge),
		cmocka_unit_test(an_edge_behind_bounds_no_start),
		cmocka_unit_test(silence_is_bounded_by_polls),
		cmocka_unit_test(own_events_are_no_work),
		cmocka_unit_test(launches_far_apart_are_unresolved),
		cmocka_unit_test(host_function_is_idle_time),
		cmocka_unit_test(failed_and_captured_calls_are_no_work),
		cmocka_unit_test(collectives_are_told_by_their_names),
		cmocka_unit_test(processes_on_one_device_merge_by_uuid),
		cmocka_unit_test(a_short_wait_proves_no_long_work),
		cmocka_unit_test(a_late_wake_up_is_no_work),
		cmocka_unit_test(a_page_from_a_disk_is_no_work),
		cmocka_unit_test(a_wait_begins_when_the_driver_is_asked),
		cmocka_unit_test(a_late_edge_proves_no_long_work),
		cmocka_unit_test(an_edge_bounds_the_start_of_its_own_call),
		cmocka_unit_test(nothing_submitted_is_no_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
