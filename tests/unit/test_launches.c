/* SPDX-License-Identifier: BSD-2-Clause */
/* Launches that are folded change no report: random runs (summary_machine.h) are read both ways, and what is said of them is the same, byte for byte.
 * SEED in the environment: that one alone; what fails is written to TRACE as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/report.h"
#include "summary_analysed.h"
#include "summary_machine.h"
#include "trace/clock.h"

#define LAST_SEED FEWER(1200)

static struct {
	uint64_t runs, with_folded, folded, calls, gaps;
} seen;

static char *json_of(const struct summary *s, size_t *n)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, n);
	struct error e;

	assert_non_null(out);
	assert_int_equal(report_json(out, s, REPORT_ALL, &e), ERR_NONE);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void write_text(const struct machine *m)
{
	FILE *file = getenv("TRACE") ? fopen(getenv("TRACE"), "w") : NULL;

	if (file && fputs(m->out.text, file) >= 0)
		fclose(file);
}

/* Where they differ, in both. */
static void show(const char *plain, const char *folded)
{
	size_t at = 0;

	while (plain[at] && plain[at] == folded[at])
		at++;
	at = at > 60 ? at - 60 : 0;
	print_message("each by itself: %.160s\nfolded:         %.160s\n", plain + at, folded + at);
}

static bool same_calls(const struct trace *a, const struct trace *b)
{
	return a->n_calls == b->n_calls && memcmp(a->calls, b->calls, a->n_calls * sizeof(*a->calls)) == 0;
}

/* As they are read, and as they become when they are unfolded. */
static bool check(const char *records, struct analysed *plain, struct analysed *folded)
{
	size_t n, n_folded;
	char *text, *text_folded;
	bool same;

	analysed_parse(plain, records);
	analysed_parse(folded, records);
	assert_int_equal(analysed_build_as(plain, false), plain->text.n);
	assert_int_equal(analysed_build_as(folded, true), folded->text.n);
	seen.runs++;
	seen.with_folded += folded->traces[0]->launches.folded > 0;
	seen.folded += folded->traces[0]->launches.folded;
	seen.calls += plain->traces[0]->n_calls;
	seen.gaps += plain->summary.n_gaps;
	text = json_of(&plain->summary, &n);
	text_folded = json_of(&folded->summary, &n_folded);
	same = n == n_folded && memcmp(text, text_folded, n) == 0;
	if (!same)
		show(text, text_folded);
	free(text);
	free(text_folded);
	analysed_release(folded);
	memset(folded->traces, 0, sizeof(folded->traces));
	return same;
}

static bool unfolds(const struct analysed *plain, struct analysed *folded)
{
	const struct gst_text_file *f = &folded->text.files[0];
	struct trace *t;
	struct error e;
	bool same;

	assert_int_equal(trace_open_mem_folded(&t, f->image.bytes, f->image.len, f->name, &e), ERR_NONE);
	assert_true(trace_unfold(t));
	same = same_calls(plain->traces[0], t) && !t->launches.folded;
	trace_free(t);
	if (!same)
		print_message("unfolded calls are other ones\n");
	return same;
}

static bool one(uint64_t seed)
{
	struct machine *m = machine_run_rows(seed, seed % 7 ? 90 : 4);
	struct analysed plain, folded;
	bool same = check(m->out.text, &plain, &folded) && unfolds(&plain, &folded);

	if (!same)
		write_text(m);
	analysed_release(&plain);
	analysed_free(&plain);
	analysed_free(&folded);
	machine_free(m);
	return same;
}

static void folding_changes_no_report(void **state)
{
	const char *only = getenv("SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;
	size_t failed = 0;

	(void)state;
	for (uint64_t seed = first; seed <= (only ? first : LAST_SEED); seed++)
		if (!one(seed) && failed++ < 10)
			print_message("SEED=%llu fails\n", (unsigned long long)seed);
	print_message("%llu runs, %llu with folded launches: %llu of %llu calls; %llu gaps; %zu failed\n",
		      (unsigned long long)seen.runs, (unsigned long long)seen.with_folded,
		      (unsigned long long)seen.folded, (unsigned long long)seen.calls, (unsigned long long)seen.gaps,
		      failed);
	assert_int_equal(failed, 0);
	assert_true(only || (seen.with_folded > LAST_SEED / 4 && seen.folded * 10 > seen.calls));
}

/* Behind the last instant that there is (clock.h) all is at that one: found by fuzz_report. */
static void a_block_behind_all_times(void **state)
{
	struct lines out = { 0 };
	struct analysed plain, folded;
	uint64_t folded_before = seen.folded;

	(void)state;
	say(&out, "process 100 end=9ms level=host\nthread 10 main\ndevice 0\nstream 1\n");
	for (int i = 1; i <= 40; i++)
		say(&out, "launch t=%dus..%dus stream=1 seq=%d kernel=k\n", 10 * i, 10 * i + 2, i);
	say(&out, "block taken t=400000000s address=4096 bytes=1M allocated=1M reserved=1M\n");
	assert_true(check(out.text, &plain, &folded));
	assert_true(seen.folded > folded_before);
	assert_int_equal(plain.traces[0]->memory.blocks[0].time_ns, CLOCK_MAX_NS);
	analysed_release(&plain);
	analysed_free(&plain);
	analysed_free(&folded);
	free(out.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_behind_all_times),
		cmocka_unit_test(folding_changes_no_report),
	};

	return cmocka_run_group_tests_name("launches", tests, NULL, NULL);
}
