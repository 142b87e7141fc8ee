/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of launches: whatever is taken is told as its record has it, at any rate of the clock, with more shapes than a part has room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/support/gst_random.h"
#include "trace/launch_rows.h"
#include "trace/launches.h"

#define START_TICKS 7000000000000ull
#define START_NS 5000000000ull
#define SEGMENT 40000 /* where the file goes on elsewhere, now and then */
#define TID 100
#define KERNELS 40

struct told { /* a record that was taken */
	struct gst_call call;
	uint64_t byte;
};

struct machine {
	struct clock *clock;
	double ticks_per_ns;
	struct launch_rows rows;
	struct told *told;
	size_t n, not_taken;
	uint64_t ticks, byte;
	uint32_t seq, grids;
	uint32_t silence_ns; /* 0: now and then one, of 0.3 ms at most; else before each launch, at most */
};

static void make_clock(struct machine *m, double ghz)
{
	struct gst_file_header h = { .clock = ghz == 1 ? GST_CLOCK_MONOTONIC : GST_CLOCK_TSC,
				     .start_ticks = ghz == 1 ? START_NS : START_TICKS,
				     .start_mono_ns = START_NS };

	m->ticks_per_ns = ghz;
	m->ticks = h.start_ticks + 1000000;
	assert_int_equal(clock_new(&m->clock, &h, NULL), ERR_NONE);
	for (uint64_t s = 1; s <= 40 && ghz != 1; s++) { /* it drifts */
		struct gst_anchor a = { .ticks = START_TICKS + (uint64_t)((double)(s * 50000000) * ghz) + s * s,
					.mono_ns = START_NS + s * 50000000 };

		assert_int_equal(clock_add(m->clock, &a, NULL), ERR_NONE);
	}
}

static uint64_t ticks_of(const struct machine *m, uint64_t ns)
{
	return (uint64_t)((double)ns * m->ticks_per_ns) + 1;
}

/* The next launches, one behind the other, or with something between them. */
static size_t make_calls(struct machine *m, struct gst_call *calls, size_t most)
{
	size_t n = 1 + (uint32_t)gst_random_below((uint32_t)most);

	if (!(uint32_t)gst_random_below(4))
		m->byte += 64 + 8 * (uint32_t)gst_random_below(SEGMENT);
	if (!(uint32_t)gst_random_below(10))
		m->ticks += ticks_of(m, (uint32_t)gst_random_below(300000));
	for (size_t i = 0; i < n; i++) {
		uint32_t name = (uint32_t)gst_random_below(KERNELS), long_one = (uint32_t)gst_random_below(200) == 0;
		uint64_t took = ticks_of(m, long_one ? (uint32_t)gst_random_below(60000000)
						     : 2000 + (uint32_t)gst_random_below(9000));

		m->ticks += ticks_of(m, (uint32_t)gst_random_below(m->silence_ns ? m->silence_ns : 3000));
		calls[i] =
			(struct gst_call){ .begin = m->ticks,
					   .end = m->ticks + took,
					   .seq = m->seq++,
					   .hook = 3,
					   .family = GST_FAMILY_LAUNCH,
					   .flags = GST_SUBMISSION,
					   .stream = 2,
					   .name = name,
					   .args = { (uint32_t)gst_random_below(m->grids), (uint64_t)name << 32 | 1 } };
		m->ticks += took;
	}
	return n;
}

static void take(struct machine *m, const struct gst_call *c, size_t n)
{
	struct record_view v = { .tid = TID };

	for (size_t at = 0; at < n; at++) {
		size_t more = launch_rows_go_on(&m->rows, c + at, n - at, TID, m->byte + at * sizeof(*c));

		for (size_t i = 0; i < more; i++, at++)
			m->told[m->n++] = (struct told){ c[at], m->byte + at * sizeof(*c) };
		if (at == n)
			break;
		v.record = &c[at].record;
		v.byte = m->byte + at * sizeof(*c);
		switch (launch_rows_take(&m->rows, &c[at], &v)) {
		case LAUNCH_TAKEN:
			m->told[m->n++] = (struct told){ c[at], v.byte };
			break;
		case LAUNCH_NOT_TAKEN:
			m->not_taken++;
			break;
		default:
			fail();
		}
	}
	m->byte += n * sizeof(*c);
}

static void check_row(struct machine *m, const struct launch_row *row)
{
	struct launches all = { .parts = &m->rows.launches, .n_parts = 1 };
	int64_t end_ns = 0;
	size_t near = 0;

	for (uint32_t i = 0; i < row->n; i++) {
		const struct told *told = &m->told[row->first + i];
		const struct launch *l = launch_at(&all, launch_ref(0, row->first + i));
		const struct launch_shape *shape = &m->rows.launches.shapes[l->shape];
		int64_t begin_ns = clock_ns(m->clock, told->call.begin),
			took_ns = clock_ns(m->clock, told->call.end) - begin_ns;

		assert_int_equal(row->base_ns + l->begin, begin_ns);
		assert_int_equal(row->n == 1 ? row->end_ns - row->begin_ns : l->took, took_ns);
		assert_int_equal(row->seq + i, told->call.seq);
		assert_int_equal(shape->name, told->call.name);
		assert_memory_equal(shape->args, told->call.args, sizeof(shape->args));
		assert_int_equal(launch_byte(&all, launch_ref(0, row->first + i), &near), told->byte);
		assert_true(row->n == 1 || took_ns <= 100000);
		assert_true(!i || begin_ns - end_ns <= 100000);
		end_ns = begin_ns + took_ns;
	}
	assert_int_equal(row->end_ns, end_ns);
	assert_int_equal(row->begin_ns, clock_ns(m->clock, m->told[row->first].call.begin));
}

static void run(uint64_t seed, double ghz, uint32_t grids, size_t n, uint32_t silence_ns)
{
	struct machine m = { .grids = grids, .silence_ns = silence_ns };
	struct gst_call calls[64];
	size_t told = 0, made = 0;

	gst_random_seed(seed);
	make_clock(&m, ghz);
	m.told = calloc(n + 64, sizeof(*m.told));
	assert_non_null(m.told);
	assert_true(launch_rows_begin(&m.rows, 0, m.clock, NULL));
	for (uint32_t id = 1; id < KERNELS; id++) {
		struct {
			struct gst_name name;
			char text[8];
		} name = { { .space = GST_SPACE_KERNEL, .id = id, .length = 4 }, "gemm" };

		launch_rows_named(&m.rows, &name.name);
	}
	while (made < n) {
		size_t some = make_calls(&m, calls, 64);

		take(&m, calls, some);
		made += some;
	}
	assert_int_equal(clock_ready(m.clock, NULL), ERR_NONE);
	assert_true(launch_rows_settle(&m.rows, m.clock));
	for (size_t i = 0; i < m.rows.n; i++) {
		assert_int_equal(m.rows.at[i].first, told);
		check_row(&m, &m.rows.at[i]);
		told += m.rows.at[i].n;
	}
	assert_int_equal(told, m.n);
	assert_int_equal(m.n + m.not_taken, made);
	/* nearly all, but where there are more shapes than a part has room for */
	if (grids * KERNELS < LAUNCH_SHAPES)
		assert_true(m.n > made * 9 / 10);
	else
		assert_true(m.rows.launches.n_shapes == LAUNCH_SHAPES && m.n < made / 2);
	launch_rows_free(&m.rows);
	clock_free(m.clock);
	free(m.told);
}

static void what_is_taken_is_told_as_it_was(void **state)
{
	static const double ghz[] = { 1, 0.025, 0.3, 2.1, 3.3, 5 };

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++)
		run(seed, ghz[seed % (sizeof(ghz) / sizeof(*ghz))], seed % 2 ? 1 : 40, 4000, 0);
}

static void shapes_beyond_those_of_a_part_are_left(void **state)
{
	(void)state;
	run(7, 2.1, 100000, 20000, 0);
}

/* As processors of other makes have them: a row in their ticks may last for minutes, and nanoseconds from its begin are more than 32 bits. */
static void slow_clocks_and_long_rows(void **state)
{
	static const uint32_t silences_ns[] = { 90000, 100000000 };

	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++)
		run(seed, seed % 2 ? 0.025 : 0.125, 1, seed > 4 ? 600 : 100000, silences_ns[seed > 4]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken_is_told_as_it_was),
		cmocka_unit_test(shapes_beyond_those_of_a_part_are_left),
		cmocka_unit_test(slow_clocks_and_long_rows),
	};

	return cmocka_run_group_tests_name("launch_rows", tests, NULL, NULL);
}
