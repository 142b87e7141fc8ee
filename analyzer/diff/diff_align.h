/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_align.h: which device of one side is which of the other, and whether, and how, the steps of both can be compared.
 *
 * - Steps are compared as they are where both sides do the same kinds of steps (diff_class) equally often, or where all kinds are others and the
 *   kernels are mostly the same: somebody changed the code.
 * - They are compared kind by kind, each counting as often as base has it, where both sides have the same kinds, but not equally often.
 * - They are not where a step is something else on each side: then nothing can be said. */
#pragma once

#include "diff.h"

#define ALIGN_MIXED 0.1    /* of all steps are of another kind: kind by kind */
#define ALIGN_COMMON 0.5   /* of a side's steps, at least, are of kinds that both have */
#define ALIGN_KERNELS 0.6  /* of what a step launches is the same, where launches tell what a step is: half of it might be half a step */
#define ALIGN_OTHERWISE 0.8 /* … where ranges tell it on one side and launches on the other */
#define ALIGN_RANGES 0.1   /* … where the same ranges do on both */

/* The index in `now` of each of the n devices of `base`, both n: by rank, else UUID, else number, else place. */
void diff_match_devices(size_t *out, const struct diff_run *base, const struct diff_run *now);

/* How much of what a step launches is the same, 0 to 1: in numbers, and, if that is known, in time. -1 not known: nothing is. */
double diff_kernels_alike(const struct diff_run_device *a, const struct diff_run_device *b);
double diff_kernels_alike_in_time(const struct diff_run_device *a, const struct diff_run_device *b);

/* Why a step is not the same thing on both; NULL: it is. size: of buf. */
const char *diff_other_steps(char *buf, size_t size, const struct diff_run_device *a, const struct diff_run_device *b);

struct align_side { /* one device in the runs of a side */
	const struct diff_run *runs; size_t n;
	size_t device;
};

struct align_kind { /* a kind of steps, on both sides */
	uint64_t key;
	const char *words;
	double base_share, new_share; /* of all steps, means over the runs */
	bool common; /* often enough in all runs */
};

struct aligned {
	struct align_kind *kinds; size_t n_kinds; /* the most frequent in base first, then those of new */
	bool by_kind;
};

/* False: no memory. */
bool diff_align_steps(struct aligned *out, const struct align_side *base, const struct align_side *now);
void diff_aligned_free(struct aligned *a);

/* A run's typical step: as it is, or of the common kinds together, weighted as base has them. */
struct diff_typical diff_aligned_typical(const struct aligned *a, const struct diff_run_device *d);
/* … of one kind; NULL: the run has none. */
const struct diff_typical *diff_kind_typical(const struct diff_run_device *d, uint64_t key);
