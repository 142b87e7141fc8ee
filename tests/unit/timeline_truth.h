/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_truth.h: what the model's devices truly did (timeline_model.h), and the sums that hold of every timeline. */
#pragma once

#include "timeline_model.h"

struct busy { /* a device's true work, of all processes */
	struct truth at[PROCESSES * MAX];
	size_t n;
	int64_t held;
};

/* Only device work, merged. */
static void merge_truth(struct busy *b, const struct model *models, size_t n_models, uint32_t device)
{
	size_t n = 0;

	b->n = 0;
	b->held = 0;
	for (size_t k = 0; k < n_models; k++) {
		const struct model *m = &models[k];

		b->held += m->held[device];
		for (size_t i = 0; i < m->n_ops; i++)
			if (!m->ops[i].host && m->ops[i].device == device)
				b->at[n++] = m->ops[i];
	}
	qsort(b->at, n, sizeof(b->at[0]), by_begin);
	for (size_t i = 0; i < n; i++) {
		if (b->n && b->at[i].begin <= b->at[b->n - 1].end)
			b->at[b->n - 1].end = max64(b->at[b->n - 1].end, b->at[i].end);
		else
			b->at[b->n++] = b->at[i];
	}
}

static void check_sums(const struct device_timeline *d, uint64_t seed)
{
	int64_t sum = d->compute_ns + d->comm_ns + d->memset_ns, idle = 0, unresolved = 0, at = d->begin_ns;

	for (int i = 0; i < 8; i++)
		sum += d->copy_ns[i];
	for (size_t i = 0; i < d->n_gaps; i++) {
		const struct gap *g = &d->gaps[i];

		if (g->begin_ns < at || g->end_ns > d->end_ns)
			print_message("seed %llu: gap %zu out of order\n", (unsigned long long)seed, i);
		assert_true(g->begin_ns >= at && g->end_ns >= g->begin_ns && g->end_ns <= d->end_ns);
		assert_true(g->begin_error_ns >= 0 && g->end_error_ns >= 0);
		idle += g->end_ns - g->begin_ns;
		at = g->end_ns;
	}
	assert_int_equal(idle, d->idle_ns);
	assert_int_equal(sum + idle, d->end_ns - d->begin_ns);
	at = d->begin_ns;
	for (size_t i = 0; i < d->n_unresolved; i++) {
		assert_true(d->unresolved[i].begin_ns >= at && d->unresolved[i].end_ns <= d->end_ns);
		at = d->unresolved[i].end_ns;
		unresolved += d->unresolved[i].end_ns - d->unresolved[i].begin_ns;
	}
	assert_int_equal(unresolved, d->unresolved_ns);
	for (size_t i = 0; i < d->n_ops; i++)
		assert_true(d->ops[i].begin_ns <= d->ops[i].end_ns);
}
