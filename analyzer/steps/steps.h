/* SPDX-License-Identifier: BSD-2-Clause */
/* steps.h: the iterations of a training loop, as the program's NVTX ranges show them; where they show none, as its launches do
 * (steps_launches.h).
 *
 * A step is a range that repeats: one called step, iteration, ProfilerStep#, …, else the outermost one that comes again and again. Where
 * nothing encloses an iteration (forward, backward and optimizer stand side by side), the first of them marks its begin. Steps follow each
 * other without a gap: each lasts until the next begins, so that what happens between two ranges is in the one before. */
#pragma once

#include "run/run.h"

enum step_kind {
	STEP,
	STEP_BETWEEN, /* as long as a step, and none: an evaluation. Only where launches tell */
};

struct step {
	int64_t begin_ns, end_ns;
	const struct range *range; /* borrowed; NULL: launches tell */
	uint8_t kind;              /* enum step_kind */
	uint32_t number;           /* counts steps, from 0; of what is between two that of the one before it */
	const struct call *launch; /* it begins with; NULL: a range tells. borrowed */
};

struct trace_steps {
	const struct trace *trace;
	const struct range *like; /* one of them: its name, domain and thread. NULL: launches tell */
	uint32_t tid;             /* the thread that the steps are of */
	bool encloses;            /* the range holds the iteration; else it is but its first part */
	struct step *at; size_t n; /* by time; none: no steps */
	size_t n_steps;           /* of them that are no pieces between */
};

struct steps {
	struct trace_steps *traces; size_t n_traces; /* like run->traces */
};

enum err_kind steps_build(struct steps *out, const struct run *run, struct error *e);
void steps_free(struct steps *s);

/* The process's steps; NULL: it has none. */
const struct trace_steps *steps_of(const struct steps *s, const struct trace *trace);
/* Index of the first that ends later; s->n: none does. */
size_t steps_from(const struct trace_steps *s, int64_t ns);
/* The step at that time; NULL: none. */
const struct step *steps_at(const struct trace_steps *s, int64_t ns);
/* The same; *near: which was looked at last, any at first. */
const struct step *steps_near(const struct trace_steps *s, int64_t ns, size_t *near);

/* Do both have one name, but for its number, in one domain? */
bool range_is_like(const struct range *a, const struct range *b);
