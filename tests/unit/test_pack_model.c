/* SPDX-License-Identifier: BSD-2-Clause */
/* What archives are made of: numbers in columns, a clock's steps, and segments: any bytes come back; loops and ways through code take next to nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "pack/pack_model.h"
#include "tests/support/gst_random.h"

/* ---- columns ---- */

static uint64_t number(unsigned i)
{
	return i % 7 ? gst_random_below(1 + i % 30) : gst_random_number();
}

/* What was said in columns, joined and taken apart again. */
static void turn(struct pack_columns *c, struct pack_columns *back, struct pack_column *whole)
{
	assert_true(pack_columns_join(c, whole));
	assert_true(pack_columns_unpack(back, whole->bytes, whole->n, c->bits.bytes, c->bits.n));
}

static void test_numbers_come_back(void **state)
{
	enum { MOST = 20000 };
	static uint64_t numbers[MOST];
	static struct pack_columns c, back;
	struct pack_column whole = { 0 };
	uint8_t word[5];

	(void)state;
	gst_random_seed(7);
	pack_columns_pack(&c);
	for (unsigned i = 0; i < MOST; i++) {
		numbers[i] = number(i);
		assert_int_equal(pack_number(&c, i % 3, numbers[i]), numbers[i]);
		assert_int_equal(pack_byte(&c, 3, (uint8_t)i), i & 255);
		pack_plain(&c, 4, (uint8_t *)"plain", i % 6);
	}
	turn(&c, &back, &whole);
	for (unsigned i = 0; i < MOST; i++) {
		assert_int_equal(pack_number(&back, i % 3, 0), numbers[i]);
		assert_int_equal(pack_byte(&back, 3, 0), i & 255);
		pack_plain(&back, 4, word, i % 6);
		assert_memory_equal(word, "plain", i % 6);
	}
	assert_true(pack_columns_ended(&back));
	pack_byte(&back, 3, 0);
	assert_true(back.failed);
	free(whole.bytes);
	pack_columns_free(&c);
}

/* Every number that begins or ends a length. */
static void test_the_edges_of_lengths(void **state)
{
	static struct pack_columns c, back;
	struct pack_column whole = { 0 };

	(void)state;
	pack_columns_pack(&c);
	for (unsigned i = 0; i < 64; i++)
		for (unsigned k = 0; k < 3; k++)
			pack_number(&c, 9, (1ull << i) + k - 1);
	turn(&c, &back, &whole);
	for (unsigned i = 0; i < 64; i++)
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(pack_number(&back, 9, 0), (1ull << i) + k - 1);
	assert_true(pack_columns_ended(&back));
	free(whole.bytes);
	pack_columns_free(&c);
}

static void test_what_was_never_joined(void **state)
{
	static const uint32_t bad[][6] = { { 3, 4, 3, 4, 0, 0 },
					   { PACK_COLUMNS, 1, 0, 0, 0, 0 },
					   { 1, 9, 0, 0, 0, 0 },
					   { 1, 3, 0, 0, 0, 0 },
					   { 1, UINT32_MAX, 0, 0, 0, 0 } };
	static const uint32_t none[2] = { 0, 0 };
	static struct pack_columns c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(pack_columns_unpack(&c, (const uint8_t *)bad[i], sizeof(bad[i]), NULL, 0));
	for (size_t n = 0; n < sizeof(none); n++)
		assert_false(pack_columns_unpack(&c, (const uint8_t *)none, n, NULL, 0));
	assert_true(pack_columns_unpack(&c, (const uint8_t *)none, sizeof(none), NULL, 0));
	assert_true(pack_columns_ended(&c));
}

/* ---- the clock's steps ---- */

static void test_steps_of_a_clock(void **state)
{
	static uint64_t ticks[4000];
	uint64_t at = 1000, step;

	(void)state;
	gst_random_seed(3);
	for (unsigned i = 0; i < 4000; i++) {
		at += 40 + gst_random_below(400);
		ticks[i] = at * 49 / 2; /* of 24.5 ticks */
	}
	assert_int_equal(pack_grid_find(ticks, 4000), 49ull << 31);
	for (unsigned i = 0; i < 4000; i++)
		ticks[i] = (at += 40 + gst_random_below(9000));
	step = pack_grid_find(ticks, 4000);
	assert_int_equal(step, 0);
	assert_int_equal(pack_grid_find(ticks, 0), 0);
}

static void test_an_instant_is_so_many_steps(void **state)
{
	struct pack_grid g = { .step = 49ull << 31 };
	uint64_t from = 0;

	(void)state;
	gst_random_seed(5);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t to = i % 100 ? (from / 24 + gst_random_below(1000)) * 49 / 2 : gst_random_number();
		int64_t steps = pack_grid_steps(&g, from, to);
		uint64_t there = pack_grid_after(&g, from, steps);

		pack_grid_met(&g, to, (int64_t)(to - there));
		if (i % 100 && i % 100 < 50)
			assert_true(to - there + 13 < 26 || g.astray);
		from = to;
	}
}

/* ---- segments of any bytes ---- */

static size_t noise; /* bytes of the row of bits, of what came back last: zstd makes nothing less of them */

static bool rounds = true; /* as of this version's archives; of version 2 not */

/* All of them, as a block, are what is made of them again. Returns how many bytes of columns and bits they took. */
static size_t assert_comes_back(const uint8_t *bytes, size_t n, uint32_t kind, struct pack_clock clock)
{
	struct pack_column whole = { 0 };
	uint8_t *copy = malloc(n + 1), *again = calloc(1, n + 1);
	struct pack_model a, b;
	size_t took;

	assert_true(copy && again && pack_model_new(&a, kind, clock) && pack_model_new(&b, kind, clock));
	a.rounds = b.rounds = rounds;
	memcpy(copy, bytes, n);
	pack_columns_pack(&a.columns);
	pack_model_begin(&a);
	for (size_t at = 0; at < n; at += GST_SEGMENT_BYTES)
		assert_true(pack_model_segment(&a, copy + at,
					       n - at < GST_SEGMENT_BYTES ? (uint32_t)(n - at) : GST_SEGMENT_BYTES));
	assert_memory_equal(copy, bytes, n); /* packing changes nothing */
	turn(&a.columns, &b.columns, &whole);
	pack_model_begin(&b);
	for (size_t at = 0; at < n; at += GST_SEGMENT_BYTES)
		assert_true(pack_model_segment(&b, again + at,
					       n - at < GST_SEGMENT_BYTES ? (uint32_t)(n - at) : GST_SEGMENT_BYTES));
	assert_memory_equal(again, bytes, n);
	assert_true(pack_columns_ended(&b.columns));
	noise = a.columns.bits.n;
	took = whole.n + noise;
	free(whole.bytes);
	free(copy);
	free(again);
	pack_model_free(&a);
	pack_model_free(&b);
	return took;
}

static const struct pack_clock plain = { 0 }, stepped = { .step = 49ull << 31, .pace = 1753000000 };

static void test_any_segment_comes_back(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		struct gst_image image;

		gst_random_seed(100 + round);
		assert_true(gst_random_image(&image, 3000));
		for (unsigned k = 0; k < round * 5; k++) /* damaged */
			image.bytes[GST_SEGMENTS_OFFSET + gst_random_below(image.len - GST_SEGMENTS_OFFSET)] ^=
				(uint8_t)(1u << gst_random_below(8));
		assert_comes_back(image.bytes + GST_SEGMENTS_OFFSET, image.len - GST_SEGMENTS_OFFSET - round,
				  round % 2 ? GST_FILE_HOST : 0, round % 3 ? plain : stepped);
		gst_image_free(&image);
	}
}

static void test_noise_comes_back(void **state)
{
	size_t n = GST_SEGMENT_BYTES + 12345;
	uint8_t *bytes = malloc(n);

	(void)state;
	assert_non_null(bytes);
	gst_random_seed(9);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)gst_random_below(256);
	assert_comes_back(bytes, n, 0, plain);
	for (size_t room = 0; room < 80; room++)
		assert_comes_back(bytes, room, 0, plain);
	free(bytes);
}

/* ---- what is foreseen ---- */

static size_t took(const struct gst_image *image)
{
	return assert_comes_back(image->bytes + GST_SEGMENTS_OFFSET, image->len - GST_SEGMENTS_OFFSET, 0, plain);
}

/* A loop: three bytes for each call, and all but one of them are the same again: its shape, which of the guesses is right. */
static void test_a_loop_is_foreseen(void **state)
{
	struct gst_image image;
	struct pack_model m;
	uint64_t now = 1000;

	(void)state;
	assert_true(gst_image_new(&image) && gst_image_segment(&image, 10, "main"));
	for (unsigned n = 0; n < 4000; n++) {
		struct gst_call c = { .begin = now += 100,
				      .end = now += 50,
				      .seq = n + 1,
				      .hook = 7,
				      .family = GST_FAMILY_LAUNCH,
				      .flags = GST_SUBMISSION,
				      .stream = 1,
				      .name = 1 + n % 13,
				      .args = { n % 13 * 64, 256 } };

		assert_true(gst_image_add(&image, GST_CALL, &c, sizeof(c), true));
	}
	took(&image);
	assert_true(pack_model_new(&m, 0, plain));
	pack_columns_pack(&m.columns);
	pack_model_begin(&m);
	assert_true(pack_model_segment(&m, image.bytes + GST_SEGMENTS_OFFSET, GST_SEGMENT_BYTES));
	assert_int_equal(m.shapes.n, 13);
	for (unsigned i = PACK_USE_MORE; i < PACK_USE_STEP; i++)
		assert_true(m.columns.at[i].n < 40); /* a number only until its loop was met once or twice */
	assert_true(m.columns.bits.n < 100);
	pack_model_free(&m);
	gst_image_free(&image);
}

/* The way to a place is said once; the stack that differs in its innermost frame takes a few bytes. */
static void test_frames_are_foreseen(void **state)
{
	enum { DEEP = 40 };
	struct {
		struct gst_stack stack;
		struct gst_frame frames[DEEP];
	} s = { .stack = { .count = DEEP } };
	struct gst_image image;
	size_t before;

	(void)state;
	assert_true(gst_image_new(&image) && gst_image_segment(&image, 10, "main"));
	for (unsigned i = 0; i < DEEP; i++)
		s.frames[i] = (struct gst_frame){ .at = 0x1000 * i + 4, .of = i / 4, .kind = GST_FRAME_PYTHON };
	s.stack.id = 1;
	assert_true(gst_image_add(&image, GST_STACK, &s, sizeof(s), true));
	before = took(&image);
	for (unsigned i = 0; i < 100; i++) {
		s.stack.id++;
		s.frames[0].at += 2 * (i % 5);
		assert_true(gst_image_add(&image, GST_STACK, &s, sizeof(s), true));
	}
	assert_true(took(&image) < before + 100 * 9); /* of 656 each: before zstd */
	s.frames[3].zero = 1;                         /* these are stored as they are */
	assert_true(gst_image_add(&image, GST_STACK, &s, sizeof(s), true));
	assert_true(took(&image) > before + DEEP * sizeof(struct gst_frame));
	gst_image_free(&image);
}

/* What is noise in looks at a silent thread, and its accounts, every millisecond or so; their lowest `zeros` bits are 0 but for each `odd`th. */
static size_t looks_take(unsigned zeros, unsigned odd)
{
	enum { LOOKS = 600 };
	struct gst_image image;
	uint64_t now = 1ull << 40, cpu = 1ull << 30;

	gst_random_seed(31);
	assert_true(gst_image_new(&image) && gst_image_segment(&image, 10, "look"));
	for (unsigned i = 0; i < LOOKS; i++) {
		uint64_t mask = odd && i % odd == 0 ? 0 : (1ull << zeros) - 1;
		struct gst_sample look = { .tid = 11, .syscall = -1, .state = 'R' };
		struct gst_usage usage = { .run_delay_ns = UINT64_MAX };

		now += 2000000 + gst_random_below(1000000);
		cpu += 900000 + gst_random_below(200000);
		look.ticks = now & ~mask;
		usage.ticks = look.ticks;
		usage.cpu_ns = cpu & ~mask;
		assert_true(gst_image_add(&image, GST_SAMPLE, &look, sizeof(look), true) &&
			    gst_image_add(&image, GST_USAGE, &usage, sizeof(usage), true));
	}
	took(&image);
	gst_image_free(&image);
	return noise;
}

/* What is zero anyway takes no room, 2 times 11 bits for each of 600; one in a hundred that is not rounded changes little. */
static void test_rounded_numbers_take_less(void **state)
{
	size_t exact = looks_take(0, 0), rounded = looks_take(11, 0), mostly = looks_take(11, 100);

	(void)state;
	assert_in_range(exact - rounded, 600 * 2 * 11 / 8 * 8 / 10, 600 * 2 * 11 / 8);
	assert_in_range(mostly - rounded, 1, (exact - rounded) / 2);
}

/* As version 2 has it, what is rounded is told like anything else. */
static void test_version_2_rounds_nothing(void **state)
{
	size_t exact, rounded;

	(void)state;
	rounded = looks_take(11, 0);
	rounds = false;
	exact = looks_take(11, 0);
	rounds = true;
	assert_true(exact > rounded + 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_come_back),
		cmocka_unit_test(test_the_edges_of_lengths),
		cmocka_unit_test(test_what_was_never_joined),
		cmocka_unit_test(test_steps_of_a_clock),
		cmocka_unit_test(test_an_instant_is_so_many_steps),
		cmocka_unit_test(test_any_segment_comes_back),
		cmocka_unit_test(test_noise_comes_back),
		cmocka_unit_test(test_a_loop_is_foreseen),
		cmocka_unit_test(test_frames_are_foreseen),
		cmocka_unit_test(test_rounded_numbers_take_less),
		cmocka_unit_test(test_version_2_rounds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
