/* SPDX-License-Identifier: BSD-2-Clause */
/* Elements of a list that several threads read ahead: what is told is what one thread tells, of whole files and of damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import_json.h"
#include "import/import_pieces.h"
#include "tests/unit/fewer.h"
#include "tests/unit/file_made.h"
#include "tools/fnv.h"

/* Every token with its place, as one number; of elements that are read ahead the tokens themselves, until they are joined. */
struct teller {
	uint64_t hash;
	size_t count, refuse_at, joined, mended;
	unsigned depth, list; /* open brackets; the one of the list, 0 none */
	bool aside;
	char *kept;
	size_t n, room;
};

static bool fold(struct teller *t, const char *at, size_t bytes)
{
	t->hash = fnv1a(t->hash, at, bytes);
	return ++t->count != t->refuse_at;
}

static bool tell(struct teller *t, char kind, const void *at, size_t bytes)
{
	size_t need = t->n + sizeof(bytes) + 1 + bytes;
	char *one;

	if (need > t->room) {
		t->room = 2 * need;
		t->kept = realloc(t->kept, t->room);
		assert_non_null(t->kept);
	}
	one = t->kept + t->n;
	memcpy(one, &bytes, sizeof(bytes));
	one[sizeof(bytes)] = kind;
	if (bytes)
		memcpy(one + sizeof(bytes) + 1, at, bytes);
	if (!t->aside)
		return fold(t, one, need - t->n);
	t->n = need;
	return true;
}

static bool on_open(void *to, bool map, uint64_t byte)
{
	struct teller *t = to;

	t->depth++;
	if (!map && t->depth <= 2 && !t->list)
		t->list = t->depth;
	return tell(t, map ? '{' : '[', &byte, sizeof(byte));
}

static bool on_close(void *to)
{
	struct teller *t = to;

	t->list = t->depth == t->list ? 0 : t->list;
	t->depth--;
	return tell(t, '}', "", 0);
}

static bool on_key(void *to, const char *at, size_t bytes)
{
	return tell(to, 'k', at, bytes);
}

static bool on_text(void *to, const char *at, size_t bytes)
{
	return tell(to, 't', at, bytes);
}

static bool on_number(void *to, const char *at, size_t bytes)
{
	return tell(to, 'n', at, bytes);
}

static bool on_word(void *to, int word)
{
	return tell(to, 'w', &word, sizeof(word));
}

static void on_mended(void *to, uint64_t byte)
{
	struct teller *t = to;

	assert_false(t->aside);
	t->hash = fnv1a(t->hash, &byte, sizeof(byte));
	t->mended++;
}

static const struct import_json_calls calls = { on_open, on_close, on_key, on_text, on_number, on_word, on_mended };

static bool listed(const void *to)
{
	const struct teller *t = to;

	return t->list && t->depth == t->list;
}

static void *aside(void *to)
{
	struct teller *t = calloc(1, sizeof(*t));

	(void)to;
	assert_non_null(t);
	t->aside = true;
	return t;
}

static bool begin(void *of, const char *at, size_t bytes)
{
	struct teller *t = of;

	(void)at;
	(void)bytes;
	t->n = 0;
	t->depth = t->list = 1;
	return true;
}

static bool join(void *to, void *of)
{
	struct teller *t = to, *from = of;

	t->joined++;
	for (size_t i = 0; i < from->n;) {
		size_t bytes;

		memcpy(&bytes, from->kept + i, sizeof(bytes));
		if (!fold(t, from->kept + i, bytes + sizeof(bytes) + 1))
			return false;
		i += bytes + sizeof(bytes) + 1;
	}
	return true;
}

static void drop(void *of)
{
	free(((struct teller *)of)->kept);
	free(of);
}

static const struct import_json_ahead ahead = { listed, aside, begin, join, drop };

static enum err_kind told(struct teller *t, const char *threads, size_t refuse_at, struct error *damage)
{
	struct error e;
	enum err_kind kind;

	*t = (struct teller){ .hash = FNV_BEGIN, .refuse_at = refuse_at };
	*damage = (struct error){ 0 };
	setenv("GPUSHIM_THREADS", threads, 1);
	kind = import_json_read(path, &calls, &ahead, t, damage, &e);
	free(t->kept);
	return kind;
}

/* How many pieces were joined, of four threads. */
static size_t check_same(size_t refuse_at)
{
	struct error one_damage, damage;
	struct teller one, many;
	enum err_kind kind = told(&one, "1", refuse_at, &one_damage);

	assert_int_equal(one.joined, 0);
	assert_int_equal(told(&many, "4", refuse_at, &damage), kind);
	assert_int_equal(many.count, one.count);
	assert_int_equal(many.mended, one.mended);
	assert_true(many.hash == one.hash);
	assert_int_equal(damage.kind, one_damage.kind);
	assert_int_equal(damage.byte, one_damage.byte);
	assert_string_equal(damage.text, one_damage.text);
	return many.joined;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

struct text {
	char *at;
	size_t n;
};

static unsigned random_below(unsigned n)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state % n);
}

/* As Kineto writes events, and what may mislead who looks for their ends. */
static const char *const elements[] = {
	"{\n    \"ph\": \"X\", \"name\": \"aten::add\", \"ts\": 12.5,\n    \"args\": {\n      \"Sizes\": [[1, 2], []]\n    }\n  }",
	"{\"name\":\"a },{ b\",\"args\":{}}",
	"{\"list\":[{\"x\":1},{\"x\":2}, {\"x\":[{}, {}]}]}",
	"{\"escaped\\n\\u0041\": \"}, {\\\"\"}",
	"17",
	"[{}, {}]",
	"{}",
};
#define ELEMENTS (sizeof(elements) / sizeof(elements[0]))

static struct text list_of(const char *head, const char *tail, size_t bytes, unsigned kinds)
{
	struct text t = { malloc(bytes + 4096), 0 };

	assert_non_null(t.at);
	t.n = (size_t)sprintf(t.at, "%s%s", head, elements[0]);
	while (t.n < bytes)
		t.n += (size_t)sprintf(t.at + t.n, ",\n  %s", elements[random_below(kinds)]);
	t.n += (size_t)sprintf(t.at + t.n, "%s", tail);
	return t;
}

#define HEAD "{\"about\": [{\"id\": 0}, {\"id\": 1}], \"events\": [\n  "
#define TAIL "\n], \"after\": {\"x\": [1, {}]}}\n"

static void test_elements_are_read_ahead(void **state)
{
	static const struct {
		const char *head, *tail;
	} forms[] = { { HEAD, TAIL }, { "[", "]" }, { "[", "," }, { "  [\n", "\n]\n\n" } };

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct text t = list_of(forms[i].head, forms[i].tail, 4u << 20, 1);
		size_t joined = 0;

		put(t.at, t.n);
		for (int tries = 0; tries < 50 && !joined; tries++) /* whose turn it is already reads nothing ahead */
			joined += check_same(0);
		assert_true(joined > 0);
		free(t.at);
	}
}

static void test_what_looks_like_an_end_is_none(void **state)
{
	(void)state;
	for (unsigned kinds = 2; kinds <= ELEMENTS; kinds++) {
		struct text t = list_of(HEAD, TAIL, 2u << 20, kinds);

		put(t.at, t.n);
		check_same(0);
		free(t.at);
	}
}

/* What is mended has its place; a text that looks like it, from the middle on, is left alone. */
static void test_what_is_no_json(void **state)
{
	static const char *const wrong[] = { "{\"a\": NaN}", "{\"a\tb\": [-inf]}",
					     "{\"text\": \"}, NaN, {\\\"x\\\": nan}, {\"}", "{\"\\c\": {\"d\": 1}}" };

	(void)state;
	for (unsigned each = 7; each < 5000; each *= 9) {
		struct text t = list_of(HEAD, "", 2u << 20, 4);
		size_t mended = 0;
		struct teller one;
		struct error damage;

		t.at = realloc(t.at, t.n + (1u << 20));
		assert_non_null(t.at);
		for (unsigned i = 0; i < 10000; i++) {
			t.n += (size_t)sprintf(t.at + t.n, ",%s", i % each ? elements[1] : wrong[i / each % 4]);
			mended += i % each == 0 && i / each % 4 != 2 ? 1 + (i / each % 4 == 1) : 0;
		}
		t.n += (size_t)sprintf(t.at + t.n, TAIL);
		put(t.at, t.n);
		check_same(0);
		assert_int_equal(told(&one, "1", 0, &damage), ERR_NONE);
		assert_int_equal(damage.kind, ERR_NONE);
		assert_int_equal(one.mended, mended);
		free(t.at);
	}
}

static void test_a_list_that_is_nowhere(void **state)
{
	struct text t = list_of("{\"a\": {\"b\": {\"c\": [", "]}}}", 4u << 20, 1);

	(void)state;
	put(t.at, t.n);
	assert_int_equal(check_same(0), 0);
	free(t.at);
}

static void test_an_element_longer_than_a_piece(void **state)
{
	struct text t = list_of(HEAD, TAIL, 1u << 20, 1);
	size_t n = 6 * IMPORT_PIECE, at = (size_t)(strstr(t.at + t.n / 2, "aten") - t.at);
	char *longer = malloc(t.n + n);

	(void)state;
	assert_non_null(longer);
	memcpy(longer, t.at, at);
	memset(longer + at, 'x', n);
	memcpy(longer + at + n, t.at + at, t.n - at);
	put(longer, t.n + n);
	check_same(0);
	free(longer);
	free(t.at);
}

static void test_damage_anywhere(void **state)
{
	static const char wrong[] = "{}[],:\"\\x\n0";
	struct text t = list_of(HEAD, TAIL, 1u << 20, ELEMENTS);

	(void)state;
	for (int i = 0; i < FEWER(60); i++) {
		size_t at = random_below((unsigned)t.n);
		char was = t.at[at];

		t.at[at] = wrong[random_below(sizeof(wrong) - 1)];
		put(t.at, i % 3 ? t.n : at);
		check_same(0);
		t.at[at] = was;
	}
	free(t.at);
}

static void test_a_call_may_refuse(void **state)
{
	struct text t = list_of(HEAD, TAIL, 1u << 20, 1);

	(void)state;
	put(t.at, t.n);
	for (size_t at = 5; at < 60000; at += 7919)
		check_same(at);
	free(t.at);
}

static void test_depth_within_elements(void **state)
{
	(void)state;
	for (unsigned deep = IMPORT_JSON_DEPTH - 3; deep <= IMPORT_JSON_DEPTH + 1; deep++) {
		struct text t = list_of("[", "]", 1u << 20, 1);
		char *at = strstr(t.at + t.n / 2, "[[1, 2], []]");
		char *deeper = malloc(t.n + 4096);
		size_t n = (size_t)(at - t.at);

		assert_non_null(deeper);
		memcpy(deeper, t.at, n);
		memset(deeper + n, '[', deep - 3);
		memset(deeper + n + deep - 3, ']', deep - 3);
		memcpy(deeper + n + 2 * (deep - 3), at + 12, t.n - n - 12);
		put(deeper, t.n - 12 + 2 * (deep - 3));
		check_same(0);
		free(deeper);
		free(t.at);
	}
}

static void test_pieces_end_behind_elements(void **state)
{
	struct text t = list_of(HEAD, TAIL, 1u << 20, ELEMENTS);
	struct import_pieces pieces;
	struct import_piece piece = { 0 };
	struct error e;
	size_t n = 0;
	bool after = false;

	(void)state;
	put(t.at, t.n);
	assert_int_equal(import_pieces_open(&pieces, path, &e), ERR_NONE);
	for (;;) {
		assert_int_equal(import_pieces_next(&pieces, &piece, path, &e), ERR_NONE);
		if (!piece.n)
			break;
		assert_int_equal(piece.byte, n);
		assert_memory_equal(piece.at, t.at + n, piece.n);
		assert_int_equal(piece.after, after);
		n += piece.n;
		after = piece.before;
		assert_int_equal(piece.before, n < t.n);
		if (after) {
			assert_int_equal(piece.at[piece.n - 1], '}');
			assert_int_equal(t.at[n], ',');
		}
	}
	assert_int_equal(n, t.n);
	import_pieces_close(&pieces);
	free(piece.at);
	free(t.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elements_are_read_ahead), cmocka_unit_test(test_what_looks_like_an_end_is_none),
		cmocka_unit_test(test_a_list_that_is_nowhere),  cmocka_unit_test(test_an_element_longer_than_a_piece),
		cmocka_unit_test(test_damage_anywhere),         cmocka_unit_test(test_a_call_may_refuse),
		cmocka_unit_test(test_depth_within_elements),   cmocka_unit_test(test_pieces_end_behind_elements),
		cmocka_unit_test(test_what_is_no_json),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
