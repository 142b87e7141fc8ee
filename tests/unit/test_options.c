/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows → parsing, limits, help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "tools/options.h"

struct values {
	bool flag;
	size_t count;
	const char *text, *word;
	size_t any, maybe;
	int run;
};

static const struct option_row rows[] = {
	{ "flag", 'f', OPT_FLAG, offsetof(struct values, flag), NULL, "a flag", 0, 0 },
	{ "count", 'c', OPT_COUNT, offsetof(struct values, count), "N", "a number", 2, 10 },
	{ "text", 0, OPT_TEXT, offsetof(struct values, text), "FILE", "a text", 0, 0 },
	{ "run", 'r', OPT_RUN, offsetof(struct values, run), "N|all", "a run", 0, 0 },
	{ "word", 'w', OPT_WORD, offsetof(struct values, word), "auto|off|require", "a word", 0, 0 },
	{ "any", 'a', OPT_COUNT, offsetof(struct values, any), "N", "any number", 0, OPTION_ANY },
	{ "maybe", 0, OPT_MAYBE, offsetof(struct values, maybe), "[=HZ]", "a number, or the usual one", 1, 1000 },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct option_set set = {
	.usage = "PATH...", .rows = rows, .n_rows = ROWS, .min_paths = 1, .max_paths = 2
};
static const struct option_set pages = { .usage = "", .rows = rows, .n_rows = ROWS, .alone = "flag text run" };
static const struct option_set before_a_program = { .usage = "-- PROGRAM",
						    .rows = rows,
						    .n_rows = ROWS,
						    .min_paths = 1,
						    .max_paths = SIZE_MAX,
						    .missing = "no program is named",
						    .ends = true };

static struct error e;
static struct values got;
static int first, help;

/* Words, the first being the command's name, up to NULL. */
static enum err_kind parse(const struct option_set *options, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	got = (struct values){ .count = 7, .run = OPTION_RUN_LAST };
	e = (struct error){ 0 };
	return options_parse(options, argc, argv, &got, &first, &help, &e);
}

#define PARSE(...) parse(&set, (char *[]){ "cmd", __VA_ARGS__, NULL })
#define PARSE_RUN(...) parse(&before_a_program, (char *[]){ "cmd", __VA_ARGS__, NULL })

static void test_values_in_every_form(void **state)
{
	(void)state;
	assert_int_equal(PARSE("path", "-f", "--count=3", "--text", "x", "--run", "all"), ERR_NONE);
	assert_true(got.flag);
	assert_int_equal(got.count, 3);
	assert_string_equal(got.text, "x");
	assert_int_equal(got.run, OPTION_RUN_ALL);
	assert_int_equal(PARSE("-c10", "-r", "4", "path"), ERR_NONE);
	assert_int_equal(got.count, 10);
	assert_int_equal(got.run, 4);
	assert_int_equal(first, 4);
}

static void test_defaults_stay(void **state)
{
	(void)state;
	assert_int_equal(PARSE("path"), ERR_NONE);
	assert_false(got.flag);
	assert_int_equal(got.count, 7);
	assert_null(got.text);
	assert_int_equal(got.run, OPTION_RUN_LAST);
}

static void test_limits(void **state)
{
	(void)state;
	assert_int_equal(PARSE("path", "--count", "1"), ERR_USAGE);
	assert_int_equal(PARSE("path", "--count", "11"), ERR_USAGE);
	assert_string_equal(e.text, "cmd: --count takes a number from 2 to 10, not 11");
	assert_int_equal(PARSE("path", "--count", "-3"), ERR_USAGE);
	assert_int_equal(PARSE("path", "--count", "3x"), ERR_USAGE);
	assert_int_equal(PARSE("path", "--count", "99999999999999999999"), ERR_USAGE);
	assert_int_equal(PARSE("path", "--run", "some"), ERR_USAGE);
	assert_string_equal(e.text, "cmd: --run takes a number, all or last, not some");
}

static void test_a_number_without_limits_names_none(void **state)
{
	(void)state;
	assert_int_equal(PARSE("path", "--any", "18446744073709551614"), ERR_NONE);
	assert_int_equal(got.any, SIZE_MAX - 1);
	assert_int_equal(PARSE("path", "--any", "18446744073709551615"), ERR_USAGE);
	assert_int_equal(PARSE("path", "--any", "-1"), ERR_USAGE);
	assert_string_equal(e.text, "cmd: --any takes a number, not -1");
}

static void test_a_word_is_one_of_the_list(void **state)
{
	(void)state;
	assert_int_equal(PARSE("path", "--word", "off"), ERR_NONE);
	assert_string_equal(got.word, "off");
	assert_int_equal(PARSE("path", "-wrequire"), ERR_NONE);
	assert_string_equal(got.word, "require");
	assert_int_equal(PARSE("path", "-w", "aut"), ERR_USAGE);
	assert_string_equal(e.text, "cmd: --word takes auto|off|require, not aut");
	assert_int_equal(PARSE("path", "-w", ""), ERR_USAGE);
	assert_int_equal(PARSE("path", "-w", "off|require"), ERR_USAGE);
}

static void test_a_number_may_be_left_out(void **state)
{
	(void)state;
	assert_int_equal(PARSE("path"), ERR_NONE);
	assert_int_equal(got.maybe, 0);
	assert_int_equal(PARSE("--maybe", "path"), ERR_NONE); /* the next word is not its */
	assert_int_equal(got.maybe, OPTION_USUAL);
	assert_string_equal(e.text, "");
	assert_int_equal(PARSE("--maybe=99", "path"), ERR_NONE);
	assert_int_equal(got.maybe, 99);
	assert_int_equal(PARSE("--maybe=0", "path"), ERR_USAGE);
	assert_string_equal(e.text, "cmd: --maybe takes a number from 1 to 1000, not 0");
}

static void test_another_programs_words_are_left_alone(void **state)
{
	(void)state;
	assert_int_equal(PARSE_RUN("-f", "--", "prog", "-c", "99", "--none"), ERR_NONE);
	assert_true(got.flag);
	assert_int_equal(got.count, 7);
	assert_int_equal(first, 3);
	assert_int_equal(PARSE_RUN("prog", "-f", "--", "x"), ERR_NONE);
	assert_false(got.flag);
	assert_int_equal(first, 1);
	assert_int_equal(PARSE_RUN("-f", "--"), ERR_USAGE);
	assert_string_equal(e.text, "cmd: no program is named");
}

static void test_what_is_wrong_is_named(void **state)
{
	(void)state;
	assert_int_equal(PARSE("path", "--none"), ERR_USAGE);
	assert_string_equal(e.text, "cmd: unknown option --none");
	assert_int_equal(PARSE("path", "-fx"), ERR_USAGE);
	assert_string_equal(e.text, "cmd: unknown option -x");
	assert_int_equal(PARSE("path", "--flag=1"), ERR_USAGE);
	assert_string_equal(e.text, "cmd: this option takes no value: --flag=1");
	assert_int_equal(PARSE("path", "--count"), ERR_USAGE);
	assert_string_equal(e.text, "cmd: a value is missing after --count");
	assert_int_equal(PARSE("a", "b", "c"), ERR_USAGE);
	assert_int_equal(PARSE("-f"), ERR_USAGE);
	assert_non_null(strstr(e.text, "no run directory"));
}

static void test_some_exclude_each_other(void **state)
{
	(void)state;
	assert_int_equal(parse(&pages, (char *[]){ "cmd", "--flag", "--count", "3", "-f", NULL }), ERR_NONE);
	assert_int_equal(parse(&pages, (char *[]){ "cmd", "--text", "a", "--any=1", "-r", "all", NULL }), ERR_USAGE);
	assert_string_equal(e.text, "cmd: --text and --run exclude each other");
	assert_int_equal(parse(&pages, (char *[]){ "cmd", "-w", "off", "--flag", NULL }), ERR_NONE);
	assert_true(options_exclude(&pages, "text") && options_exclude(&pages, "run") &&
		    !options_exclude(&pages, "ext"));
	assert_false(options_exclude(&set, "flag"));
}

static void test_help_fits(void **state)
{
	static const struct option_row one = { "a-name-that-is-longer",
					       'n',
					       OPT_TEXT,
					       0,
					       "FILE",
					       "word word word word word word word word word "
					       "word word word word word word",
					       0,
					       0 };
	static const struct option_set long_set = { .usage = "x", .rows = &one, .n_rows = 1 };
	char text[1024];

	(void)state;
	options_help(&long_set, "cmd", text, sizeof(text));
	assert_string_equal(text, "usage: gpushim cmd x\n\n  -n, --a-name-that-is-longer FILE \n"
				  "                         word word word word word word word word word word word\n"
				  "                         word word word word\n");
}

static void test_help_has_every_row(void **state)
{
	char text[1024], small[40];

	(void)state;
	assert_int_equal(PARSE("--help"), ERR_NONE);
	assert_true(help);
	options_help(&set, "cmd", text, sizeof(text));
	assert_non_null(strstr(text, "usage: gpushim cmd PATH..."));
	for (size_t i = 0; i < ROWS; i++)
		assert_non_null(strstr(text, rows[i].help));
	options_help(&set, "cmd", small, sizeof(small));
	assert_true(strlen(small) < sizeof(small));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_in_every_form),
		cmocka_unit_test(test_defaults_stay),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_a_number_without_limits_names_none),
		cmocka_unit_test(test_a_word_is_one_of_the_list),
		cmocka_unit_test(test_a_number_may_be_left_out),
		cmocka_unit_test(test_another_programs_words_are_left_alone),
		cmocka_unit_test(test_what_is_wrong_is_named),
		cmocka_unit_test(test_some_exclude_each_other),
		cmocka_unit_test(test_help_fits),
		cmocka_unit_test(test_help_has_every_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
