/* SPDX-License-Identifier: BSD-2-Clause */
/* What is drawn of device memory: the map at the worst moment is the model's, few points of a course have all of its peaks, and few pieces of a map
 * have all of its bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory/memory_picture.h"
#include "memory_model.h"

#define ACTS (EVENTS / 2)

enum { NOTHING, FREE, USED };

/* ---- the worst moment ---- */

static int model_of(size_t p, size_t r, size_t unit)
{
	if (!processes[p].range[r].held)
		return NOTHING;
	return processes[p].range[r].shared_out && !processes[p].range[r].block[unit] ? FREE : USED;
}

/* The acts up to that time once more: of the two things of one act, a nanosecond apart, only the first where the moment lies between. */
static void go_to(uint32_t with, int64_t time_ns)
{
	teardown();
	setup(with);
	for (int64_t i = 0; 10 * i <= time_ns; i++) {
		size_t blocks = processes[0].trace.memory.n_blocks + processes[1].trace.memory.n_blocks;
		uint16_t number = (uint16_t)(i + 1);

		act(10 * i, number);
		if (10 * i != time_ns ||
		    processes[0].trace.memory.n_blocks + processes[1].trace.memory.n_blocks == blocks)
			continue;
		for (size_t p = 0; p < PROCESSES; p++) {
			const struct trace_memory *m = &processes[p].trace.memory;

			if (!m->n_blocks || m->blocks[m->n_blocks - 1].time_ns != 10 * i + 1)
				continue;
			for (size_t r = 0; r < RANGES; r++)
				for (size_t k = 0; k < UNITS; k++)
					if (processes[p].range[r].block[k] == number)
						processes[p].range[r].block[k] = 0;
		}
	}
}

static void is_the_models(const struct memory_worst *w)
{
	static int seen[PROCESSES][RANGES][UNITS];
	struct memory_use use = use_now();

	memset(seen, 0, sizeof(seen));
	assert_true(w->found);
	assert_int_equal(w->use.reserved, use.reserved);
	assert_int_equal(w->use.allocated, use.allocated);
	assert_int_equal(w->use.largest_free, use.largest_free);
	assert_int_equal(w->unplaced, 0);
	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < w->parts[i].n; k++) {
			const struct memory_piece *piece = &w->parts[i].pieces[k];

			for (uint64_t at = piece->address; at < piece->address + piece->bytes; at++) {
				size_t r = (at - address_of(w->parts[i].process, 0, 0)) / 1000, unit = at % 1000;

				assert_true(r < RANGES && unit < UNITS);
				seen[w->parts[i].process][r][unit] = piece->state == MEMORY_FREE ? FREE : USED;
			}
		}
	for (size_t p = 0; p < PROCESSES; p++)
		for (size_t r = 0; r < RANGES; r++)
			for (size_t k = 0; k < UNITS; k++)
				assert_int_equal(seen[p][r][k], model_of(p, r, k));
}

static void test_worst(void **state)
{
	(void)state;
	for (uint32_t with = 1; with <= 8; with++) {
		struct memory m;
		struct memory_worst *w;
		struct error e;

		setup(with);
		for (int64_t i = 0; i < ACTS; i++)
			act(10 * i, (uint16_t)(i + 1));
		assert_int_equal(memory_build(&m, &run, &e), ERR_NONE);
		assert_int_equal(memory_worst_build(&w, &m, &run, &e), ERR_NONE);
		assert_null(w[0].story);
		assert_int_equal(w[0].time_ns, m.devices[0].worst.time_ns);
		go_to(with, w[0].time_ns);
		is_the_models(&w[0]);
		memory_worst_free(w, m.n_devices);
		memory_free(&m);
		teardown();
	}
}

/* Where there was no room, that is the moment; the last of several. What happens in the same nanosecond is over by then. */
static void test_out_of_memory(void **state)
{
	(void)state;
	for (uint32_t with = 1; with <= 8; with++) {
		struct memory m;
		struct memory_worst *w;
		struct error e;
		int64_t at = 0;

		setup(with);
		for (int64_t i = 0; i < ACTS; i++) {
			act(10 * i, (uint16_t)(i + 1));
			if (i != ACTS / 4 && i != ACTS / 3)
				continue;
			at = 10 * i + 4;
			refused(at, 7, 1000);
		}
		assert_int_equal(memory_build(&m, &run, &e), ERR_NONE);
		assert_int_equal(m.devices[0].out_of_memory, 2);
		assert_int_equal(memory_worst_build(&w, &m, &run, &e), ERR_NONE);
		assert_ptr_equal(w[0].story, &m.stories.at[1]);
		assert_int_equal(w[0].time_ns, at);
		go_to(with, at);
		is_the_models(&w[0]);
		memory_worst_free(w, m.n_devices);
		memory_free(&m);
		teardown();
	}
}

static void test_nothing(void **state)
{
	struct memory m = { 0 };
	struct memory_worst *w;
	struct memory_picture p;
	const struct memory_worst empty = { 0 };
	struct error e;

	(void)state;
	setup(1);
	assert_int_equal(memory_worst_build(&w, &m, &run, &e), ERR_NONE);
	memory_worst_free(w, 0);
	refused(10, 7, 1000); /* the very first request is too much: nothing was ever held */
	assert_int_equal(memory_build(&m, &run, &e), ERR_NONE);
	assert_int_equal(memory_worst_build(&w, &m, &run, &e), ERR_NONE);
	assert_true(w[0].found);
	assert_int_equal(w[0].n, 0);
	memory_worst_free(w, m.n_devices);
	memory_free(&m);
	assert_true(memory_picture_build(&p, &empty, 10, 100));
	assert_int_equal(p.n_rows, 0);
	memory_picture_free(&p);
	teardown();
}

/* ---- a course ---- */

static uint64_t figure(const struct memory_point *p, int which)
{
	return which == 0 ? p->use.allocated : which == 1 ? p->use.reserved : p->use.largest_free;
}

/* Over the points of [begin, end), both ways; false: there are none. */
static bool extremes(const struct memory_point *points, size_t n, int64_t begin, int64_t end, int which,
		     uint64_t *least, uint64_t *most)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (points[i].time_ns < begin || points[i].time_ns >= end)
			continue;
		*least = any && *least < figure(&points[i], which) ? *least : figure(&points[i], which);
		*most = any && *most > figure(&points[i], which) ? *most : figure(&points[i], which);
		any = true;
	}
	return any;
}

/* A long calm time between two wild ones. In each of as many parts as a screen has, each figure's least and greatest are there or a neighbour's; over the
 * whole they are there exactly; and each point is one that was. */
static void test_course(void **state)
{
	enum { N = 50000, MOST = 4000 };
	static struct memory_point points[N];

	(void)state;
	seed = 5;
	for (size_t i = 0; i < N; i++) {
		points[i].time_ns = (int64_t)i * 10 + (i >= N / 2 ? 40000000 : 0);
		points[i].use =
			(struct memory_use){ 1000000 + below(1000), 2000000 + below(1000), 3000000 + below(1000) };
	}
	points[777].use.allocated = 9000000; /* one instant of 50,000 */
	points[31234].use.largest_free = 1;
	for (size_t n = N; n; n = n == N ? MOST + 1 : n == MOST + 1 ? MOST : n == MOST ? 1 : 0) {
		size_t kept;
		struct memory_point *few = memory_course(points, n, MOST, &kept);

		assert_non_null(few);
		assert_true(kept > 0 && kept <= MOST && (n > MOST || kept == n));
		for (size_t i = 0, k = 0; i < kept; i++) {
			while (k < n && memcmp(&points[k], &few[i], sizeof(few[i])) != 0)
				k++;
			assert_true(k < n); /* in their order, each once */
			k++;
		}
		assert_int_equal(few[kept - 1].time_ns, points[n - 1].time_ns);
		for (int which = 0; which < 3; which++) {
			uint64_t least = 0, most = 0, few_least = 0, few_most = 0;

			assert_true(extremes(points, n, 0, INT64_MAX, which, &least, &most));
			assert_true(extremes(few, kept, 0, INT64_MAX, which, &few_least, &few_most));
			assert_int_equal(few_least, least);
			assert_int_equal(few_most, most);
		}
		free(few);
	}
}

/* Each stretch of a five-hundredth of the points holds its extremes among what is kept from it and its two neighbours' places. */
static void test_course_locally(void **state)
{
	enum { N = 40000, MOST = 4000, STRETCHES = 200 };
	static struct memory_point points[N];
	size_t kept;
	struct memory_point *few;

	(void)state;
	seed = 6;
	for (size_t i = 0; i < N; i++) {
		points[i].time_ns = (int64_t)i * 100;
		points[i].use.allocated = 1000 + i % 200; /* a saw: every tooth is to be seen */
		points[i].use.reserved = 5000;
	}
	few = memory_course(points, N, MOST, &kept);
	assert_non_null(few);
	for (int64_t k = 0; k < STRETCHES; k++) {
		int64_t begin = points[N - 1].time_ns / STRETCHES * k,
			end = begin + 2 * points[N - 1].time_ns / STRETCHES;
		uint64_t least = 0, most = 0;

		assert_true(extremes(few, kept, begin, end, 0, &least, &most));
		assert_int_equal(least, 1000);
		assert_int_equal(most, 1199);
	}
	free(few);
}

/* ---- a map ---- */

enum { PIECES = 3000 };

/* Ranges of many small pieces, used and free in turn, with a large free one and a large used one in the middle of one of them. */
static void make_pieces(struct memory_piece *pieces)
{
	uint64_t at = 0x1000;

	seed = 9;
	for (size_t i = 0; i < PIECES; i++) {
		bool begins = i % 100 == 0;
		uint64_t bytes = i == 1250 ? 400000 : i == 1251 ? 500000 : 1 + below(200);

		at += begins ? 0x10000 : 0;
		pieces[i] = (struct memory_piece){ at, bytes, begins ? at : pieces[i - 1].owner, MEMORY_ALLOCATED,
						   i % 2 ? MEMORY_BLOCK : MEMORY_FREE };
		at += bytes;
	}
}

static void test_picture(void **state)
{
	static struct memory_piece pieces[PIECES];
	struct memory_part part = { .process = 3, .pieces = pieces, .n = PIECES };
	const struct memory_worst w = { .parts = &part, .n = 1, .found = true };
	uint64_t all = 0, used = 0;

	(void)state;
	make_pieces(pieces);
	for (size_t i = 0; i < PIECES; i++) {
		all += pieces[i].bytes;
		used += pieces[i].state == MEMORY_FREE ? 0 : pieces[i].bytes;
	}
	for (size_t most_cells = 40; most_cells <= 4000; most_cells *= 10)
		for (size_t most_rows = 5; most_rows <= 35; most_rows += 30) {
			struct memory_picture p;
			uint64_t bytes = 0, in_use = 0, pieces_seen = 0;
			size_t largest = 0;

			assert_true(memory_picture_build(&p, &w, most_rows, most_cells));
			assert_true(p.n_cells <= most_cells && p.n_rows <= most_rows);
			assert_int_equal(p.n_rows, most_rows < 30 ? most_rows : 30);
			assert_int_equal(p.rows_left_out, 30 - p.n_rows);
			for (size_t i = 0; i < p.n_rows; i++) {
				uint64_t row = 0;

				assert_int_equal(p.rows[i].process, 3);
				assert_int_equal(p.rows[i].owner, p.rows[i].address);
				for (size_t k = p.rows[i].first; k < p.rows[i].first + p.rows[i].n; k++) {
					row += p.cells[k].bytes;
					assert_true(p.cells[k].used <= p.cells[k].bytes);
					assert_true(p.cells[k].state != CELL_FREE || p.cells[k].used == 0);
					assert_true(p.cells[k].state != CELL_BLOCK ||
						    p.cells[k].used == p.cells[k].bytes);
					in_use += p.cells[k].used;
					pieces_seen += p.cells[k].pieces;
					if (p.cells[k].largest)
						assert_int_equal(p.cells[k].bytes, 400000);
					largest += p.cells[k].largest;
				}
				assert_int_equal(row, p.rows[i].bytes);
				bytes += row;
			}
			assert_int_equal(bytes + p.bytes_left_out, all);
			assert_int_equal(in_use + p.used_left_out, used);
			assert_int_equal(largest, 1); /* never merged, never left out */
			assert_true(p.rows_left_out || pieces_seen == PIECES);
			assert_true(most_cells < 4000 || most_rows < 30 || (p.n_cells == PIECES && !p.smallest));
			memory_picture_free(&p);
		}
}

/* The largest free piece stands in a small range, and the large ranges are full. */
static void test_the_largest_stays(void **state)
{
	struct memory_piece pieces[] = {
		{ 0x10000, 5000, 0x10000, MEMORY_ALLOCATED, MEMORY_WHOLE },
		{ 0x20000, 10, 0x20000, MEMORY_ALLOCATED, MEMORY_FREE },
		{ 0x30000, 6000, 0x30000, MEMORY_ALLOCATED, MEMORY_WHOLE },
	};
	struct memory_part part = { .pieces = pieces, .n = 3 };
	const struct memory_worst w = { .parts = &part, .n = 1, .found = true };
	struct memory_picture p;

	(void)state;
	assert_true(memory_picture_build(&p, &w, 2, 100));
	assert_int_equal(p.n_rows, 2);
	assert_int_equal(p.rows[0].address, 0x20000); /* by address */
	assert_true(p.cells[0].largest);
	assert_int_equal(p.rows[1].address, 0x30000);
	assert_int_equal(p.bytes_left_out, 5000);
	assert_int_equal(p.used_left_out, 5000);
	memory_picture_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worst),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_course),
		cmocka_unit_test(test_course_locally),
		cmocka_unit_test(test_picture),
		cmocka_unit_test(test_the_largest_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
