/* SPDX-License-Identifier: BSD-2-Clause */
/* What the host probes prove: each stretch in which the thread made no driver call, walked back to what it waited for in the end. */
#include "cause_rules.h"

#include "cause_chain_leaf.h"
#include "tools/ns.h"

/* Rule 5 of CAUSES: where records of the probes are missing, another story of the same time may be. */
static bool is_whole(const struct host_trace *h)
{
	return h->probes.how == GST_PROBES_EBPF && !h->probes.events_lost && !h->probes.tasks_lost &&
	       !h->counters.records_dropped;
}

/* It waited for something, once or many times between two looks, though not for what is known: then that is said, or the time would be said
 * to be what a blocking call left behind. */
static bool is_asleep(const struct chain_segment *s)
{
	const struct chain_step *first = &s->steps[0];

	return s->n_steps > 1 || ((first->wait || first->stalls) && chain_leaf(s)->state != CHAIN_UNKNOWN);
}

static bool had_no_cpu(enum cause_id cause)
{
	return cause == CAUSE_cpu_contention || cause == CAUSE_cpu_throttled;
}

static void add(const struct gap_view *v, struct findings *out, const struct chain_segment *s, struct finding like)
{
	struct finding *f = findings_add_way(out, s, like.cause, like.confidence, like.begin_ns, like.end_ns);

	f->pid = v->trace->header.pid;
	f->tid = v->tid;
	f->n_chain = (uint32_t)s->n_steps;
}

/* What a thread does in an NCCL call is that call's own, but where it had no CPU there: its sockets lead to other ranks, and to no input. */
static void add_outside_of_comms(const struct gap_view *v, struct findings *out, const struct chain_segment *s,
				 struct finding like)
{
	for (int64_t at = s->begin_ns; at < s->end_ns;) {
		const struct nccl_call *c = gap_view_comm(v, at, s->end_ns);
		int64_t until = c ? max64(at, c->begin_ns) : s->end_ns, next = c ? min64(c->end_ns, s->end_ns) : until;

		if (c && s->n_steps == 1 && had_no_cpu(like.cause))
			until = next;
		like.begin_ns = at;
		like.end_ns = until;
		if (until > at)
			add(v, out, s, like);
		at = next;
	}
}

/* Between two driver calls, at which the thread was awake. Times of looks are estimates: a wait that goes beyond one of them, and for the most
 * part lies there, was in that call. */
static bool is_of_a_call(const struct host_wait *w, const struct silence *between)
{
	if (!w || !(w->what.flags & GST_WAIT_LOOKED))
		return false;
	return (between->begin_known && w->out_ns < between->begin_ns &&
		since64(between->begin_ns, w->out_ns) >= since64(w->in_ns, between->begin_ns)) ||
	       (w->in_ns > between->end_ns &&
		since64(w->in_ns, between->end_ns) >= since64(between->end_ns, w->out_ns));
}

static void propose(const struct gap_view *v, struct findings *out, const struct chain_segment *s,
		    const struct chain_about *about, const struct silence *silence)
{
	enum cause_id between = chain_between(s, about),
		      cause = between != CAUSE_unexplained ? between : chain_cause(s, about);
	bool inferred =
		s->inferred || between != CAUSE_unexplained || !is_whole(about->host) || !chain_proves(s, about, cause);

	if (silence && is_of_a_call(s->steps[0].wait, silence))
		cause = CAUSE_unexplained;
	if (cause == CAUSE_unexplained && !is_asleep(s))
		return;
	if (cause == CAUSE_host_compute && s->n_steps == 1 && silence && gap_view_is_brief(v, silence))
		return; /* a bubble's */
	if (cause == CAUSE_input_network && step_may_ask_a_network(&s->steps[0]) && gap_view_meets_ranks(v, s->end_ns))
		cause = CAUSE_comm_host; /* by what came later: nothing proves it */
	inferred |= cause == CAUSE_unexplained || cause == CAUSE_comm_host;
	add_outside_of_comms(v, out, s,
			     (struct finding){
				     .cause = cause,
				     .confidence = inferred ? CONFIDENCE_INFERRED : CONFIDENCE_OBSERVED,
			     });
}

/* What a thread does in a driver call is the call's own. Not that it had no CPU there: the call would have been over. Nor, in the call that
 * submits, what it waited for: a copy from a mapped file reads that. */
static bool holds_up_a_call(const struct gap_view *v, const struct chain_segment *s, enum cause_id cause)
{
	if (had_no_cpu(cause))
		return true;
	return s->begin_ns >= v->submit_begin_ns &&
	       (cause == CAUSE_input_storage || cause == CAUSE_input_network || cause == CAUSE_memory_stall);
}

struct scratch { /* used again for each walk */
	struct chain_seen seen;
	struct chain_saved saved;
};

static void look_through(struct chain_about *about, struct scratch *scratch, struct findings *out)
{
	out->failed |= !chain_seen_set(&scratch->seen, about->whole) ||
		       !chain_saved_set(&scratch->saved, about->whole, about->copied_out_ns);
	about->seen = &scratch->seen;
	about->saved = &scratch->saved;
}

/* The walk of the calls has holes, where the silences are. at: one of its segments, each asked for in turn. */
static void set_asked(struct chain_about *about, size_t at)
{
	const struct chain_segment *s = about->whole->at;

	if (at > 0 && s[at].begin_ns == s[at - 1].end_ns)
		return;
	about->asked_begin_ns = s[at].begin_ns;
	while (at + 1 < about->whole->n && s[at + 1].begin_ns == s[at].end_ns)
		at++;
	about->asked_end_ns = s[at].end_ns;
}

/* silence: whose walk it is; NULL that of the calls between them. */
static void propose_walk(const struct gap_view *v, struct findings *out, struct chain_about about,
			 const struct silence *silence, struct scratch *scratch)
{
	look_through(&about, scratch, out);
	for (size_t i = 0; i < about.whole->n; i++) {
		const struct chain_segment *s = &about.whole->at[i];

		set_asked(&about, i);
		if (silence || (s->n_steps == 1 && holds_up_a_call(v, s, chain_cause(s, &about))))
			propose(v, out, s, &about, silence);
	}
}

void cause_chain(const struct gap_view *v, struct findings *out)
{
	struct chain_about about = { .host = v->host.host, .copied_out_ns = INT64_MAX };
	struct scratch scratch = { 0 };

	if (v->n_chains) {
		about.copied_out_ns = gap_view_copied_out_ns(v);
		about.communicates = v->trace->n_comms > 0;
		about.run = v->run;
	}
	for (size_t i = 0; i < v->n_chains; i++) {
		about.whole = &v->chains[i];
		propose_walk(v, out, about, &v->silences[i], &scratch);
	}
	about.whole = &v->in_calls;
	propose_walk(v, out, about, NULL, &scratch);
	chain_seen_free(&scratch.seen);
	chain_saved_free(&scratch.saved);
}
