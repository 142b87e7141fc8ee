/* SPDX-License-Identifier: BSD-2-Clause */
/* test_protobuf.c: bytes as the encoding's documentation has them (https://protobuf.dev/programming-guides/encoding); a random message against
 * a second, naive writer; and texts' numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/interned.h"
#include "tools/protobuf.h"
#include "tools/text.h"

#define BYTES(...) ((const uint8_t[]){ __VA_ARGS__ }), sizeof((const uint8_t[]){ __VA_ARGS__ })

static void check(struct pb *m, const uint8_t *bytes, size_t n)
{
	assert_false(m->failed);
	assert_int_equal(m->n, n);
	assert_memory_equal(m->at, bytes, n);
	pb_free(m);
}

static void test_varints(void **state)
{
	struct pb m = { 0 };

	(void)state;
	pb_uint(&m, 1, 150); /* the documentation's example */
	check(&m, BYTES(0x08, 0x96, 0x01));
	pb_uint(&m, 1, 0);
	check(&m, BYTES(0x08, 0x00));
	pb_uint(&m, 1, 127);
	pb_uint(&m, 15, 128);
	check(&m, BYTES(0x08, 0x7f, 0x78, 0x80, 0x01));
	pb_uint(&m, 16, UINT64_MAX);
	check(&m, BYTES(0x80, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01));
	pb_int(&m, 3, -2);
	check(&m, BYTES(0x18, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01));
	pb_uint(&m, (1u << 29) - 1, 1); /* the highest number of a field */
	check(&m, BYTES(0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01));
}

static void test_fixed(void **state)
{
	struct pb m = { 0 };

	(void)state;
	pb_fixed64(&m, 47, 0x0102030405060708);
	check(&m, BYTES(0xf9, 0x02, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01));
	pb_double(&m, 5, 1.0);
	check(&m, BYTES(0x29, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f));
}

static void test_texts_and_messages(void **state)
{
	struct pb m = { 0 }, inner = { 0 };
	size_t outer;

	(void)state;
	pb_text(&m, 2, "testing"); /* the documentation's example */
	check(&m, BYTES(0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g'));
	pb_text(&m, 2, "");
	check(&m, BYTES(0x12, 0x00));
	outer = pb_open(&m, 3);
	pb_uint(&m, 1, 150);
	pb_close(&m, outer);
	check(&m, BYTES(0x1a, 0x03, 0x08, 0x96, 0x01));
	pb_uint(&inner, 1, 150);
	pb_message(&m, 3, &inner);
	pb_message(&m, 4, &(struct pb){ 0 });
	pb_free(&inner);
	check(&m, BYTES(0x1a, 0x03, 0x08, 0x96, 0x01, 0x22, 0x00));
}

/* A message of n bytes in one of as many, at the lengths where a length takes one byte more. */
static void test_long_messages(void **state)
{
	static const size_t lengths[] = { 0, 1, 124, 125, 126, 127, 128, 129, 16380, 16383, 16384, 2097151, 2097152 };
	char *text = calloc(1, 2097153);

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct pb m = { 0 }, naive = { 0 }, once = { 0 };
		size_t outer = pb_open(&m, 1), inner = pb_open(&m, 2);

		memset(text, 'x', lengths[i]);
		text[lengths[i]] = 0;
		pb_text(&m, 3, text);
		pb_close(&m, inner);
		pb_uint(&m, 4, 5);
		pb_close(&m, outer);
		pb_text(&naive, 3, text);
		pb_message(&once, 2, &naive);
		pb_uint(&once, 4, 5);
		pb_clear(&naive);
		pb_message(&naive, 1, &once);
		assert_int_equal(m.n, naive.n);
		assert_memory_equal(m.at, naive.at, m.n);
		pb_free(&m);
		pb_free(&naive);
		pb_free(&once);
	}
	free(text);
}

/* What the random message is, level by level, as a second writer has it: each in memory of its own. */
static void fill(struct pb *flat, struct pb *own, unsigned *seed, unsigned depth)
{
	static const char text[] =
		"a text of some length, which is cut at random, so that lengths on both sides of 127 come up when they add up to it";

	for (unsigned n = (unsigned)rand_r(seed) % 6; n; n--) {
		uint32_t field = 1 + (uint32_t)rand_r(seed) % 100;
		uint64_t value = (uint64_t)rand_r(seed) << (rand_r(seed) % 33);
		struct pb inner = { 0 };
		size_t open;

		switch (rand_r(seed) % 4) {
		case 0:
			pb_uint(flat, field, value);
			pb_uint(own, field, value);
			break;
		case 1:
			pb_fixed64(flat, field, value);
			pb_fixed64(own, field, value);
			break;
		case 2:
			pb_text(flat, field, text + value % sizeof(text));
			pb_text(own, field, text + value % sizeof(text));
			break;
		default:
			if (!depth)
				break;
			open = pb_open(flat, field);
			fill(flat, &inner, seed, depth - 1);
			pb_close(flat, open);
			pb_message(own, field, &inner);
			pb_free(&inner);
		}
	}
}

static void test_random_messages(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		struct pb flat = { 0 }, own = { 0 };
		unsigned seed = i;

		fill(&flat, &own, &seed, 6);
		assert_int_equal(flat.n, own.n);
		if (flat.n)
			assert_memory_equal(flat.at, own.at, flat.n);
		pb_free(&flat);
		pb_free(&own);
	}
}

static void test_into_a_file(void **state)
{
	struct pb m = { 0 };
	char *bytes = NULL;
	size_t n;
	FILE *out = open_memstream(&bytes, &n);

	(void)state;
	pb_uint(&m, 1, 150);
	pb_write(out, 1, &m);
	m.failed = true;
	pb_write(out, 1, &m);
	fclose(out);
	assert_int_equal(n, 5);
	assert_memory_equal(bytes, "\x0a\x03\x08\x96\x01", 5);
	free(bytes);
	pb_free(&m);
}

/* A number for each text of each kind, from 1 on, the same whenever it comes again. */
static void test_numbers_of_texts(void **state)
{
	struct interned t = { 0 };
	char text[32];
	bool is_new;

	(void)state;
	for (unsigned again = 0; again < 2; again++)
		for (uint32_t i = 0; i < 3000; i++) {
			snprintf(text, sizeof(text), "kernel %u", (unsigned)i);
			assert_int_equal(interned_number(&t, 1, text, &is_new), i + 1);
			assert_int_equal(is_new, !again);
		}
	assert_int_equal(interned_number(&t, 2, "kernel 7", &is_new), 1);
	assert_true(is_new);
	assert_int_equal(interned_number(&t, 2, "", &is_new), 2);
	assert_false(interned_full(&t));
	interned_clear(&t);
	assert_int_equal(interned_number(&t, 1, "kernel 7", &is_new), 1);
	assert_true(is_new);
	interned_clear(&t);
}

static void test_texts_are_no_more_than_can_be_kept(void **state)
{
	struct interned t = { 0 };
	char *text = calloc(1, 4097);
	bool is_new;
	size_t n = 0;

	(void)state;
	for (; !interned_full(&t); n++) {
		snprintf(text, 32, "%zu", n);
		assert_int_not_equal(interned_number(&t, 0, text, &is_new), 0);
	}
	assert_int_equal(n, INTERNED_MOST);
	interned_clear(&t);
	for (n = 0; !interned_full(&t); n++) {
		memset(text, 'x', 4096);
		text[snprintf(text, 32, "%zu", n)] = 'x';
		assert_int_not_equal(interned_number(&t, 0, text, &is_new), 0);
	}
	assert_int_equal(n, (INTERNED_BYTES + 4096) / 4097);
	interned_clear(&t);
	free(text);
}

static void test_utf8_only(void **state)
{
	char buf[16];

	(void)state;
	assert_string_equal(text_utf8_only(buf, sizeof(buf),
					   "a\xff"
					   "b\xc3\xa9\n"),
			    "a\xef\xbf\xbd"
			    "b\xc3\xa9\n");
	assert_string_equal(text_utf8_only(buf, 7, "abcdef"), "abc"); /* room for one of four bytes is kept */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_varints),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_texts_and_messages),
		cmocka_unit_test(test_long_messages),
		cmocka_unit_test(test_random_messages),
		cmocka_unit_test(test_into_a_file),
		cmocka_unit_test(test_numbers_of_texts),
		cmocka_unit_test(test_texts_are_no_more_than_can_be_kept),
		cmocka_unit_test(test_utf8_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
