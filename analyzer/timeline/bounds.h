/* SPDX-License-Identifier: BSD-2-Clause */
/* bounds.h: from the facts, when each piece of work can have run, and when the device surely did.
 *
 *   entry        return                                   an edge, a sync's return, a ready query
 *     |-- call --|                                                     |
 *     |<-------- start lies here ------->|          |<---- end -------->|
 *  earliest_start                  latest_start  earliest_end       latest_end
 *
 * Pending work means a busy device: whatever it waits for in turn runs on the device. The exceptions are host functions, memory
 * waits and what waits for them; there nothing is claimed. Nor is it for a graph that may stand still (host nodes, event waits, an unknown
 * structure); and of any other graph's launch, NODE_NS for each node on the longest way through it may be idle. */
#pragma once

#include "exact.h"
#include "facts.h"
#include "tools/interval.h"

struct work_more { /* what there is to say of few pieces of work */
	const struct measured *measured; /* its four times are this one's, and stay so; NULL: bounded */
	int64_t slack_ns; /* the device may be idle for so long before it, or inside it between a graph's nodes */
	int64_t behind_ns; /* it stands right behind an edge, which had fired by then: 0 no such edge is known */
	int64_t usual_ns; /* what such work, and what it ran with, takes, where that took far longer and another process may have had the device (held_up.h); else 0 */
	int64_t held_until_ns; /* a host function before it, or a wait for another device, may take until then; INT64_MIN none */
	uint32_t missing; /* operations of it that were not measured although others were; 0: it is none of these */
};

struct work { /* one submission; there are as many as that: each byte counts */
	const struct call *call;
	int64_t earliest_start_ns, latest_start_ns; /* latest_start: if nothing before it in the stream is pending then */
	int64_t earliest_end_ns, latest_end_ns;
	uint32_t more; /* its place in stream_work.more; 0: nothing there is about it */
	uint8_t known_by; /* enum boundary: what latest_end rests on */
	bool hostfn;
	bool stalls;      /* a graph that may stand still inside, or work elsewhere */
	bool lost;        /* it should have been measured: when it ran is all unresolved */
};

/* The longest run of a stream's work in which the stream was never surely empty; host functions separate stretches. */
struct stretch {
	int64_t begin_ns, latest_begin_ns, last_latest_start_ns, earliest_end_ns, end_ns;
	int64_t first_entry_ns, last_entry_ns;
	int64_t likely_begin_ns; /* INT64_MAX: no time of those that are known is likelier */
	int64_t likely_end_ns;   /* INT64_MIN: … */
	int64_t second_begin_ns; /* of its second piece of work, at the earliest; INT64_MAX none */
	int64_t slack_ns; /* of all its work */
	uint8_t end_known_by;
};

struct held { /* a wait for an event: what comes behind it in the stream stands still until the event's work is done */
	const struct wait *wait;
	int64_t at_ns;
	int64_t until_ns; /* done by then; INT64_MAX not known */
	int64_t away_ns;  /* until then it may be waiting for something that is not this device's; INT64_MIN: it is not */
	const struct stream_work *producer; /* whose work it is, NULL not known */
	size_t covers;                      /* the first so many of the producer's ops, at least */
	size_t behind;                      /* of the stream's own ops the first that certainly stands behind the wait; their number: none */
	/* of this and all earlier ones of the stream */
	int64_t max_until_ns, max_away_ns;
};

struct bound { /* the first so many of a stream's ops were over by then */
	size_t covers;
	int64_t by_ns;
	uint8_t known_by;
};

struct stream_work {
	const struct trace *trace;
	const struct facts *facts;
	uint32_t stream;  /* index; GST_NONE: work whose stream is not known */
	struct work *ops; /* in stream order */
	size_t n, cap;
	struct work_more *more; /* work.more; the first one is nobody's */
	size_t n_more, cap_more;
	struct stream_work *legacy; /* the legacy default stream of its context, if it is ordered by it and has work; else NULL */
	bool blocks_with_legacy; /* waits for whatever the legacy default stream waits for */
	bool opaque;             /* waits for memory, or for nobody knows what: pending proves nothing */
	uint32_t device;         /* which of the run's */
	uint32_t ordinal;        /* as its process numbers them */
	bool elsewhere;          /* launches in a stream of another device (elsewhere.h), or carried; stream is GST_NONE then */
	bool loose;              /* measured work that is in no order: without a call, or of a graph in another device's stream; stream is GST_NONE */
	bool carried;            /* work from before the trace's records begin (carried.h): one piece */
	bool special;            /* some of it may be measured, lost, a host function, have slack or stand still; else none is */
	bool unsorted;           /* its numbers do not rise as its calls came */
	uint64_t last_seq;       /* while it is collected */
	bool bounded;            /* … it got its bounds at once */
	struct bound *bounds;    /* while links are found */
	size_t n_bounds, cap_bounds;
	struct held *held;       /* its waits for events, by at_ns */
	size_t n_held, cap_held;
};

struct device_work { /* one device, over all processes */
	struct stream_work *streams;
	size_t n, cap;
	struct stream_work *relays; /* without work, but others wait for what they wait for; of all devices, the first one keeps them */
	size_t n_relays;
	struct stretch *stretches;
	size_t n_stretches, cap_stretches;
	struct intervals busy; /* surely */
	struct intervals measured; /* … because it was measured: part of busy */
	struct intervals inside; /* busy but for slack, which may take it all */
	struct intervals stalled; /* a graph that may stand still may run */
	struct intervals host;    /* a host function may be running */
	struct intervals host_blocking; /* … in a stream that blocks with the legacy stream */
	struct intervals holding; /* one is queued or running: what waits for its stream stands still */
	bool away; /* some stream may wait for something that is not this device's */
	int64_t worst_edge_error_ns;
};

extern const struct work_more work_common; /* of all of which there is nothing more to say */

static inline const struct work_more *work_more(const struct stream_work *w, const struct work *op)
{
	return op->more ? &w->more[op->more] : &work_common;
}

/* Its own, to be changed; NULL: no memory. What was taken before of this stream may have moved. */
struct work_more *work_own(struct stream_work *w, struct work *op);

static inline const struct measured *work_measured(const struct stream_work *w, const struct work *op)
{
	return work_more(w, op)->measured;
}

/* Is the work's inside busy all through? Not where a graph was measured as a whole. */
static inline bool work_is_solid(const struct stream_work *w, const struct work *op)
{
	const struct measured *m = work_measured(w, op);

	return m && m->kind != GST_ACTIVITY_GRAPH;
}

/* Puts it behind the others; of these there is that much more to say. False: no memory. */
bool work_add(struct stream_work *w, struct work op, const struct work_more *more);

/* Adds the trace's work on the device with this ordinal. facts is borrowed until bounds_finish. */
enum err_kind bounds_add(struct device_work *d, const struct trace *t, uint32_t device, const struct facts *facts,
			 struct error *e);
/* After the last trace of the last device: stretches and busy, of all devices, as they may wait for each other. */
enum err_kind bounds_finish(struct device_work *devices, size_t n, struct error *e);
void bounds_free(struct device_work *d);
