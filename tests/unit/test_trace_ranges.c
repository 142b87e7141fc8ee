/* SPDX-License-Identifier: BSD-2-Clause */
/* What categories of ranges are called: by domain and number, the last name of each; many of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gst_text.h"
#include "trace/trace.h"

#define BEGIN "process 100 exited=1 end=90ms\nthread 100 main\n"

static struct gst_text text;
static struct trace *trace;

static void read_text(const char *lines)
{
	char why[256];
	struct error e;

	if (!gst_text_parse(&text, lines, why))
		fail_msg("%s", why);
	assert_int_equal(trace_open_mem(&trace, text.files[0].image.bytes, text.files[0].image.len, "t.gst", &e),
			 ERR_NONE);
}

static int forget(void **state)
{
	(void)state;
	trace_free(trace);
	gst_text_free(&text);
	return 0;
}

static void test_the_last_name_counts(void **state)
{
	(void)state;
	read_text(BEGIN "nvtx category t=1us number=7 name=seven\n"
			"nvtx category t=2us number=4 name=first\n"
			"nvtx category t=3us number=4 name=elsewhere domain=X\n"
			"nvtx category t=4us number=4 name=last\n"
			"range a t=10us..20us category=4\n"
			"range b t=30us..40us category=4 domain=X\n"
			"range c t=50us..60us category=5\n"
			"range d t=70us..80us category=7\n"
			"range e t=90us..95us category=7 domain=X\n"
			"range f t=96us..97us\n");
	assert_int_equal(trace->n_ranges, 6);
	assert_string_equal(trace->ranges[0].category, "last");
	assert_string_equal(trace->ranges[1].category, "elsewhere");
	assert_null(trace->ranges[2].category);
	assert_string_equal(trace->ranges[3].category, "seven");
	assert_null(trace->ranges[4].category);
	assert_null(trace->ranges[5].category);
}

static void test_many(void **state)
{
	enum { N = 500 };
	char *lines = NULL;
	size_t length;
	FILE *out = open_memstream(&lines, &length);

	(void)state;
	assert_non_null(out);
	fputs(BEGIN, out);
	for (unsigned i = 0; i < N; i++) /* in no order */
		fprintf(out, "nvtx category t=%uus number=%u name=c%u\n", 1 + i, 1 + i * 1009 % N, 1 + i * 1009 % N);
	for (unsigned i = 0; i < N; i++)
		fprintf(out, "range r t=%uus..%uus category=%u\n", 5000 + 2 * i, 5001 + 2 * i, 1 + i);
	fclose(out);
	read_text(lines);
	free(lines);
	assert_int_equal(trace->n_ranges, N);
	for (unsigned i = 0; i < N; i++) {
		char name[16];

		snprintf(name, sizeof(name), "c%u", 1 + i);
		assert_string_equal(trace->ranges[i].category, name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_the_last_name_counts, forget),
		cmocka_unit_test_teardown(test_many, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
