/* SPDX-License-Identifier: BSD-2-Clause */
/* Packed files: whatever zlib packs, however it is cut into members, comes out as it was, in pieces of any size; of damaged ones what precedes the
 * damage, and never anything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "import/import_unpack.h"
#include "tests/unit/file_made.h"

#define MOST ((size_t)300 << 10) /* more than is read of a file at once */

static unsigned char content[MOST], packed[2 * MOST], out[MOST + 1];
static uint64_t state = 88172645463325252u;

/* xorshift64 (Marsaglia), below n */
static size_t any(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* Texts that repeat, runs, and what cannot be packed, as it comes. */
static void make_content(size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t length = 1 + any(3000), way = any(4), back = i ? 1 + any(i) : 0;

		for (size_t end = i + length < n ? i + length : n; i < end; i++)
			content[i] = way == 0           ? (unsigned char)any(256)
				     : way == 1         ? 'x'
				     : way == 2 && back ? content[i - back]
							: (unsigned char)"{\"ph\": \"X\", 0123}"[any(18)];
	}
}

/* A member; how many bytes it has. */
static size_t pack(unsigned char *to, size_t room, size_t from, size_t n)
{
	static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED };
	z_stream z = { 0 };
	gz_header head = { .name = (unsigned char *)"name", .comment = (unsigned char *)"words", .hcrc = 1 };

	assert_int_equal(deflateInit2(&z, (int)any(10), Z_DEFLATED, 15 + 16, 1 + (int)any(9), strategies[any(5)]),
			 Z_OK);
	if (any(2))
		assert_int_equal(deflateSetHeader(&z, &head), Z_OK);
	z.next_in = content + from;
	z.avail_in = (unsigned)n;
	z.next_out = to;
	z.avail_out = (unsigned)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(deflateEnd(&z), Z_OK);
	return z.total_out;
}

/* All that comes, in pieces of up to so many bytes. */
static size_t unpack(size_t piece, const char **damage)
{
	struct import_unpack *u;
	struct error e;
	size_t n = 0;
	int64_t got;

	assert_int_equal(import_unpack_open(&u, path, &e), ERR_NONE);
	while ((got = import_unpack_read(u, out + n, 1 + any(piece < sizeof(out) - n ? piece : sizeof(out) - n))) > 0) {
		n += (size_t)got;
		assert_true(n < sizeof(out));
	}
	assert_int_equal(got, 0);
	assert_true(import_unpack_packed(u));
	*damage = import_unpack_damage(u);
	import_unpack_close(u);
	return n;
}

static void test_whatever_is_packed(void **unused)
{
	const char *damage;

	(void)unused;
	for (unsigned round = 0; round < 200; round++) {
		size_t n = any(any(2) ? MOST : 2000), packed_bytes = 0, from = 0;

		make_content(n);
		do {
			size_t part = any(3) ? n - from : any(n - from + 1);

			packed_bytes += pack(packed + packed_bytes, sizeof(packed) - packed_bytes, from, part);
			from += part;
		} while (from < n);
		put(packed, packed_bytes);
		assert_int_equal(unpack(any(2) ? MOST : 1 + any(5000), &damage), n);
		assert_null(damage);
		assert_memory_equal(out, content, n);
	}
}

/* In the header a bit may mean nothing: a time, a name. */
static void test_each_bit_changed(void **unused)
{
	size_t n = 700, packed_bytes, unseen = 0;
	const char *damage;

	(void)unused;
	make_content(n);
	packed_bytes = pack(packed, sizeof(packed), 0, n);
	for (size_t bit = 16; bit < 8 * packed_bytes; bit++) {
		size_t got;

		packed[bit / 8] ^= (unsigned char)(1u << bit % 8);
		put(packed, packed_bytes);
		got = unpack(MOST, &damage);
		if (!damage) {
			assert_int_equal(got, n);
			assert_memory_equal(out, content, n);
			unseen++;
		}
		packed[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	assert_true(unseen < 8 * 20);
}

static void test_each_cut(void **unused)
{
	size_t n = 3000, packed_bytes;
	const char *damage;

	(void)unused;
	make_content(n);
	packed_bytes = pack(packed, sizeof(packed), 0, n);
	for (size_t cut = 2; cut < packed_bytes; cut++) {
		size_t got;

		put(packed, cut);
		got = unpack(MOST, &damage);
		assert_string_equal(damage, "the packed bytes end before what they hold does");
		assert_true(got <= n);
		assert_memory_equal(out, content, got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whatever_is_packed),
		cmocka_unit_test(test_each_bit_changed),
		cmocka_unit_test(test_each_cut),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
