/* SPDX-License-Identifier: BSD-2-Clause */
/* What people read of ranks: with every allocation that may fail, with numbers that are not known, and how many wait for whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/gst_text.h"

#define RANKS 4
#define STEPS 10
#define STEP_US 10000

static const struct report_style style = { .columns = 80 };

struct world {
	struct gst_text text;
	struct trace *traces[RANKS];
	struct run run;
	struct timeline timeline;
	struct summary summary;
	struct error err;
};

/* A kernel, and then an all-reduce with the next `size` ranks; the last rank comes 4 ms late. Its communicator is said to be of this device. */
static void write_rank(FILE *out, int rank, int size, int device)
{
	int begin = rank == RANKS - 1 ? 6100 : 2100;

	fprintf(out, "process %d host=a run=job level=cupti exited=1 end=105ms real=5000000s\nthread %d main\n",
		100 + rank, 100 + rank);
	fprintf(out, "device %d uuid=%d\nstream 1 device=%d\n", rank, rank + 1, rank);
	fprintf(out, "comm 1 t=10us hash=%d rank=%d size=%d device=%d\n", 0x50 + rank / size, rank % size, size,
		device);
	for (int k = 0; k < STEPS; k++) {
		int t = k * STEP_US, end = t + (size == RANKS || rank / size == (RANKS - 1) / size ? 6400 : 2300);

		fprintf(out, "launch t=%dus..%dus stream=1 seq=%d kernel=work device=%d\n", t + 1000, t + 1002,
			2 * k + 1, rank);
		fprintf(out,
			"nccl all-reduce t=%dus..%dus hook=ncclAllReduce comm=1 stream=1 seq=%d count=1000 type=float32 "
			"op=sum\n",
			t + begin - 8, t + begin - 1, k + 1);
		fprintf(out,
			"launch t=%dus..%dus stream=1 seq=%d kernel=ncclDevKernel_AllReduce_Sum_f32_RING_LL device=%d\n",
			t + begin - 5, t + begin - 3, 2 * k + 2, rank);
		fprintf(out, "sync-stream t=%dus..%dus stream=1 seq=%d\n", t + begin, end + 10, 2 * k + 2);
		fprintf(out, "activity t=%dus..%dus stream=1 seq=%d kernel=work device=%d\n", t + 1005, t + 2005,
			2 * k + 1, rank);
		fprintf(out,
			"activity t=%dus..%dus stream=1 seq=%d kernel=ncclDevKernel_AllReduce_Sum_f32_RING_LL device=%d\n",
			t + begin, end, 2 * k + 2, rank);
	}
}

/* Ranks in communicators of `size`. */
static struct world *begin(int size, int device_of_the_last)
{
	struct world *w = calloc(1, sizeof(*w));
	char *text = NULL, error[256];
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(w);
	for (int i = 0; i < RANKS; i++)
		write_rank(out, i, size, i == RANKS - 1 ? device_of_the_last : i);
	fclose(out);
	if (!gst_text_parse(&w->text, text, error))
		fail_msg("%s", error);
	free(text);
	for (size_t i = 0; i < RANKS; i++)
		assert_int_equal(trace_open_mem(&w->traces[i], w->text.files[i].image.bytes, w->text.files[i].image.len,
						w->text.files[i].name, &w->err),
				 ERR_NONE);
	w->run = (struct run){ .traces = w->traces, .n_traces = RANKS, .count = 1 };
	assert_int_equal(timeline_build(&w->timeline, &w->run, &w->err), ERR_NONE);
	assert_int_equal(summary_build(&w->summary, &w->timeline, &w->err), ERR_NONE);
	return w;
}

static void end(struct world *w)
{
	summary_free(&w->summary);
	timeline_free(&w->timeline);
	for (size_t i = 0; i < RANKS; i++)
		trace_free(w->traces[i]);
	gst_text_free(&w->text);
	free(w);
}

static enum err_kind page_of(struct world *w, char **page, size_t *size)
{
	FILE *out = open_memstream(page, size);
	enum err_kind kind;

	kind = report_text(out, &w->summary, &style, 5, &w->err);
	fail_at = 0;
	fclose(out);
	return kind;
}

/* Wherever its lines are broken. */
static void assert_says(char *page, const char *what)
{
	char *to = page;

	for (const char *from = page; *from; from++) {
		bool blank = *from == ' ' || *from == '\n';

		if (!blank || to == page || to[-1] != ' ')
			*to++ = blank ? ' ' : *from;
	}
	*to = 0;
	if (!strstr(page, what))
		fail_msg("not there: %s\n%s", what, page);
}

static void each_other_rank_waits(void **state)
{
	struct world *w = begin(RANKS, RANKS - 1);
	char *page;
	size_t size;

	(void)state;
	assert_int_equal(page_of(w, &page, &size), ERR_NONE);
	assert_says(
		page,
		"rank 3 (a, device 3) came last to 100.0 % of the collectives, and each other rank waited 40.0 ms for it.");
	free(page);
	end(w);
}

/* Ranks 2 and 3 have nothing to do with 0 and 1. */
static void one_waits(void **state)
{
	struct world *w = begin(2, RANKS - 1);
	char *page;
	size_t size;

	(void)state;
	assert_int_equal(page_of(w, &page, &size), ERR_NONE);
	assert_says(
		page,
		"rank 1 (a, device 3) came last to 100.0 % of the collectives, and one other rank waited 40.0 ms for it.");
	free(page);
	end(w);
}

/* Its communicator is of a device on which it does nothing. */
static void a_rank_without_a_number(void **state)
{
	struct world *w = begin(RANKS, 7);
	char *page;
	size_t size;

	(void)state;
	assert_int_equal(page_of(w, &page, &size), ERR_NONE);
	assert_null(strstr(page, "4294967295"));
	assert_says(page, "rank - (a, device 3) came last to 100.0 % of the collectives");
	free(page);
	end(w);
}

/* Without memory there is no page, never one that lacks something. */
static void a_host_without_a_name(void **state)
{
	struct world *w = begin(RANKS, RANKS - 1);
	char *page;
	size_t size;

	(void)state;
	for (size_t i = 0; i < RANKS; i++)
		w->traces[i]->header.host[0] = 0;
	assert_int_equal(page_of(w, &page, &size), ERR_NONE);
	assert_says(page, "rank 3 (device 3) came last to 100.0 % of the collectives");
	free(page);
	end(w);
}

static void the_whole_page_or_none(void **state)
{
	struct world *w = begin(RANKS, RANKS - 1);
	char *whole, *page;
	size_t size, bytes;
	enum err_kind kind = ERR_SYSTEM;
	long n;

	(void)state;
	assert_int_equal(page_of(w, &whole, &size), ERR_NONE);
	for (n = 1; kind != ERR_NONE; n++) {
		fail_at = n;
		kind = page_of(w, &page, &bytes);
		if (kind != ERR_NONE) {
			assert_int_equal(kind, ERR_SYSTEM);
			assert_string_equal(w->err.text, "out of memory");
		} else {
			assert_string_equal(page, whole);
		}
		free(page);
	}
	assert_true(n > 4);
	free(whole);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_other_rank_waits),   cmocka_unit_test(one_waits),
		cmocka_unit_test(a_rank_without_a_number), cmocka_unit_test(a_host_without_a_name),
		cmocka_unit_test(the_whole_page_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
