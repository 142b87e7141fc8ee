/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of large arrays: new ones are zeroed whoever had them before, and what grows keeps what it holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tools/spill_pages.h"

#define MB ((size_t)1 << 20)
#define ARRAYS 6
#define STEP 4096
#define ROUNDS 400

static uint64_t seed = 1;

static size_t below(size_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(seed >> 33) % n;
}

static bool fresh_new(struct pages *p, size_t bytes)
{
	struct pages_fresh fresh = { 0 };
	bool ok = pages_new(p, bytes, false, &fresh);

	pages_ready(&fresh);
	return ok;
}

static bool fresh_grow(struct pages *p, size_t bytes)
{
	struct pages_fresh fresh = { 0 };
	bool ok = pages_grow(p, bytes, &fresh);

	pages_ready(&fresh);
	return ok;
}

static void drop(struct pages *p)
{
	struct pages_gone gone = pages_free(p);

	if (gone.at)
		munmap(gone.at, gone.bytes);
}

static void test_freed_pages_are_handed_on(void **state)
{
	struct pages a, b;
	char *at;

	(void)state;
	pages_give_back();
	assert_true(fresh_new(&a, 8 * MB));
	assert_int_equal(a.bytes, 8 * MB);
	at = a.at;
	memset(at, 7, 8 * MB);
	drop(&a);
	assert_null(a.at);
	assert_int_equal(pages_kept(), 8 * MB);
	assert_true(fresh_new(&b, 3 * MB - 5));
	assert_ptr_equal(b.at, at);
	assert_int_equal(b.bytes, 3 * MB);
	for (size_t i = 0; i < b.bytes; i++)
		assert_int_equal(b.at[i], 0);
	assert_int_equal(pages_kept(), 5 * MB);
	assert_true(fresh_grow(&b, 7 * MB)); /* into what stands behind it; a rest of 1 MB is kept */
	assert_ptr_equal(b.at, at);
	assert_int_equal(b.bytes, 7 * MB);
	assert_int_equal(pages_kept(), MB);
	drop(&b); /* it joins its rest again */
	assert_true(fresh_new(&a, 8 * MB));
	assert_ptr_equal(a.at, at);
	assert_int_equal(pages_kept(), 0);
	drop(&a);
	pages_give_back();
	assert_int_equal(pages_kept(), 0);
}

static void test_no_more_is_kept_than_that(void **state)
{
	struct pages a[3];

	(void)state;
	pages_give_back();
	for (int i = 0; i < 3; i++)
		assert_true(fresh_new(&a[i], 100 * MB));
	for (int i = 0; i < 3; i++)
		drop(&a[i]);
	assert_int_equal(pages_kept(), 200 * MB);
	pages_give_back();
}

static void test_what_is_kept_makes_way_for_a_larger_one(void **state)
{
	struct pages kept[2], between, large;
	char *at;

	(void)state;
	pages_give_back();
	assert_true(fresh_new(&kept[0], 8 * MB) && fresh_new(&between, MB) && fresh_new(&kept[1], 4 * MB));
	drop(&kept[0]);
	drop(&kept[1]);
	assert_int_equal(pages_kept(), 12 * MB);
	assert_true(fresh_new(&large, 10 * MB));
	assert_int_equal(pages_kept(), 2 * MB);
	memset(large.at, 7, large.bytes);
	assert_true(fresh_new(&kept[0], 2 * MB)); /* what is left of them is as good as before */
	assert_int_equal(pages_kept(), 0);
	at = kept[0].at;
	for (size_t i = 0; i < 2 * MB; i++)
		assert_int_equal(at[i], 0);
	memset(at, 9, 2 * MB);
	assert_true(fresh_grow(&kept[0], 6 * MB));
	kept[0].at[6 * MB - 1] = 1;
	assert_int_equal(kept[0].at[2 * MB - 1], 9);
	assert_int_equal(large.at[10 * MB - 1], 7);
	drop(&kept[0]);
	drop(&large);
	drop(&between);
	pages_give_back();
}

static void assert_holds(const struct pages *p, size_t from, size_t until, int number)
{
	for (size_t at = from; at < until; at += STEP)
		if (p->at[at] != (char)number)
			fail_msg("%d at %zu, not %d", p->at[at], at, number);
}

static void test_what_grows_stays_where_it_is(void **state)
{
	struct pages_fresh fresh = { 0 };
	struct pages a;
	char *at;

	(void)state;
	pages_give_back();
	assert_true(pages_new(&a, MB, true, &fresh));
	at = a.at;
	memset(at, 7, MB);
	for (size_t bytes = 2; bytes <= 64; bytes += 2) {
		assert_true(fresh_grow(&a, bytes * MB));
		assert_ptr_equal(a.at, at);
		assert_int_equal(a.bytes, bytes * MB);
		memset(at + (bytes - 2) * MB + (bytes == 2 ? MB : 0), (int)bytes, (bytes == 2 ? 1 : 2) * MB);
	}
	assert_holds(&a, 0, MB, 7);
	assert_holds(&a, MB, 2 * MB, 2);
	assert_holds(&a, 62 * MB, 64 * MB, 64);
	drop(&a);
	assert_int_equal(pages_kept(), 64 * MB); /* without the addresses behind it */
	assert_true(fresh_new(&a, 64 * MB));
	assert_ptr_equal(a.at, at);
	assert_holds(&a, 0, 64 * MB, 0);
	drop(&a);
	pages_give_back();
}

/* What has no addresses behind it moves, also where the kernel has cut it in two. */
static void test_what_has_no_room_moves(void **state)
{
	struct pages a;

	(void)state;
	pages_give_back();
	assert_true(fresh_new(&a, 4 * MB));
	memset(a.at, 7, 4 * MB);
	assert_int_equal(madvise(a.at + 2 * MB, 2 * MB, MADV_DONTFORK), 0);
	assert_true(fresh_grow(&a, 40 * MB));
	assert_int_equal(a.bytes, 40 * MB);
	assert_holds(&a, 0, 4 * MB, 7);
	memset(a.at + 4 * MB, 9, 36 * MB);
	drop(&a);
	pages_give_back();
}

/* Three side by side, the one between them freed last: all of it is one again, and given back once. */
static void test_neighbours_are_one_again(void **state)
{
	struct pages left, right, whole;
	char *at;

	(void)state;
	pages_give_back();
	assert_true(fresh_new(&whole, 30 * MB));
	at = whole.at;
	drop(&whole);
	assert_true(fresh_new(&left, 10 * MB) && fresh_new(&whole, 10 * MB) && fresh_new(&right, 10 * MB));
	assert_ptr_equal(left.at, at);
	assert_ptr_equal(whole.at, at + 10 * MB);
	assert_ptr_equal(right.at, at + 20 * MB);
	drop(&left);
	drop(&right);
	drop(&whole);
	assert_int_equal(pages_kept(), 30 * MB);
	{
		struct pages_gone gone[PAGES_SPARES];
		size_t n = pages_leave(gone);

		assert_int_equal(n, 1);
		assert_ptr_equal(gone[0].at, at);
		assert_int_equal(gone[0].bytes, 30 * MB);
		assert_int_equal(pages_kept(), 0);
		pages_drop_all(gone, n);
		assert_int_equal(msync(at, MB, MS_ASYNC), -1); /* it is not there */
	}
}

/* Where a process may have so many only, none are taken in advance: others need them. */
static void test_where_addresses_are_few(void **state)
{
	struct rlimit before, few;
	struct pages_fresh fresh = { 0 };
	struct pages a, b;
	bool ok;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	printf("skip: the sanitizers have taken most addresses\n");
	skip();
#endif
	pages_give_back();
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	few = (struct rlimit){ 3072 * MB, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &few), 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &few), 0);
	if (few.rlim_cur != 3072 * MB) {
		printf("skip: the emulator takes a limit on addresses, and has none\n");
		skip();
	}
	ok = pages_new(&a, MB, true, &fresh) && fresh_grow(&a, 40 * MB) && pages_new(&b, MB, true, &fresh);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_true(ok);
	assert_int_equal(a.room + b.room, 0);
	memset(a.at, 7, 40 * MB);
	drop(&a);
	drop(&b);
	pages_give_back();
}

static struct pages others; /* in use, so that there is enough for something to be kept; nobody touches them */

static int use_much(void **state)
{
	struct pages_fresh fresh;

	(void)state;
	return pages_new(&others, 32 * MB, false, &fresh) ? 0 : -1;
}

static int use_little(void **state)
{
	struct pages_gone gone = pages_free(&others);

	(void)state;
	pages_give_back();
	return gone.at ? munmap(gone.at, gone.bytes) : 0;
}

static void test_where_little_is_in_use_nothing_is_kept(void **state)
{
	struct pages a, b;

	(void)state;
	use_little(NULL);
	assert_true(fresh_new(&a, 24 * MB) && fresh_new(&b, 8 * MB));
	drop(&b); /* 32 MB with it */
	assert_int_equal(pages_kept(), 8 * MB);
	drop(&a);
	assert_int_equal(pages_kept(), 8 * MB);
	pages_give_back();
	assert_int_equal(use_much(NULL), 0);
}

static void test_sizes_that_cannot_be(void **state)
{
	struct pages a;

	(void)state;
	assert_false(fresh_new(&a, SIZE_MAX / 4));
	assert_true(fresh_new(&a, 2 * MB));
	a.at[MB] = 5;
	assert_false(fresh_grow(&a, SIZE_MAX / 4));
	assert_int_equal(a.at[MB], 5);
	assert_int_equal(a.bytes, 2 * MB);
	drop(&a);
	pages_give_back();
}

/* Each step of an array holds its number; what is new is zero in new arrays only. */
static void fill(struct pages *p, size_t from, int number)
{
	for (size_t at = from; at < p->bytes; at += STEP)
		p->at[at] = (char)number;
}

static void test_arrays_keep_what_they_hold(void **state)
{
	struct pages arrays[ARRAYS] = { { .at = NULL } };
	size_t used;

	(void)state;
	pages_give_back();
	for (int round = 0; round < ROUNDS; round++) {
		size_t i = below(ARRAYS);
		struct pages *p = &arrays[i];

		if (!p->at) {
			struct pages_fresh fresh = { 0 };

			assert_true(pages_new(p, 1 + below(6 * MB), below(2), &fresh));
			pages_ready(&fresh);
			for (size_t at = 0; at < p->bytes; at += STEP)
				assert_int_equal(p->at[at], 0);
			fill(p, 0, (int)i + 1);
		} else if (below(3)) {
			size_t before = p->bytes;

			assert_true(fresh_grow(p, p->bytes + below(3 * MB)));
			fill(p, before, (int)i + 1);
		} else {
			pages_free(p);
		}
		for (size_t k = 0; k < ARRAYS; k++)
			for (used = 0; arrays[k].at && used < arrays[k].bytes; used += STEP)
				if (arrays[k].at[used] != (char)(k + 1))
					fail_msg("round %d: array %zu is %d at %zu", round, k, arrays[k].at[used],
						 used);
	}
	for (size_t i = 0; i < ARRAYS; i++)
		if (arrays[i].at)
			drop(&arrays[i]);
	pages_give_back();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_freed_pages_are_handed_on),
		cmocka_unit_test(test_no_more_is_kept_than_that),
		cmocka_unit_test(test_what_is_kept_makes_way_for_a_larger_one),
		cmocka_unit_test(test_what_grows_stays_where_it_is),
		cmocka_unit_test(test_what_has_no_room_moves),
		cmocka_unit_test(test_neighbours_are_one_again),
		cmocka_unit_test(test_where_addresses_are_few),
		cmocka_unit_test(test_where_little_is_in_use_nothing_is_kept),
		cmocka_unit_test(test_sizes_that_cannot_be),
		cmocka_unit_test(test_arrays_keep_what_they_hold),
	};

	return cmocka_run_group_tests(tests, use_much, use_little);
}
