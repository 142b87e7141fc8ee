/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of a page: each once, clean, no more than there is room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html/html_strings.h"
#include "tests/support/failing_alloc.h"

/* The array as JSON; to be freed. */
static char *written(const struct html_strings *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct json j;

	json_open(&j, out);
	assert_true(html_strings_write(s, &j));
	fclose(out);
	return text;
}

static void each_is_there_once(void **state)
{
	struct html_strings s = { 0 };
	char name[32], *json;

	(void)state;
	assert_int_equal(html_string(&s, ""), 0);
	assert_int_equal(html_string(&s, NULL), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "kernel %u", (unsigned)i);
		assert_int_equal(html_string(&s, name), i + 1);
	}
	for (uint32_t i = 0; i < 5000; i += 7) {
		snprintf(name, sizeof(name), "kernel %u", (unsigned)i);
		assert_int_equal(html_string(&s, name), i + 1);
	}
	assert_int_equal(s.n, 5001);
	html_strings_free(&s);
	json = written(&s);
	assert_string_equal(json, "[\"\"]");
	free(json);
}

static void they_are_clean(void **state)
{
	struct html_strings s = { 0 };
	char *json, *most = calloc(1, 5 * HTML_STRING);

	(void)state;
	assert_int_equal(html_string(&s, "a\x1b[31m\xff"), 1);
	assert_int_equal(html_string(&s, "a?[31m?"), 1);
	assert_int_equal(html_string(&s, "\xe2\x80\xa8\xe2\x80\xae"), 2); /* a line's end; right to left */
	memset(most, 'x', 5 * HTML_STRING - 1);
	assert_int_equal(html_string(&s, most), 3);
	json = written(&s);
	strcpy(most + HTML_STRING - 3, "...\"]");
	assert_memory_equal(json, "[\"\",\"a?[31m?\",\"??\",\"", 20);
	assert_string_equal(json + 20, most);
	free(most);
	free(json);
	html_strings_free(&s);
}

static void there_is_an_end_to_it(void **state)
{
	struct html_strings s = { 0 };
	char name[512] = "", *json;
	uint32_t last = 0;
	size_t n;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	for (int i = 0; i < 9000; i++) { /* 4.6 MB */
		memcpy(name, &(char[]){ (char)('a' + i % 26), (char)('a' + i / 26 % 26), (char)('a' + i / 676) }, 3);
		last = html_string(&s, name);
	}
	n = s.n;
	assert_int_equal(last, s.left_out);
	memcpy(name, "ZZZ", 3);
	assert_int_equal(html_string(&s, name), last);
	memcpy(name, "aaa", 3);
	assert_int_equal(html_string(&s, name), 1); /* what is there is found */
	assert_int_equal(s.n, n);
	json = written(&s);
	assert_true(strlen(json) < HTML_STRINGS_BYTES + HTML_STRINGS_BYTES / 50);
	assert_non_null(strstr(json, ",\"(name left out)\"]"));
	free(json);
	html_strings_free(&s);
}

static void no_memory_is_told(void **state)
{
	int failed = 0;
	bool whole = false;

	(void)state;
	for (long n = 1; !whole && n < 100; n++) {
		struct html_strings s = { 0 };
		FILE *nowhere = fopen("/dev/null", "w");
		struct json j;
		char name[32];

		json_open(&j, nowhere);
		fail_at = n;
		for (int i = 0; i < 3000; i++) {
			snprintf(name, sizeof(name), "kernel %d", i);
			html_string(&s, name);
		}
		fail_at = 0;
		whole = html_strings_write(&s, &j);
		failed += !whole;
		fclose(nowhere);
		html_strings_free(&s);
	}
	assert_true(whole);
	assert_true(failed > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_there_once),
		cmocka_unit_test(they_are_clean),
		cmocka_unit_test(there_is_an_end_to_it),
		cmocka_unit_test(no_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
