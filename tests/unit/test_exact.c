/* SPDX-License-Identifier: BSD-2-Clause */
/* Measured work: which records are believed, which call each belongs to, and what that makes of a device's time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "built.h"

static void assert_gap(const struct gap *g, int64_t begin_us, int64_t end_us)
{
	assert_int_equal(g->begin_ns, EPOCH + begin_us * US);
	assert_int_equal(g->end_ns, EPOCH + end_us * US);
}

#define PROCESS "process 100 level=cupti end=9ms\nthread 10 main\ndevice 0\nstream 1\n"
#define TWO_LAUNCHES \
	PROCESS "launch t=100us..102us stream=1 seq=1 kernel=a\nlaunch t=500us..502us stream=1 seq=2 kernel=b\n"

static void records_may_come_in_any_order(void **state)
{
	struct built *b = build(TWO_LAUNCHES "activity t=507us..600us stream=1 seq=2 kernel=b\n"
					     "activity t=106us..200us stream=1 seq=1 kernel=a\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->n_gaps, 1);
	assert_gap(&d->gaps[0], 200, 507);
	assert_ptr_equal(d->gaps[0].after->call, &b->traces[0]->calls[1]);
	assert_string_equal(op_kernel(d->gaps[0].after), "b");
	assert_true(d->gaps[0].after->of->exact);
	finish(b);
}

static void times_that_cannot_be_are_left_out(void **state)
{
	struct built *b = build(TWO_LAUNCHES "activity t=106us..200us stream=1 seq=1 kernel=a\n"
					     "activity t=600us..507us stream=1 seq=2 kernel=b\n"
					     "activity t=3000000s..3000001s kernel=years_later\n"
					     "activity t=700us..9000000000s kernel=never_ends\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(b->traces[0]->measured_bad, 3);
	assert_int_equal(b->traces[0]->n_measured, 1);
	assert_int_equal(d->operations, 2);
	assert_int_equal(d->operations_lost, 1);
	assert_int_equal(d->end_ns, EPOCH + 9000 * US); /* b may have run until the end, and no longer */
	finish(b);
}

static void what_seems_to_begin_before_its_call_says_how_far_the_clocks_are_apart(void **state)
{
	struct built *b = build(TWO_LAUNCHES "activity t=106us..200us stream=1 seq=1 error=1us\n"
					     "activity t=497us..600us stream=1 seq=2 error=1us\n");
	const struct gap *g = b->timeline.devices[0].gaps;

	(void)state;
	assert_gap(g, 200, 497);
	assert_int_equal(g->begin_error_ns, 1 * US);
	assert_int_equal(g->end_error_ns, 3 * US);
	assert_int_equal(b->timeline.devices[0].idle_error_ns, 4 * US);
	finish(b);
}

static void a_number_that_no_call_has_is_not_linked(void **state)
{
	struct built *b = build(TWO_LAUNCHES "activity t=106us..200us stream=1 seq=1\n"
					     "activity t=300us..310us stream=1 seq=7\n"
					     "activity t=400us..410us stream=9 seq=1\n"
					     "activity t=507us..600us stream=1 seq=2\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->operations, 4);
	assert_int_equal(d->operations_unlinked, 2);
	assert_int_equal(d->measured_unlinked, 2);
	assert_int_equal(d->operations_lost, 0);
	assert_int_equal(d->n_gaps, 3);
	assert_true(d->gaps[0].after->of->unlinked && d->gaps[1].before->of->unlinked &&
		    d->gaps[1].after->of->unlinked);
	assert_int_equal(d->compute_ns, (94 + 10 + 10 + 93) * US);
	finish(b);
}

static void numbers_go_round(void **state)
{
	struct built *b = build(PROCESS "launch t=100us..102us stream=1 seq=2147483000\n"
					"launch t=200us..202us stream=1 seq=4294967295\n"
					"launch t=300us..302us stream=1 seq=1\n"
					"activity t=106us..120us stream=1 seq=2147483000\n"
					"activity t=206us..220us stream=1 seq=4294967295\n"
					"activity t=306us..320us stream=1 seq=1\n");

	(void)state;
	assert_int_equal(b->timeline.devices[0].operations_unlinked, 0);
	assert_int_equal(b->timeline.devices[0].operations_lost, 0);
	assert_int_equal(b->timeline.devices[0].n_gaps, 2);
	finish(b);
}

static void a_submission_in_several_pieces_is_several_operations(void **state)
{
	struct built *b =
		build(PROCESS "copy t=100us..300us stream=1 seq=1 kind=h2d-pageable bytes=131072\n"
			      "activity t=150us..160us stream=1 seq=1 kind=copy copy=h2d-pageable bytes=65536\n"
			      "activity t=180us..190us stream=1 seq=1 kind=copy copy=h2d-pageable bytes=65536\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->operations, 2);
	assert_int_equal(d->n_gaps, 1);
	assert_gap(&d->gaps[0], 160, 180);
	assert_int_equal(d->copy_ns[GST_COPY_H2D_PAGEABLE], 20 * US);
	assert_int_equal(op_bytes(&d->ops[1]), 65536);
	finish(b);
}

static void failed_calls_and_host_functions_are_not_missed(void **state)
{
	struct built *b = build(TWO_LAUNCHES "hostfn t=510us..511us stream=1 seq=3\n"
					     "launch t=700us..701us stream=1 seq=4 result=700\n"
					     "launch t=710us..711us stream=1 flags=captured\n"
					     "activity t=106us..200us stream=1 seq=1\n"
					     "activity t=507us..600us stream=1 seq=2\n");

	(void)state;
	assert_int_equal(b->timeline.devices[0].operations, 2);
	assert_int_equal(b->timeline.devices[0].operations_lost, 0);
	assert_int_equal(b->timeline.devices[0].unresolved_ns, 0);
	finish(b);
}

static void lost_work_lies_between_its_neighbours(void **state)
{
	struct built *b = build(PROCESS "launch t=100us..102us stream=1 seq=1\n"
					"launch t=103us..105us stream=1 seq=2\n"
					"launch t=106us..108us stream=1 seq=3\n"
					"activity t=110us..200us stream=1 seq=1\n"
					"activity t=500us..600us stream=1 seq=3\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->n_gaps, 0);
	assert_int_equal(d->unresolved_ns, 300 * US);
	assert_int_equal(d->operations_lost, 1);
	finish(b);
}

static void a_copy_between_devices_runs_where_it_was_measured(void **state)
{
	struct built *b =
		build(PROCESS "device 1\nstream 2 device=1\n"
			      "copy t=100us..102us stream=1 seq=1 kind=peer bytes=4096\n"
			      "launch t=200us..202us stream=2 seq=1 device=1\n"
			      "activity t=106us..150us stream=1 seq=1 kind=copy copy=peer bytes=4096 device=1\n"
			      "activity t=207us..250us stream=2 seq=1 device=1\n");

	(void)state;
	assert_int_equal(b->timeline.n_devices, 1); /* the stream's own did nothing */
	assert_int_equal(b->timeline.devices[0].device.device, 1);
	assert_int_equal(b->timeline.devices[0].operations, 2);
	assert_int_equal(b->timeline.devices[0].operations_unlinked, 0);
	assert_gap(&b->timeline.devices[0].gaps[0], 150, 207);
	finish(b);
}

static void a_trace_without_its_beginning_begins_with_what_still_ran(void **state)
{
	struct built *b =
		build("process 100 level=cupti end=9ms\nthread 10 main recycles=1 number=3\ndevice 0\nstream 1\n"
		      "recycled until=1000us\n"
		      "launch t=500us..502us stream=1 seq=7\n"
		      "launch t=1100us..1102us stream=1 seq=8\n"
		      "activity t=300us..400us stream=1 seq=6\n"
		      "activity t=507us..1050us stream=1 seq=7\n"
		      "activity t=1107us..1200us stream=1 seq=8\n");
	const struct device_timeline *d = &b->timeline.devices[0];

	(void)state;
	assert_int_equal(d->begin_ns, EPOCH + 1000 * US);
	assert_int_equal(d->n_gaps, 1);
	assert_gap(&d->gaps[0], 1050, 1107);
	finish(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_may_come_in_any_order),
		cmocka_unit_test(times_that_cannot_be_are_left_out),
		cmocka_unit_test(what_seems_to_begin_before_its_call_says_how_far_the_clocks_are_apart),
		cmocka_unit_test(a_number_that_no_call_has_is_not_linked),
		cmocka_unit_test(numbers_go_round),
		cmocka_unit_test(a_submission_in_several_pieces_is_several_operations),
		cmocka_unit_test(failed_calls_and_host_functions_are_not_missed),
		cmocka_unit_test(lost_work_lies_between_its_neighbours),
		cmocka_unit_test(a_copy_between_devices_runs_where_it_was_measured),
		cmocka_unit_test(a_trace_without_its_beginning_begins_with_what_still_ran),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
