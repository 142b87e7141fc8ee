/* SPDX-License-Identifier: BSD-2-Clause */
/* Columns of numbers, packed: what a decoder of the test's own reads is what was put in; and every allocation of ours may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "html/html_pack.h"
#include "tests/support/failing_alloc.h"

#define MOST 70000 /* more than one buffer of anybody's */

static uint64_t put[MOST], seed;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* As many bits as chance has it. */
static uint64_t any_number(void)
{
	unsigned bits = (unsigned)(next_random() % 65);

	return bits ? next_random() >> (64 - bits) : 0;
}

/* ---- packing ---- */

/* The JSON of the first n of put; to be freed. */
static char *packed(enum pack_type type, size_t n)
{
	static struct pack p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct json j;
	struct error e;

	json_open(&j, out);
	pack_begin(&p, type);
	for (size_t i = 0; i < n; i++)
		pack_add(&p, put[i]);
	assert_int_equal(pack_end(&p, &j, &e), ERR_NONE);
	fclose(out);
	return text;
}

/* ---- a decoder ---- */

static int digit_of(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = strchr(digits, c);

	assert_true(c && at);
	return (int)(at - digits);
}

static size_t of_base64(const char *text, size_t n, uint8_t *out)
{
	size_t used = 0;

	assert_int_equal(n % 4, 0);
	for (size_t i = 0; i < n; i += 4) {
		uint32_t v = (uint32_t)digit_of(text[i]) << 18 | (uint32_t)digit_of(text[i + 1]) << 12;

		out[used++] = (uint8_t)(v >> 16);
		if (text[i + 2] == '=')
			continue;
		v |= (uint32_t)digit_of(text[i + 2]) << 6;
		out[used++] = (uint8_t)(v >> 8);
		if (text[i + 3] != '=')
			out[used++] = (uint8_t)(v | (uint32_t)digit_of(text[i + 3]));
	}
	return used;
}

/* The column's bytes, unpacked; *n of them, to be freed. */
static uint8_t *bytes_of(const char *json, const char *type, size_t *n)
{
	char head[40];
	size_t length = strlen(json), before;
	uint8_t *z = malloc(length), *out = malloc(11 * MOST);
	uLongf room = 11 * MOST;

	before = (size_t)snprintf(head, sizeof(head), "{\"t\":\"%s\",\"z\":\"", type);
	assert_memory_equal(json, head, before);
	assert_string_equal(json + length - 2, "\"}");
	assert_int_equal(uncompress(out, &room, z, of_base64(json + before, length - before - 2, z)), Z_OK);
	free(z);
	*n = room;
	return out;
}

static void same(const char *json, const char *type, size_t n)
{
	size_t n_bytes, at = 0;
	uint8_t *bytes = bytes_of(json, type, &n_bytes);
	uint64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t v = 0;
		unsigned shift = 0;

		do {
			assert_true(at < n_bytes && shift < 70);
			v |= (uint64_t)(bytes[at] & 127) << shift;
			shift += 7;
		} while (bytes[at++] & 128);
		if (strcmp(type, "zigzag") == 0)
			v = v >> 1 ^ (0 - (v & 1));
		if (strcmp(type, "delta") == 0)
			v = last += v;
		assert_true(v == put[i]);
	}
	assert_int_equal(at, n_bytes);
	free(bytes);
}

/* ---- the tests ---- */

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void any_numbers_come_back(void **state)
{
	(void)state;
	for (int round = 0; round < 40; round++) {
		size_t n = round ? any_number() % (round % 8 ? 300 : MOST) : 0;
		char *json;

		seed += 77;
		for (size_t i = 0; i < n; i++)
			put[i] = any_number();
		json = packed(PACK_VARINT, n);
		same(json, "varint", n);
		free(json);
		json = packed(PACK_ZIGZAG, n);
		same(json, "zigzag", n);
		free(json);
		qsort(put, n, sizeof(put[0]), by_size);
		json = packed(PACK_DELTA, n);
		same(json, "delta", n);
		free(json);
	}
}

static void bytes_come_back(void **state)
{
	size_t n;
	uint8_t *bytes;
	char *json;

	(void)state;
	for (size_t i = 0; i < MOST; i++)
		put[i] = next_random() & 255;
	json = packed(PACK_U8, MOST);
	bytes = bytes_of(json, "u8", &n);
	assert_int_equal(n, MOST);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(bytes[i], put[i]);
	free(bytes);
	free(json);
}

static void a_time_that_falls_is_taken_for_the_one_before(void **state)
{
	const uint64_t falls[] = { 5, 3, 9, 9, 8, 20 }, kept[] = { 5, 5, 9, 9, 9, 20 };
	char *json;

	(void)state;
	memcpy(put, falls, sizeof(falls));
	json = packed(PACK_DELTA, 6);
	memcpy(put, kept, sizeof(kept));
	same(json, "delta", 6);
	free(json);
}

/* Each in turn; noise does not shrink, so there are several. */
static void no_memory_is_an_error(void **state)
{
	static struct pack p;
	enum err_kind kind = ERR_SYSTEM;
	int failed = 0;

	(void)state;
	for (long n = 1; kind && n < 100; n++) {
		struct json j;
		struct error e;
		FILE *nowhere = fopen("/dev/null", "w");

		json_open(&j, nowhere);
		fail_at = n;
		pack_begin(&p, PACK_VARINT);
		for (size_t i = 0; i < MOST; i++)
			pack_add(&p, next_random());
		kind = pack_end(&p, &j, &e);
		fail_at = 0;
		fclose(nowhere);
		failed += kind == ERR_SYSTEM;
	}
	assert_int_equal(kind, ERR_NONE);
	assert_true(failed > 3);
}

static void what_is_not_wanted_is_given_back(void **state)
{
	static struct pack p;

	(void)state;
	pack_begin(&p, PACK_VARINT);
	pack_add(&p, 1);
	assert_int_equal(pack_end(&p, NULL, NULL), ERR_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_numbers_come_back),
		cmocka_unit_test(bytes_come_back),
		cmocka_unit_test(a_time_that_falls_is_taken_for_the_one_before),
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(what_is_not_wanted_is_given_back),
	};

	seed = 0x9e3779b97f4a7c15;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
