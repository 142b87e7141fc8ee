/* SPDX-License-Identifier: BSD-2-Clause */
/* Recycling when another thread, or the kernel, comes in between at the one moment that matters. */
#include "recycle_model.h"

#include <errno.h>

#include "shim/keeper.h"
#include "shim/pages.h"
#include "shim/segment_table.h"

static bool stock_comes; /* as soon as the keeper has taken one */
static unsigned stock_came, stock_took;
static bool other_comes; /* as soon as the keeper has taken one */
static struct {
	uint32_t index; /* GST_NONE: it found none */
	uint64_t left_ticks;
} other_took;

bool __real_keeper_take(struct segment *s);
bool __wrap_keeper_take(struct segment *s);

bool __wrap_keeper_take(struct segment *s)
{
	bool taken = __real_keeper_take(s);
	struct segment theirs;

	if (taken && stock_comes) {
		stock_comes = false;
		stock_came++;
		if (segment_try(&theirs)) {
			stock_took++;
			segment_release(theirs.base);
		}
	}
	if (taken && other_comes) {
		other_comes = false;
		other_took.index = segment_table_take_oldest(segments_used(), 0, &other_took.left_ticks);
	}
	return taken;
}

/* The keeper takes what the thread gave up for itself: its own is its own still, whoever looks for one in that moment. */
static void what_the_keeper_took_costs_no_thread_its_own(void **state)
{
	struct ring r, other;

	(void)state;
	limit_to(4);
	ring_attach(&other);
	ring_attach(&r);
	for (uint32_t i = 0; i < PER_SEGMENT * 3 / 2; i++)
		write_down(&r, i);
	stock_came = stock_took = 0;
	stock_comes = true;
	for (uint32_t i = PER_SEGMENT * 3 / 2; i < 6 * PER_SEGMENT; i++)
		write_down(&r, i);
	stock_comes = false;
	assert_int_equal(stock_came, 1);
	assert_int_equal(stock_took, 0);
	assert_int_equal(file_counters()->records_dropped, 0);
	check_file();
}

/* ended: has gone on in its own once, so that the keeper's first one is full of its names, and is full of others. */
static void attach_with_names(struct ring *r, struct ring *other, struct ring *ended)
{
	limit_to(4);
	ring_attach(r);
	ring_attach(other);
	ring_attach(ended);
	define_most(ended, 0);
	write_numbers(ended, 0, 80);
	assert_int_equal(file_counters()->segments_recycled, 1);
	define_most(ended, 10000);
}

/* There is one more than the thread's own, but the keeper has no room for what must be kept of that. So it takes the thread's own, and by
 * then somebody else has the other one. */
static void one_that_another_took_meanwhile_costs_no_records(void **state)
{
	struct ring r, other, ended;

	(void)state;
	attach_with_names(&r, &other, &ended);
	ring_detach(&ended);
	other_took.index = GST_NONE;
	other_comes = true;
	write_numbers(&r, PER_SEGMENT, 3 * PER_SEGMENT / 2);
	assert_false(other_comes);
	assert_int_not_equal(other_took.index, GST_NONE);
	assert_int_equal(file_counters()->records_dropped, 0);
	segment_table_put_back(other_took.index, other_took.left_ticks);
	write_numbers(&r, 3 * PER_SEGMENT, 2 * PER_SEGMENT);
	assert_int_equal(file_counters()->records_dropped, 0);
	assert_int_equal(file_counters()->definitions_lost, 0);
	check_file();
}

static bool copies_in_the_way; /* another thread copies, once, and somebody looks for a segment in that moment */
static void (*comes_meanwhile)(void);

int __real_keeper_copy(const struct segment *from, uint64_t bytes, bool rather_lose);
int __wrap_keeper_copy(const struct segment *from, uint64_t bytes, bool rather_lose);

int __wrap_keeper_copy(const struct segment *from, uint64_t bytes, bool rather_lose)
{
	if (!copies_in_the_way)
		return __real_keeper_copy(from, bytes, rather_lose);
	copies_in_the_way = false;
	comes_meanwhile();
	return EBUSY;
}

static void other_looks(void)
{
	other_took.index = segment_table_take_oldest(segments_used(), 0, &other_took.left_ticks);
}

static void stock_looks(void)
{
	struct segment s;

	stock_came++;
	stock_took += segment_try(&s);
}

/* The thread has its own alone, and another one is copying: it drops what comes in that moment, and goes on in its own. */
static void one_in_the_way_costs_no_thread_its_own(void **state)
{
	uint32_t n = 6 * PER_SEGMENT;
	struct ring r, others[2];

	(void)state;
	limit_to(4);
	for (unsigned i = 0; i < 2; i++)
		ring_attach(&others[i]);
	ring_attach(&r);
	for (uint32_t i = 0; i < PER_SEGMENT * 3 / 2; i++)
		write_down(&r, i);
	comes_meanwhile = other_looks;
	copies_in_the_way = true;
	for (uint32_t i = PER_SEGMENT * 3 / 2; i < n && copies_in_the_way; i++)
		write_down(&r, i);
	assert_false(copies_in_the_way);
	assert_non_null(r.segment);
	other_looks(); /* nor later, before the thread tries again */
	assert_int_equal(other_took.index, GST_NONE);
	for (uint32_t i = 3 * PER_SEGMENT; i < n; i++)
		write_down(&r, i);
	assert_int_equal(file_counters()->dropped_limit, 0);
	assert_in_range(file_counters()->records_dropped, 1, PER_SEGMENT / 8);
	assert_true(model.ticks[n - 1]);
	check_file();
}

/* The thread has just left its own for another one, which it cannot have: the stock left it that. */
static void the_last_one_is_not_for_the_stock(void **state)
{
	uint32_t n = 6 * PER_SEGMENT;
	struct ring r, other, ended;

	(void)state;
	limit_to(4);
	ring_attach(&other);
	ring_attach(&ended);
	ring_attach(&r);
	write_numbers(&ended, n, PER_SEGMENT / 2);
	define_most(&ended, 0);
	ring_detach(&ended);
	write_numbers(&r, 0, PER_SEGMENT / 2);
	stock_came = stock_took = 0;
	comes_meanwhile = stock_looks;
	copies_in_the_way = true;
	write_numbers(&r, PER_SEGMENT / 2, n - PER_SEGMENT / 2);
	assert_int_equal(stock_came, 1);
	assert_int_equal(stock_took, 0);
	assert_int_equal(file_counters()->records_dropped, 0);
	assert_int_equal(file_counters()->definitions_lost, 0);
	check_file();
}

static unsigned maps_allowed; /* 0: as many as there are */
static unsigned maps;

uint8_t *__real_pages_map(int fd, uint64_t offset, size_t size);
uint8_t *__wrap_pages_map(int fd, uint64_t offset, size_t size);
void __real_pages_unmap(uint8_t *base, size_t size);
void __wrap_pages_unmap(uint8_t *base, size_t size);

uint8_t *__wrap_pages_map(int fd, uint64_t offset, size_t size)
{
	uint8_t *base = NULL;

	if (maps_allowed && maps == maps_allowed)
		errno = EAGAIN;
	else
		base = __real_pages_map(fd, offset, size);
	__atomic_fetch_add(&maps, base && size == GST_SEGMENT_BYTES, __ATOMIC_RELAXED);
	return base;
}

void __wrap_pages_unmap(uint8_t *base, size_t size)
{
	__atomic_fetch_sub(&maps, size == GST_SEGMENT_BYTES, __ATOMIC_RELAXED);
	__real_pages_unmap(base, size);
}

/* As after mlockall(MCL_FUTURE) within RLIMIT_MEMLOCK: the thread's full segment must go before there is another. */
static void one_that_cannot_be_mapped_is_had_when_the_full_one_is_gone(void **state)
{
	uint32_t n = 20 * PER_SEGMENT;
	struct ring r;

	(void)state;
	limit_to(40);
	maps = 0;
	maps_allowed = 2; /* one of them is the keeper's */
	ring_attach(&r);
	write_numbers(&r, 0, n);
	maps_allowed = 0;
	assert_in_range(file_counters()->records_dropped, 1, n / 10);
	assert_int_equal(file_counters()->dropped_limit, 0);
	assert_int_equal(file_counters()->segments_recycled, 0);
	check_file();
}

/* The keeper's first one is full, and what has ended is all names: the next one there is becomes the keeper's, and no name is lost. */
static void the_stock_costs_no_definitions(void **state)
{
	struct ring r, other, ended;
	struct segment s;

	(void)state;
	attach_with_names(&r, &other, &ended);
	ring_detach(&ended);
	write_numbers(&other, PER_SEGMENT, 1);
	ring_detach(&other);
	assert_false(segment_try(&s));
	assert_int_equal(file_counters()->definitions_lost, 0);
	assert_int_equal(file_counters()->segments_recycled, 2);
	write_numbers(&r, 2 * PER_SEGMENT, 2 * PER_SEGMENT);
	assert_int_equal(file_counters()->records_dropped, 0);
	assert_int_equal(file_counters()->definitions_lost, 0);
	check_file();
}

/* The first one that it can have fills the keeper's reserve, and the last one is not for it. */
static void what_the_keeper_took_is_not_in_stock_as_well(void **state)
{
	struct ring r, others[3];
	struct segment s;

	(void)state;
	limit_to(5);
	for (unsigned i = 0; i < 3; i++)
		ring_attach(&others[i]);
	ring_attach(&r);
	for (uint32_t i = 0; i < 2 * PER_SEGMENT; i++)
		write_down(&r, i); /* finds nothing in stock, and uses the keeper's reserve */
	for (unsigned i = 0; i < 2; i++) {
		ring_detach(&others[i]);
		while (stock_work())
			;
		assert_false(stock_take(&s));
	}
	ring_detach(&others[2]);
	assert_true(stock_work());
	while (stock_work())
		;
	assert_true(stock_take(&s));
	segment_release(s.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_the_keeper_took_costs_no_thread_its_own, begin, tear_down),
		cmocka_unit_test_setup_teardown(one_that_another_took_meanwhile_costs_no_records, begin, tear_down),
		cmocka_unit_test_setup_teardown(one_in_the_way_costs_no_thread_its_own, begin, tear_down),
		cmocka_unit_test_setup_teardown(the_last_one_is_not_for_the_stock, begin, tear_down),
		cmocka_unit_test_setup_teardown(one_that_cannot_be_mapped_is_had_when_the_full_one_is_gone, begin,
						tear_down),
		cmocka_unit_test_setup_teardown(the_stock_costs_no_definitions, begin, tear_down),
		cmocka_unit_test_setup_teardown(what_the_keeper_took_is_not_in_stock_as_well, begin, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
