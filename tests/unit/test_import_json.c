/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON as a stream of tokens, plain and packed, whole and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "import/import_json.h"
#include "import/import_pieces.h"
#include "import/import_unpack.h"
#include "tests/support/failing_alloc.h"
#include "tests/unit/file_made.h"

struct tokens {
	char text[1024];
	size_t n, count, refuse_at, mended;
	uint64_t mended_at; /* the sum of these */
};

static bool add(struct tokens *t, const char *what, const char *at, size_t bytes)
{
	size_t room = sizeof(t->text) - t->n;
	int n = snprintf(t->text + t->n, room, "%s%.*s ", what, (int)bytes, at);

	t->n += n < 0 || (size_t)n >= room ? 0 : (size_t)n;
	return ++t->count != t->refuse_at;
}

static bool on_open(void *to, bool map, uint64_t byte)
{
	char at[32];

	snprintf(at, sizeof(at), "%" PRIu64, byte);
	return add(to, map ? "{" : "[", at, strlen(at));
}

static bool on_close(void *to)
{
	return add(to, "end", "", 0);
}

static bool on_key(void *to, const char *at, size_t bytes)
{
	return add(to, "k:", at, bytes);
}

static bool on_text(void *to, const char *at, size_t bytes)
{
	return add(to, "t:", at, bytes);
}

static bool on_number(void *to, const char *at, size_t bytes)
{
	return add(to, "n:", at, bytes);
}

static bool on_word(void *to, int word)
{
	return add(to, word < 0 ? "null" : word ? "true" : "false", "", 0);
}

static void on_mended(void *to, uint64_t byte)
{
	struct tokens *t = to;

	t->mended++;
	t->mended_at += byte;
}

static const struct import_json_calls calls = { on_open, on_close, on_key, on_text, on_number, on_word, on_mended };

/* What is the matter with it, "" nothing; its tokens. */
static const char *tokens_of(struct tokens *t, uint64_t *byte)
{
	static struct error damage;
	struct error e;

	*t = (struct tokens){ 0 };
	damage = (struct error){ 0 };
	assert_int_equal(import_json_read(path, &calls, NULL, t, &damage, &e), ERR_NONE);
	*byte = damage.byte;
	return damage.text;
}

static void test_tokens(void **state)
{
	static const char json[] =
		" {\"a\\u0041\\n\": [1, -2.50e+3, \"x\\\"y\", true,false,null, {}], \"b\": \"\xff\xfe\"}\n";
	struct tokens t;
	uint64_t byte;

	(void)state;
	put(json, sizeof(json) - 1);
	assert_string_equal(tokens_of(&t, &byte), "");
	assert_string_equal(t.text,
			    "{1 k:aA\n [15 n:1 n:-2.50e+3 t:x\"y true false null {54 end end k:b t:\xff\xfe end ");
}

/* Some editors put it there; what follows has its own place all the same. */
static void test_byte_order_mark(void **state)
{
	static const char json[] = "\xef\xbb\xbf[{}, 1x]", half[] = "\xef\xbb[]";
	struct tokens t;
	uint64_t byte;

	(void)state;
	put(json, sizeof(json) - 1);
	assert_string_not_equal(tokens_of(&t, &byte), "");
	assert_string_equal(t.text, "[3 {4 end n:1 ");
	assert_int_equal(byte, 9);
	put(half, sizeof(half) - 1);
	assert_string_not_equal(tokens_of(&t, &byte), "");
	assert_int_equal(byte, 0);
}

static void test_damage_has_a_byte(void **state)
{
	static const struct {
		const char *json, *fact, *tokens;
		uint64_t byte;
	} cases[] = {
		{ "", "it ends before anything is in it", "", 0 },
		{ " \n", "it ends before anything is in it", "", 2 },
		{ "{\"a\": [1,", "it ends in the middle: 2 brackets are open", "{0 k:a [6 n:1 ", 9 },
		{ "{\"a\": \"x", "it ends in the middle: 1 brackets are open", "{0 k:a ", 8 },
		{ "[{\"a\": 1}, {\"b", "it ends in the middle: 2 brackets are open", "[0 {1 k:a n:1 end {11 ", 14 },
		{ "[{\"a\": 1}, ", "", "[0 {1 k:a n:1 end ", 0 }, /* nothing is missing but the bracket */
		{ "[1, 2", "it ends in the middle: 1 brackets are open", "[0 n:1 ", 5 },
		{ "[1, 2]", "", "[0 n:1 n:2 end ", 0 },
		{ "[1 2]", "parse error: after array element, I expect ',' or ']'", "[0 n:1 ", 3 },
		{ "[1] x", "parse error: trailing garbage", "[0 n:1 end ", 4 },
		{ "[1] [2]", "parse error: trailing garbage", "[0 n:1 end ", 4 },
		{ "[\"a\x01", "it ends in the middle: 1 brackets are open", "[0 ", 4 },
		{ "[nano]", "lexical error: invalid string in json text.", "[0 ", 1 },
		{ "[1 NaN]", "lexical error: invalid char in json text.", "[0 n:1 ", 3 },
		{ "[1,,NaN]", "parse error: unallowed token at this point in JSON text", "[0 n:1 ", 3 },
		{ "{\"a\"::NaN}", "parse error: unallowed token at this point in JSON text", "{0 k:a ", 5 },
		{ "[] NaN ", "parse error: trailing garbage", "[0 end ", 3 },
		{ "{NaN: 1}", "lexical error: invalid char in json text.", "{0 ", 1 },
		{ "{\"a\": [Na", "lexical error: invalid char in json text.", "{0 k:a [6 ", 7 },
		{ "NaN ", "lexical error: invalid char in json text.", "", 0 },
		{ "[inf(1)]", "lexical error: invalid char in json text.", "[0 ", 1 },
		{ "[nan(ind,1]", "lexical error: invalid char in json text.", "[0 t: ", 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tokens t;
		uint64_t byte;

		put(cases[i].json, strlen(cases[i].json));
		assert_string_equal(tokens_of(&t, &byte), cases[i].fact);
		assert_string_equal(t.text, cases[i].tokens);
		assert_int_equal(byte, cases[i].byte);
	}
}

/* What others than JSON's own grammar allow. */
static void test_what_is_mended(void **state)
{
	static const struct {
		const char *json, *tokens;
		size_t mended;
		uint64_t at;
	} cases[] = {
		{ "[NaN, -inf ,1,[{}, Infinity]]", "[0 t: t: n:1 [14 {15 end t: end end ", 3, 1 + 6 + 19 },
		{ "{\"a\":+nan,\"b\":{\"c\":[\nINF],\"d\":nan}}", "{0 k:a t: k:b {14 k:c [19 t: end k:d t: end end ", 3,
		  5 + 21 + 30 },
		{ "[\"a\x01\tb\", \"c\"]", "[0 t:a  b t:c end ", 1, 1 },
		{ "{\"k\\d\": \"C:\\x\\u00zz\\u0041\\\\\", \"\n\":{}}", "{0 k:k/d t:C:/x/u00zzA\\ k:  {34 end end ", 3,
		  1 + 8 + 30 },
		{ "[{\"a\":{\"b\\\"\n\":inf,\"c\":1}},\"\\\\\x02\"]",
		  "[0 {1 k:a {6 k:b\"  t: k:c n:1 end end t:\\  end ", 3, 7 + 14 + 26 },
		{ "[-nan(ind),nan(0x7_F) , NAN()]", "[0 t: t: t: end ", 3, 1 + 11 + 24 },
		{ "[\"\\u12\",\"\\\"]", NULL, 1, 1 }, /* a backslash before the last quote is what it says */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tokens t;
		uint64_t byte;
		const char *damage;

		put(cases[i].json, strlen(cases[i].json));
		damage = tokens_of(&t, &byte);
		if (cases[i].tokens) {
			assert_string_equal(damage, "");
			assert_string_equal(t.text, cases[i].tokens);
		} else {
			assert_string_equal(damage, "it ends in the middle: 1 brackets are open");
		}
		assert_int_equal(t.mended, cases[i].mended);
		assert_int_equal(t.mended_at, cases[i].at);
	}
}

/* Wherever the pieces that are read end. */
static void test_many_are_mended(void **state)
{
	enum { N = 200000 };
	char *json = malloc(N * 5 + 2);
	size_t n = 1;
	struct tokens t;
	uint64_t byte;

	(void)state;
	assert_non_null(json);
	json[0] = '[';
	for (int i = 0; i < N; i++)
		n += (size_t)sprintf(json + n, "%s%s", i ? "," : "", i % 3 ? "inf" : " nan");
	json[n++] = ']';
	put(json, n);
	assert_string_equal(tokens_of(&t, &byte), "");
	assert_int_equal(t.mended, N);
	assert_int_equal(t.count, N + 2);
	free(json);
}

/* A list without an element's end for longer than a piece: none of its texts comes in two. */
static void test_texts_are_mended_wherever_pieces_end(void **state)
{
	static const char text[] = "\"C:\\d [\\\"\",";
	const size_t each = sizeof(text) - 1, many = 3 * IMPORT_PIECE / each;
	char *json = malloc(20 + many * each);

	(void)state;
	assert_non_null(json);
	for (size_t blanks = 0; blanks < each; blanks++) {
		struct tokens t;
		uint64_t byte;

		memset(json, ' ', blanks);
		json[blanks] = '[';
		for (size_t i = 0; i < many; i++)
			memcpy(json + blanks + 1 + i * each, text, each);
		json[blanks + many * each] = ']';
		put(json, blanks + 1 + many * each);
		assert_string_equal(tokens_of(&t, &byte), "");
		assert_int_equal(t.mended, many);
		assert_int_equal(t.count, many + 2);
	}
	free(json);
}

/* That many of inf, so many brackets deep, each with so many blanks. */
static char *deep_json(size_t deep, size_t many, size_t blanks, size_t *n)
{
	char *json = malloc(2 * deep + many * (blanks + 4)), *at = json;

	assert_non_null(json);
	memset(at, '[', deep);
	at += deep;
	for (size_t i = 0; i < many; i++) {
		memset(at, ' ', blanks);
		memcpy(at + blanks, "inf,", 4);
		at += blanks + 4;
	}
	memset(at - 1, ']', deep);
	*n = (size_t)(at - json) - 1 + deep;
	return json;
}

/* As long as it does not take longer than to read the file: 2^24 brackets, and one for each byte, may be opened again. */
static void test_as_many_are_mended_as_are_there(void **state)
{
	static const struct {
		size_t deep, many, blanks;
		const char *damage;
	} cases[] = { { 100, 200000, 96, "" }, { 100, 200000, 0, "lexical error: invalid char in json text." } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tokens t;
		uint64_t byte;
		size_t n;
		char *json = deep_json(cases[i].deep, cases[i].many, cases[i].blanks, &n);

		put(json, n);
		assert_string_equal(tokens_of(&t, &byte), cases[i].damage);
		assert_int_equal(t.mended, *cases[i].damage ? t.count - cases[i].deep : cases[i].many);
		assert_true(t.mended > 160000);
		free(json);
	}
}

static void test_depth(void **state)
{
	char json[2 * IMPORT_JSON_DEPTH + 2];
	struct tokens t;
	uint64_t byte;

	(void)state;
	memset(json, '[', IMPORT_JSON_DEPTH + 1);
	memset(json + IMPORT_JSON_DEPTH + 1, ']', IMPORT_JSON_DEPTH + 1);
	put(json + 1, 2 * IMPORT_JSON_DEPTH);
	assert_string_equal(tokens_of(&t, &byte), "");
	assert_int_equal(t.count, 2 * IMPORT_JSON_DEPTH);
	put(json, sizeof(json));
	assert_string_equal(tokens_of(&t, &byte), "values nest more than 512 deep");
	assert_int_equal(byte, IMPORT_JSON_DEPTH);
	assert_int_equal(t.count, IMPORT_JSON_DEPTH);
}

/* Texts of any length up to the limit are whole, wherever the pieces that are read end. */
static void test_long_texts(void **state)
{
	size_t n = IMPORT_JSON_TEXT + ((size_t)20 << 20);
	char *json = malloc(n);
	struct tokens t;
	uint64_t byte;

	(void)state;
	assert_non_null(json);
	memset(json, 'x', n);
	memcpy(json, "[7,\"", 4);
	for (size_t length = 4; length < ((size_t)4 << 20); length = length * 5 + 1) {
		memcpy(json + length, "\",8]", 4);
		put(json, length + 4);
		assert_string_equal(tokens_of(&t, &byte), "");
		assert_int_equal(t.count, 5);
		memset(json + length, 'x', 4);
	}
	put(json, n);
	assert_true(strstr(tokens_of(&t, &byte), " bytes and no end of a text") != NULL);
	assert_string_equal(t.text, "[0 n:7 ");
	assert_true(byte > 4 && byte <= 3 * IMPORT_PIECE); /* of the piece that it went on from */
	free(json);
}

static size_t packed(unsigned char *out, size_t size, const char *json, size_t n)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)json;
	z.avail_in = (unsigned)n;
	z.next_out = out;
	z.avail_out = (unsigned)size;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(deflateEnd(&z), Z_OK);
	return z.total_out;
}

static void test_packed_members(void **state)
{
	unsigned char bytes[512] = { 0 };
	struct tokens t;
	uint64_t byte;
	size_t n;

	(void)state;
	n = packed(bytes, 200, "[1, {\"a\"", 8);
	n += packed(bytes + n, 200, "", 0);
	n += packed(bytes + n, 100, ": 2}]", 5);
	put(bytes, n);
	assert_string_equal(tokens_of(&t, &byte), "");
	assert_string_equal(t.text, "[0 n:1 {4 k:a n:2 end end ");
	put(bytes, sizeof(bytes)); /* filled up with zeros */
	assert_string_equal(tokens_of(&t, &byte), "");
	bytes[sizeof(bytes) - 1] = 'x';
	put(bytes, sizeof(bytes));
	assert_string_equal(tokens_of(&t, &byte),
			    "something that is not packed follows what is (counted in what it unpacks to)");
	assert_string_equal(t.text, "[0 n:1 {4 k:a n:2 end end ");
	assert_int_equal(byte, 13);
}

static void test_packed_cut_short(void **state)
{
	char json[4000] = "[";
	unsigned char bytes[4000];
	size_t n = 1, length, last = 0;
	struct tokens t;
	uint64_t byte;

	(void)state;
	while (n < 3000)
		n += (size_t)sprintf(json + n, "%zu,", n * n * 2654435761u % 1000003);
	n += (size_t)sprintf(json + n, "0]");
	length = packed(bytes, sizeof(bytes), json, n);
	for (size_t cut = 18; cut < length; cut++) {
		put(bytes, cut);
		assert_string_equal(tokens_of(&t, &byte),
				    "the packed bytes end before what they hold does (counted in what it unpacks to)");
		assert_true(byte <= n && t.count >= last);
		last = t.count;
	}
	assert_true(last > 400);
	bytes[length / 2] ^= 0x10;
	put(bytes, length);
	assert_string_not_equal(tokens_of(&t, &byte), "");
	assert_true(t.count > 10 && byte > 50);
}

static void test_bombs(void **state)
{
	size_t n = IMPORT_UNPACK_FREE + (4 << 20);
	char *json = malloc(n);
	unsigned char *bytes = malloc(1 << 20);
	struct tokens t;
	uint64_t byte;
	size_t length;

	(void)state;
	assert_non_null(json);
	assert_non_null(bytes);
	memset(json, '1', n); /* numbers of 4 KiB, since deflate is what is tried here */
	for (size_t i = 0; i < n; i += 4096)
		json[i] = i ? ',' : '[';
	length = packed(bytes, 1 << 20, json, n);
	put(bytes, length);
	assert_string_equal(tokens_of(&t, &byte),
			    "it unpacks to more than a trace would (counted in what it unpacks to)");
	assert_true(byte > IMPORT_UNPACK_FREE && byte < IMPORT_UNPACK_FREE + (1 << 20));
	memset(json, 0, 1 << 20);
	length = packed(bytes, 1 << 20, json, 1 << 20);
	put(bytes, length);
	assert_string_equal(tokens_of(&t, &byte),
			    "lexical error: invalid char in json text. (counted in what it unpacks to)");
	assert_int_equal(byte, 0);
	free(json);
	free(bytes);
}

static void test_a_call_may_refuse(void **state)
{
	struct error damage = { 0 }, e = { 0 };

	(void)state;
	put("[1,2,3]", 7);
	for (size_t n = 1; n <= 5; n++) {
		struct tokens t = { .refuse_at = n };

		assert_int_equal(import_json_read(path, &calls, NULL, &t, &damage, &e), ERR_SYSTEM);
		assert_int_equal(t.count, n);
		assert_int_equal(damage.kind, ERR_NONE);
	}
}

static void test_each_allocation_may_fail(void **state)
{
	size_t n = 700000;
	char *json = malloc(n + 3);
	unsigned char *bytes = malloc(n);
	enum err_kind kind;
	struct tokens t;

	(void)state;
	assert_non_null(json);
	assert_non_null(bytes);
	memset(json, 'y', n + 3);
	memcpy(json, "[NaN, \"\\n", 9); /* unescaped elsewhere, in pieces; after what is mended */
	memcpy(json + n, "\"]", 2);
	for (int pack = 0; pack < 2; pack++) {
		long at = 1;

		if (pack)
			put(bytes, packed(bytes, n, json, n + 2));
		else
			put(json, n + 2);
		do {
			struct error damage = { 0 }, e = { 0 };

			t = (struct tokens){ 0 };
			fail_at = at++;
			kind = import_json_read(path, &calls, NULL, &t, &damage, &e);
			fail_at = 0;
			assert_int_equal(damage.kind, ERR_NONE);
			if (kind != ERR_NONE) {
				assert_int_equal(kind, ERR_SYSTEM);
				assert_true(strcmp(e.text, "out of memory") == 0 ||
					    strcmp(e.text, "Cannot allocate memory") == 0);
			}
		} while (kind != ERR_NONE);
		assert_int_equal(t.count, 4);
		assert_true(at > 10);
	}
	free(json);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_byte_order_mark),
		cmocka_unit_test(test_damage_has_a_byte),
		cmocka_unit_test(test_what_is_mended),
		cmocka_unit_test(test_many_are_mended),
		cmocka_unit_test(test_texts_are_mended_wherever_pieces_end),
		cmocka_unit_test(test_as_many_are_mended_as_are_there),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_packed_members),
		cmocka_unit_test(test_packed_cut_short),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_a_call_may_refuse),
		cmocka_unit_test(test_each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
