/* SPDX-License-Identifier: BSD-2-Clause */
/* steps.h: the iterations of a training loop, as the program's NVTX ranges show them.
 *
 * A step is a range that repeats: one called step, iteration, ProfilerStep#, …, else the outermost one that comes again and again. Where
 * nothing encloses an iteration (forward, backward and optimizer stand side by side), the first of them marks its begin. Steps follow
 * each other without a gap: each lasts until the next begins, so that what happens between two ranges is in the one before. */
#pragma once

#include "run.h"

struct step {
	int64_t begin_ns, end_ns;
	const struct range *range; /* borrowed */
};

struct trace_steps {
	const struct trace *trace;
	const struct range *like; /* one of them: its name, domain and thread */
	bool encloses;            /* the range holds the iteration; else it is but its first part */
	struct step *at; size_t n; /* by time; none: no steps */
};

struct steps {
	struct trace_steps *traces; size_t n_traces; /* like run->traces */
};

enum err_kind steps_build(struct steps *out, const struct run *run, struct error *e);
void steps_free(struct steps *s);

/* The process's steps; NULL: it has none. */
const struct trace_steps *steps_of(const struct steps *s, const struct trace *trace);
/* The step at that time; NULL: none. */
const struct step *steps_at(const struct trace_steps *s, int64_t ns);

/* Do both have one name, but for its number, in one domain? */
bool range_is_like(const struct range *a, const struct range *b);
