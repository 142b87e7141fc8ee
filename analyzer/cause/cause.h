/* SPDX-License-Identifier: BSD-2-Clause */
/* cause.h: who owns each nanosecond of idle time.
 *
 * A rule looks at one gap and proposes intervals with their evidence; the engine clips them to the gap, gives every nanosecond
 * one owner (the best standing, then the order of causes.def), and hands what nobody proved to `unexplained`. */
#pragma once

#include "chain/threads.h"
#include "gap/findings.h"
#include "gap/held.h"
#include "timeline/timeline.h"
#include "tools/arena.h"

struct host_task; /* host_trace.h */

struct chain_file { /* what a thread waited for */
	const char *path;  /* or "pipe:[1]". The host trace's own text, to be cleaned where it is printed */
	uint64_t offset, last_offset; /* in it, the lowest and the highest begin; UINT64_MAX not known */
	uint64_t bytes;    /* asked for, as step_bytes_all has it; 0 not known */
};

struct chain_link { /* one thread's state on the way from the submitting thread to the leaf; clean texts, "" none */
	uint32_t pid, tid; /* as it sees itself */
	const struct host_task *task; /* the host trace's own; NULL not known */
	const char *name, *state, *woken_by;
	struct chain_file *file; /* NULL none */
	int64_t begin_ns, end_ns; /* clipped to the cause's interval */
};

/* One owned interval of a gap; these tile it exactly. There are more of them than of gaps: each byte counts. */
struct gap_cause {
	int64_t begin_ns, end_ns;
	const char **evidence;          /* cause_evidence.h */
	const struct chain_link *chain;
	const struct held *held;        /* what code held the submitting thread meanwhile; they tile it: cause_held() */
	const char *place;              /* the words for it, one of the evidence; NULL none */
	uint32_t n_evidence, n_chain, n_held;
	uint8_t cause;      /* enum cause_id */
	uint8_t confidence; /* enum confidence */
};

/* The pieces that tile it by what code held the thread: one at least, which may be held_nothing. */
static inline uint32_t cause_n_held(const struct gap_cause *c)
{
	return c->n_held ? c->n_held : 1;
}

/* *ns: how long it is. */
static inline const struct held *cause_held(const struct gap_cause *c, uint32_t i, int64_t *ns)
{
	const struct held *h = c->n_held ? &c->held[i] : &held_nothing;

	*ns = c->n_held ? h->end_ns - h->begin_ns : c->end_ns - c->begin_ns;
	return h;
}

struct submitter {
	const struct trace *trace; /* NULL: not known */
	uint32_t tid;
};

struct gap_story {
	const struct gap *gap;
	struct submitter by; /* of what comes next, or of what came last */
	struct gap_cause *causes; size_t n_causes;
};

struct attribution { /* of one device */
	struct gap_story *gaps; size_t n_gaps; /* like device_timeline.gaps */
	int64_t causes_ns[CAUSE_COUNT];        /* sums to idle_ns exactly */
	int64_t observed_ns[CAUSE_COUNT];      /* the part of it that records prove */
	struct arena *arenas; size_t n_arenas; /* what gaps[] point to: causes, texts and chains */
	struct arena arena;                    /* … and what others add to it */
};

enum err_kind attribution_build(struct attribution *out, const struct device_timeline *d, const struct threads *threads,
				struct error *e);
void attribution_free(struct attribution *a);

/* Is it what another process did? */
bool cause_is_elsewhere(const struct gap_cause *c);

const char *cause_name(enum cause_id id);   /* "input-wait" */
const char *cause_title(enum cause_id id);  /* one line: the device waited because … */
const char *cause_advice(enum cause_id id); /* one line: what to do about it */
const char *confidence_name(enum confidence c);
