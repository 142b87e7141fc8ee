/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_run.h: one run as it is compared, and as a baseline keeps it (diff_baseline.h): small, whatever the length of the run. It stands by itself:
 * all texts are its own, so the run may be closed. Texts are untrusted, as everywhere, until printed. */
#pragma once

#include "diff_typical.h"
#include "summary/summary.h"
#include "tools/arena.h"

#define DIFF_CLASSES 16 /* kinds of steps that are told apart at most; the others are one more */
#define DIFF_KERNELS 200
#define DIFF_SITES 64
#define DIFF_GAPS 24
#define DIFF_LINES 12 /* of a gap's evidence */

/* What a run's means are over: the steps of [from_ns, until_ns), n of them; n 0: there are none, and the whole span is one. What lies between two
 * steps and is none (an evaluation) is not of it. */
struct diff_window {
	int64_t from_ns, until_ns;
	size_t n;
	const struct trace_steps *between; /* borrowed; they have such pieces. NULL: none lies between */
};

/* Is that instant of the window? */
bool diff_window_has(const struct diff_window *w, int64_t ns);
/* How much of the time is. */
int64_t diff_window_part(const struct diff_window *w, int64_t begin_ns, int64_t end_ns);

/* Steps in which the same is put into the streams: the same kernels and graphs, as many of each (diff_contents.h). */
struct diff_class {
	uint64_t key; /* of what that is, the same in every run and version; 0: of many kinds, which are not told apart */
	const char *words; /* "412 launches, 3 copies" */
	struct diff_typical typical;
};

struct diff_kernel { /* kernels and copies by name; collectives and messages by kind */
	const char *name;
	double per_step;     /* how many, a mean */
	int64_t ns_per_step; /* their durations, summed; 0 where none is known (has_ns) */
	bool has_ns;
	double bytes_per_step; /* of copies, memsets, collectives and messages, however times are known */
};

struct diff_site { /* a statement that held the submitting thread while the device was idle */
	const char *where; /* "load_batch (train.py:41)" */
	int64_t idle_ns;   /* of a step, a mean */
	double gaps;       /* of a step, a mean */
	int64_t causes[CAUSE_COUNT]; /* sums to idle_ns */
};

#define DIFF_GAP_BETWEEN ((uint64_t)1) /* it lies between two steps */

struct diff_gap { /* one that stands for those alike: behind the same work, before the same work, both within a step or both between two */
	const char *before, *after; /* names of the work around it */
	uint64_t key;     /* of all that; what is alike in two runs has the same. DIFF_GAP_BETWEEN is its lowest bit */
	double per_step;  /* how many, a mean */
	int64_t ns_per_step;         /* what they take, a mean */
	int64_t causes[CAUSE_COUNT]; /* sums to ns_per_step */
	size_t number;    /* of the longest, as `report --why` counts it */
	int64_t longest_ns;
	const char *lines[DIFF_LINES]; size_t n_lines; /* the longest one's story: owner, evidence, chain */
};

struct diff_memory {
	bool known;
	uint64_t peak_allocated, peak_reserved; /* bytes */
	double fragmentation;                   /* at its worst, as the report's JSON has it */
	uint64_t out_of_memory;
	bool told;                              /* as of memory_framework: of fragmentation nothing is known */
};

struct diff_run_device {
	uint32_t number, rank; /* rank: GST_NONE not known */
	const char *name, *uuid;
	size_t n_steps, n_warm_up; /* compared; left out before them. 0: there are no steps, and the whole span is as one */
	bool by_ranges;            /* else launches tell the steps */
	const char *step_name;     /* "ProfilerStep#", "" */
	struct diff_typical typical; /* of all of them */
	int64_t blurred_ns;        /* of a step: its idle time may be more or less by that, by the bounds of gaps' ends */
	int64_t unresolved_ns;     /* of a step, a mean: neither busy nor idle for sure */
	struct diff_class *classes; size_t n_classes; /* the most frequent first */
	struct diff_kernel *kernels; size_t n_kernels; /* by time, then count; the most first */
	bool has_comms; /* of a baseline of before there were these: nothing is known of them */
	struct diff_kernel *comms; size_t n_comms; /* what was asked for of NCCL; none has a time */
	struct diff_site *sites; size_t n_sites;
	struct diff_gap *gaps; size_t n_gaps;
	struct diff_memory memory;
};

struct diff_fact { /* of the environment: "gpu", "driver", "host", "commit", … */
	const char *name, *value;
};

struct diff_run {
	struct arena texts;
	const char *path;    /* as it was named */
	const char *kind;    /* "gpushim", "kineto", "nsys": what is compared with each other */
	const char *timing;  /* device_timing */
	const char *probes;  /* host_probes */
	const char *cut;     /* why it is not whole: file, byte and fact; NULL: it is */
	int index, count;    /* of several runs in a directory */
	struct diff_fact *facts; size_t n_facts; /* by name */
	struct diff_run_device *devices; size_t n_devices; /* in the summary's order */
};

/* out is to be freed after a failure, too. seed: of the bootstrap. */
enum err_kind diff_run_of(struct diff_run *out, const struct summary *s, const char *path, uint64_t seed, struct error *e);
void diff_run_free(struct diff_run *r);

/* ---- its parts ---- */

/* diff_run_steps.c: steps, warm-up, typical, classes, blurred, unresolved. *w: where these steps are. */
enum err_kind diff_run_add_steps(struct diff_run *out, struct diff_run_device *d, struct diff_window *w, const struct summary_device *of, uint64_t seed, struct error *e);
/* diff_run_work.c: kernels and copies; diff_run_comms.c: collectives and messages; diff_run_sites.c (with what lies between two steps); diff_run_gaps.c. All are means over the same steps as
 * the typical one's. */
enum err_kind diff_run_add_work(struct diff_run *out, struct diff_run_device *d, const struct summary *s, const struct summary_device *of, struct diff_window w, struct error *e);
enum err_kind diff_run_add_comms(struct diff_run *out, struct diff_run_device *d, const struct summary *s, const struct summary_device *of, struct diff_window w, struct error *e);
enum err_kind diff_run_add_sites(struct diff_run *out, struct diff_run_device *d, const struct summary *s, const struct summary_device *of, struct diff_window w, struct error *e);
enum err_kind diff_run_add_gaps(struct diff_run *out, struct diff_run_device *d, const struct summary *s, const struct summary_device *of, struct diff_window w, struct error *e);
/* diff_run_facts.c: the environment, memory. */
enum err_kind diff_run_add_facts(struct diff_run *out, const struct summary *s, struct error *e);
