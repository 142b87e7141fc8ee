/* SPDX-License-Identifier: BSD-2-Clause */
/* facts_builder.h: facts while they are made: what the parts of facts.c (facts_<what it reads>.c) add to, and the tables in which they
 * look up what a call was about. All of them return false where memory ran out. */
#pragma once

#include "accounts.h"
#include "facts.h"
#include "timeline.h"

struct ended; /* a submission's return */

struct ended_list { /* of one stream, by when they returned */
	struct ended *at;
	size_t n, cap;
};

/* An event recorded: by a call of its own, or by a node of the graph that a call launched. */
struct recording {
	uint64_t event;
	const struct call *call;
	uint64_t covers; /* submissions of the call's stream that the event stands behind */
	bool inside;     /* of a graph: it fires before the launch is over */
};

struct facts_builder {
	struct facts *out;
	const struct trace *t;
	const struct firing *firings;
	struct recording *events; /* by event, then time */
	size_t n_events, cap_events;
	bool all_recordings;    /* of events are in the trace */
	uint64_t *told;         /* per stream: what a context synchronise has said is over */
	uint64_t *told_by_edge; /* … an edge across the legacy stream */
	struct ended_list *ended; /* per stream; NULL: nobody has asked */
	struct accounts accounts;
};

/* The tables above; `out` and `t` are set. */
bool facts_make_tables(struct facts_builder *b);
void facts_free_tables(struct facts_builder *b);

/* All submissions of the stream up to `covers` had finished by by_ns. */
bool facts_add_finished(struct facts_builder *b, uint32_t stream, uint64_t covers, int64_t by_ns,
			enum boundary known_by);
bool facts_add_pending(struct facts_builder *b, struct pending p);
/* Something in the stream was pending at at_ns: the work, or an event of ours that fires a little after it. */
bool facts_add_asked(struct facts_builder *b, uint32_t stream, uint64_t covers, int64_t at_ns);
bool facts_add_wait(struct facts_builder *b, struct wait w);

/* The highest submission of a stream whose call had returned before time_ns; 0 none. */
bool facts_submitted_before(struct facts_builder *b, uint32_t stream, int64_t time_ns, uint64_t *seq);
/* The recording that a wait for or query of the event was about; NULL where two threads make that doubtful. */
const struct recording *facts_recorded_before(const struct facts_builder *b, const struct call *c);
/* An event that was never recorded holds nobody up, if all recordings are in the trace: none of another process, none in a graph that is
 * not known. */
bool facts_never_recorded(const struct facts_builder *b, const struct call *c);

/* One element of the trace each. */
bool facts_add_edge(struct facts_builder *b, const struct edge *edge, const struct firing *f);
bool facts_add_poll(struct facts_builder *b, const struct poll *p);
bool facts_add_call(struct facts_builder *b, const struct call *c);
bool facts_add_event_wait(struct facts_builder *b, const struct call *c);

/* Of the trace as a whole. */
bool facts_add_measured_starts(struct facts_builder *b); /* before latency_find, which the others need */
bool facts_add_measured(struct facts_builder *b);
bool facts_add_launch_orders(struct facts_builder *b);
bool facts_add_carried_ends(struct facts_builder *b);
/* When all carried work is over, and that every stream may wait for it. Needs what has finished, in order. */
bool facts_settle(struct facts_builder *b);
