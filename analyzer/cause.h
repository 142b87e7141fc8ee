/* SPDX-License-Identifier: BSD-2-Clause */
/* cause.h: who owns each nanosecond of idle time.
 *
 * A rule looks at one gap and proposes intervals with their evidence; the engine clips them to the gap, gives every nanosecond
 * one owner (a proven chain before an overlap, then the order of causes.def), and hands what nobody proved to `unexplained`. */
#pragma once

#include "timeline.h"

enum cause_id {
#define CAUSE(name, id, title, advice) CAUSE_##name,
#include "causes.def"
#undef CAUSE
	CAUSE_COUNT
};

enum confidence { CONFIDENCE_INFERRED, CONFIDENCE_OBSERVED };

#define EVIDENCE_BYTES 256

struct chain_link { /* one thread's state on the way from the submitting thread to the leaf */
	uint32_t pid, tid;
	char state[32];
	int64_t begin_ns, end_ns;
	char woken_by[32];
};

struct finding { /* a rule's proposal */
	enum cause_id cause;
	enum confidence confidence;
	int64_t begin_ns, end_ns;
	char evidence[EVIDENCE_BYTES];
	struct chain_link chain[4];
	uint32_t n_chain;
};

struct findings; /* a growing list the engine owns */
/* Where a rule puts a proposal; clipped to the gap, dropped when empty. */
void findings_add(struct findings *list, const struct finding *f);

/* What a rule may look at: the gap, the whole timeline, and the submitting thread's records around the gap, ready cut. */
struct gap_view {
	const struct gap *gap;
	const struct device_timeline *device;
	const struct trace *trace;      /* of the process that submits the next work */
	uint32_t tid;                   /* the submitting thread */
	const struct call *const *calls; size_t n_calls;       /* its calls that overlap [gap begin - slack, next submission's return], by begin */
	const struct sample *const *samples; size_t n_samples; /* of that thread, within the gap */
	const struct usage *const *usages; size_t n_usages;    /* of that thread, around the gap: one before, one after at least where they exist */
	int64_t submit_begin_ns;        /* entry of the call that ends the gap; gap end if unknown */
};

/* A rule. One file cause_<name>.c each; pure. */
typedef void cause_rule(const struct gap_view *v, struct findings *out);

/* One owned interval of a gap; these tile it exactly. */
struct gap_cause {
	int64_t begin_ns, end_ns;
	enum cause_id cause;
	enum confidence confidence;
	const struct finding *finding; /* NULL for unexplained */
};

struct gap_story {
	const struct gap *gap;
	struct gap_cause *causes; size_t n_causes;
};

struct attribution { /* of one device */
	struct gap_story *gaps; size_t n_gaps; /* like device_timeline.gaps */
	int64_t causes_ns[CAUSE_COUNT];        /* sums to idle_ns exactly */
	struct findings *store;
};

enum err_kind attribution_build(struct attribution *out, const struct device_timeline *d, const struct run *run, struct error *e);
void attribution_free(struct attribution *a);

const char *cause_name(enum cause_id id);   /* "input-wait" */
const char *cause_title(enum cause_id id);  /* one line: the device waited because … */
const char *cause_advice(enum cause_id id); /* one line: what to do about it */
