/* SPDX-License-Identifier: BSD-2-Clause */
/* launch_program.h: a program by its launches, copies and waits, made call by call, whose steps are known; and what steps_build finds in it. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "steps/steps.h"

#define MAX_NAMES 256
#define MAX_STEPS 8192
#define MAIN 1
#define AUTOGRAD 2
#define WORKER 3

/* A program: its calls, and when its steps begin. */
struct program {
	struct trace trace;
	struct trace *traces[1];
	struct run run;
	struct call *calls;
	size_t cap;
	char names[MAX_NAMES][48];
	const char *kernels[MAX_NAMES];
	struct graph graphs[4];
	size_t n_names;
	int64_t now;
	int64_t truth[MAX_STEPS];
	size_t n_truth;
	uint32_t tid;
	uint64_t random;
	struct steps steps;
};

static uint64_t below(struct program *p, uint64_t n)
{
	p->random = p->random * 6364136223846793005u + 1442695040888963407u;
	return (p->random >> 33) % n;
}

static struct program *begin_with(uint64_t seed, size_t cap)
{
	struct program *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->cap = cap;
	p->calls = calloc(cap, sizeof(*p->calls));
	assert_non_null(p->calls);
	p->trace.calls = p->calls;
	p->trace.kernels = p->kernels;
	p->kernels[0] = "";
	p->n_names = 1;
	p->graphs[1].work = 60;
	p->graphs[2].work = 25;
	p->trace.graphs = p->graphs;
	p->trace.n_graphs = 3;
	p->traces[0] = &p->trace;
	p->run.traces = p->traces;
	p->run.n_traces = 1;
	p->now = 1000000;
	p->tid = MAIN;
	p->random = seed;
	return p;
}

static struct program *begin(uint64_t seed)
{
	return begin_with(seed, 100000);
}

static void end(struct program *p)
{
	steps_free(&p->steps);
	free(p->calls);
	free(p);
}

static struct call *submit(struct program *p, uint8_t family, int64_t takes_ns)
{
	struct call *c = &p->calls[p->trace.n_calls++];

	assert_true(p->trace.n_calls <= p->cap);
	p->now += 500 + (int64_t)below(p, 500);
	*c = (struct call){ .begin_ns = p->now, .tid = p->tid, .family = family, .flags = GST_SUBMISSION };
	p->now += takes_ns;
	c->end_ns = p->now;
	p->trace.end_ns = p->now;
	return c;
}

static uint32_t name(struct program *p, const char *text)
{
	for (size_t i = 1; i < p->n_names; i++)
		if (strcmp(p->names[i], text) == 0)
			return (uint32_t)i;
	assert_true(p->n_names < MAX_NAMES);
	snprintf(p->names[p->n_names], sizeof(p->names[0]), "%s", text);
	p->kernels[p->n_names] = p->names[p->n_names];
	return (uint32_t)p->n_names++;
}

static void launch(struct program *p, const char *text)
{
	struct call *c = submit(p, GST_FAMILY_LAUNCH, 4000);

	c->name = name(p, text);
	c->args[0] = 1 + below(p, 1000); /* grids say nothing */
}

static void copy(struct program *p, uint16_t kind, uint64_t bytes)
{
	struct call *c = submit(p, GST_FAMILY_COPY, kind == GST_COPY_D2H_PAGEABLE ? 400000 : 6000);

	c->detail = kind;
	c->args[0] = bytes;
}

static void item(struct program *p)
{
	copy(p, GST_COPY_D2H_PAGEABLE, 4);
}

static void pause_us(struct program *p, int64_t us)
{
	p->now += us * 1000 + (int64_t)below(p, (uint64_t)us * 100 + 1);
}

/* Its first submission is next. */
static void step_begins(struct program *p)
{
	assert_true(p->n_truth < MAX_STEPS);
	p->truth[p->n_truth++] = p->now;
}

/* Parameters are made and copied before the first step; read after the last. */
static void start_up(struct program *p)
{
	for (int i = 0; i < 40; i++) {
		launch(p, "fill");
		copy(p, GST_COPY_H2D_PAGEABLE, 4 << 20);
	}
	pause_us(p, 5000);
}

static const struct trace_steps *find(struct program *p)
{
	struct error e;

	p->traces[0] = &p->trace;
	assert_int_equal(steps_build(&p->steps, &p->run, &e), ERR_NONE);
	return steps_of(&p->steps, &p->trace);
}

static void assert_tiles(const struct trace_steps *s)
{
	size_t steps = 0;

	for (size_t i = 0; i < s->n; i++) {
		assert_true(s->at[i].begin_ns <= s->at[i].end_ns);
		assert_true(i + 1 == s->n || s->at[i].end_ns == s->at[i + 1].begin_ns);
		assert_null(s->at[i].range);
		assert_int_equal(s->at[i].begin_ns, s->at[i].launch->begin_ns);
		steps += s->at[i].kind == STEP;
		assert_int_equal(s->at[i].number, steps - 1);
	}
	assert_int_equal(s->n_steps, steps);
}

/* All steps of the truth but the first `missing`, each from its first submission on; pieces: how many lie between steps. */
static void assert_steps(struct program *p, size_t missing, size_t pieces)
{
	const struct trace_steps *s = find(p);
	size_t k = missing, first = 0;

	assert_non_null(s);
	assert_tiles(s);
	assert_int_equal(s->n - s->n_steps, pieces);
	assert_int_equal(s->n_steps, p->n_truth - missing);
	for (size_t i = 0; i < s->n; i++) {
		if (s->at[i].kind != STEP)
			continue;
		while (p->calls[first].begin_ns < p->truth[k] || p->calls[first].flags != GST_SUBMISSION ||
		       (p->calls[first].tid != MAIN && p->calls[first].tid != AUTOGRAD))
			first++;
		assert_int_equal(s->at[i].begin_ns, p->calls[first].begin_ns);
		k++;
	}
}
