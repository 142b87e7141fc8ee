/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON as it is written: what must be escaped, numbers at their ends, commas; random values against yajl's generator; buffers that fill up
 * anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <yajl/yajl_gen.h>

#include "tools/json.h"
#include "tools/text.h"

struct written {
	struct json json;
	char *text;
	size_t n;
};

static struct json *begin(struct written *w)
{
	FILE *out = open_memstream(&w->text, &w->n);

	assert_non_null(out);
	json_open(&w->json, out);
	return &w->json;
}

static void assert_written(struct written *w, const char *expected)
{
	fclose(w->json.file);
	assert_string_equal(w->text, expected);
	assert_int_equal(w->n, strlen(expected));
	free(w->text);
}

static void texts_are_escaped(void **state)
{
	static const struct {
		const char *text, *plain, *shown;
	} cases[] = {
		{ "", "\"\"", NULL },
		{ "a", "\"a\"", NULL },
		{ "seven77", "\"seven77\"", NULL },
		{ "eight888", "\"eight888\"", NULL },
		{ "a / b ~ {c}: [d]", "\"a / b ~ {c}: [d]\"", NULL },
		{ "\"", "\"\\\"\"", NULL },
		{ "C:\\x", "\"C:\\\\x\"", NULL },
		{ "eight888\\behind it", "\"eight888\\\\behind it\"", NULL },
		{ "eight888\"behind it", "\"eight888\\\"behind it\"", NULL },
		{ "\b\t\n\v\f\r", "\"\\b\\t\\n\\u000B\\f\\r\"", "\"??????\"" },
		{ "\x01\x1f\x7f", "\"\\u0001\\u001F\x7f\"", "\"???\"" },
		{ "12345678\x1b[31m", "\"12345678\\u001B[31m\"", "\"12345678?[31m\"" },
		{ "gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"", NULL },
		{ "\xff\xc3", "\"\xef\xbf\xbd\xef\xbf\xbd\"", "\"??\"" },
		{ "\xe2\x80\xae.exe", "\"\xe2\x80\xae.exe\"", "\"?.exe\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct written w;

		json_text(begin(&w), cases[i].text);
		assert_written(&w, cases[i].plain);
		begin(&w)->shown = true;
		json_text(&w.json, cases[i].text);
		assert_written(&w, cases[i].shown ? cases[i].shown : cases[i].plain);
	}
}

static void every_byte_at_every_place(void **state)
{
	(void)state;
	for (unsigned c = 1; c < 0x80; c++)
		for (size_t place = 0; place < 17; place++) {
			char text[18], expected[40];
			struct written w;
			const char *special = c == '"' || c == '\\' ? "\\" : "";

			memset(text, 'x', sizeof(text));
			text[17] = 0;
			text[place] = (char)c;
			if (c < ' ')
				continue;
			snprintf(expected, sizeof(expected), "\"%.*s%s%s\"", (int)place, text, special, text + place);
			json_text(begin(&w), text);
			assert_written(&w, expected);
		}
}

static void numbers_at_their_ends(void **state)
{
	static const int64_t all[] = {
		0, 1, -1, 9, 10, 99, 100, 101, 999, 1000, -1000, 4294967296, INT64_MAX, INT64_MIN
	};
	struct written w;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char expected[24];

		snprintf(expected, sizeof(expected), "%" PRId64, all[i]);
		json_int(begin(&w), all[i]);
		assert_written(&w, expected);
	}
	json_array(begin(&w));
	json_uint(&w.json, UINT64_MAX);
	json_double(&w.json, 0.1);
	json_double(&w.json, 1e300);
	json_double(&w.json, NAN);
	json_double(&w.json, -INFINITY);
	json_bool(&w.json, true);
	json_bool(&w.json, false);
	json_number(&w.json, "1.50");
	json_array_end(&w.json);
	assert_written(&w, "[18446744073709551615,0.1,1e+300,0,0,true,false,1.50]");
}

static void commas_and_keys(void **state)
{
	char name[] = "a \"name\"";
	struct written w;
	struct json *j = begin(&w);

	(void)state;
	json_map(j);
	json_key_map(j, "none");
	json_map_end(j);
	json_key_array(j, "list");
	json_array(j);
	json_array_end(j);
	json_text(j, "x");
	json_array_end(j);
	json_key_int(j, name, 5);
	json_key_text(j, "text", "t");
	json_map_end(j);
	json_next(j);
	json_array(j);
	json_array_end(j);
	assert_written(&w, "{\"none\":{},\"list\":[[],\"x\"],\"a \\\"name\\\"\":5,\"text\":\"t\"}[]");
}

/* Where a value is complete, others may write to the file. */
static void top_level_values_are_in_the_file(void **state)
{
	struct written w;
	struct json *j = begin(&w);

	(void)state;
	for (int i = 0; i < 3; i++) {
		fputs(i ? ";" : "", j->file);
		json_next(j);
		json_map(j);
		json_key_int(j, "i", i);
		json_map_end(j);
	}
	fputs("\n", j->file);
	assert_written(&w, "{\"i\":0};{\"i\":1};{\"i\":2}\n");
}

/* A list that is written in parts. */
static void parts_of_an_array(void **state)
{
	struct written whole;
	struct json *j = begin(&whole);

	(void)state;
	json_array(j);
	for (int i = 0; i < 5; i++) {
		struct written part;

		begin(&part);
		json_open_values(&part.json, part.json.file);
		for (int k = 0; i > 0 && i != 2 && k < 2; k++)
			json_int(&part.json, 10 * i + k);
		json_flush(&part.json);
		fclose(part.json.file);
		json_written(j, part.text, part.n);
		free(part.text);
	}
	json_array_end(j);
	assert_written(&whole, "[10,11,30,31,40,41]");
}

static void base64_of_all_lengths(void **state)
{
	static const char *const expected[] = { "\"\"",         "\"/w==\"",     "\"/wA=\"",    "\"/wAB\"",
						"\"/wABAg==\"", "\"/wABAgM=\"", "\"/wABAgME\"" };
	static const uint8_t bytes[] = { 255, 0, 1, 2, 3, 4 };

	(void)state;
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		struct written w;

		json_base64(begin(&w), bytes, n);
		assert_written(&w, expected[n]);
	}
}

/* ---- random values, twice ---- */

static uint64_t seed = 1;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static const char *draw_text(void)
{
	static char text[6000];
	size_t n = draw(20) ? draw(40) : draw(sizeof(text) - 1);
	bool odd = draw(4) == 0;

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(odd && !draw(8) ? 1 + draw(0x7f) : ' ' + draw(0x5f));
	text[n] = 0;
	return text;
}

static void both_text(struct json *j, yajl_gen gen, bool key)
{
	const char *text = draw_text();

	yajl_gen_string(gen, (const unsigned char *)text, strlen(text));
	if (key)
		json_key(j, text);
	else
		json_text(j, text);
}

static void both(struct json *j, yajl_gen gen, unsigned depth)
{
	uint64_t what = draw(depth < 4 ? 5 : 3), n = what < 3 ? 0 : draw(depth ? 8 : 200);
	int64_t v = (int64_t)(draw(1u << 31) << draw(33)) * (draw(2) ? 1 : -1);

	if (what == 0) {
		json_int(j, v);
		yajl_gen_integer(gen, v);
	} else if (what < 3) {
		both_text(j, gen, false);
	} else if (what == 3) {
		json_array(j);
		yajl_gen_array_open(gen);
		for (uint64_t i = 0; i < n; i++)
			both(j, gen, depth + 1);
		json_array_end(j);
		yajl_gen_array_close(gen);
	} else {
		json_map(j);
		yajl_gen_map_open(gen);
		for (uint64_t i = 0; i < n; i++) {
			both_text(j, gen, true);
			both(j, gen, depth + 1);
		}
		json_map_end(j);
		yajl_gen_map_close(gen);
	}
}

static void like_yajl(void **state)
{
	(void)state;
	for (int round = 0; round < 100; round++) {
		yajl_gen gen = yajl_gen_alloc(NULL);
		const unsigned char *expected;
		struct written w;
		size_t n;

		both(begin(&w), gen, 0);
		fclose(w.json.file);
		assert_int_equal(yajl_gen_get_buf(gen, &expected, &n), yajl_gen_status_ok);
		assert_int_equal(w.n, n);
		assert_memory_equal(w.text, expected, n);
		yajl_gen_free(gen);
		free(w.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_escaped),
		cmocka_unit_test(every_byte_at_every_place),
		cmocka_unit_test(numbers_at_their_ends),
		cmocka_unit_test(commas_and_keys),
		cmocka_unit_test(top_level_values_are_in_the_file),
		cmocka_unit_test(parts_of_an_array),
		cmocka_unit_test(base64_of_all_lengths),
		cmocka_unit_test(like_yajl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
