/* SPDX-License-Identifier: BSD-2-Clause */
/* facts.h: what the records prove about each stream, and nothing else. Every later stage reasons from these alone.
 *
 * finished   all submissions up to `covers` had finished by by_ns
 * pending    not all submissions up to `covers` had finished at at_ns; asked_ns: when that was asked, so the stream was not
 *            empty from then to at_ns either, whatever else (a wait, an event) stood behind the work
 * order      work submitted after after_ns cannot have started before from_ns
 *
 * The allowances below are the only numbers in the analysis that are not read from the trace. */
#pragma once

#include "exact.h"
#include "trace/device_clock.h"
#include "trace/trace.h"

/* Work on an empty stream of an idle device starts at most this long after its call returned. Launch latency is 5 to 10 us
 * on current devices, more under load; an event that fires this much later than it was recorded did wait for work before it. Where
 * the run itself shows that starts take longer (latency.h), facts.latency_ns is that. */
#define LATENCY_NS 25000

/* A blocking call returns at most this long after the work it waited for ended, besides the time the kernel says the thread
 * waited for a CPU: an interrupt or a spin's last turn, and the wake-up. */
#define WAKE_NS 30000

/* Where nobody looked between a submission and the blocking call, or the edge, behind it, that call proves the device busy from the one to
 * the other only if it took at least so-manieth of that time, the edge only if it fired so late. A call that finds all done may itself
 * take 0.2 ms (the first of its kind, a lock of the driver's), and a device that sleeps may be late with an edge, which is no proof
 * of the ten milliseconds before. */
#define WAIT_PROVES 8

/* A blocking copy is under way at most this long after its call began, plus LATENCY_NS: argument checks and pinning. */
#define BLOCKING_START_NS 15000

/* A copy the host waits in for less than this is placed by its call alone. */
#define SHORT_CALL_NS 70000

/* An event fires at most this long after the work before it ended. */
#define EVENT_NS 2000

/* Within a graph a node begins at most this long after the last one it depends on ended: the device starts it itself. 0.5 to 1.5 us on
 * current devices. */
#define NODE_NS 2000

struct finished {
	uint32_t stream;
	uint8_t known_by; /* enum boundary of timeline.h */
	uint64_t covers;
	int64_t by_ns;
};

struct pending {
	uint32_t stream; /* GST_NONE: some stream of the context that `context` names */
	uint64_t covers;
	int64_t at_ns, asked_ns;
	uint64_t context;
	uint8_t known_by; /* enum pending_by */
	int64_t entered_ns; /* PENDING_OWN: the work cannot have begun before */
};

enum pending_by {
	PENDING_EDGE,
	PENDING_ASKED, /* a query or poll: also true while one of our own edges has yet to fire */
	PENDING_WAKE,  /* from how long a call blocked: worth less than what an edge says about the same work */
	PENDING_OWN,   /* the host waited inside the very call that submitted it: under way from asked_ns on */
};

struct order {
	uint32_t stream;
	uint32_t tid; /* of the thread that recorded the edge; what it submits in the call around that stands behind it, too. 0 not known */
	int64_t begin_ns, after_ns, from_ns; /* from_ns INT64_MIN: an event or wait of the program's, which orders nothing */
	int64_t until_ns; /* the edge had fired by then */
};

struct wait { /* for an event: whose work the stream waits for from at_ns on */
	uint32_t stream;
	uint32_t producer; /* stream the event was recorded in; GST_NONE: not known */
	uint64_t seq;      /* its submissions up to here; 0: none, the wait is over at once */
	int64_t at_ns, end_ns; /* of the call that waits */
	int64_t recorded_ns; /* what the producer itself waited for by then holds this stream too */
	int64_t over_ns;     /* over by then in any case */
	bool carried;        /* from before the records begin: nobody knows for what; call is NULL */
	const struct call *call;
};

struct start { /* an edge put into a stream known empty: how long the device took to get to it */
	uint32_t stream;
	int64_t latency_ns;
};

struct facts { /* of one trace; each array by stream, then by covers or after_ns */
	struct finished *finished;  size_t n_finished, cap_finished;
	struct pending *pending;    size_t n_pending, cap_pending;
	struct order *order;        size_t n_order, cap_order;
	struct wait *waits;         size_t n_waits, cap_waits;
	struct start *starts;       size_t n_starts, cap_starts; /* in the order of time */
	const struct exact *exact;   /* borrowed: what was measured instead */
	int64_t latency_ns;          /* the allowance for a start */
	int64_t settled_ns;          /* all carried work is over (front.h); INT64_MIN: there is none */
	int64_t worst_edge_error_ns; /* of the edges used */
};

enum err_kind facts_build(struct facts *out, const struct trace *t, const struct firing *firings,
			  const struct exact *exact, struct error *e);
void facts_free(struct facts *f);

/* When all of the stream's submissions up to seq had finished, at the latest; INT64_MAX not known. */
int64_t facts_over(const struct facts *f, uint32_t stream, uint64_t seq);

/* Index of the first element of that array that belongs to `stream` or a later one. */
size_t facts_first_finished(const struct facts *f, uint32_t stream);
size_t facts_first_pending(const struct facts *f, uint32_t stream);
/* … and covers that submission, at least. */
size_t facts_first_pending_of(const struct facts *f, uint32_t stream, uint64_t seq);
size_t facts_first_order(const struct facts *f, uint32_t stream);
size_t facts_first_wait(const struct facts *f, uint32_t stream);
/* Was an edge, or an event or wait of the program's, put into the stream just before time_ns? It is pending itself until it fires, with or without work before it. */
bool facts_edge_near(const struct facts *f, uint32_t stream, int64_t time_ns);
