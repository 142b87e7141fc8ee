/* SPDX-License-Identifier: BSD-2-Clause */
/* A baseline is read as what it was written of; what is damaged, not ours or too much is refused with its place; what is newer is passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "diff/diff_baseline.h"
#include "tests/support/failing_alloc.h"
#include "tests/unit/diff_run_made.h"

static int kept;
static char path[64];

static int set_up(void **state)
{
	(void)state;
	kept = memfd_create("baseline", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", kept);
	return kept < 0;
}

static int tear_down(void **state)
{
	(void)state;
	return close(kept);
}

static void keep(const char *text, size_t n)
{
	assert_int_equal(ftruncate(kept, 0), 0);
	assert_int_equal(pwrite(kept, text, n, 0), n);
}

static char *written(const struct diff_run *runs, size_t n, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);
	struct error e;

	assert_non_null(out);
	assert_int_equal(diff_baseline_write(out, runs, n, &e), ERR_NONE);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void free_runs(struct diff_run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		diff_run_free(&runs[i]);
	free(runs);
}

/* Reads what is kept, which has to be one run. */
static struct diff_run *read_one(void)
{
	struct diff_run *runs;
	struct error e;
	size_t n;

	if (diff_baseline_read(&runs, &n, path, &e) != ERR_NONE)
		fail_msg("byte %llu: %s", (unsigned long long)e.byte, e.text);
	assert_int_equal(n, 1);
	return runs;
}

/* ---- what is written is read ---- */

static void same_typical(const struct diff_typical *a, const struct diff_typical *b)
{
	assert_memory_equal(a->row_ns, b->row_ns, sizeof(a->row_ns));
	assert_memory_equal(a->error_ns, b->error_ns, sizeof(a->error_ns));
	assert_int_equal(a->tail_ns, b->tail_ns);
	assert_memory_equal(&a->tail_error_ns, &b->tail_error_ns, sizeof(a->tail_error_ns));
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->blocks, b->blocks);
}

static void same_double(double a, double b)
{
	assert_memory_equal(&a, &b, sizeof(a));
}

static void same_gap(const struct diff_gap *a, const struct diff_gap *b)
{
	assert_string_equal(a->before, b->before);
	assert_string_equal(a->after, b->after);
	assert_true(a->key == b->key);
	same_double(a->per_step, b->per_step);
	assert_int_equal(a->ns_per_step, b->ns_per_step);
	assert_memory_equal(a->causes, b->causes, sizeof(a->causes));
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->longest_ns, b->longest_ns);
	assert_int_equal(a->n_lines, b->n_lines);
	for (size_t i = 0; i < a->n_lines; i++)
		assert_string_equal(a->lines[i], b->lines[i]);
}

static void same_parts(const struct diff_run_device *a, const struct diff_run_device *b)
{
	for (size_t i = 0; i < a->n_classes; i++) {
		assert_true(a->classes[i].key == b->classes[i].key);
		assert_string_equal(a->classes[i].words, b->classes[i].words);
		same_typical(&a->classes[i].typical, &b->classes[i].typical);
	}
	for (size_t i = 0; i < a->n_kernels; i++) {
		assert_string_equal(a->kernels[i].name, b->kernels[i].name);
		same_double(a->kernels[i].per_step, b->kernels[i].per_step);
		assert_int_equal(a->kernels[i].ns_per_step, b->kernels[i].ns_per_step);
		assert_int_equal(a->kernels[i].has_ns, b->kernels[i].has_ns);
		same_double(a->kernels[i].bytes_per_step, b->kernels[i].bytes_per_step);
	}
	for (size_t i = 0; i < a->n_sites; i++) {
		assert_string_equal(a->sites[i].where, b->sites[i].where);
		assert_int_equal(a->sites[i].idle_ns, b->sites[i].idle_ns);
		same_double(a->sites[i].gaps, b->sites[i].gaps);
		assert_memory_equal(a->sites[i].causes, b->sites[i].causes, sizeof(a->sites[i].causes));
	}
	for (size_t i = 0; i < a->n_gaps; i++)
		same_gap(&a->gaps[i], &b->gaps[i]);
}

static void same_device(const struct diff_run_device *a, const struct diff_run_device *b)
{
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->rank, b->rank);
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->uuid, b->uuid);
	assert_int_equal(a->n_steps, b->n_steps);
	assert_int_equal(a->n_warm_up, b->n_warm_up);
	assert_int_equal(a->by_ranges, b->by_ranges);
	assert_string_equal(a->step_name, b->step_name);
	same_typical(&a->typical, &b->typical);
	assert_int_equal(a->blurred_ns, b->blurred_ns);
	assert_int_equal(a->unresolved_ns, b->unresolved_ns);
	assert_int_equal(a->memory.known, b->memory.known);
	assert_int_equal(a->memory.peak_allocated, b->memory.peak_allocated);
	assert_int_equal(a->memory.peak_reserved, b->memory.peak_reserved);
	same_double(a->memory.fragmentation, b->memory.fragmentation);
	assert_int_equal(a->memory.out_of_memory, b->memory.out_of_memory);
	assert_int_equal(a->memory.told, b->memory.told);
	assert_int_equal(a->n_classes, b->n_classes);
	assert_int_equal(a->n_kernels, b->n_kernels);
	assert_int_equal(a->has_comms, b->has_comms);
	assert_int_equal(a->n_comms, b->n_comms);
	for (size_t i = 0; i < a->n_comms; i++) {
		assert_string_equal(a->comms[i].name, b->comms[i].name);
		same_double(a->comms[i].per_step, b->comms[i].per_step);
		same_double(a->comms[i].bytes_per_step, b->comms[i].bytes_per_step);
	}
	assert_int_equal(a->n_sites, b->n_sites);
	assert_int_equal(a->n_gaps, b->n_gaps);
	same_parts(a, b);
}

static void same_run(const struct diff_run *a, const struct diff_run *b)
{
	assert_string_equal(a->path, b->path);
	assert_string_equal(a->kind, b->kind);
	assert_string_equal(a->timing, b->timing);
	assert_string_equal(a->probes, b->probes);
	assert_int_equal(!a->cut, !b->cut);
	if (a->cut)
		assert_string_equal(a->cut, b->cut);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->n_facts, b->n_facts);
	for (size_t i = 0; i < a->n_facts; i++) {
		assert_string_equal(a->facts[i].name, b->facts[i].name);
		assert_string_equal(a->facts[i].value, b->facts[i].value);
	}
	assert_int_equal(a->n_devices, b->n_devices);
	for (size_t i = 0; i < a->n_devices; i++)
		same_device(&a->devices[i], &b->devices[i]);
}

static void what_is_written_is_read(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct diff_run made[4], *runs;
		size_t n = 1 + made_random(4), n_read, bytes, again;
		char *text, *text_again;
		struct error e;

		for (size_t i = 0; i < n; i++)
			made[i] = made_run();
		text = written(made, n, &bytes);
		keep(text, bytes);
		assert_int_equal(diff_baseline_read(&runs, &n_read, path, &e), ERR_NONE);
		assert_int_equal(n_read, n);
		for (size_t i = 0; i < n; i++) {
			same_run(&made[i], &runs[i]);
			diff_run_free(&made[i]);
		}
		text_again = written(runs, n, &again);
		assert_int_equal(bytes, again);
		assert_memory_equal(text, text_again, bytes);
		free(text);
		free(text_again);
		free_runs(runs, n);
	}
}

/* ---- damage ---- */

static void refused(const char *text, size_t n, uint64_t byte, const char *words)
{
	struct diff_run *runs = (struct diff_run *)&runs;
	size_t n_runs = 7;
	struct error e;

	keep(text, n);
	assert_int_equal(diff_baseline_read(&runs, &n_runs, path, &e), ERR_FORMAT);
	assert_null(runs);
	assert_int_equal(n_runs, 0);
	assert_string_equal(e.file, path);
	if (byte != ERR_NO_BYTE)
		assert_int_equal(e.byte, byte);
	assert_true(e.byte <= n);
	assert_true(e.text[0] != 0);
	if (words && !strstr(e.text, words))
		fail_msg("\"%s\" does not say \"%s\"", e.text, words);
}

static struct diff_run small_run(void)
{
	struct diff_run r;

	do {
		r = made_run();
		if (r.n_devices == 1 && r.devices[0].n_gaps && r.devices[0].n_kernels < 5 && r.devices[0].n_classes < 3)
			return r;
		diff_run_free(&r);
	} while (true);
}

static void one_that_is_cut_short_is_refused(void **state)
{
	struct diff_run r = small_run();
	size_t bytes;
	char *text = written(&r, 1, &bytes);

	(void)state;
	for (size_t n = 0; n + 2 < bytes; n++) /* the last bracket and the line's end */
		refused(text, n, n, NULL);
	free(text);
	diff_run_free(&r);
}

/* Whatever is made of it sums. */
static void is_sound(const struct diff_run *runs, size_t n)
{
	size_t bytes;
	char *text = written(runs, n, &bytes);
	struct diff_run *again;
	struct error e;
	size_t n_again;

	keep(text, bytes);
	assert_int_equal(diff_baseline_read(&again, &n_again, path, &e), ERR_NONE);
	free(text);
	free_runs(again, n_again);
}

static void any_byte_may_be_wrong(void **state)
{
	static const char others[] = "0\"{}[],:-e\\\n\x80";
	struct diff_run r = small_run();
	size_t bytes;
	char *text = written(&r, 1, &bytes);

	(void)state;
	for (size_t i = 0; i < bytes; i++) {
		char was = text[i];
		struct diff_run *runs;
		struct error e;
		size_t n;

		text[i] = i % 3 ? others[made_random(sizeof(others))] : (char)(was ^ 1 << made_random(8));
		keep(text, bytes);
		if (diff_baseline_read(&runs, &n, path, &e) == ERR_NONE) {
			is_sound(runs, n);
			free_runs(runs, n);
		} else {
			assert_int_equal(e.kind, ERR_FORMAT);
			assert_true(e.byte <= bytes || e.byte == ERR_NO_BYTE);
		}
		text[i] = was;
	}
	free(text);
	diff_run_free(&r);
}

#define HEAD "{\"schema\":\"gpushim.baseline/1\",\"runs\":["
#define DEVICE(inside) HEAD "{\"path\":\"p\",\"devices\":[{" inside "}]}]}"

static void what_is_no_baseline_is_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "", "empty" },
		{ "7", "middle" },
		{ "7 ", "no baseline" },
		{ "[]", "no baseline" },
		{ "{}", "no schema" },
		{ "{\"schema\":7}", "schema" },
		{ "{\"schema\":{}}", "kind" },
		{ "{\"schema\":\"gpushim.report/1\",\"runs\":[]}", "schema is another" },
		{ "{\"schema\":\"gpushim.baseline/\"}", "schema is another" },
		{ "{\"schema\":\"gpushim.baseline/1x\"}", "schema is another" },
		{ "{\"schema\":\"gpushim.baseline/0\"}", "schema is another" },
		{ "{\"schema\":\"gpushim.baseline/2\"}", "version 2, by a newer gpushim" },
		{ "{\"runs\":[{}]}", "no schema" },
		{ HEAD "]}", "no run" },
		{ HEAD "7]}", "a run is no object" },
		{ HEAD "[]]}", "a run is no object" },
		{ "{\"schema\":\"gpushim.baseline/1\",\"runs\":{}}", "kind" },
		{ HEAD "{}]}{}", "trailing" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diff_run *runs;
		struct error e;
		size_t n;

		keep(rows[i].text, strlen(rows[i].text));
		assert_int_equal(diff_baseline_read(&runs, &n, path, &e), ERR_FORMAT);
		assert_string_equal(e.file, path);
		if (!strstr(e.text, rows[i].words))
			fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].text, e.text, rows[i].words);
	}
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ DEVICE("\"typical\":{\"step\":5,\"leaves\":{\"compute\":4}}"), "do not sum to the step" },
		{ DEVICE("\"typical\":{\"step\":5,\"leaves\":{\"compute\":1,\"allocator\":4}}"), "idle" },
		{ DEVICE("\"classes\":[{\"typical\":{\"idle\":5}}]"), "idle" },
		{ DEVICE("\"classes\":[{\"key\":1}]"), "more steps" },
		{ DEVICE("\"n_steps\":5,\"classes\":[{\"typical\":{\"n\":6}}]"), "more steps" },
		{ DEVICE("\"sites\":[{\"idle_ns\":5}]"), "a site's causes" },
		{ DEVICE("\"gaps\":[{\"causes\":{\"allocator\":5}}]"), "a gap's causes" },
		{ DEVICE("\"typical\":{\"leaves\":{\"compute\":-4,\"copy\":4}}"), "out of range" },
		{ DEVICE("\"number\":1.5"), "no whole number" },
		{ DEVICE("\"number\":-1"), "out of range" },
		{ DEVICE("\"number\":4294967296"), "out of range" },
		{ DEVICE("\"number\":\"1\""), "no whole number" },
		{ DEVICE("\"blurred_ns\":72057594037927937"), "out of range" },
		{ DEVICE("\"blurred_ns\":99999999999999999999"), "out of range" },
		{ DEVICE("\"blurred_ns\":1234567890123456789012345678901234567890123456"), "no whole number" },
		{ DEVICE("\"gaps\":[{\"key\":18446744073709551616}]"), "out of range" },
		{ DEVICE("\"gaps\":[{\"key\":-1}]"), "out of range" },
		{ DEVICE("\"gaps\":[7]"), "kind" },
		{ DEVICE("\"gaps\":[[]]"), "kind" },
		{ DEVICE("\"gaps\":{}"), "kind" },
		{ DEVICE("\"gaps\":7"), "kind" },
		{ DEVICE("\"typical\":[]"), "kind" },
		{ DEVICE("\"kernels\":[{\"per_step\":1e400}]"), "out of range" },
		{ DEVICE("\"kernels\":[{\"per_step\":-1}]"), "out of range" },
		{ DEVICE("\"kernels\":[{\"has_ns\":1}]"), "true nor false" },
		{ DEVICE("\"name\":7"), "no text" },
		{ DEVICE("\"name\":null"), "no text" },
		{ DEVICE("\"name\":[]"), "kind" },
		{ DEVICE("\"name\":\"a\\u0000b\""), "zero byte" },
		{ DEVICE("\"x\":[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]"), "too deep" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refused(rows[i].text, strlen(rows[i].text), ERR_NO_BYTE, rows[i].words);
	refused(rows[0].text, strlen(rows[0].text), strlen(HEAD "{\"path\":\"p\",\"devices\":[{\"typical\":"), NULL);
}

static void a_text_that_is_too_long_is_refused(void **state)
{
	char text[BASELINE_TEXT + 200];
	struct diff_run *runs;

	(void)state;
	refused(text, (size_t)snprintf(text, sizeof(text), HEAD "{\"path\":\"%0*d\"}]}", BASELINE_TEXT + 1, 0),
		ERR_NO_BYTE, "a text is too long");
	keep(text, (size_t)snprintf(text, sizeof(text), HEAD "{\"path\":\"%0*d\"}]}", BASELINE_TEXT, 0));
	runs = read_one();
	assert_int_equal(strlen(runs->path), DIFF_TEXT - 1);
	free_runs(runs, 1);
}

/* ---- what is newer ---- */

static void keys_that_are_not_known_are_passed_over(void **state)
{
	static const char text[] =
		"{\"made_by\":{\"a\":[1,{\"runs\":7}]},\"schema\":\"gpushim.baseline/1\",\"x\":null,\"runs\":[{\"new\":[[1],{\"b\":2}],\"path\":\"p\",\"devices\":"
		"[{\"later\":{\"typical\":{\"step\":1}},\"number\":3,\"typical\":{\"step\":12,\"idle\":7,\"leaves\":{\"compute\":5,\"unexplained\":1,\"gremlins\":2,"
		"\"allocator\":1,\"elves\":3},\"errors\":{\"gremlins\":1.5,\"step\":2.5}},\"gaps\":[{\"ns_per_step\":4,\"causes\":{\"gremlins\":4},\"lines\":[\"a\",[\"b\"],\"c\"]}]}]}],"
		"\"more\":[{\"path\":\"q\"}]}";
	struct diff_run *runs;
	const struct diff_typical *t;

	(void)state;
	keep(text, sizeof(text) - 1);
	runs = read_one();
	assert_string_equal(runs->path, "p");
	assert_int_equal(runs->n_devices, 1);
	assert_int_equal(runs->devices[0].number, 3);
	assert_string_equal(runs->devices[0].name, "");
	t = &runs->devices[0].typical;
	assert_int_equal(t->row_ns[ROW_LEAVES + LEAF_CAUSES + CAUSE_unexplained], 6);
	assert_int_equal(t->row_ns[ROW_LEAVES + LEAF_CAUSES + CAUSE_allocator], 1);
	same_double(t->error_ns[ROW_STEP], 2.5);
	assert_int_equal(runs->devices[0].gaps[0].causes[CAUSE_unexplained], 4);
	assert_int_equal(runs->devices[0].gaps[0].n_lines, 2);
	assert_string_equal(runs->devices[0].gaps[0].lines[1], "c");
	free_runs(runs, 1);
}

static void what_is_beyond_the_most_is_passed_over(void **state)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct diff_run *runs;

	(void)state;
	assert_non_null(out);
	fputs(HEAD "{\"devices\":[{\"gaps\":[", out);
	for (int i = 0; i < DIFF_GAPS + 9; i++)
		fprintf(out,
			"%s{\"number\":%d,\"lines\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\"]}",
			i ? "," : "", i);
	fputs("],\"n\":1}]}]}", out);
	assert_int_equal(fclose(out), 0);
	keep(text, bytes);
	runs = read_one();
	assert_int_equal(runs->devices[0].n_gaps, DIFF_GAPS);
	assert_int_equal(runs->devices[0].gaps[DIFF_GAPS - 1].number, DIFF_GAPS - 1);
	assert_int_equal(runs->devices[0].gaps[0].n_lines, DIFF_LINES);
	free(text);
	free_runs(runs, 1);
}

/* ---- the machine refuses ---- */

static void without_memory_it_says_so(void **state)
{
	struct diff_run made[2] = { made_run(), small_run() };
	size_t bytes;
	char *text = written(made, 2, &bytes);
	enum err_kind kind;
	long n = 0;

	(void)state;
	keep(text, bytes);
	do {
		struct diff_run *runs;
		struct error e;
		size_t n_runs;

		fail_at = ++n;
		kind = diff_baseline_read(&runs, &n_runs, path, &e);
		fail_at = 0;
		if (kind)
			assert_int_equal(kind, ERR_SYSTEM);
		else
			same_run(&made[0], &runs[0]);
		free_runs(runs, n_runs);
	} while (kind);
	assert_true(n > 10);
	free(text);
	diff_run_free(&made[0]);
	diff_run_free(&made[1]);
}

static void a_file_that_is_not_there(void **state)
{
	struct diff_run *runs;
	struct error e;
	size_t n;

	(void)state;
	assert_int_equal(diff_baseline_read(&runs, &n, "/nowhere/at/all", &e), ERR_FORMAT);
	assert_int_equal(diff_baseline_read(&runs, &n, "/", &e), ERR_SYSTEM);
}

static void what_cannot_be_written(void **state)
{
	struct diff_run r = small_run();
	FILE *full = fopen("/dev/full", "w");
	struct error e;

	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(diff_baseline_write(full, &r, 1, &e), ERR_SYSTEM);
	fclose(full);
	diff_run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(one_that_is_cut_short_is_refused),
		cmocka_unit_test(any_byte_may_be_wrong),
		cmocka_unit_test(what_is_no_baseline_is_refused),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(a_text_that_is_too_long_is_refused),
		cmocka_unit_test(keys_that_are_not_known_are_passed_over),
		cmocka_unit_test(what_is_beyond_the_most_is_passed_over),
		cmocka_unit_test(without_memory_it_says_so),
		cmocka_unit_test(a_file_that_is_not_there),
		cmocka_unit_test(what_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
