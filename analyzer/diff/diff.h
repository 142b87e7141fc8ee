/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.h: two sides of one or more runs each -> what changed, how sure that is, and the one verdict. Every figure that any output has is in it.
 *
 *   summary -> diff_run (or a baseline) -> diff -> diff_text, diff_json, diff_md, diff_junit, diff_html */
#pragma once

#include "diff_run.h"
#include "diff_verdict.h"
#include "report/report.h"

struct diff_options {
	const char *const *fail_on; size_t n_fail_on; /* diff_fail.h */
	uint64_t seed;
	const char *base_commit, *new_commit; /* NULL not given */
};

struct diff_work_change { /* of a kernel or a site; NULL: it is not there */
	const struct diff_kernel *base, *now;
};

struct diff_site_change {
	const struct diff_site *base, *now;
};

struct diff_gap_change { /* those that explain most of the difference first */
	const struct diff_gap *base, *now;
	int64_t delta_ns; /* of a step */
};

struct diff_fact_change {
	const char *name, *base, *now; /* NULL: not known there */
};

struct diff_class_change {
	uint64_t key;
	const char *words;
	struct diff_device compared; /* meaningless where one side has none */
	double base_share, new_share; /* of all steps; 0 none there */
};

struct diff_pair { /* one device on both sides */
	size_t base_device, new_device; /* index in the runs' devices: the same in all runs of a side */
	const struct diff_run_device *base, *now; /* of the side's first run: names */
	bool by_class;  /* the step is compared class by class, weighted as base has them */
	struct diff_device compared;
	const char *reason; /* why it is not comparable, or inconclusive; NULL */
	struct diff_class_change *classes; size_t n_classes;
	enum cause_id *appeared; size_t n_appeared; /* causes */
	enum cause_id *vanished; size_t n_vanished;
	struct diff_work_change *kernels; size_t n_kernels; /* appeared, vanished, changed count or size; what weighs most first */
	struct diff_work_change *comms; size_t n_comms; /* likewise; none where a side's baseline does not know them */
	struct diff_site_change *sites; size_t n_sites;
	struct diff_gap_change *gaps; size_t n_gaps;
	const struct diff_memory *base_memory, *new_memory; /* NULL not known */
	bool memory_changed;
};

struct diff_fired { /* of --fail-on */
	const char *rule;
	size_t pair, row;
};

struct diff {
	struct arena texts;
	const struct diff_run *base, *now; size_t n_base, n_now; /* borrowed */
	struct diff_pair *pairs; size_t n_pairs;
	struct diff_fact_change *facts; size_t n_facts; /* only what changed, and commits where given */
	enum diff_change verdict;
	const char *reason; /* one sentence, for people; clean text */
	bool bad_input;     /* a side is cut or damaged: exit status 3 */
	size_t n_rules;     /* of --fail-on */
	bool rules_unsure;  /* a row that one of them watches may have got worse by more than it allows, or cannot be compared */
	struct diff_fired *fired; size_t n_fired;
};

/* ERR_NONE also where nothing is comparable: that is a verdict. ERR_USAGE: a rule of fail_on is none. out is to be freed in any case. */
enum err_kind diff_make(struct diff *out, const struct diff_run *base, size_t n_base, const struct diff_run *now, size_t n_now, const struct diff_options *o, struct error *e);
void diff_free(struct diff *d);

#define DIFF_EXIT_WORSE 1
#define DIFF_EXIT_UNSURE 5
/* 0, 1 worse, 3 bad input, 5 inconclusive or not comparable. With --fail-on it is about the rows that its rules watch. */
int diff_status(const struct diff *d);

/* diff_changes.c: what of a pair's kernels, sites, gaps and memory changed, and what of the environment. */
enum err_kind diff_add_changes(struct diff *out, struct error *e);

/* ---- outputs ---- */

void diff_text(FILE *out, const struct diff *d, const struct report_style *style);
void diff_json(FILE *out, const struct diff *d);
void diff_md(FILE *out, const struct diff *d);
void diff_junit(FILE *out, const struct diff *d);
void diff_html(FILE *out, const struct diff *d);
