/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_input.c: batches that came late, whoever was to make them. */
#include "advice_parts.h"

#include <stdio.h>

#include "ns.h"
#include "text.h"

#define IN_HAND 1.1 /* so much more work than there is for the workers: else the slowest batch is always late */

/* Causes that are time of a worker's when a chain ends in another process; input-wait always is. */
static const enum cause_id input[] = { CAUSE_input_preprocess, CAUSE_input_storage, CAUSE_input_network,
				       CAUSE_input_wait };
#define N_INPUT (sizeof(input) / sizeof(*input))

static bool is_input(uint8_t cause)
{
	for (size_t i = 0; i < N_INPUT; i++)
		if (cause == input[i])
			return true;
	return false;
}

/* A worker that sleeps keeps the batch back as well. */
bool advise_is_input(const struct gap_cause *c)
{
	return is_input(c->cause) || c->cause == CAUSE_host_sleep;
}

static bool is_far(uint8_t cause)
{
	return cause == CAUSE_input_storage || cause == CAUSE_input_network;
}

static bool is_elsewhere(const struct gap_cause *c)
{
	return c->cause == CAUSE_input_wait || (c->n_chain > 1 && c->chain[c->n_chain - 1].pid != c->chain[0].pid);
}

struct waited {
	uint64_t gaps;
	int64_t lost_ns, observed_ns, longest_ns;
	int64_t far_ns; /* of lost_ns: for storage or a network, which may give several readers no more than one */
	const struct gap_cause *longest;
	size_t of_longest; /* gap */
	int64_t by_cause[CAUSE_COUNT];
	uint64_t covers;
};

/* Idle time that batches were waited for; elsewhere: made by another process, else by the submitting one. */
static struct waited waited_for(const struct advisor *a, bool elsewhere)
{
	const struct attribution *all = &a->device->attribution;
	struct waited w = { 0 };

	for (size_t i = 0; i < all->n_gaps; i++) {
		bool met = false;

		for (size_t k = 0; k < all->gaps[i].n_causes; k++) {
			const struct gap_cause *c = &all->gaps[i].causes[k];
			int64_t ns = seen_part(a, c->begin_ns, c->end_ns);

			if (ns <= 0 || is_elsewhere(c) != elsewhere ||
			    !(elsewhere ? advise_is_input(c) : is_input(c->cause)))
				continue;
			met = true;
			w.lost_ns += ns;
			w.by_cause[c->cause] += ns;
			w.far_ns += is_far(c->cause) ? ns : 0;
			w.observed_ns += c->confidence == CONFIDENCE_OBSERVED ? ns : 0;
			w.covers |= (uint64_t)1 << recover_of_cause(c->cause);
			if (ns > w.longest_ns) {
				w.longest_ns = ns;
				w.longest = c;
				w.of_longest = i;
			}
		}
		w.gaps += met;
	}
	return w;
}

static void say_longest(struct advisor *a, struct advice *out, const struct waited *w)
{
	char line[EVIDENCE_BYTES * 2];

	if (!w->longest || !w->longest->n_evidence)
		return;
	snprintf(line, sizeof(line), "%s in gap %zu: %s", confidence_name(w->longest->confidence),
		 a->device->first_gap + w->of_longest, w->longest->evidence[0]);
	advice_evidence(a, out, line);
}

/* What is longest when all of that is gone. */
static void set_loss(const struct advisor *a, struct advice *out, const struct waited *w, int64_t recoverable_ns)
{
	const struct recovery *r = a->recovery;
	int64_t most = 0;

	out->lost_ns = w->lost_ns;
	out->observed_ns = w->observed_ns;
	out->likely_ns = 0;
	out->recoverable_ns = recoverable_ns;
	out->covers = w->covers;
	for (int i = 0; i < CAUSE_COUNT; i++)
		if (w->by_cause[i] > most) {
			most = w->by_cause[i];
			out->about = recover_of_cause((enum cause_id)i);
		}
	out->next = "compute";
	out->next_ns = r->parts.compute_ns - r->likely_idle_ns;
	for (int i = 0; i < RECOVER_COUNT; i++) {
		int64_t ns = r->of[i].lost_ns + r->of[i].likely_ns;

		if ((!(w->covers & (uint64_t)1 << i) || is_far((uint8_t)i)) && ns > out->next_ns) {
			out->next = recover_name((enum recover_id)i);
			out->next_ns = ns;
		}
	}
}

/* So many of them would do that work in the time that is left without waiting for it. */
static uint64_t needed(int64_t work_ns, int64_t rest_ns)
{
	double n = rest_ns > 0 ? IN_HAND * (double)work_ns / (double)rest_ns : 0;
	uint64_t whole = n < 1e6 ? (uint64_t)n : 0;

	return n >= 1e6 || rest_ns <= 0 ? 0 : whole + ((double)whole < n);
}

/* What they wait for storage and networks stays: several at once may get no more of it than one. */
bool advise_workers(struct advisor *a, struct advice *out)
{
	struct waited w = waited_for(a, true);
	struct workers workers;
	int64_t span = recovery_span(a->recovery), rest = span - w.lost_ns + w.far_ns;
	int64_t steps = (int64_t)a->recovery->n_steps;
	uint64_t n;

	set_loss(a, out, &w, w.lost_ns - w.far_ns);
	if (!advice_matters(a, out))
		return false;
	if (!workers_find(a, &workers)) {
		a->failed = true;
		return false;
	}
	figure_count(out, "waits", w.gaps);
	figure_ns(out, "longest_ns", w.longest_ns);
	say_longest(a, out, &w);
	if (!workers.n || !workers.work_ns) {
		advice_evidence(a, out, "what the workers did meanwhile is not on record: gpushim run records it");
		return true;
	}
	n = needed(workers.work_ns, rest);
	if (n)
		figure_count(out, "needed", n > workers.n ? n : workers.n + 1);
	figure_ns(out, "work_ns", workers.work_ns);
	figure_ns(out, "on_cpu_ns", workers.on_cpu_ns);
	figure_ns(out, "read_ns", workers.read_ns);
	figure_ns(out, "span_ns", span);
	figure_count(out, "workers", workers.n);
	if (!steps) {
		figure_ns(out, "busy_ns", workers.work_ns);
	} else {
		figure_ns(out, "batch_work_ns", workers.work_ns / steps);
		figure_ns(out, "step_ns", rest / steps);
	}
	return true;
}

/* With n others at work w for each batch a step takes max(c, w/n): with as many as keep up all of it comes back, but for what storage takes, which is
 * the same for all of them together. */
bool advise_beside(struct advisor *a, struct advice *out)
{
	struct waited w = waited_for(a, false);
	int64_t span = recovery_span(a->recovery), work = w.lost_ns - w.far_ns;
	uint64_t n;

	set_loss(a, out, &w, clamp64(span - w.far_ns, 0, w.lost_ns));
	if (!advice_matters(a, out))
		return false;
	n = needed(work, span - w.lost_ns);
	figure_ns(out, "self_ns", w.lost_ns);
	figure_count(out, "waits", w.gaps);
	figure_count(out, "needed", n ? n : 1);
	seen_cause(a, out, (enum cause_id)out->about);
	return true;
}

bool advise_storage(struct advisor *a, struct advice *out)
{
	struct read_use use;

	if (!advice_matters(a, out))
		return false;
	seen_reads(a, &use);
	if (!use.n)
		return false;
	seen_file(a, out, CAUSE_input_storage);
	figure_count(out, "reads", use.n);
	figure_ns(out, "read_ns", use.ns);
	if (use.bytes) {
		figure_bytes(out, "read_bytes", use.bytes);
		figure_rate(out, "bytes_per_s", use.bytes, use.ns);
	}
	if (use.readers > 1)
		figure_count(out, "readers", use.readers);
	seen_cause(a, out, CAUSE_input_storage);
	return true;
}
