/* SPDX-License-Identifier: BSD-2-Clause */
/* recover.h: what each loss costs, and what fixing it can give at most.
 *
 * Of a span T a cause of idle time, or a kind of exposed work, has lost R. Where all of R can be won back the run is T/(T-R) - 1 faster, and
 * what is largest then bounds it next. Often not all of it can: the rules are in recover.def, the reasons in ARCHITECTURE.md. */
#pragma once

#include "summary/summary.h"
#include "timeline/partition.h"

enum recover_rule {
	RECOVER_WHOLE,   /* it may go altogether */
	RECOVER_BESIDE,  /* another thread can do it meanwhile, but it has to be done: T' >= W, the work itself */
	RECOVER_AHEAD,   /* the host need not wait; then it is as fast as itself: T' >= T - what it sat in blocking calls */
	RECOVER_OVERLAP, /* it can run while the device computes, as long as that lasts */
	RECOVER_NODES,   /* a graph's nodes still stand apart: so much for each gap */
	RECOVER_NOTHING, /* the run has no such loss where nobody watches it */
};

enum recover_id { /* the causes, in their order; then exposed work */
#define CAUSE(name, id, title, advice) RECOVER_##name,
#define CAUSE_RULE CAUSE
#include "cause/causes.def"
#define LIMIT(cause, rule)
#define EXPOSED(name, id, rule) RECOVER_##name,
#include "recover.def"
#undef LIMIT
#undef EXPOSED
	RECOVER_COUNT
};

struct recoverable {
	enum recover_id id;
	int64_t lost_ns;        /* proven */
	int64_t likely_ns;      /* beside that, of the time that bursts estimate */
	int64_t observed_ns;    /* of lost_ns: by proof, no inference; all of exposed work */
	int64_t recoverable_ns; /* of both, at most */
	double ceiling;         /* so much faster: 0.5 is half as much work again in the same time */
	const char *next;       /* what is largest then: a loss's id, "compute", "host" (the host's own time) */
	int64_t next_ns;
};

struct between { /* two steps, in which there is none */
	int64_t begin_ns, end_ns;
	int64_t before_ns; /* the length of those before it */
};

struct recovery { /* of one device */
	int64_t begin_ns, end_ns; /* what it is about: the steps, or the whole span where there are none */
	size_t n_steps;           /* in it; 0: the whole span */
	struct between *between; size_t n_between; /* by time: what lies in it and is no step; figures for each step leave it out */
	int64_t calls_from_ns;    /* calls that begin from then on are of it: the first work's own is, which began before it */
	struct partition parts;
	int64_t likely_idle_ns;   /* of its compute time, by bursts */
	int64_t likely_nodes_ns[CAUSE_COUNT]; /* of likely_ns: in a graph its nodes would stand apart for so much */
	int64_t elsewhere_ns[CAUSE_COUNT]; /* idle time behind another process, by its cause */
	size_t gaps[CAUSE_COUNT];          /* that the cause has a part in */
	int64_t slowest_ns[RECOVER_COUNT]; /* of copies and memsets: what they can have taken at most */
	const struct thread_records *feeder; /* the thread that submits most; NULL none. Borrowed */
	int64_t blocked_ns;       /* that it sat in blocking calls */
	struct recoverable of[RECOVER_COUNT];
	enum recover_id order[RECOVER_COUNT]; size_t n; /* those that lost anything: the highest ceiling first */
};

/* After a failure, too, it is to be freed. */
enum err_kind recovery_build(struct recovery *out, const struct summary *s, const struct summary_device *d, struct error *e);
void recovery_free(struct recovery *r);

/* ---- recover_window.c ---- */

/* The part of [begin, end) that it is about. */
int64_t recovery_part(const struct recovery *r, int64_t begin_ns, int64_t end_ns);
/* … in its steps; where there are none, the same. */
int64_t recovery_in_steps(const struct recovery *r, int64_t begin_ns, int64_t end_ns);
typedef int64_t recovery_time(const struct recovery *r, int64_t begin_ns, int64_t end_ns); /* one of the two */
/* Does what begins then, and is of it, belong to a step? */
bool recovery_is_in_step(const struct recovery *r, int64_t begin_ns);

/* ---- recover.c ---- */

struct recover_next {
	const char *name; /* "compute", a loss's id, … */
	int64_t ns;
};

/* What is longest when those losses (a bit each) are gone. rest_ns: what is left of them, which is called so; 0 nothing. */
struct recover_next recover_next(const struct recovery *r, uint64_t gone, const char *rest, int64_t rest_ns);

/* T/(T-R) - 1 */
double recover_ceiling(int64_t span_ns, int64_t recoverable_ns);
const char *recover_name(enum recover_id id); /* "sync-bubble", "copy-h2d-pageable" */

static inline enum recover_id recover_of_cause(enum cause_id cause)
{
	return (enum recover_id)cause;
}

static inline bool recover_is_cause(enum recover_id id) /* of idle time */
{
	return (int)id < CAUSE_COUNT;
}

/* The device's number in that process; GST_NONE: nothing of that process's ran on it. */
uint32_t recover_ordinal(const struct summary *s, const struct summary_device *d, const struct trace *t);

/* Is the call about the device of that number? One of which it is not on record is. */
static inline bool recover_is_of(const struct trace *t, const struct call *c, uint32_t ordinal)
{
	return c->stream != GST_NONE ? t->streams[c->stream].device == ordinal : c->device == ordinal || c->device == 0xffff;
}

static inline int64_t recovery_span(const struct recovery *r)
{
	return r->end_ns - r->begin_ns;
}
