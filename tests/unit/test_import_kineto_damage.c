/* SPDX-License-Identifier: BSD-2-Clause */
/* Kineto's traces that are cut, changed, packed or none at all, and an importer that has no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <zlib.h>

#include "import/import.h"
#include "tests/support/failing_alloc.h"
#include "tests/unit/kineto_file.h"

static const char *const whole =
	"{'schemaVersion':1,'deviceProperties':[{'id':0,'name':'A100'}],'distributedInfo':{'rank':1,'world_size':2},'ERROR':['e'],"
	"'traceEvents':[{'ph':'M','name':'thread_name','pid':9,'tid':5,'args':{'name':'main'}}," LAUNCH(7) "," HEAD(
		"kernel",
		"k\\u00e9") "'pid':0,'tid':7,'ts':4,'dur':1.5e1,'args':{'device':0,'stream':7,'correlation':7}},"
			    "{'ph':'B','cat':'user_annotation','name':'step','pid':9,'tid':5,'ts':1}," HEAD("cpu_op", "o") "'pid':9,'tid':7,'ts':1,'dur':2,'args':{'Input Dims':[[],[1]]}}," HEAD(
				    "overhead",
				    "o") "'pid':-1,'tid':7,'ts':1,'dur':2}," HEAD("odd",
										  "o") "'pid':9,'tid':7,'ts':1,'dur':2},"
										       "{'ph':'E','pid':9,'tid':5,'ts':9}],'baseTimeNanoseconds':5}";

/* Facts about events that were whole do not change by what is missing behind them; names and devices are told in the end. */
static void test_cut_short_anywhere(void **state)
{
	char *text = quoted(whole);
	static const char call_end[] = "\"correlation\":7}}";
	size_t n = strlen(text), call_ends = (size_t)(strstr(text, call_end) - text) + sizeof(call_end) - 1;

	(void)state;
	for (size_t cut = 0; cut <= n; cut++) {
		struct import_build b;
		struct error damage = { 0 }, e = { 0 };
		enum err_kind kind;

		put(text, cut);
		b = (struct import_build){ 0 };
		kind = import_kineto(&b, path, &damage, &e);
		assert_int_equal(kind, ERR_NONE);
		assert_int_equal(damage.kind, cut < n ? ERR_FORMAT : ERR_NONE);
		if (cut < n)
			assert_int_equal(damage.byte, cut);
		assert_int_equal(strstr((b.lines ? b.lines : ""), "cudaLaunchKernel result=0 corr=7 ") != NULL,
				 cut >= call_ends);
		seen_free(&b);
	}
	free(text);
}

static void test_any_byte_may_be_another(void **state)
{
	char *text = quoted(whole);
	size_t n = strlen(text);

	(void)state;
	for (size_t at = 0; at < n; at++)
		for (size_t i = 0; i < 6; i++) {
			struct import_build b;
			struct error damage = { 0 }, e = { 0 };
			char old = text[at];

			text[at] = "\"}]\0z\x80"[i];
			put(text, n);
			b = (struct import_build){ 0 };
			assert_int_not_equal(import_kineto(&b, path, &damage, &e), ERR_SYSTEM);
			seen_free(&b);
			text[at] = old;
		}
	free(text);
}

static void test_packed(void **state)
{
	char *text = quoted(whole), *plain;
	struct import_build b;
	struct error damage = { 0 }, e = { 0 };
	gzFile gz;

	(void)state;
	put(text, strlen(text));
	b = (struct import_build){ 0 };
	assert_int_equal(import_kineto(&b, path, &damage, &e), ERR_NONE);
	plain = strdup(b.lines);
	assert_non_null(plain);
	seen_free(&b);
	gz = gzopen(path, "wb");
	assert_non_null(gz);
	assert_int_equal(gzwrite(gz, text, (unsigned)strlen(text)), strlen(text));
	assert_int_equal(gzclose(gz), Z_OK);
	b = (struct import_build){ 0 };
	assert_int_equal(import_kineto(&b, path, &damage, &e), ERR_NONE);
	assert_int_equal(damage.kind, ERR_NONE);
	assert_string_equal(b.lines, plain);
	seen_free(&b);
	free(plain);
	free(text);
}

static void test_no_trace(void **state)
{
	struct import_build b;
	struct error damage = { 0 }, e = { 0 };

	(void)state;
	put("{\"a\": [1, 2]}", 13);
	b = (struct import_build){ 0 };
	assert_int_equal(import_kineto(&b, path, &damage, &e), ERR_FORMAT);
	assert_string_equal(e.text, "no list of events (\"traceEvents\") is in it");
	assert_int_equal(import_kineto(&b, "/nowhere/at/all", &damage, &e), ERR_SYSTEM);
	assert_string_equal(e.file, "/nowhere/at/all");
	seen_free(&b);
}

/* It knows why, and says so when it is finished. */
static void test_the_builder_gives_up(void **state)
{
	char *text = quoted(whole);
	struct import_build b;
	struct error damage = { 0 }, e = { 0 };

	(void)state;
	put(text, strlen(text));
	for (unsigned n = 1; n < 10; n++) {
		b = (struct import_build){ 0 };
		b.fail_after = n;
		assert_int_equal(import_kineto(&b, path, &damage, &e), ERR_NONE);
		assert_true(import_failed(&b));
		assert_int_equal(damage.kind, ERR_NONE);
		seen_free(&b);
	}
	free(text);
}

static void test_each_allocation_may_fail(void **state)
{
	char *text = quoted(whole);
	enum err_kind kind = ERR_SYSTEM;
	long n;

	(void)state;
	put(text, strlen(text));
	for (n = 1; kind != ERR_NONE; n++) {
		struct import_build b;
		struct error damage = { 0 }, e = { 0 };

		b = (struct import_build){ .lines = malloc(65536),
					   .cap = 65536 }; /* the list's own memory is not what is tried */
		assert_non_null(b.lines);
		fail_at = n;
		kind = import_kineto(&b, path, &damage, &e);
		fail_at = 0;
		if (kind != ERR_NONE) {
			assert_int_equal(kind, ERR_SYSTEM);
			assert_string_equal(e.text, "out of memory");
		}
		seen_free(&b);
	}
	assert_true(n > 20);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_short_anywhere),
		cmocka_unit_test(test_any_byte_may_be_another),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_no_trace),
		cmocka_unit_test(test_the_builder_gives_up),
		cmocka_unit_test(test_each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
