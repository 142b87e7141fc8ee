/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_usual.h: what a device's steps are like: medians and means, and the steps that take much longer than half of them do.
 *
 * A step is an outlier if it is longer than the median by more than OUTLIER_DEVIATIONS robust standard deviations (1.4826 times the median
 * distance from the median), and by more than a tenth of it, and by more than 0.1 ms. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cause/cause.h"

#define OUTLIER_DEVIATIONS 5
#define LEAST_USUAL 8 /* steps, for one of them to be an outlier */

struct step_idle;

struct step_figures { /* of a step, or of all in one way */
	int64_t length_ns, idle_ns;
	int64_t causes_ns[CAUSE_COUNT];
};

/* Longer than the median step by excess_ns = Σ causes_ns + busy_ns. Each cause against its own median: what is less than usual is negative. */
struct outlier {
	size_t index; /* of device_phases.steps */
	int64_t excess_ns, busy_ns;
	int64_t causes_ns[CAUSE_COUNT];
};

struct steps_usual {
	size_t n; /* steps; what lies between two is none */
	struct step_figures median, mean;
	int64_t limit_ns; /* of a step's length: outliers are longer. INT64_MAX: too few to tell */
	struct outlier *outliers; size_t n_outliers; /* by time */
};

/* False: no memory. */
bool steps_usual_build(struct steps_usual *out, const struct step_idle *steps, size_t n);
void steps_usual_free(struct steps_usual *u);
