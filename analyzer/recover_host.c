/* SPDX-License-Identifier: BSD-2-Clause */
/* recover_host.c: which processes' calls a device's figures are about, and how long the thread that feeds it sat in those that wait. */
#include "recover_parts.h"

#include "facts.h"
#include "gap_view.h"
#include "ns.h"

static int64_t blocked(const struct recovery *r, const struct thread_records *t)
{
	int64_t ns = 0;

	for (size_t i = 0; i < t->n_calls; i++)
		if (call_blocks(t->calls[i]))
			ns = sum64(ns, recovery_part(r, t->calls[i]->begin_ns, t->calls[i]->end_ns));
	return ns;
}

uint32_t recover_ordinal(const struct summary *s, const struct summary_device *d, const struct trace *t)
{
	uint32_t device = (uint32_t)(d - s->devices);

	for (size_t i = 0; i < s->ranks.n_members; i++)
		if (s->ranks.members[i].device == device && s->ranks.members[i].trace == t)
			return s->ranks.members[i].ordinal;
	return GST_NONE;
}

/* Of the thread with most submissions in the steps. */
void recover_set_feeder(struct recovery *r, const struct summary *s, const struct summary_device *d)
{
	size_t most = 0;

	for (size_t i = 0; i < s->threads.n_processes; i++) {
		const struct process_records *p = &s->threads.processes[i];
		uint32_t ordinal = recover_ordinal(s, d, p->trace);

		for (size_t k = 0; ordinal != GST_NONE && k < p->n_threads; k++) {
			size_t n = 0;

			for (size_t j = 0; j < p->threads[k].n_calls; j++) {
				const struct call *c = p->threads[k].calls[j];

				n += is_submission(c) && c->begin_ns < r->end_ns && c->end_ns > r->begin_ns &&
				     recover_is_of(p->trace, c, ordinal);
			}
			if (n > most) {
				most = n;
				r->feeder = &p->threads[k];
			}
		}
	}
	if (r->feeder)
		r->blocked_ns = min64(blocked(r, r->feeder), recovery_span(r));
}
