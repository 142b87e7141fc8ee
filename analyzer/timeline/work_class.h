/* SPDX-License-Identifier: BSD-2-Clause */
/* work_class.h: kinds of work that take about the same time each: a kernel with one grid and block, copies of one kind and about one
 * size, launches of one graph; and what bursts say each kind takes. */
#pragma once

#include "bounds.h"
#include "trace/burst_samples.h"

#define CLASS_UNKNOWN 0u /* of work of which nobody can know: any time from none to all that its bounds leave */

struct class_sample {
	uint32_t class, group; /* group: of bursts, which are left out together */
	double ns;             /* what it took; late: at most */
	double unsure_ns;
	bool late, placed; /* as burst_sample says */
};

struct work_class {
	const struct trace *trace;
	const struct call *like; /* one of them */
	size_t works;            /* submissions of it */
	size_t first, n;         /* its samples, */
	size_t n_whole;          /* of which so many, the first ones, are not late */
	double whole_ns;         /* mean of these */
	/* by classes_measure: */
	double mean_ns, low_ns, high_ns; /* the true mean lies between the two, but for chance */
	double away_ns;   /* all its samples are left out: what one would guess without them, less mean_ns; else 0 */
	double spread_ns; /* standard deviation, the event clock's steps taken off */
	double keep;      /* share of a sample's distance from the mean that is not the clock's steps */
};

struct classes {
	struct work_class *at;
	size_t n, cap;
	uint32_t *table; /* open addressing: index into at, 0 free */
	size_t table_size;
	struct class_sample *samples; /* by class */
	size_t n_samples, cap_samples;
	size_t sampled_works, works; /* submissions of classes with samples, and all */
};

bool classes_new(struct classes *c);
void classes_free(struct classes *c);
/* The class of this submission, made if need be. CLASS_UNKNOWN also where there is no memory. */
uint32_t classes_of(struct classes *c, const struct trace *t, const struct call *call);
bool classes_add_sample(struct classes *c, uint32_t class, uint32_t group, const struct burst_sample *s);
/* After the last sample. */
void classes_sort(struct classes *c);
/* Means of all classes, of those without samples too, leaving one group of bursts out (none: GST_NONE). */
void classes_measure(struct classes *c, uint32_t without);
/* What the turn-th work of a class takes in the model: its samples in turn, so that work which varies does so in the model as well.
 * side: -1 the least the class may take on the average, 0 the mean, 1 the most. */
double class_draw(const struct classes *c, uint32_t class, size_t turn, int side);
