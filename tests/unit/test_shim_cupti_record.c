/* SPDX-License-Identifier: BSD-2-Clause */
/* What CUPTI's records become, with a clock that the test sets: how wrong their times may be. */
#include "shim/cupti_buffers.h"
#include "shim/cupti_link.h"
#include "shim/cupti_record.h"
#include "shim_trace.h"

#define NOW_NS 5000000000000ull
#define STEP_NS 100 /* from one reading to the next */
#define LEAST_NS 500
#define ROOM 8 /* activities */

static uint64_t now_ns; /* 0: the true time */

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	if (!now_ns || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, t);
	*t = (struct timespec){ (time_t)(now_ns / 1000000000u), (long)(now_ns % 1000000000u) };
	now_ns += STEP_NS;
	return 0;
}

/* ---- a libcupti whose records are all kernels ------------------------------------------------------------------------ */

static int next_kernel(uint8_t *buffer, size_t valid, struct cupti_record **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + sizeof(struct cupti_kernel) : buffer;

	*record = (struct cupti_record *)next;
	return next < buffer + valid ? CUPTI_SUCCESS : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

static int none_dropped(struct CUctx_st *context, uint32_t stream, size_t *dropped)
{
	(void)context, (void)stream;
	*dropped = 0;
	return CUPTI_SUCCESS;
}

static const struct cupti_api fake = { .cuptiActivityGetNextRecord = next_kernel,
				       .cuptiActivityGetNumDroppedRecords = none_dropped };

/* ---- what became of them ---------------------------------------------------------------------------------------------- */

static struct {
	struct gst_activity a[ROOM];
	unsigned n;
} written;

static void take_activity(const struct gst_record *r, uint32_t segment, void *arg)
{
	(void)segment, (void)arg;
	if (r->type != GST_ACTIVITY)
		return;
	assert_true(written.n < ROOM);
	memcpy(&written.a[written.n++], r, sizeof(struct gst_activity));
}

/* Of 1 us, that ends so long after (or before) NOW_NS. */
static struct cupti_kernel kernel_until(int64_t after_ns)
{
	return (struct cupti_kernel){ .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
				      .start = NOW_NS + (uint64_t)after_ns - 1000,
				      .end = NOW_NS + (uint64_t)after_ns };
}

/* CUPTI hands these over at NOW_NS, at which the clock is read first. */
static void record(const struct cupti_kernel *kernels, unsigned n)
{
	struct thread t = { 0 };
	uint8_t *buffer, *bytes;
	size_t size;

	ring_attach(&t.ring);
	buffer = cupti_buffers_take(&size);
	assert_non_null(buffer);
	memcpy(buffer, kernels, n * sizeof(*kernels));
	cupti_buffers_fill(buffer, n * sizeof(*kernels));
	now_ns = NOW_NS;
	assert_true(cupti_record_all(&t));
	now_ns = 0;
	bytes = slurp(&size);
	written.n = 0;
	each_record(bytes, size, take_activity, NULL);
	free(bytes);
}

/* The clock passes its end between two readings: that is no error of CUPTI's, and above all none of centuries. */
static void an_end_just_ahead_of_now(void **state)
{
	const struct cupti_kernel kernels[] = { kernel_until(STEP_NS / 2), kernel_until(-10000) };

	(void)state;
	record(kernels, 2);
	assert_int_equal(written.n, 2);
	assert_int_equal(written.a[0].end_ns, NOW_NS + STEP_NS / 2);
	assert_int_equal(written.a[0].error_ns, LEAST_NS);
	assert_int_equal(written.a[1].error_ns, LEAST_NS);
}

static void what_bears_no_time_is_counted(void **state)
{
	struct cupti_kernel kernels[] = { kernel_until(-10000), kernel_until(-10000), kernel_until(-5000) };

	(void)state;
	kernels[0].start = kernels[0].end = 0;
	kernels[1].end = 0; /* begun, and not over */
	record(kernels, 3);
	assert_int_equal(written.n, 1);
	assert_int_equal(written.a[0].end_ns, NOW_NS - 5000);
	assert_int_equal(file_counters()->activities_dropped, 2);
}

/* The last test: it is remembered. */
static void an_end_far_ahead_is_an_error_from_then_on(void **state)
{
	const struct cupti_kernel kernels[] = { kernel_until(-10000), kernel_until(7000), kernel_until(3000),
						kernel_until(-10000) };
	const uint64_t ahead_ns = 7000 - STEP_NS; /* of the second reading */

	(void)state;
	record(kernels, 4);
	assert_int_equal(written.n, 4);
	assert_int_equal(written.a[0].error_ns, LEAST_NS);
	assert_int_equal(written.a[1].error_ns, ahead_ns);
	assert_int_equal(written.a[2].error_ns, ahead_ns);
	assert_int_equal(written.a[3].error_ns, ahead_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_end_just_ahead_of_now, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_bears_no_time_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_end_far_ahead_is_an_error_from_then_on, set_up, tear_down),
	};

	assert_true(cupti_buffers_start() && cupti_link_start());
	cupti_record_start(&fake, false);
	return cmocka_run_group_tests_name("cupti_record", tests, NULL, NULL);
}
