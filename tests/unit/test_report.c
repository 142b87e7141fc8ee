/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that would steer a terminal or break JSON, allocations that fail, files that cannot be written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

#include "export/export.h"
#include "report/report.h"
#include "run/stacks_name.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/gst_text.h"
#include "tools/text.h"

/* The n-th allocation from now fails; 0: none does. */
static const char source[] =
	"process 100 end=40ms\nthread 10 main\ndevice 0 name=Bad\033[2JName\nstream 1\nstream 2\n"
	"launch t=1ms..1010us stream=1 seq=1 kernel=bad\033]0;title\007\xff\xfe\xc3(\n"
	"launch t=1011us..1020us stream=2 seq=1 kernel=k\n"
	"sync-context t=1021us..2ms context=7\n"
	"alloc t=3ms..4ms pointer=4096 bytes=100\n"
	"code 1 file=/srv/\033[31m/t.py name=f\xff\n"
	"stack 1 frames=python:1:41\n"
	"taken look t=4ms..5ms stack=1\n"
	"sample t=5ms syscall=7 fd=pipe file=pipe:\033[31m\n"
	"launch t=9ms..9010us stream=1 seq=2 kernel=k\nsync-stream t=9020us..10ms stream=1 seq=2\n"
	"alloc t=11ms..12ms bytes=1000 result=2\n"
	"host 100 end=40ms\ntask 10 t=0us pid=100 name=a\033[31m flags=root\ntask 20 t=0us pid=20 name=\xffworker\n"
	"wait 10 t=4100us..8900us waker=20 syscall=0 fd=pipe file=pipe:[\033[2J]\n"
	"wait 20 t=4ms..8800us by=interrupt syscall=17 fd=file file=/d/\033]0;title\007\xc3( offset=4096 bytes=10\n"
	"pressure t=0us..20ms io=9000\n";

static struct gst_text text;
static struct trace *trace;
static struct host_trace *host;
static struct run run;
static struct timeline timeline;
static struct error err;

static int set_up(void **state)
{
	static struct trace *traces[1];
	static struct host_trace *hosts[1];
	char error[256];

	(void)state;
	if (!gst_text_parse(&text, source, error))
		fail_msg("%s", error);
	assert_int_equal(
		trace_open_mem(&trace, text.files[0].image.bytes, text.files[0].image.len, text.files[0].name, &err),
		ERR_NONE);
	assert_int_equal(host_trace_open_mem(&host, text.files[1].image.bytes, text.files[1].image.len,
					     text.files[1].name, &err),
			 ERR_NONE);
	traces[0] = trace;
	hosts[0] = host;
	run = (struct run){ .traces = traces, .n_traces = 1, .count = 1, .hosts = hosts, .n_hosts = 1 };
	assert_int_equal(stacks_name(&run, NULL, &err), ERR_NONE);
	assert_int_equal(timeline_build(&timeline, &run, &err), ERR_NONE);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	timeline_free(&timeline);
	trace_free(trace);
	host_trace_free(host);
	gst_text_free(&text);
	return 0;
}

enum form { JSON, TEXT, SCREEN, WHY, CHROME, TEXTS, PERFETTO = TEXTS, HTML, FORMS };

static enum err_kind write_form(FILE *out, enum form form)
{
	struct report_style style = { .columns = 80, .colour = false, .utf8 = true, .full = true };
	struct summary s;
	uint64_t left_out;
	enum err_kind kind = summary_build(&s, &timeline, &err);

	if (kind)
		return kind;
	switch (form) {
	case JSON:
		kind = report_json(out, &s, 1, &err);
		break;
	case SCREEN:
		style.full = false;
		kind = report_text(out, &s, &style, 5, &err);
		break;
	case TEXT:
		kind = report_text(out, &s, &style, 5, &err);
		break;
	case WHY:
		kind = report_why(out, &s, &style, 0, &err);
		break;
	case CHROME:
		kind = export_chrome(out, &s, true, &left_out, &err);
		break;
	case HTML:
		kind = report_html(out, &s, &err);
		break;
	default:
		kind = export_perfetto(out, &s, true, &left_out, &err);
		break;
	}
	summary_free(&s);
	return kind;
}

/* What a form prints; free it. */
static char *printed(enum form form)
{
	char *buf = NULL;
	size_t size;
	FILE *out = open_memstream(&buf, &size);

	assert_int_equal(write_form(out, form), ERR_NONE);
	fclose(out);
	assert_true(form >= TEXTS || strlen(buf) == size);
	return buf;
}

static void test_nothing_steers_the_terminal(void **state)
{
	(void)state;
	for (enum form form = JSON; form < TEXTS; form++) {
		char *out = printed(form);

		for (const char *p = out; *p;) {
			unsigned length = text_utf8(p);

			assert_true(length > 0);
			assert_true((unsigned char)*p >= 0x20 || *p == '\n');
			p += length;
		}
		free(out);
	}
}

static void test_json_can_be_read(void **state)
{
	static const enum form forms[] = { JSON, CHROME };

	(void)state;
	for (int i = 0; i < 2; i++) {
		char *out = printed(forms[i]), error[256];
		yajl_val tree = yajl_tree_parse(out, error, sizeof(error));

		if (!tree)
			fail_msg("%s", error);
		yajl_tree_free(tree);
		free(out);
	}
}

/* Its names are the host's, and as untrusted. */
static void test_a_chain_is_told(void **state)
{
	static const char *const told[] = {
		[JSON] = "\"file\":\"/d/?]0;title?\?(\"",
		[TEXT] = "thread 10 in read pipe:[?[2J] ← ?worker[20] in pread64",
		[SCREEN] = "read ← pread64 ?]0;title?\?(",
		[WHY] = "?worker[20] of process 20: pread64 /d/?]0;title?\?(, woken by an"
	};

	(void)state;
	for (enum form form = JSON; form <= WHY; form++) {
		char *out = printed(form);

		if (!strstr(out, told[form]))
			fail_msg("%s", out);
		free(out);
	}
}

/* What the form says while the n-th allocation fails, to be freed. */
static char *written_without(enum form form, long n, enum err_kind *kind)
{
	char *said = NULL;
	size_t size;
	FILE *out = open_memstream(&said, &size);

	fail_at = n;
	*kind = write_form(out, form);
	fclose(out);
	return said;
}

/* A sort goes on in place without its spare room: then nothing is missing. */
static void test_every_allocation_may_fail(void **state)
{
	(void)state;
	for (enum form form = JSON; form < FORMS; form++) {
		long n = 1, told = 0;
		enum err_kind kind;
		char *whole = written_without(form, 0, &kind);

		assert_int_equal(kind, ERR_NONE);
		for (bool failed = true; failed; n++) {
			char *said = written_without(form, n, &kind);

			failed = fail_at <= 0;
			told += kind == ERR_SYSTEM;
			if (kind == ERR_NONE)
				assert_string_equal(said, whole);
			else
				assert_string_equal(err.text, "out of memory");
			free(said);
		}
		fail_at = 0;
		assert_true(told > 10);
		free(whole);
	}
}

static void test_write_errors_stay_in_the_file(void **state)
{
	(void)state;
	for (enum form form = JSON; form < FORMS; form++) {
		FILE *out = fopen("/dev/full", "w");

		setvbuf(out, NULL, _IONBF, 0);
		write_form(out, form);
		assert_true(ferror(out));
		fclose(out);
	}
}

static void test_why_of_a_gap_that_is_not(void **state)
{
	const struct report_style style = { .columns = 80 };
	struct summary s;

	(void)state;
	assert_int_equal(summary_build(&s, &timeline, &err), ERR_NONE);
	assert_int_equal(report_why(stderr, &s, &style, 99, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "there is no gap 99"));
	summary_free(&s);
}

/* A file may claim to have begun at any time: what is later than its own records is no time ago, and no sum overflows. */
static void test_times_of_any_size(void **state)
{
	const struct gst_file_header header = trace->header, host_header = host->header;
	const struct gst_counters counters = host->counters;
	const struct gst_probes probes = host->probes;
	const struct report_style style = { .columns = 80 };
	char *page = NULL;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	(void)state;
	trace->header.start_mono_ns = host->header.start_mono_ns = (uint64_t)INT64_MAX + 1;
	for (enum form form = 0; form < FORMS; form++)
		free(printed(form));
	host->probes.begin = (uint64_t)INT64_MAX + 1;
	host->counters.recycled_until = 1;
	report_info_host(out, host, &style);
	fclose(out);
	assert_null(strstr(page, "given up"));
	free(page);
	out = open_memstream(&page, &size);
	host->probes.begin = (uint64_t)host->begin_ns - 3000000;
	report_info_host(out, host, &style);
	fclose(out);
	assert_non_null(strstr(page, "The first 3.0 ms were given up"));
	free(page);
	trace->header = header;
	host->header = host_header;
	host->counters = counters;
	host->probes = probes;
}

/* A path of any length the kernel knows is told whole, if not by every link's words. Offsets have 64 bits. */
static void test_a_long_path_and_a_far_offset(void **state)
{
	struct host_wait *w = host->tasks[1].waits;
	const struct host_what what = w->what;
	char path[4096] = "/", *found, *out;
	int times = 0;

	(void)state;
	for (size_t i = 1; i + 1 < sizeof(path); i++)
		path[i] = i % 200 ? (char)('a' + i % 26) : '/';
	w->what.file = path;
	w->what.offset = UINT64_MAX - 4095;
	out = printed(JSON);
	for (found = out; (found = strstr(found, path)); found++)
		times++;
	assert_int_equal(times, 2); /* file, evidence */
	assert_non_null(strstr(out, "\"state\":\"pread64 ..."));
	assert_non_null(strstr(out, "\"offset\":18446744073709547520,"));
	free(out);
	w->what = what;
}

static void test_text_for_people(void **state)
{
	char buf[TEXT_SHORT], clean[16];

	(void)state;
	assert_string_equal(text_duration(buf, 999), "999 ns");
	assert_string_equal(text_duration(buf, 1000), "1.0 us");
	assert_string_equal(text_duration(buf, 999960), "1.0 ms");
	assert_string_equal(text_duration(buf, 170300000), "170.3 ms");
	assert_string_equal(text_duration(buf, -1500), "-1.5 us");
	assert_string_equal(text_duration(buf, INT64_MIN), "-9223372037 s");
	assert_string_equal(text_offset(buf, 0), "+0.0 us");
	assert_string_equal(text_offset(buf, -2041349), "-2,041.3 us");
	assert_string_equal(text_offset(buf, 1234567890123), "+1,234,567,890.1 us");
	assert_string_equal(text_offset(buf, -49), "+0.0 us");
	assert_string_equal(text_offset(buf, INT64_MIN), "-9,223,372,036,854,775.8 us");
	assert_string_equal(text_bytes(buf, 0), "0 B");
	assert_string_equal(text_bytes(buf, UINT64_MAX), "16.0 EiB");
	assert_string_equal(text_count(buf, 1234567), "1,234,567");
	assert_string_equal(text_count(buf, 100), "100");
	assert_string_equal(text_percent(buf, 1, 0), "0.0 %");
	assert_string_equal(text_clean(clean, sizeof(clean), "a\nb\xc3\xa9\x80", 10), "a?b\xc3\xa9?");
	assert_string_equal(text_clean(clean, sizeof(clean), "abcdefgh", 6), "abc...");
	assert_string_equal(text_clean(clean, sizeof(clean), "abcdef", 6), "abcdef");
	assert_string_equal(text_clean(clean, 8, "abcdefghij", 20), "abcd...");
	assert_string_equal(text_clean(clean, sizeof(clean),
				       "\xe2\x80\xae"
				       "x",
				       6),
			    "?x"); /* right to left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_steers_the_terminal),
		cmocka_unit_test(test_json_can_be_read),
		cmocka_unit_test(test_a_chain_is_told),
		cmocka_unit_test(test_every_allocation_may_fail),
		cmocka_unit_test(test_write_errors_stay_in_the_file),
		cmocka_unit_test(test_why_of_a_gap_that_is_not),
		cmocka_unit_test(test_times_of_any_size),
		cmocka_unit_test(test_a_long_path_and_a_far_offset),
		cmocka_unit_test(test_text_for_people),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
