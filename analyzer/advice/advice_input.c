/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_input.c: batches that came late, whoever was to make them. */
#include "advice_parts.h"

#include "tools/ns.h"

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
	return c->cause == CAUSE_input_wait || cause_is_elsewhere(c);
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

/* Idle time of that part that batches were waited for; elsewhere: made by another process, else by the submitting one. */
static struct waited waited_for(const struct advisor *a, bool elsewhere, recovery_time *part)
{
	const struct attribution *all = &a->device->attribution;
	struct waited w = { 0 };

	for (size_t i = 0; i < all->n_gaps; i++) {
		bool met = false;

		for (size_t k = 0; k < all->gaps[i].n_causes; k++) {
			const struct gap_cause *c = &all->gaps[i].causes[k];
			int64_t ns = part(a->recovery, c->begin_ns, c->end_ns);

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

/* What is longest when all of that is gone, but for what storage and networks take. */
static void set_loss(const struct advisor *a, struct advice *out, const struct waited *w, int64_t recoverable_ns)
{
	struct recover_next next;
	uint64_t gone = w->covers;
	int64_t most = 0;

	out->lost_ns = w->lost_ns;
	out->observed_ns = w->observed_ns;
	out->likely_ns = 0;
	out->recoverable_ns = recoverable_ns;
	out->covers = w->covers;
	for (int i = 0; i < CAUSE_COUNT; i++) {
		if (w->by_cause[i] > most) {
			most = w->by_cause[i];
			out->about = recover_of_cause((enum cause_id)i);
		}
		if (is_far((uint8_t)i))
			gone &= ~((uint64_t)1 << recover_of_cause((enum cause_id)i));
	}
	next = recover_next(a->recovery, gone, NULL, 0);
	out->next = next.name;
	out->next_ns = next.ns;
}

/* So many of them would do that work in the time that is left without waiting for it. */
static uint64_t needed(int64_t work_ns, int64_t rest_ns)
{
	double n = rest_ns > 0 ? IN_HAND * (double)work_ns / (double)rest_ns : 0;
	uint64_t whole = n < 1e6 ? (uint64_t)n : 0;

	return n >= 1e6 || rest_ns <= 0 ? 0 : whole + ((double)whole < n);
}

/* How many workers, and what they do for a batch: of the steps alone where there are any. */
static bool worker_figures(struct advisor *a, struct advice *out)
{
	const struct recovery *r = a->recovery;
	struct waited w = waited_for(a, true, recovery_in_steps);
	int64_t span = recovery_in_steps(r, r->begin_ns, r->end_ns), rest = span - w.lost_ns + w.far_ns;
	int64_t steps = (int64_t)r->n_steps;
	struct workers all, in_steps;
	uint64_t n;

	if (!workers_find(a, &all, recovery_part) || !workers_find(a, &in_steps, recovery_in_steps)) {
		a->failed = true;
		return false;
	}
	if (!all.n || !all.work_ns) {
		advice_evidence(a, out, "what the workers did meanwhile is not on record: gpushim run records it");
		return true;
	}
	n = needed(in_steps.work_ns, rest);
	if (n)
		figure_count(out, "needed", n > all.n ? n : all.n + 1);
	figure_ns(out, "work_ns", all.work_ns);
	figure_ns(out, "on_cpu_ns", all.on_cpu_ns);
	figure_ns(out, "read_ns", all.read_ns);
	figure_ns(out, "span_ns", recovery_span(r));
	figure_count(out, "workers", all.n);
	if (!steps) {
		figure_ns(out, "busy_ns", all.work_ns);
	} else {
		figure_ns(out, "batch_work_ns", in_steps.work_ns / steps);
		figure_ns(out, "step_ns", rest / steps);
	}
	return true;
}

/* What they wait for storage and networks stays: several at once may get no more of it than one. */
bool advise_workers(struct advisor *a, struct advice *out)
{
	struct waited w = waited_for(a, true, recovery_part);

	set_loss(a, out, &w, w.lost_ns - w.far_ns);
	if (!advice_matters(a, out))
		return false;
	figure_count(out, "waits", w.gaps);
	figure_ns(out, "longest_ns", w.longest_ns);
	if (w.longest)
		seen_evidence(a, out, w.longest, w.of_longest);
	return worker_figures(a, out);
}

/* With n others at work w for each batch a step takes max(c, w/n): with as many as keep up all of it comes back, but for what storage takes, which is
 * the same for all of them together. */
bool advise_beside(struct advisor *a, struct advice *out)
{
	struct waited w = waited_for(a, false, recovery_part);
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
