/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring against a naive model: whatever sizes are appended, in whatever order, from threads, signal handlers, into a file
 * with or without room, the file holds exactly what was appended, or says how much it lacks. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "late.h"
#include "shim_trace.h"

#define TYPE 77 /* unknown to everybody */
#define PER_SEGMENT ((GST_SEGMENT_BYTES - 64) / 256)

struct numbered {
	struct gst_record record;
	uint64_t number;
	uint64_t filler[30];
};

struct seen {
	uint64_t next, count;
};

static void in_order(const struct gst_record *r, uint32_t segment, void *arg)
{
	struct seen *seen = arg;
	const struct numbered *n = (const struct numbered *)r;

	(void)segment;
	assert_int_equal(r->type, TYPE);
	assert_int_equal(n->number, seen->next++);
	for (size_t i = 0; i < (r->size - 16u) / 8; i++)
		assert_int_equal(n->filler[i], n->number * 31 + i);
}

static void append_numbered(struct ring *r, uint64_t number, uint16_t words)
{
	struct numbered n = { .number = number };

	for (uint16_t i = 0; i < words; i++)
		n.filler[i] = number * 31 + i;
	ring_append(r, TYPE, (uint16_t)(16 + 8 * words), &n);
}

static void all_sizes_over_many_segments(void **state)
{
	struct ring r;
	struct seen seen = { 0, 0 };
	unsigned seed = 7;
	size_t size;
	uint8_t *bytes;

	(void)state;
	ring_attach(&r);
	for (uint64_t i = 0; i < 20000; i++)
		append_numbered(&r, i, (uint16_t)((unsigned)rand_r(&seed) % 31));
	bytes = slurp(&size);
	assert_in_range(each_record(bytes, size, in_order, &seen), 9, 13); /* 20000 records of 16 to 256 bytes */
	assert_int_equal(seen.next, 20000);
	assert_int_equal(file_counters()->records_dropped, 0);
	free(bytes);
}

static void full_is_given_up_and_counted(void **state)
{
	struct ring r;
	struct seen seen = { 5000 - (5000 % PER_SEGMENT), 0 };
	size_t size;
	uint8_t *bytes;

	(void)state;
	settings.limit_bytes = GST_SEGMENTS_OFFSET + 2 * GST_SEGMENT_BYTES;
	ring_attach(&r);
	for (uint64_t i = 0; i < 5000; i++)
		append_numbered(&r, i, 30);
	bytes = slurp(&size);
	assert_int_equal(size, settings.limit_bytes);
	assert_int_equal(each_record(bytes, size, in_order, &seen), 1); /* the other one is the keeper's */
	assert_int_equal(seen.next, 5000);
	assert_int_equal(file_counters()->records_recycled, 5000 - (5000 % PER_SEGMENT));
	assert_int_equal(file_counters()->segments_recycled, 5000 / PER_SEGMENT);
	assert_int_equal(file_counters()->records_dropped, 0);
	free(bytes);
}

static void append_with_room_left_empty(struct ring *r, uint64_t n)
{
	unsigned seed = 3;

	for (uint64_t i = 0; i < n; i++) {
		append_numbered(r, i, 30);
		if (i % 7 == 0) /* all that siglongjmp out of an append may leave behind */
			arch_local_add(&r->at, 16 + 8 * ((unsigned)rand_r(&seed) % 31));
	}
}

static void who_jumps_out_of_an_append_loses_that_record_alone(void **state)
{
	struct ring r;
	struct seen seen = { 0, 0 };
	size_t size;
	uint8_t *bytes;

	(void)state;
	ring_attach(&r);
	append_with_room_left_empty(&r, 5000);
	bytes = slurp(&size);
	assert_in_range(each_record(bytes, size, in_order, &seen), 5, 7);
	assert_int_equal(seen.next, 5000);
	free(bytes);
}

static void count_alone(const struct gst_record *r, uint32_t segment, void *arg)
{
	(void)r;
	(void)segment;
	((struct seen *)arg)->count++;
}

static void what_is_given_up_is_counted_behind_empty_room_too(void **state)
{
	struct ring r;
	struct seen seen = { 0, 0 };
	size_t size;
	uint8_t *bytes;

	(void)state;
	settings.limit_bytes = GST_SEGMENTS_OFFSET + 2 * GST_SEGMENT_BYTES;
	ring_attach(&r);
	append_with_room_left_empty(&r, 5000);
	bytes = slurp(&size);
	each_record(bytes, size, count_alone, &seen);
	assert_true(seen.count > 0);
	assert_int_equal(file_counters()->records_recycled + seen.count, 5000);
	free(bytes);
}

/* ---- a signal in the middle of an append -------------------------------------------------------------------------------- */

static struct ring *volatile interrupted; /* NULL: the test is over; ThreadSanitizer delivers signals late */
static volatile sig_atomic_t from_handler;

#define HANDLER_WORDS 30 /* as large as can be: it is to find no room often */

static void handler(int signal_number)
{
	struct numbered n = { .number = 1000000u + (uint64_t)from_handler };
	struct ring *r = interrupted;

	(void)signal_number;
	if (!r)
		return;
	for (uint16_t i = 0; i < HANDLER_WORDS; i++)
		n.filler[i] = n.number * 31 + i;
	ring_append_here(r, TYPE, sizeof(n), &n);
	from_handler = from_handler + 1;
}

static void count_both(const struct gst_record *r, uint32_t segment, void *arg)
{
	struct seen *seen = arg;
	const struct numbered *n = (const struct numbered *)r;

	(void)segment;
	for (size_t i = 0; i < (r->size - 16u) / 8; i++)
		assert_int_equal(n->filler[i], n->number * 31 + i);
	if (n->number >= 1000000)
		seen->count++;
	else
		assert_int_equal(n->number, seen->next++);
}

static void signals_interrupt_appends(void **state)
{
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	struct seen seen = { 0, 0 };
	struct ring r;
	size_t size;
	uint8_t *bytes;

#if defined(__SANITIZE_THREAD__)
	printf("skip: ThreadSanitizer delivers signals late, not in the middle of an append\n");
	skip();
#endif
	(void)state;
	from_handler = 0;
	interrupted = &r;
	ring_attach(&r);
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uint64_t i = 0; i < 300000 || from_handler < 100; i++)
		append_numbered(&r, i, 5);
	setitimer(ITIMER_REAL, &never, NULL);
	interrupted = NULL;
	bytes = slurp(&size);
	each_record(bytes, size, count_both, &seen);
	assert_int_equal(seen.count + file_counters()->records_dropped, (uint64_t)from_handler);
	assert_true(seen.next >= 300000);
	free(bytes);
}

static void fill(struct ring *r)
{
	struct numbered n = { .number = 1 };

	while (r->at + sizeof(n) <= GST_SEGMENT_BYTES)
		ring_append(r, TYPE, sizeof(n), &n);
}

/* The append that it interrupts has its place, and is about to write there. */
static void a_handler_stays_in_the_segment_of_an_append(void **state)
{
	struct numbered n = { .number = 1 };
	struct ring r;
	uint8_t *segment, *interrupted_one;

	(void)state;
	ring_attach(&r);
	segment = r.segment;
	interrupted_one = ring_reserve(&r, TYPE, sizeof(n));
	fill(&r);
	for (unsigned i = 0; i < 3; i++)
		ring_append_here(&r, TYPE, sizeof(n), &n);
	assert_ptr_equal(r.segment, segment);
	assert_true(r.at <= GST_SEGMENT_BYTES);
	assert_int_equal(file_counters()->records_dropped, 3);
	assert_int_equal(file_counters()->dropped_busy, 3);
	ring_commit(interrupted_one);
	ring_append_here(&r, TYPE, sizeof(n), &n);
	assert_ptr_not_equal(r.segment, segment);
	assert_int_equal(file_counters()->records_dropped, 3);
}

static struct gst_record *interrupted_at_the_end(struct ring *r)
{
	struct gst_call call = { .hook = 1 };
	struct gst_record *place;

	ring_attach(r);
	while (r->at + 2 * sizeof(call) <= GST_SEGMENT_BYTES)
		ring_append(r, GST_CALL, sizeof(call), &call);
	place = ring_reserve(r, GST_CALL, sizeof(call));
	assert_non_null(place);
	return place;
}

static void a_handlers_call_waits_for_the_next_segment(void **state)
{
	struct gst_call call = { .hook = 2 };
	struct ring r;
	struct gst_record *interrupted_one = interrupted_at_the_end(&r);
	const struct gst_call *in_next;
	uint8_t *segment = r.segment;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		call.begin = i;
		ring_append_here(&r, GST_CALL, sizeof(call), &call);
	}
	assert_ptr_equal(r.segment, segment);
	ring_commit(interrupted_one);
	call.begin = 3;
	ring_append(&r, GST_CALL, sizeof(call), &call);
	assert_ptr_not_equal(r.segment, segment);
	assert_int_equal(r.at, sizeof(struct gst_segment_header) + 4 * sizeof(call));
	in_next = (const struct gst_call *)(const void *)(r.segment + sizeof(struct gst_segment_header));
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(in_next[i].record.type, GST_CALL);
		assert_int_equal(in_next[i].record.commit, GST_COMMIT);
		assert_int_equal(in_next[i].hook, 2);
		assert_int_equal(in_next[i].begin, i);
	}
	late_drop();
	assert_int_equal(file_counters()->records_dropped, 0);
}

static void what_waits_is_written_when_its_thread_ends(void **state)
{
	struct gst_call call = { .hook = 2 };
	struct ring r, next;
	struct gst_record *interrupted_one = interrupted_at_the_end(&r);
	uint32_t full = r.index;

	(void)state;
	ring_append_here(&r, GST_CALL, sizeof(call), &call);
	ring_commit(interrupted_one);
	ring_detach(&r);
	ring_attach(&next); /* goes on behind it */
	assert_int_not_equal(next.index, full);
	assert_int_equal(next.at, sizeof(struct gst_segment_header) + sizeof(call));
	late_drop();
	assert_int_equal(file_counters()->records_dropped, 0);
}

static void what_waits_to_the_end_of_the_process_is_counted(void **state)
{
	struct gst_call call = { .hook = 2 };
	struct ring r;

	(void)state;
	interrupted_at_the_end(&r);
	for (unsigned i = 0; i < 70; i++) /* there is room for 64 */
		ring_append_here(&r, GST_CALL, sizeof(call), &call);
	assert_int_equal(file_counters()->dropped_busy, 6);
	late_drop();
	assert_int_equal(file_counters()->dropped_busy, 70);
	assert_int_equal(file_counters()->records_dropped, 70);
}

/* Its header is not even written yet. */
static void a_place_without_a_header_is_an_append(void **state)
{
	struct numbered n = { .number = 1 };
	struct ring r;
	uint8_t *segment;

	(void)state;
	ring_attach(&r);
	segment = r.segment;
	fill(&r);
	r.at -= sizeof(n);
	memset(segment + r.at, 0, sizeof(n));
	r.at += sizeof(n); /* as arch_local_add does it */
	ring_append_here(&r, TYPE, sizeof(n), &n);
	assert_ptr_equal(r.segment, segment);
	assert_int_equal(file_counters()->dropped_busy, 1);
}

static void a_handler_between_appends_goes_on_elsewhere(void **state)
{
	struct numbered n = { .number = 1 };
	struct ring r;
	uint8_t *segment;

	(void)state;
	ring_attach(&r);
	segment = r.segment;
	fill(&r);
	ring_append_here(&r, TYPE, sizeof(n), &n);
	assert_ptr_not_equal(r.segment, segment);
	assert_int_equal(file_counters()->records_dropped, 0);
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

#define THREADS 8
#define EACH 5000

static void *append_and_leave(void *arg)
{
	uint64_t id = (uintptr_t)arg;
	struct ring r;

	ring_attach(&r);
	for (uint64_t i = 0; i < EACH; i++)
		append_numbered(&r, id * EACH + i, (uint16_t)(i % 31));
	ring_detach(&r);
	return NULL;
}

static void tick_off(const struct gst_record *r, uint32_t segment, void *arg)
{
	uint8_t *ticked = arg;
	uint64_t number = ((const struct numbered *)r)->number;

	(void)segment;
	assert_true(number < THREADS * EACH);
	assert_int_equal(ticked[number], 0);
	ticked[number] = 1;
}

static void threads_come_and_go(void **state)
{
	uint8_t *ticked = calloc(THREADS * EACH, 1);
	pthread_t threads[THREADS];
	size_t size;
	uint8_t *bytes;
	unsigned segments;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, append_and_leave, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	bytes = slurp(&size);
	segments = each_record(bytes, size, tick_off, ticked);
	assert_null(memchr(ticked, 0, THREADS * EACH));
	assert_in_range(segments, THREADS * EACH * 136 / GST_SEGMENT_BYTES,
			THREADS * 4); /* what ended threads left is used again */
	free(bytes);
	free(ticked);
}

/* From here on no segment can be had of the file. */
static void move_file_away(void)
{
	char command[512];

	snprintf(command, sizeof(command), "cd %s/out && f=$(ls *.gst) && mv $f ../moved && ln -s /etc/passwd $f",
		 directory);
	assert_int_equal(system(command), 0);
}

static void a_moved_file_is_left_alone(void **state)
{
	struct ring r;
	struct stat st;

	(void)state;
	ring_attach(&r);
	move_file_away();
	for (uint64_t i = 0; i < 2000; i++)
		append_numbered(&r, i, 30);
	assert_int_equal(file_counters()->records_dropped, 2000 - (GST_SEGMENT_BYTES - 64) / 256);
	assert_int_equal(stat("/etc/passwd", &st), 0);
	assert_true(st.st_size < GST_SEGMENTS_OFFSET);
}

/* ---- the stock ---------------------------------------------------------------------------------------------------------- */

static unsigned stock_up(void)
{
	unsigned pieces = 0;

	while (stock_work())
		pieces++;
	return pieces;
}

static void a_short_run_makes_no_stock(void **state)
{
	struct ring r;

	(void)state;
	ring_attach(&r);
	for (uint64_t i = 0; i < PER_SEGMENT; i++)
		append_numbered(&r, i, 30);
	assert_int_equal(stock_up(), 0);
}

static void a_full_segment_is_followed_by_one_of_the_stock(void **state)
{
	struct ring r;

	(void)state;
	ring_attach(&r);
	for (uint64_t i = 0; i < PER_SEGMENT + 1; i++) /* its second segment it must make itself */
		append_numbered(&r, i, 30);
	assert_in_range(stock_up(), 1, 100);
	move_file_away();
	for (uint64_t i = PER_SEGMENT + 1; i < 4 * PER_SEGMENT; i++)
		append_numbered(&r, i, 30);
	assert_int_equal(file_counters()->records_dropped,
			 PER_SEGMENT); /* the third came of the stock, the fourth of nowhere */
}

static void a_stock_that_was_too_small_grows(void **state)
{
	struct segment s;
	unsigned n;

	(void)state;
	for (unsigned expected = 0; expected <= 32; expected = expected ? expected * 2 : 1) {
		for (n = 0; stock_take(&s); n++) /* the last one, in vain, makes it grow */
			segment_release(s.base);
		assert_int_equal(n, expected < 8 ? expected : 8);
		stock_up();
	}
}

static void a_child_has_no_stock(void **state)
{
	struct segment s;

	(void)state;
	assert_false(stock_take(&s));
	stock_up();
	stock_forget();
	assert_false(stock_take(&s));
}

/* With the limit reached, and one that was left taken, what is in stock is all there is: a new thread gets it too. */
static void a_thread_that_begins_last_has_the_stock(void **state)
{
	struct ring first, second, third;

	(void)state;
	settings.limit_bytes = GST_SEGMENTS_OFFSET + 4 * GST_SEGMENT_BYTES;
	ring_attach(&first);
	for (uint64_t i = 0; i < PER_SEGMENT + 1; i++)
		append_numbered(&first, i, 30);
	assert_in_range(stock_up(), 1, 100);
	ring_attach(&second);
	ring_attach(&third);
	append_numbered(&second, PER_SEGMENT + 1, 30);
	append_numbered(&third, PER_SEGMENT + 2, 30);
	assert_int_equal(file_counters()->records_dropped, 0);
}

/* That there is no room for the stock is no reason to stop: a thread that needs room may find some. */
static void a_stock_that_cannot_be_had_stops_nothing(void **state)
{
	struct segment s;

	(void)state;
	assert_false(stock_take(&s));
	settings.limit_bytes = GST_SEGMENTS_OFFSET;
	assert_int_equal(stock_up(), 0);
	assert_int_equal(stock_up(), 0); /* nor is it tried over and over */
	assert_false(segments_gone());
	settings.limit_bytes = 1ull << 30;
	assert_int_equal(segment_claim(&s, NULL), 0);
	assert_int_equal(s.index, 0); /* what was claimed in vain was given back */
	segment_release(s.base);
}

/* Whatever number a failed call of the program's left in errno. */
static void a_full_file_is_full_whatever_errno_says(void **state)
{
	struct segment s;

	(void)state;
	settings.limit_bytes = GST_SEGMENTS_OFFSET;
	errno = EMFILE;
	assert_int_equal(segment_claim(&s, NULL), EFBIG);
	assert_int_equal(errno, EMFILE);
	assert_false(segments_gone()); /* another thread may leave one */
}

static uint32_t threads_left;

static void *restock(void *arg)
{
	while (__atomic_load_n(&threads_left, __ATOMIC_ACQUIRE))
		stock_work();
	return arg;
}

static void *append_beside_stock(void *arg)
{
	append_and_leave(arg);
	__atomic_fetch_sub(&threads_left, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void threads_share_the_stock(void **state)
{
	uint8_t *ticked = calloc(THREADS * EACH, 1);
	pthread_t threads[THREADS], helper;
	size_t size;
	uint8_t *bytes;

	(void)state;
	threads_left = THREADS;
	assert_int_equal(pthread_create(&helper, NULL, restock, NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, append_beside_stock, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(helper, NULL);
	bytes = slurp(&size);
	each_record(bytes, size, tick_off, ticked);
	assert_null(memchr(ticked, 0, THREADS * EACH));
	assert_int_equal(file_counters()->records_dropped, 0);
	free(bytes);
	free(ticked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_sizes_over_many_segments, set_up, tear_down),
		cmocka_unit_test_setup_teardown(full_is_given_up_and_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_jumps_out_of_an_append_loses_that_record_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_given_up_is_counted_behind_empty_room_too, set_up, tear_down),
		cmocka_unit_test_setup_teardown(signals_interrupt_appends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_handler_stays_in_the_segment_of_an_append, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_handlers_call_waits_for_the_next_segment, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_waits_is_written_when_its_thread_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_waits_to_the_end_of_the_process_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_place_without_a_header_is_an_append, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_handler_between_appends_goes_on_elsewhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads_come_and_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_moved_file_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_short_run_makes_no_stock, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_segment_is_followed_by_one_of_the_stock, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stock_that_was_too_small_grows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_child_has_no_stock, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_thread_that_begins_last_has_the_stock, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stock_that_cannot_be_had_stops_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_file_is_full_whatever_errno_says, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads_share_the_stock, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
