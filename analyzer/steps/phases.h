/* SPDX-License-Identifier: BSD-2-Clause */
/* phases.h: a device's idle time by step and by phase: by the NVTX ranges that the thread which submits the next work was in. */
#pragma once

#include "cause/cause.h"
#include "range_stacks.h"
#include "steps_usual.h"

struct phase {
	uint32_t node; /* in range_stacks */
	int64_t idle_ns;
	int64_t causes_ns[CAUSE_COUNT]; /* sums to idle_ns */
};

struct step_idle {
	const struct step *step;
	int64_t idle_ns;
	int64_t causes_ns[CAUSE_COUNT];
};

/* Of one device. Idle time = startup + shutdown + Σ steps = Σ phases, where there are any. */
struct device_phases {
	const struct trace_steps *of;           /* the process that works most on the device; NULL: no steps */
	struct step_idle *steps; size_t n_steps;
	struct steps_usual usual;               /* and which of them take longer */
	int64_t startup_ns, shutdown_ns;        /* idle before the first step, after the last */
	struct phase *phases; size_t n_phases;  /* longest idle first; none where the run has no ranges */
};

/* Into what is zero, and is freed whether they could be made or not: the two know nothing of each other.
 * Its steps, and how long it was idle in each. */
enum err_kind device_phases_steps(struct device_phases *out, const struct device_timeline *d, const struct attribution *a,
				  const struct steps *steps, struct error *e);
/* Its phases; also says in the evidence of each piece which range it is in. Of one device at a time: the ranges are gone through on the way. */
enum err_kind device_phases_ranges(struct device_phases *out, struct attribution *a, struct range_stacks *stacks,
				   struct error *e);
void device_phases_free(struct device_phases *p);

/* "step 57", clean */
const char *step_name(char *buf, size_t size, const struct step *s);
