/* SPDX-License-Identifier: BSD-2-Clause */
/* Recycling against a naive model: whoever writes, comes, goes and stands still within a small limit. */
#include "recycle_model.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "shim/keeper.h"
#include "shim/names.h"
#include "shim/segment_table.h"

/* ---- one thread --------------------------------------------------------------------------------------------------------- */

static void nothing_is_given_up_before_the_limit(void **state)
{
	struct ring r;

	(void)state;
	limit_to(6);
	ring_attach(&r);
	for (uint32_t i = 0; i < 4 * PER_SEGMENT; i++)
		write_down(&r, i);
	check_file();
	assert_int_equal(file_counters()->segments_recycled, 0);
	assert_int_equal(file_counters()->recycled_until, 0);
}

static void the_newest_stay(void **state)
{
	const uint32_t n = 40 * PER_SEGMENT;
	struct ring r;

	(void)state;
	limit_to(6);
	ring_attach(&r);
	for (uint32_t i = 0; i < n; i++)
		write_down(&r, i);
	check_file();
	for (uint32_t i = 0; i < NUMBERS; i++) /* six, less two of the keeper's and one that has just begun */
		assert_int_equal(model.seen[i], i < n && i >= n - 3 * PER_SEGMENT ? 1 : model.seen[i]);
	assert_false(model.seen[n - 6 * PER_SEGMENT]);
	assert_int_equal(file_counters()->records_dropped, 0);
	assert_int_equal(file_counters()->definitions_lost, 0);
	assert_in_range(file_counters()->segments_recycled, 34, 40);
}

static void a_full_disk_is_a_limit(void **state)
{
	struct rlimit old, small;
	struct ring r;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = GST_SEGMENTS_OFFSET + 5 * GST_SEGMENT_BYTES;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	ring_attach(&r);
	for (uint32_t i = 0; i < 20 * PER_SEGMENT; i++)
		write_down(&r, i);
	settings.limit_bytes = small.rlim_cur;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	check_file();
	assert_int_equal(file_counters()->records_dropped, 0);
}

/* ---- definitions --------------------------------------------------------------------------------------------------------- */

static void definitions_beyond_half_of_the_file_are_counted(void **state)
{
	const uint32_t per_segment = (GST_SEGMENT_BYTES - 64) / 64, n = 30 * per_segment;
	struct ring r;

	(void)state;
	limit_to(8);
	ring_attach(&r);
	for (uint32_t i = 0; i < n; i++)
		model.defined[i] = define(&r, i);
	write_down(&r, n);
	check_file();
	assert_in_range(file_counters()->definitions_lost, 22 * per_segment,
			23 * per_segment + 8); /* four are kept, three or four the thread's */
}

static void count_hook_names(const struct gst_record *r, uint32_t segment, void *arg)
{
	(void)segment;
	*(unsigned *)arg += r->type == GST_NAME && ((const struct gst_name *)r)->space == GST_SPACE_HOOK;
}

/* A file of one segment: nobody keeps what stood first in it. Whoever goes on in it writes the names of hooks anew, each time. */
static void names_of_hooks_survive_in_the_smallest_file(void **state)
{
	unsigned names = 0;
	struct ring r;
	size_t size;
	uint8_t *bytes;

	(void)state;
	limit_to(1);
	ring_begins = names_begin_again;
	ring_attach(&r);
	names_begin(&r);
	for (uint32_t i = 0; i < 5 * PER_SEGMENT / 2; i++)
		write_down(&r, i);
	ring_begins = NULL;
	names_forget();
	assert_int_equal(file_counters()->segments_recycled, 2);
	assert_true(file_counters()->definitions_lost >= 2 * HOOK_COUNT);
	assert_false(keeper_lost_hooks());
	bytes = slurp(&size);
	each_record(bytes, size, count_hook_names, &names);
	assert_int_equal(names, HOOK_COUNT);
	free(bytes);
}

/* Killed between copying a segment's definitions and giving it up. */
static void a_copy_of_what_is_still_there_does_not_count(void **state)
{
	struct segment s = { 0 };
	uint64_t left;
	struct ring r;

	(void)state;
	limit_to(6);
	ring_attach(&r);
	for (uint32_t i = 0; i < 3 * PER_SEGMENT + 1; i++)
		write_down(&r, i);
	s.index = segment_table_take_oldest(segments_used(), 0, &left);
	assert_int_equal(s.index, 0);
	assert_int_equal(segment_map(&s, false), 0);
	assert_int_equal(keeper_copy(&s, 4096, false), 0);
	check_file();
	segment_release(s.base);
}

/* ---- threads ------------------------------------------------------------------------------------------------------------- */

/* 8 threads for 4 segments: who holds none drops, counted, and gets one when another has ended. */
static void a_segment_is_never_taken_from_its_thread(void **state)
{
	struct ring rings[8];
	uint32_t number = 0;
	uint64_t dropped = 0;

	(void)state;
	limit_to(4);
	for (unsigned i = 0; i < 8; i++)
		ring_attach(&rings[i]);
	for (unsigned i = 0; i < 3; i++)
		assert_non_null(rings[i].segment);
	for (unsigned i = 3; i < 8; i++)
		assert_null(rings[i].segment);
	for (unsigned round = 0; round < PER_SEGMENT / 2; round++)
		for (unsigned i = 0; i < 8; i++, number++)
			write_down(&rings[i], number);
	for (uint32_t i = 0; i < number; i++)
		dropped += (model.ticks[i] == 0) + (i % 97 == 0 && !model.defined[i]);
	assert_true(dropped >= PER_SEGMENT / 2 * 5);
	assert_int_equal(file_counters()->records_dropped, dropped);
	assert_int_equal(file_counters()->dropped_limit, dropped);
	assert_int_equal(file_counters()->drop_errno, EFBIG);
	assert_true(file_counters()->drop_first_ticks &&
		    file_counters()->drop_last_ticks > file_counters()->drop_first_ticks);
	check_file();
	ring_detach(&rings[0]);
	ring_detach(&rings[1]); /* the first one's becomes the keeper's */
	for (unsigned i = 0; i < 2 * PER_SEGMENT; i++, number++)
		write_down(&rings[7], number);
	assert_non_null(rings[7].segment);
	assert_true(model.ticks[number - 1]);
	check_file();
}

/* Two hold the other segments, and the keeper has just used its first one, so that it wants the next: not the thread's only one. */
static void a_thread_goes_on_in_its_own_where_there_is_no_other(void **state)
{
	struct ring r, others[2];
	uint32_t n = 10 * PER_SEGMENT;

	(void)state;
	limit_to(4);
	for (unsigned i = 0; i < 2; i++)
		ring_attach(&others[i]);
	ring_attach(&r);
	for (uint32_t i = 0; i < n; i++)
		write_down(&r, i);
	check_file();
	assert_int_equal(file_counters()->records_dropped, 0);
	assert_int_equal(file_counters()->definitions_lost, 0);
	assert_true(model.seen[n - 1] && !model.seen[n - PER_SEGMENT - 1]);
	ring_detach(&others[0]); /* now there is another: the keeper's, as it has none in reserve */
	ring_detach(&others[1]);
	for (uint32_t i = n; i < 2 * n; i++)
		write_down(&r, i);
	check_file();
	assert_int_equal(file_counters()->records_dropped, 0);
	assert_true(model.seen[2 * n - 1] && model.seen[2 * n - PER_SEGMENT - 1]);
}

static void what_ended_threads_left_is_given_up_too(void **state)
{
	struct ring rings[6], *r = rings;
	uint32_t number = 0;

	(void)state;
	limit_to(8);
	for (unsigned i = 0; i < 6; i++) {
		ring_attach(&rings[i]);
		write_down(&rings[i], number++);
	}
	for (unsigned i = 1; i < 6; i++)
		ring_detach(&rings[i]);
	for (unsigned i = 0; i < 20 * PER_SEGMENT; i++)
		write_down(r, number++);
	check_file();
	assert_int_equal(file_counters()->records_dropped, 0);
	ring_attach(&rings[1]); /* finds nothing of theirs to go on in */
	write_down(&rings[1], number++);
	check_file();
	assert_int_equal(file_counters()->records_dropped, 0);
}

#define THREADS 6
#define EACH 30000u

static uint32_t threads_left;
static pthread_barrier_t all_attached;

static void *append_and_leave(void *arg)
{
	uint32_t id = (uint32_t)(uintptr_t)arg;
	struct ring r;

	ring_attach(&r);
	pthread_barrier_wait(&all_attached);
	for (uint32_t i = 0; i < EACH; i++) {
		write_down(&r, id * EACH + i);
		if (i % 7001 == 7000) { /* a thread that ends, and another one */
			ring_detach(&r);
			ring_attach(&r);
		}
	}
	ring_detach(&r);
	__atomic_fetch_sub(&threads_left, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *restock(void *arg)
{
	while (__atomic_load_n(&threads_left, __ATOMIC_ACQUIRE))
		if (!stock_work())
			sched_yield();
	return arg;
}

static void many_threads(uint32_t segments, bool stock)
{
	pthread_t threads[THREADS], helper;

	limit_to(segments);
	threads_left = THREADS;
	pthread_barrier_init(&all_attached, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, append_and_leave, (void *)i), 0);
	if (stock)
		assert_int_equal(pthread_create(&helper, NULL, restock, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (stock)
		pthread_join(helper, NULL);
	check_file();
	assert_true(file_counters()->segments_recycled > 0);
}

static void many_threads_in_a_small_file(void **state)
{
	(void)state;
	many_threads(12, false);
	assert_int_equal(file_counters()->dropped_limit, 0);
}

static void many_threads_beside_the_stock(void **state)
{
	(void)state;
	many_threads(24, true);
	assert_int_equal(file_counters()->dropped_limit, 0);
}

static void *append_many(void *arg)
{
	struct ring *r = arg;

	for (uint32_t i = 0; i < NUMBERS; i++)
		write_down(r, i);
	__atomic_store_n(&threads_left, 0, __ATOMIC_RELEASE);
	return NULL;
}

/* One segment more than the thread's own, and the stock is always at it: it never gets the last one. */
static void the_stock_takes_nobodys_own(void **state)
{
	pthread_t writer, helper;
	struct ring r, other;

	(void)state;
	limit_to(4);
	threads_left = 1;
	ring_attach(&other);
	ring_attach(&r);
	assert_int_equal(pthread_create(&writer, NULL, append_many, &r), 0);
	assert_int_equal(pthread_create(&helper, NULL, restock, NULL), 0);
	pthread_join(writer, NULL);
	pthread_join(helper, NULL);
	check_file();
	assert_int_equal(file_counters()->dropped_limit, 0);
	assert_true(file_counters()->segments_recycled > NUMBERS / PER_SEGMENT / 2);
}

static void more_threads_than_segments(void **state)
{
	(void)state;
	many_threads(5, true);
	assert_true(file_counters()->dropped_limit > 0);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_given_up_before_the_limit, begin, tear_down),
		cmocka_unit_test_setup_teardown(the_newest_stay, begin, tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_is_a_limit, begin, tear_down),
		cmocka_unit_test_setup_teardown(definitions_beyond_half_of_the_file_are_counted, begin, tear_down),
		cmocka_unit_test_setup_teardown(names_of_hooks_survive_in_the_smallest_file, begin, tear_down),
		cmocka_unit_test_setup_teardown(a_copy_of_what_is_still_there_does_not_count, begin, tear_down),
		cmocka_unit_test_setup_teardown(a_segment_is_never_taken_from_its_thread, begin, tear_down),
		cmocka_unit_test_setup_teardown(a_thread_goes_on_in_its_own_where_there_is_no_other, begin, tear_down),
		cmocka_unit_test_setup_teardown(what_ended_threads_left_is_given_up_too, begin, tear_down),
		cmocka_unit_test_setup_teardown(many_threads_in_a_small_file, begin, tear_down),
		cmocka_unit_test_setup_teardown(many_threads_beside_the_stock, begin, tear_down),
		cmocka_unit_test_setup_teardown(the_stock_takes_nobodys_own, begin, tear_down),
		cmocka_unit_test_setup_teardown(more_threads_than_segments, begin, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
