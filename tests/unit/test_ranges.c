/* SPDX-License-Identifier: BSD-2-Clause */
/* Which ranges are steps; where a thread was, held against a naive answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "steps/phases.h"

#define RANGES 400

struct case_of_ranges {
	struct trace trace;
	struct trace *traces[1];
	struct run run;
	struct range ranges[RANGES];
	struct call calls[1];
	struct steps steps;
};

static void begin(struct case_of_ranges *c)
{
	*c = (struct case_of_ranges){ .trace = { .end_ns = 1000000 } };
	c->calls[0] = (struct call){ .tid = 1, .flags = GST_SUBMISSION };
	c->trace.calls = c->calls;
	c->trace.n_calls = 1;
	c->trace.ranges = c->ranges;
	c->traces[0] = &c->trace;
	c->run.traces = c->traces;
	c->run.n_traces = 1;
}

/* A name that ends with # is numbered. */
static void add(struct case_of_ranges *c, const char *name, uint32_t tid, int64_t from, int64_t to)
{
	size_t n = c->trace.n_ranges++;
	const char *same = NULL;

	assert_true(n < RANGES);
	for (size_t i = 0; i < n; i++) /* as the recorder, which keeps each text once */
		if (strcmp(c->ranges[i].name, name) == 0)
			same = c->ranges[i].name;
	c->ranges[n] = (struct range){ .begin_ns = from,
				       .end_ns = to,
				       .name = same ? same : name,
				       .id = (uint32_t)n + 1,
				       .tid = tid,
				       .ended_by = tid,
				       .kind = GST_RANGE_PUSHED };
	if (name[strlen(name) - 1] == '#') {
		c->ranges[n].numbered = true;
		c->ranges[n].number = (uint32_t)n;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static const struct trace_steps *find(struct case_of_ranges *c)
{
	struct error e;

	qsort(c->ranges, c->trace.n_ranges, sizeof(c->ranges[0]), by_time);
	assert_int_equal(steps_build(&c->steps, &c->run, &e), ERR_NONE);
	return steps_of(&c->steps, &c->trace);
}

static void named_ones_are_steps(void **state)
{
	static const char *const yes[] = { "step #",      "Step", "ProfilerStep##", "train_step",
					   "iteration #", "iter", "batch #",        "[pl][profile]run_training_batch" };
	static const char *const no[] = { "epoch #", "footstep", "stepping", "training", "main" };

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		struct case_of_ranges c;
		const struct trace_steps *s;

		begin(&c);
		add(&c, "fit", 1, 0, 900);
		for (int64_t k = 0; k < 2; k++) {
			add(&c, yes[i], 1, 100 + k * 100, 180 + k * 100);
			add(&c, "forward", 1, 110 + k * 100, 150 + k * 100);
		}
		s = find(&c);
		assert_non_null(s);
		assert_string_equal(s->like->name, yes[i]);
		assert_int_equal(s->n, 2);
		assert_true(s->encloses);
		assert_int_equal(s->at[0].begin_ns, 100);
		assert_int_equal(s->at[0].end_ns, 200);
		assert_int_equal(s->at[1].end_ns, 280);
		assert_ptr_equal(steps_at(s, 199), &s->at[0]);
		assert_ptr_equal(steps_at(s, 200), &s->at[1]);
		assert_null(steps_at(s, 99));
		assert_null(steps_at(s, 280));
		steps_free(&c.steps);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		struct case_of_ranges c;

		begin(&c);
		add(&c, no[i], 1, 100, 180);
		add(&c, no[i], 1, 200, 280);
		assert_null(find(&c));
		steps_free(&c.steps);
	}
}

static void the_outermost_that_repeats(void **state)
{
	struct case_of_ranges c;
	const struct trace_steps *s;

	(void)state;
	begin(&c);
	for (int64_t epoch = 0; epoch < 3; epoch++) {
		add(&c, "epoch #", 1, epoch * 1000, epoch * 1000 + 900);
		for (int64_t k = 0; k < 4; k++) {
			add(&c, "work", 1, epoch * 1000 + 100 + k * 200, epoch * 1000 + 290 + k * 200);
			add(&c, "inner", 1, epoch * 1000 + 110 + k * 200, epoch * 1000 + 150 + k * 200);
		}
	}
	for (int64_t k = 0; k < 100; k++) /* of a thread that submits nothing, and two that are no loop: they overlap */
		add(&c, "loading", 2, k * 20, k * 20 + 19);
	for (int64_t k = 0; k < 5; k++)
		add(&c, "request", 1, 2950 + k, 3000 + k);
	s = find(&c);
	assert_non_null(s);
	assert_string_equal(s->like->name, "work");
	assert_true(s->encloses);
	assert_int_equal(s->n, 12);
	steps_free(&c.steps);
}

static void side_by_side(void **state)
{
	struct case_of_ranges c;
	const struct trace_steps *s;

	(void)state;
	begin(&c);
	for (int64_t k = 0; k < 4; k++) {
		add(&c, "load", 1, k * 100, k * 100 + 10);
		add(&c, "forward", 1, k * 100 + 20, k * 100 + 50);
		add(&c, "backward", 1, k * 100 + 50, k * 100 + 90);
	}
	s = find(&c);
	assert_non_null(s);
	assert_string_equal(s->like->name, "load");
	assert_false(s->encloses);
	assert_int_equal(s->at[3].end_ns, 400);
	steps_free(&c.steps);
}

static void libraries_have_no_steps(void **state)
{
	struct case_of_ranges c;

	(void)state;
	begin(&c);
	for (int64_t k = 0; k < 9; k++) {
		add(&c, "ncclAllReduce", 1, k * 100, k * 100 + 10);
		c.ranges[c.trace.n_ranges - 1].domain = "NCCL";
	}
	assert_null(find(&c));
	steps_free(&c.steps);
}

/* Its batches are about data for later steps; which is further out says nothing between threads. */
static void a_loaders_batches_are_no_steps(void **state)
{
	static const char *const rows[][2] = { { "batch #", "forward" },
					       { "batch #", "step #" },
					       { "step #", "step #" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct case_of_ranges c;
		const struct trace_steps *s;

		begin(&c);
		add(&c, "epoch #", 1, 0, 1990);
		for (int64_t k = 0; k < 9; k++) {
			add(&c, rows[i][0], 2, k * 50, k * 50 + 40);
			add(&c, rows[i][1], 1, 100 + k * 100, 190 + k * 100);
		}
		s = find(&c);
		assert_non_null(s);
		assert_int_equal(s->like->tid, 1);
		assert_string_equal(s->like->name, rows[i][1]);
		steps_free(&c.steps);
	}
}

static void a_lost_end_hides_no_steps(void **state)
{
	struct case_of_ranges c;
	const struct trace_steps *s;

	(void)state;
	begin(&c);
	for (int64_t k = 0; k < 6; k++) {
		add(&c, "step #", 1, k * 100, k == 2 ? INT64_MAX : k * 100 + 90);
		c.ranges[c.trace.n_ranges - 1].kind = GST_RANGE_STARTED;
		add(&c, "forward", 1, k * 100 + 10, k * 100 + 50);
	}
	s = find(&c);
	assert_non_null(s);
	assert_string_equal(s->like->name, "step #");
	assert_int_equal(s->n, 6);
	assert_int_equal(s->at[2].end_ns, 300);
	assert_int_equal(s->at[5].end_ns, 590);
	steps_free(&c.steps);
}

/* Its begin is the last sign of life; those before it last until then, also where that is behind the trace's end. */
static void the_last_step_does_not_end_before_it_begins(void **state)
{
	(void)state;
	for (int siblings = 0; siblings < 2; siblings++) {
		struct case_of_ranges c;
		const struct trace_steps *s;

		begin(&c);
		c.trace.end_ns = 350;
		for (int64_t k = 0; k < 5; k++) {
			add(&c, siblings ? "load" : "step #", 1, k * 100, k == 4 ? INT64_MAX : k * 100 + 40);
			if (siblings && k < 4)
				add(&c, "forward", 1, k * 100 + 50, k * 100 + 90);
		}
		s = find(&c);
		assert_non_null(s);
		assert_int_equal(s->encloses, !siblings);
		assert_int_equal(s->n, 5);
		assert_int_equal(s->at[3].end_ns, 400);
		assert_int_equal(s->at[4].begin_ns, 400);
		assert_int_equal(s->at[4].end_ns, 400);
		steps_free(&c.steps);
	}
}

/* Ranges that never end, once all gone through for each next one; and lengths whose sum no number can hold. */
static void many_that_never_end(void **state)
{
	enum { MANY = 300000 };
	static struct range ranges[MANY];
	struct case_of_ranges c;
	const struct trace_steps *s;

	(void)state;
	begin(&c);
	c.trace.ranges = ranges;
	c.trace.n_ranges = MANY;
	for (size_t i = 0; i < MANY; i++)
		ranges[i] = (struct range){ .begin_ns = (int64_t)i * 10,
					    .end_ns = i % 2 ? (INT64_C(1) << 62) + (int64_t)i : INT64_MAX,
					    .name = i % 2 ? "request" : "job",
					    .id = (uint32_t)i + 1,
					    .tid = 1,
					    .kind = GST_RANGE_STARTED };
	assert_int_equal(steps_build(&c.steps, &c.run, &(struct error){ 0 }), ERR_NONE);
	s = steps_of(&c.steps, &c.trace);
	assert_non_null(s);
	assert_string_equal(s->like->name, "job");
	steps_free(&c.steps);
}

/* ---- where a thread was -------------------------------------------------------------------------------------------------- */

/* What has begun by then and not ended, in the order of begins. */
static void naive_path(char *buf, size_t size, const struct case_of_ranges *c, uint32_t tid, int64_t ns)
{
	buf[0] = 0;
	for (size_t i = 0; i < c->trace.n_ranges; i++) {
		const struct range *r = &c->ranges[i];

		if (r->tid == tid && r->begin_ns <= ns && ns < r->end_ns)
			snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", buf[0] ? " > " : "", r->name);
	}
}

static void as_the_naive_answer(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };

	(void)state;
	srand(1);
	for (int round = 0; round < 300; round++) {
		struct case_of_ranges c;
		struct range_stacks s;
		struct error e;

		begin(&c);
		for (int i = 0; i < 1 + rand() % 24; i++) { /* nested, overlapping, empty */
			int64_t from = rand() % 200;

			add(&c, names[rand() % 5], 1 + (uint32_t)rand() % 2, from, from + rand() % 60);
		}
		qsort(c.ranges, c.trace.n_ranges, sizeof(c.ranges[0]), by_time);
		if (rand() % 4 == 0)
			c.ranges[c.trace.n_ranges - 1].end_ns = INT64_MAX;
		assert_int_equal(range_stacks_build(&s, &c.run, &c.steps, &e), ERR_NONE);
		for (int64_t ns = -1; ns < 270; ns++) {
			char want[512], have[512];
			struct in_ranges in;
			uint32_t tid = 1 + (uint32_t)ns % 2;

			assert_true(range_stacks_at(&s, &c.trace, tid, ns, &in));
			assert_true(in.until_ns > ns);
			naive_path(want, sizeof(want), &c, tid, ns);
			assert_string_equal(range_path(have, sizeof(have), &s, in.node), want);
			for (int64_t later = ns; later < in.until_ns && later < 270; later++) { /* as long as it says */
				naive_path(have, sizeof(have), &c, tid, later);
				assert_string_equal(have, want);
			}
		}
		range_stacks_free(&s);
	}
}

static void numbers_that_count_on_are_left_out(void **state)
{
	struct case_of_ranges c;
	struct range_stacks s;
	struct in_ranges in;
	struct error e;
	char path[64];

	(void)state;
	begin(&c);
	for (int64_t k = 0; k < 100; k++) {
		add(&c, "batch #", 1, k * 10, k * 10 + 9);
		add(&c, "layer #", 1, k * 10 + 2, k * 10 + 5);
		c.ranges[c.trace.n_ranges - 2].name = "batch ";
		c.ranges[c.trace.n_ranges - 1].name = "layer ";
		c.ranges[c.trace.n_ranges - 1].number = (uint32_t)k % 4;
	}
	assert_int_equal(range_stacks_build(&s, &c.run, &c.steps, &e), ERR_NONE);
	assert_true(range_stacks_at(&s, &c.trace, 1, 53, &in));
	assert_string_equal(range_path(path, sizeof(path), &s, in.node), "batch # > layer 1");
	assert_int_equal(s.n_nodes, 2 + 1 + 4);
	range_stacks_free(&s);
}

/* Started and not known to have ended: of all that there is place for, the oldest go. */
static void leaked_ones_hide_nothing(void **state)
{
	struct case_of_ranges c;
	struct range_stacks s;
	struct in_ranges in;
	struct error e;
	char path[1024];

	(void)state;
	begin(&c);
	for (int64_t k = 0; k < 100; k++) {
		add(&c, "leaked", 1, k * 10, INT64_MAX);
		c.ranges[c.trace.n_ranges - 1].kind = GST_RANGE_STARTED;
	}
	add(&c, "forward", 1, 2000, 2100);
	assert_int_equal(range_stacks_build(&s, &c.run, &c.steps, &e), ERR_NONE);
	assert_true(range_stacks_at(&s, &c.trace, 1, 2050, &in));
	assert_non_null(in.innermost);
	assert_string_equal(in.innermost->name, "forward");
	range_path(path, sizeof(path), &s, in.node);
	assert_string_equal(path + strlen(path) - 9, "> forward");
	assert_true(range_stacks_at(&s, &c.trace, 1, 2150, &in));
	assert_string_equal(in.innermost->name, "leaked");
	range_stacks_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_ones_are_steps),
		cmocka_unit_test(the_outermost_that_repeats),
		cmocka_unit_test(side_by_side),
		cmocka_unit_test(libraries_have_no_steps),
		cmocka_unit_test(a_loaders_batches_are_no_steps),
		cmocka_unit_test(a_lost_end_hides_no_steps),
		cmocka_unit_test(the_last_step_does_not_end_before_it_begins),
		cmocka_unit_test(many_that_never_end),
		cmocka_unit_test(leaked_ones_hide_nothing),
		cmocka_unit_test(as_the_naive_answer),
		cmocka_unit_test(numbers_that_count_on_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
