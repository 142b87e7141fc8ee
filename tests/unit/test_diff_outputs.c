/* SPDX-License-Identifier: BSD-2-Clause */
/* A diff as Markdown, JUnit and a page: whatever it holds, names stay text, and a comment stays small. What other programs make of them is looked
 * at in tests/scripts/test_diff_outputs.py and tests/page/test_diff_page.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "diff/diff_md.h"
#include "diff/diff_shown.h"
#include "tests/unit/diff_made.h"
#include "tools/markup.h"

static char *printed;
static struct made made;

static const char *md(void)
{
	size_t n;
	FILE *out;

	free(printed);
	out = open_memstream(&printed, &n);
	diff_md(out, &made.diff);
	fclose(out);
	return printed;
}

static const char *marked(const char *text)
{
	size_t n;
	FILE *out;

	free(printed);
	out = open_memstream(&printed, &n);
	markup_text(out, text);
	fclose(out);
	return printed;
}

/* ---- figures ---- */

static void figures_have_signs(void **state)
{
	char buf[DIFF_WORDS];
	struct diff_compared row = { .low_ns = -300, .high_ns = 1500000 };

	(void)state;
	assert_string_equal(diff_delta(buf, 1500000), "+1.5 ms");
	assert_string_equal(diff_delta(buf, -1500000), "-1.5 ms");
	assert_string_equal(diff_delta(buf, 0), "0 ns");
	assert_string_equal(diff_interval(buf, &row), "-300 ns to +1.5 ms");
	assert_string_equal(diff_percent(buf, -5, 200), "-2.5 %");
	assert_string_equal(diff_percent(buf, 5, 0), "");
	assert_string_equal(diff_times(buf, 1200), "1,200");
	assert_string_equal(diff_times(buf, 0.25), "0.25");
	assert_string_equal(diff_times(buf, 0.0417), "0.042");
	assert_string_equal(diff_growth(buf, 3u << 20, 1u << 20), "-2.0 MiB");
	assert_string_equal(diff_growth(buf, 5, 5), "0 B");
}

static void extremes_have_room(void **state)
{
	char buf[DIFF_WORDS];
	struct diff_compared row = { .low_ns = INT64_MIN, .high_ns = INT64_MAX };

	(void)state;
	assert_non_null(strstr(diff_interval(buf, &row), " to +"));
	assert_true(strlen(diff_times(buf, 1e300)) < DIFF_WORDS);
	diff_percent(buf, INT64_MIN, 1);
}

/* ---- which rows, in which order ---- */

static void what_regressed_comes_first_of_the_causes(void **state)
{
	size_t order[DIFF_ROWS];
	bool seen[DIFF_ROWS] = { false };

	(void)state;
	made_rich(&made, false);
	diff_row_order(order, &made.pairs[0]);
	for (size_t i = 0; i < DIFF_ROWS; i++)
		seen[order[i]] = true;
	for (size_t i = 0; i < DIFF_ROWS; i++)
		assert_true(seen[i]);
	assert_int_equal(order[0], ROW_STEP);
	assert_int_equal(order[LEAF_CAUSES + 1], ROW_IDLE);
	assert_int_equal(order[LEAF_CAUSES + 2], MADE_CAUSE(input_storage));
	assert_int_equal(order[LEAF_CAUSES + 3], MADE_CAUSE(host_compute));
	assert_int_equal(order[LEAF_CAUSES + 4], MADE_CAUSE(cpu_contention));
}

static void rows_that_matter(void **state)
{
	(void)state;
	made_rich(&made, false);
	assert_true(diff_row_is_shown(&made.pairs[0], ROW_STEP));
	assert_true(diff_row_is_shown(&made.pairs[0], MADE_CAUSE(module_load)));
	assert_false(diff_row_is_shown(&made.pairs[0], MADE_CAUSE(unexplained)));
	assert_false(diff_row_is_shown(&made.pairs[0], MADE_CAUSE(allocator)));
}

/* With --fail-on what it names fails, else what regressed. */
static void rows_that_fail(void **state)
{
	(void)state;
	made_rich(&made, false);
	assert_true(diff_row_fails(&made.diff, 0, MADE_CAUSE(input_storage)));
	assert_false(diff_row_fails(&made.diff, 0, MADE_CAUSE(host_compute)));
	made.fired[0] = (struct diff_fired){ "idle>+2%", 0, ROW_IDLE };
	made.diff.fired = made.fired, made.diff.n_fired = made.diff.n_rules = 1;
	assert_true(diff_row_fails(&made.diff, 0, ROW_IDLE));
	assert_false(diff_row_fails(&made.diff, 0, MADE_CAUSE(input_storage)));
}

/* ---- names ---- */

static const char *coded(const char *name)
{
	static struct md m;

	m.n = 0;
	md_code(&m, name);
	m.row[m.n] = 0;
	return m.row;
}

static const char *said(const char *text)
{
	static struct md m;

	m.n = 0;
	md_text(&m, text);
	m.row[m.n] = 0;
	return m.row;
}

static void names_are_code(void **state)
{
	(void)state;
	assert_string_equal(coded("train.py:41"), "`train.py:41`");
	assert_string_equal(coded(""), "-");
	assert_string_equal(coded("a`b``c"), "```a`b``c```");
	assert_string_equal(coded("`a"), "`` `a ``");
	assert_string_equal(coded("a|b"), "`a`&#124;`b`");
	assert_string_equal(coded("a\\|"), "`a\\`&#124;");
	assert_string_equal(coded(" a "), "`  a  `");
}

static void sentences_refer_to_nobody(void **state)
{
	(void)state;
	assert_string_equal(said("idle +2.5 % (a_b) <img> @me #1 http://x www.y"),
			    "idle +2.5 % (a\\_b) \\<img\\> `@`me `#`1 http`://`x `www.`y");
	assert_string_equal(said("a|b\\"), "a&#124;b\\\\");
}

static void markup_is_text(void **state)
{
	(void)state;
	assert_string_equal(marked("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
	assert_string_equal(marked("\x01\x1b\x7f\xff\xc3(\xef\xbf\xbe\xe2\x80\xae"), "????"
										     "?(??");
	assert_string_equal(marked(""), "");
}

/* Pieces meet where a character is not cut. */
static void long_text_is_whole(void **state)
{
	static char text[4001];

	(void)state;
	for (size_t i = 0; i < 4000; i += 4)
		memcpy(text + i, i % 8 ? "\xf0\x9f\x98\x80" : "ab\xc3\xa9", 4);
	assert_string_equal(marked(text), text);
}

/* ---- a comment's size ---- */

static void a_comment_is_small_and_says_what_it_lacks(void **state)
{
	static struct diff_work_change many[2000];
	const char *text;

	(void)state;
	made_rich(&made, true);
	for (size_t i = 0; i < 2000; i++)
		many[i] = made.works[0];
	made.pairs[0].kernels = many, made.pairs[0].n_kernels = 2000;
	text = md();
	assert_in_range(strlen(text), MD_BYTES / 2, MD_BYTES);
	assert_non_null(strstr(text, "lines are left out"));
	assert_string_equal(text + strlen(text) - strlen("has them all.\n"), "has them all.\n");
}

static void a_small_one_lacks_nothing(void **state)
{
	(void)state;
	made_rich(&made, false);
	assert_null(strstr(md(), "left out"));
	assert_int_equal(strncmp(md(), "### `+` regressed: idle time is 21.9 ms", 39), 0);
	assert_non_null(strstr(md(), "Collectives and messages that changed"));
	assert_non_null(strstr(md(), "| `collective all_reduce` | 1 | 1 |  |  | 16.0 KiB to 256.0 MiB |"));
	made_empty(&made);
	assert_int_equal(strncmp(md(), "### `x` not comparable: base has 2 devices", 42), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_have_signs),
		cmocka_unit_test(extremes_have_room),
		cmocka_unit_test(what_regressed_comes_first_of_the_causes),
		cmocka_unit_test(rows_that_matter),
		cmocka_unit_test(rows_that_fail),
		cmocka_unit_test(names_are_code),
		cmocka_unit_test(sentences_refer_to_nobody),
		cmocka_unit_test(markup_is_text),
		cmocka_unit_test(long_text_is_whole),
		cmocka_unit_test(a_comment_is_small_and_says_what_it_lacks),
		cmocka_unit_test(a_small_one_lacks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
