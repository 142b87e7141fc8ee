/* SPDX-License-Identifier: BSD-2-Clause */
/* Which call asked for which work: cases by hand, and random ones against a model that looks at every call for every piece of work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "tests/unit/import_built.h"

static uint32_t process;

static void begin(void)
{
	build = import_build_new("t.json", "kineto");
	assert_non_null(build);
	process = import_process(build, 1);
}

static const struct trace *finish(void)
{
	struct error e;

	assert_int_equal(import_build_finish(&traces, &n_traces, build, NULL, &e), ERR_NONE);
	assert_int_equal(n_traces, 1);
	return traces[0];
}

static uint32_t name_of(const char *name)
{
	return import_name(build, (struct import_text){ name, strlen(name) });
}

static void call_in(uint32_t tid, const char *name, int64_t begin_ns, int64_t end_ns, uint64_t correlation,
		    uint64_t stream, int32_t result)
{
	import_call(build, &(struct import_call){ .place = (uint64_t)begin_ns,
						  .begin_ns = begin_ns,
						  .end_ns = end_ns,
						  .process = process,
						  .tid = tid,
						  .name = name_of(name),
						  .result = result,
						  .correlation = correlation,
						  .stream = stream,
						  .device = IMPORT_NO_DEVICE });
}

static void call(uint32_t tid, const char *name, int64_t begin_ns, int64_t end_ns, uint64_t correlation)
{
	call_in(tid, name, begin_ns, end_ns, correlation, IMPORT_NO_STREAM, 0);
}

static void work_on(uint32_t device, uint64_t stream, int64_t begin_ns, int64_t end_ns, uint64_t correlation,
		    uint8_t kind, uint8_t copy)
{
	import_work(build, &(struct import_work){ .place = (uint64_t)begin_ns,
						  .begin_ns = begin_ns,
						  .end_ns = end_ns,
						  .process = process,
						  .device = device,
						  .stream = stream,
						  .context = 1,
						  .correlation = correlation,
						  .name = kind == GST_ACTIVITY_KERNEL ? name_of("k") : 0,
						  .kind = kind,
						  .copy = copy });
}

static void kernel(uint64_t stream, int64_t begin_ns, int64_t end_ns, uint64_t correlation)
{
	work_on(0, stream, begin_ns, end_ns, correlation, GST_ACTIVITY_KERNEL, 0);
}

/* ---- by hand ---------------------------------------------------------------------------------------------- */

static void test_the_outer_call_counts(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	call(1, "cudaLaunchKernel", 100, 200, 7);
	call(1, "cuLaunchKernel", 120, 180, 8);
	call(2, "cuLaunchKernel", 130, 170, 9);        /* another thread's */
	call(1, "cudaStreamSynchronize", 200, 300, 0); /* right behind */
	kernel(5, 400, 500, 8);
	kernel(5, 300, 350, 9);
	kernel(5, 510, 520, 7);
	t = finish();
	assert_int_equal(t->n_calls, 3);
	assert_int_equal(t->imported->inside, 1);
	assert_string_equal(t->hooks[t->calls[0].hook], "cudaLaunchKernel");
	assert_int_equal(t->calls[0].seq, 1);
	assert_int_equal(t->calls[1].seq, 2);
	assert_int_equal(t->calls[2].flags, 0);
	assert_int_equal(t->measured[0].seq, 2); /* ran first, launched second: harmless */
	assert_int_equal(t->measured[1].seq, 1);
	assert_int_equal(t->measured[2].seq, 1);
}

/* Times cut to whole microseconds: what is inside may end behind what it is in, and what that holds still later. */
static void test_one_call_of_two_layers(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	call(1, "cudaLaunchKernel", 100, 200, 7);
	call(1, "cuLaunchKernel", 110, 210, 7);
	call(1, "cuCtxGetCurrent", 205, 208, 0);
	call(1, "cudaLaunchKernel", 300, 400, 8);
	call(1, "cudaLaunchKernel", 390, 410, 9); /* another launch, whatever its begin */
	call(1, "cudaMemcpyAsync", 3000, 4000, 10);
	call(1, "cudaMemcpyAsync", 3500, 6000, 10); /* more than is cut */
	kernel(5, 7500, 7510, 7);
	kernel(5, 7510, 7520, 8);
	kernel(5, 7520, 7530, 9);
	work_on(0, 5, 7530, 7540, 10, GST_ACTIVITY_COPY, GST_COPY_D2D);
	t = finish();
	assert_int_equal(t->n_calls, 5);
	assert_int_equal(t->imported->inside, 2);
	assert_false(t->imported->incomplete);
	assert_int_equal(t->calls[0].end_ns, 200);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(t->calls[i].seq, i + 1);
		assert_int_equal(t->measured[i].seq, i + 1);
	}
}

/* By a clock of whole microseconds much takes no time. What is over as another begins is not inside it, but with its number. */
static void test_calls_that_take_no_time(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	call(1, "cudaLaunchKernel", 100, 200, 8);
	call(1, "cudaFuncSetAttribute", 100, 100, 7);
	call(1, "cudaGetLastError", 150, 150, 9); /* inside */
	call(1, "cudaGetLastError", 200, 200, 10);
	call(2, "cuLaunchKernel", 300, 300, 12); /* the same one in two layers */
	call(2, "cudaGetDevice", 300, 300, 11);
	call(2, "cudaLaunchKernel", 300, 400, 12);
	call(2, "cudaGetLastError", 400, 400, 13);
	call(3, "cuEventQuery", 500, 500, 0); /* no numbers */
	call(3, "cuEventQuery", 500, 600, 0);
	kernel(5, 700, 710, 8);
	kernel(5, 710, 720, 12);
	t = finish();
	assert_int_equal(t->n_calls, 8);
	assert_int_equal(t->imported->inside, 2);
	assert_int_equal(t->imported->without_work, 0);
	assert_string_equal(t->hooks[t->calls[0].hook], "cudaFuncSetAttribute");
	assert_string_equal(t->hooks[t->calls[1].hook], "cudaLaunchKernel");
	assert_int_equal(t->calls[1].seq, 1);
	assert_string_equal(t->hooks[t->calls[3].hook], "cudaGetDevice");
	assert_string_equal(t->hooks[t->calls[4].hook], "cudaLaunchKernel");
	assert_int_equal(t->calls[4].end_ns, 400);
	assert_int_equal(t->calls[4].seq, 2);
}

/* By a clock of whole microseconds the driver's part may begin where the call around it ends, or a microsecond later. */
static void test_a_drivers_part_behind_its_call(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	call(1, "cudaLaunchKernel", 10000, 15000, 8);
	call(1, "cuLaunchKernel", 15000, 15000, 8);
	call(1, "cudaLaunchKernel", 20000, 24000, 9);
	call(1, "cuLaunchKernel", 25000, 25000, 9);
	call(1, "cudaLaunchKernel", 30000, 34000, 10);
	call(1, "cuLaunchKernel", 36000, 36000, 10); /* another one */
	call(1, "cudaLaunchKernel", 40000, 44000, 11);
	call(1, "cuLaunchKernel", 44000, 44000, 12); /* likewise */
	for (int i = 0; i < 5; i++)
		kernel(5, 50000 + 1000 * i, 50500 + 1000 * i, (uint64_t)i + 8);
	t = finish();
	assert_int_equal(t->n_calls, 6);
	assert_int_equal(t->imported->inside, 2);
	assert_int_equal(t->calls[1].end_ns, 24000);
	assert_int_equal(t->calls[3].begin_ns, 36000);
}

/* Work of another process shows until when the tool looked. */
static void test_launches_alone(void **state)
{
	(void)state;
	begin();
	call(1, "cudaLaunchKernel", 100, 200, 7);
	call(1, "cudaLaunchKernel", 300, 400, 8);
	assert_true(finish()->imported->incomplete);
	forget(NULL);
	for (int64_t at = 150; at <= 350; at += 100) {
		struct error e;

		begin();
		call(1, "cudaLaunchKernel", 200, 250, 7);
		process = import_process(build, 2);
		call(2, "cudaLaunchKernel", 10, 20, 8);
		kernel(5, at, at + 1, 8);
		assert_int_equal(import_build_finish(&traces, &n_traces, build, NULL, &e), ERR_NONE);
		assert_int_equal(traces[0]->imported->incomplete, at > 200);
		assert_false(traces[1]->imported->incomplete);
		forget(NULL);
	}
	begin();
	call(1, "cudaStreamSynchronize", 100, 200, 7);
	assert_false(finish()->imported->incomplete);
}

static void test_a_graphs_nodes_are_their_launch(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	call_in(1, "cudaGraphLaunch", 100, 200, 7, 9, 0);
	call(1, "cudaLaunchKernel", 210, 220, 8);
	kernel(33, 300, 310, 7);
	kernel(34, 305, 320, 7);
	kernel(9, 400, 410, 8);
	t = finish();
	assert_int_equal(t->calls[0].family, GST_FAMILY_GRAPH_LAUNCH);
	assert_int_equal(t->streams[t->calls[0].stream].handle, 9);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(t->measured[i].stream, t->calls[0].stream);
		assert_int_equal(t->measured[i].seq, 1);
	}
	assert_int_equal(t->measured[2].seq, 2);
	assert_int_equal(t->calls[0].name, 0);
}

static void test_without_a_partner(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	call(1, "cudaLaunchKernel", 100, 110, 1); /* no work */
	call(1, "cudaMemcpyAsync", 120, 130, 2);  /* none: may be so */
	call(1, "cudaStreamBeginCapture", 140, 141, 0);
	call(1, "cudaLaunchKernel", 150, 160, 3); /* captured */
	call(1, "cudaStreamEndCapture", 170, 171, 0);
	call_in(1, "cudaLaunchKernel", 180, 190, 4, IMPORT_NO_STREAM, 700); /* failed */
	call(1, "cudaLaunchKernel", 200, 210, 5);
	kernel(2, 300, 310, 99);
	kernel(2, 320, 330, 0);
	kernel(2, 340, 350, 5);
	work_on(0, IMPORT_NO_STREAM, 360, 370, 5, GST_ACTIVITY_KERNEL, 0);
	t = finish();
	assert_int_equal(t->imported->without_work, 1);
	assert_true(t->imported->incomplete); /* one launch of two */
	assert_int_equal(t->calls[0].flags, 0);
	assert_int_equal(t->calls[3].flags, GST_CAPTURED);
	assert_int_equal(t->calls[5].flags, 0);
	assert_int_equal(t->calls[5].result, 700);
	assert_int_equal(t->calls[6].seq, 1);
	assert_int_equal(t->measured[0].seq, 0);
	assert_int_equal(t->measured[1].seq, 0);
	assert_int_equal(t->measured[2].seq, 1);
	assert_int_equal(t->measured[3].seq, 0);
}

static void test_numbers_that_come_again(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	call(1, "cudaLaunchKernel", 100, 110, 7);
	call(1, "cudaLaunchKernel", 200, 210, 7);
	call(1, "cudaLaunchKernel", 300, 310, 7);
	kernel(2, 250, 260, 7);
	kernel(2, 150, 160, 7);
	kernel(2, 350, 360, 7);
	kernel(2, 50, 60, 7); /* before all of them */
	t = finish();
	assert_int_equal(t->measured[0].begin_ns, 50);
	assert_int_equal(t->measured[0].seq, 1);
	assert_int_equal(t->measured[1].seq, 1);
	assert_int_equal(t->measured[2].seq, 2);
	assert_int_equal(t->measured[3].seq, 3);
}

static void test_who_waits(void **state)
{
	static const struct {
		const char *name;
		uint8_t copy;
		bool blocking;
	} cases[] = {
		{ "cudaMemcpy", GST_COPY_D2H_PINNED, true },       { "cudaMemcpy", GST_COPY_H2D_PINNED, true },
		{ "cudaMemcpy", GST_COPY_H2D_PAGEABLE, false },    { "cudaMemcpy", GST_COPY_D2D, false },
		{ "cudaMemcpyAsync", GST_COPY_D2H_PINNED, false }, { "cudaMemcpyAsync", GST_COPY_D2H_PAGEABLE, true },
		{ "cuMemcpyDtoH_v2", GST_COPY_D2H_PINNED, true },
	};
	enum { N = sizeof(cases) / sizeof(cases[0]) };
	const struct trace *t;

	(void)state;
	begin();
	for (int i = 0; i < N; i++) {
		call(1, cases[i].name, 100 * i, 100 * i + 50, 1u + (unsigned)i);
		work_on(0, 3, 100 * i + 10, 100 * i + 20, 1u + (unsigned)i, GST_ACTIVITY_COPY, cases[i].copy);
	}
	t = finish();
	for (int i = 0; i < N; i++) {
		assert_int_equal(t->calls[i].flags, GST_SUBMISSION | (cases[i].blocking ? GST_BLOCKING : 0));
		assert_int_equal(t->calls[i].detail, cases[i].copy);
	}
}

static void test_streams_that_calls_name(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	call(1, "cudaLaunchKernel", 100, 110, 1);
	call(1, "cudaLaunchKernel", 120, 130, 2);
	call_in(1, "cudaStreamSynchronize", 200, 300, 0, 5, 0);
	call_in(1, "cudaStreamSynchronize", 310, 400, 0, 6, 0);
	call_in(1, "cudaStreamSynchronize", 410, 500, 0, 7, 0);
	call(1, "cudaDeviceSynchronize", 510, 520, 0);
	call(2, "cudaDeviceSynchronize", 530, 540, 0);
	kernel(5, 150, 160, 1);
	work_on(0, 6, 170, 180, 2, GST_ACTIVITY_KERNEL, 0);
	work_on(1, 6, 190, 195, 0, GST_ACTIVITY_KERNEL, 0); /* another stream 6 */
	t = finish();
	assert_int_equal(t->streams[t->calls[2].stream].handle, 5);
	assert_int_equal(t->calls[2].seq, 1);
	assert_int_equal(t->calls[3].stream, GST_NONE);
	assert_int_equal(t->calls[4].stream, GST_NONE);
	assert_int_equal(t->calls[5].args[0], 1); /* the context */
	assert_int_equal(t->calls[6].args[0], 1); /* the only one */
}

/* What no row is about and puts work into a stream all the same. */
static void test_calls_of_tomorrow(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	call(1, "cudaDoEverything", 100, 110, 1);
	call(1, "cudaDoEverything", 120, 130, 2);
	kernel(5, 150, 160, 1);
	work_on(0, 5, 170, 180, 2, GST_ACTIVITY_MEMSET, 0);
	t = finish();
	assert_int_equal(t->calls[0].family, GST_FAMILY_LAUNCH);
	assert_string_equal(t->kernels[t->calls[0].name], "k");
	assert_int_equal(t->calls[1].family, GST_FAMILY_MEMSET);
	assert_int_equal(t->calls[1].seq, 2);
}

/* ---- at random -------------------------------------------------------------------------------------------- */

enum { CALLS = 60, WORKS = 90 };

struct told {
	int64_t begin_ns, end_ns;
	uint64_t correlation, stream;
	uint32_t tid;
};

static uint32_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static bool inside(const struct told *c, const struct told *o)
{
	return c != o && c->tid == o->tid && c->begin_ns >= o->begin_ns && c->end_ns <= o->end_ns &&
	       c->begin_ns < o->end_ns && (c->begin_ns != o->begin_ns || c->end_ns != o->end_ns || o < c);
}

/* Calls that are not inside another, or inside one that is: the model takes the outermost. Overlaps of one thread are not made here. */
static const struct told *outermost(const struct told *calls, const struct told *c)
{
	for (bool more = true; more;) {
		more = false;
		for (int i = 0; i < CALLS && !more; i++)
			if (inside(c, &calls[i])) {
				c = &calls[i];
				more = true;
			}
	}
	return c;
}

static const struct told *model(const struct told *calls, const struct told *w)
{
	const struct told *best = NULL, *first = NULL;

	for (int i = 0; i < CALLS; i++) {
		const struct told *outer = outermost(calls, &calls[i]);

		if (!w->correlation || calls[i].correlation != w->correlation)
			continue;
		if (outer->begin_ns <= w->begin_ns && (!best || outer->begin_ns > best->begin_ns))
			best = outer;
		if (!first || outer->begin_ns < first->begin_ns)
			first = outer;
	}
	return best ? best : first;
}

/* The call in the trace that has this place; NULL none. */
static const struct call *placed(const struct trace *t, uint32_t stream, uint64_t seq)
{
	const struct call *found = NULL;

	for (size_t i = 0; i < t->n_calls; i++)
		if ((t->calls[i].flags & GST_SUBMISSION) && t->calls[i].stream == stream && t->calls[i].seq == seq) {
			assert_null(found); /* nobody shares a place */
			found = &t->calls[i];
		}
	return found;
}

static void check(const struct trace *t, const struct told *calls, const struct told *works)
{
	uint64_t last[8] = { 0 };

	for (size_t i = 0; i < t->n_calls; i++) /* in the order of their begin, one after the other */
		if (t->calls[i].flags & GST_SUBMISSION)
			assert_int_equal(t->calls[i].seq, ++last[t->calls[i].stream]);
	for (size_t i = 0; i < t->n_measured; i++) {
		const struct measured *m = &t->measured[i];
		const struct call *c = m->seq ? placed(t, m->stream, m->seq) : NULL;
		const struct told *asked = NULL;

		for (int k = 0; k < WORKS; k++)
			if (works[k].begin_ns == m->begin_ns)
				asked = model(calls, &works[k]);
		assert_int_equal(c != NULL, asked != NULL);
		if (c)
			assert_int_equal(c->begin_ns, asked->begin_ns);
	}
}

/* Every begin is another, calls of a thread nest or are apart. */
static void test_at_random(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= 300; round++) {
		struct told calls[CALLS], works[WORKS];
		uint64_t seed = round;
		uint32_t few = 1 + next(&seed) % 60;

		begin();
		for (int i = 0; i < CALLS; i++) {
			struct told *c = &calls[i];
			int64_t slot = i / 3 * 1000, in = i % 3 * 100;

			*c = (struct told){ .begin_ns = slot + in,
					    .tid = next(&seed) % 2,
					    .correlation = next(&seed) % few };
			c->end_ns = next(&seed) % 2 ? slot + 900 - in : slot + in + 50;
			call(c->tid, "cudaLaunchKernel", c->begin_ns, c->end_ns, c->correlation);
		}
		for (int i = 0; i < WORKS; i++) {
			works[i] = (struct told){ .begin_ns = (int64_t)(next(&seed) % 22) * 1000 + 7 * i + 1,
						  .correlation = next(&seed) % few,
						  .stream = next(&seed) % 4 };
			for (int k = 0; k < i; k++)
				if (works[k].begin_ns == works[i].begin_ns)
					works[i].begin_ns = 100000 + i;
			kernel(works[i].stream, works[i].begin_ns, works[i].begin_ns + 5, works[i].correlation);
		}
		check(finish(), calls, works);
		forget(NULL);
	}
}

/* One number for everything must not take the square of the time. */
static void test_one_number_for_all(void **state)
{
	enum { N = 200000 };
	const struct trace *t;

	(void)state;
	begin();
	for (int i = 0; i < N; i++) {
		call(1, "cudaLaunchKernel", 10 * i, 10 * i + 5, 1);
		kernel(1, 10 * i + 6, 10 * i + 7, 1);
	}
	t = finish();
	assert_int_equal(t->n_calls, N);
	for (int i = 0; i < N; i++)
		assert_int_equal(t->measured[i].seq, i + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_the_outer_call_counts, forget),
		cmocka_unit_test_teardown(test_one_call_of_two_layers, forget),
		cmocka_unit_test_teardown(test_calls_that_take_no_time, forget),
		cmocka_unit_test_teardown(test_a_drivers_part_behind_its_call, forget),
		cmocka_unit_test_teardown(test_launches_alone, forget),
		cmocka_unit_test_teardown(test_a_graphs_nodes_are_their_launch, forget),
		cmocka_unit_test_teardown(test_without_a_partner, forget),
		cmocka_unit_test_teardown(test_numbers_that_come_again, forget),
		cmocka_unit_test_teardown(test_who_waits, forget),
		cmocka_unit_test_teardown(test_streams_that_calls_name, forget),
		cmocka_unit_test_teardown(test_calls_of_tomorrow, forget),
		cmocka_unit_test_teardown(test_at_random, forget),
		cmocka_unit_test_teardown(test_one_number_for_all, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
