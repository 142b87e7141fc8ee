/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_totals.h"

#include <stdio.h>

#include "tools/ns.h"
#include "tools/text.h"

static void add(int64_t *sum, int64_t ns)
{
	*sum = sum64(*sum, ns);
}

void totals_add(struct totals *t, const struct summary_device *d)
{
	add(&t->span, d->span_ns);
	add(&t->compute, d->timeline->compute_ns);
	add(&t->comm, d->timeline->comm_ns);
	add(&t->comm_wait, d->comm_wait_ns);
	add(&t->comm_transfer, d->comm_transfer_ns);
	add(&t->h2d_pageable, d->h2d_pageable_ns);
	add(&t->h2d_pinned, d->h2d_pinned_ns);
	add(&t->d2h, d->d2h_ns);
	add(&t->d2d, d->d2d_ns);
	add(&t->peer, d->peer_ns);
	add(&t->memset, d->memset_ns);
	add(&t->idle, d->timeline->idle_ns);
	for (int i = 0; i < CAUSE_COUNT; i++)
		add(&t->causes[i], d->attribution.causes_ns[i]);
}

int totals_rank(const int64_t causes[CAUSE_COUNT], enum cause_id order[CAUSE_COUNT])
{
	int n = 0;

	for (int i = 0; i < CAUSE_COUNT; i++) {
		int at = n;

		if (!causes[i])
			continue;
		for (; at > 0 && causes[order[at - 1]] < causes[i]; at--)
			order[at] = order[at - 1];
		order[at] = (enum cause_id)i;
		n++;
	}
	return n;
}

void totals_causes(const int64_t causes[CAUSE_COUNT], int64_t whole, char *buf, size_t size)
{
	enum cause_id order[CAUSE_COUNT];
	char length[TEXT_SHORT];
	size_t used = 0;
	int n = totals_rank(causes, order);

	for (int i = 0; i < n && i < 3 && used < size && causes[order[i]] >= whole / 50; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s %s %s", i ? "," : ":", cause_name(order[i]),
					 text_duration(length, causes[order[i]]));
}

const struct gap_cause *totals_main_cause(const struct gap_story *g, int cause)
{
	const struct gap_cause *best = NULL;

	for (size_t i = 0; i < g->n_causes; i++) {
		const struct gap_cause *c = &g->causes[i];

		if ((cause < 0 || c->cause == cause) && c->n_evidence &&
		    (!best || c->end_ns - c->begin_ns > best->end_ns - best->begin_ns))
			best = c;
	}
	return best;
}
