/* SPDX-License-Identifier: BSD-2-Clause */
/* Recycling against a naive model: whoever writes, comes, goes and stands still within a small limit, the file holds every record that
 * was written after the instant it names, and everything those refer to, each once. */
#include "shim_trace.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "shim/keeper.h"
#include "shim/names.h"
#include "shim/recycle.h"
#include "shim/segment_table.h"

#define TYPE 77 /* unknown to everybody */
#define NAME_SPACE 88

static void limit_to(uint32_t segments)
{
	settings.limit_bytes = GST_SEGMENTS_OFFSET + (uint64_t)segments * GST_SEGMENT_BYTES;
}

struct numbered {
	struct gst_record record;
	uint64_t number, ticks;
	uint64_t filler[29];
};
#define PER_SEGMENT ((GST_SEGMENT_BYTES - 64) / sizeof(struct numbered))

/* False: dropped. */
static bool append(struct ring *r, uint64_t number)
{
	struct numbered *n = ring_reserve(r, TYPE, sizeof(*n));

	if (!n)
		return false;
	n->number = number;
	n->ticks = clock_ticks();
	ring_commit(n);
	return true;
}

static bool define(struct ring *r, uint32_t id)
{
	struct gst_name *n = ring_reserve(r, GST_NAME, sizeof(*n) + 48);

	if (!n)
		return false;
	n->id = id;
	n->space = NAME_SPACE;
	n->length = 48;
	memset(n->text, 'a' + (int)(id % 26), 48);
	ring_commit(n);
	return true;
}

/* ---- what the file must hold ------------------------------------------------------------------------------------------ */

#define NUMBERS 400000u

static struct {
	uint64_t ticks[NUMBERS]; /* read before it was appended; 0 never, or dropped */
	uint8_t seen[NUMBERS];
	uint8_t defined[NUMBERS], defined_seen[NUMBERS];
} model;

static void tick_off(const struct gst_record *r, uint32_t segment, void *arg)
{
	const struct numbered *n = (const struct numbered *)r;
	const struct gst_name *name = (const struct gst_name *)r;

	(void)segment;
	(void)arg;
	if (r->type == GST_NAME) {
		assert_int_equal(name->space, NAME_SPACE);
		assert_true(name->id < NUMBERS && model.defined[name->id]);
		assert_int_equal(name->text[47], 'a' + (int)(name->id % 26));
		assert_int_equal(model.defined_seen[name->id]++, 0);
		return;
	}
	assert_int_equal(r->type, TYPE);
	assert_true(n->number < NUMBERS && model.ticks[n->number]);
	assert_int_equal(model.seen[n->number]++, 0);
}

static void links_hold(const uint8_t *bytes)
{
	for (uint32_t i = 0; i < 4096; i++) {
		const struct gst_segment_header *s = segment_at(bytes, i), *before;

		if (!s || s->previous == GST_NONE || !is_there(bytes, s->previous, s->previous_recycles))
			continue;
		before = segment_at(bytes, s->previous);
		assert_int_equal(before->thread_seq + 1, s->thread_seq);
		assert_int_equal(before->flags, s->flags);
	}
}

static void header_holds(const uint8_t *bytes, uint32_t version)
{
	const struct gst_file_header *h = (const struct gst_file_header *)bytes;

	assert_int_equal(h->version, version);
	assert_int_equal(h->check, gst_hash32(h, sizeof(*h), offsetof(struct gst_file_header, check)));
}

/* The whole file against the model. definitions: of those that were written, as many may be missing as are counted. */
static void check_file(void)
{
	const struct gst_counters *c = file_counters();
	uint64_t lost = 0, after = 0;
	size_t size;
	uint8_t *bytes = slurp(&size);

	assert_true(size <= settings.limit_bytes);
	memset(model.seen, 0, sizeof(model.seen));
	memset(model.defined_seen, 0, sizeof(model.defined_seen));
	each_record(bytes, size, tick_off, NULL);
	for (uint32_t i = 0; i < NUMBERS; i++) {
		if (model.ticks[i] > c->recycled_until) {
			after++;
			if (!model.seen[i])
				fail_msg("record %u, written after the instant that the file names, is missing", i);
		}
		lost += model.defined[i] && !model.defined_seen[i];
	}
	assert_int_equal(lost, c->definitions_lost);
	assert_true(after > 0);
	links_hold(bytes);
	header_holds(bytes, c->segments_recycled ? GST_VERSION_RECYCLED : GST_VERSION);
	free(bytes);
}

static void write_down(struct ring *r, uint32_t number)
{
	uint64_t now = clock_ticks();

	if (append(r, number))
		model.ticks[number] = now;
	if (number % 97 == 0 && define(r, number))
		model.defined[number] = 1;
}

static int begin(void **state)
{
	memset(&model, 0, sizeof(model));
	return set_up(state);
}

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

/* Definitions that fill all but a little of a segment. */
static void define_most(struct ring *r, uint32_t id)
{
	uint32_t end = id + (GST_SEGMENT_BYTES - 16384) / (sizeof(struct gst_name) + 48);

	for (; id < end; id++)
		model.defined[id] = define(r, id);
}

static void write_numbers(struct ring *r, uint32_t number, uint32_t n)
{
	for (uint32_t end = number + n; number < end; number++) {
		uint64_t now = clock_ticks();

		if (append(r, number))
			model.ticks[number] = now;
	}
}

/* There is one more than the thread's own, but the keeper has no room for what must be kept of that. So it takes the thread's own, and by
 * then somebody else has the other one. */
static void one_that_another_took_meanwhile_costs_no_records(void **state)
{
	struct ring r, other, ended;

	(void)state;
	limit_to(4);
	ring_attach(&r);
	ring_attach(&other);
	ring_attach(&ended);
	define_most(&ended, 0);
	write_numbers(&ended, 0, 80); /* goes on in its own: the keeper's first one is full of those names */
	assert_int_equal(file_counters()->segments_recycled, 1);
	define_most(&ended, 10000);
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
	limit_to(4);
	ring_attach(&r);
	ring_attach(&other);
	ring_attach(&ended);
	define_most(&ended, 0);
	write_numbers(&ended, 0, 80); /* goes on in its own */
	assert_int_equal(file_counters()->segments_recycled, 1);
	define_most(&ended, 10000);
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
		cmocka_unit_test_setup_teardown(what_the_keeper_took_costs_no_thread_its_own, begin, tear_down),
		cmocka_unit_test_setup_teardown(one_that_another_took_meanwhile_costs_no_records, begin, tear_down),
		cmocka_unit_test_setup_teardown(one_in_the_way_costs_no_thread_its_own, begin, tear_down),
		cmocka_unit_test_setup_teardown(the_last_one_is_not_for_the_stock, begin, tear_down),
		cmocka_unit_test_setup_teardown(one_that_cannot_be_mapped_is_had_when_the_full_one_is_gone, begin,
						tear_down),
		cmocka_unit_test_setup_teardown(the_stock_costs_no_definitions, begin, tear_down),
		cmocka_unit_test_setup_teardown(what_the_keeper_took_is_not_in_stock_as_well, begin, tear_down),
		cmocka_unit_test_setup_teardown(what_ended_threads_left_is_given_up_too, begin, tear_down),
		cmocka_unit_test_setup_teardown(many_threads_in_a_small_file, begin, tear_down),
		cmocka_unit_test_setup_teardown(many_threads_beside_the_stock, begin, tear_down),
		cmocka_unit_test_setup_teardown(the_stock_takes_nobodys_own, begin, tear_down),
		cmocka_unit_test_setup_teardown(more_threads_than_segments, begin, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
