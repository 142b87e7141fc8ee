/* SPDX-License-Identifier: BSD-2-Clause */
#include "estimate_maker.h"

#include "tools/alloc.h"

#include <stdlib.h>

#define PIECES 20000u /* kept, of where the model is idle */

/* Every so-manieth piece, so that what is kept is no more than can be looked at one by one. */
static void keep_pieces(struct estimate *e, struct idle_pieces *pieces, double latency_ns)
{
	size_t step = pieces->n / PIECES + 1, n = 0;

	for (size_t i = 0; i < pieces->n; i += step)
		pieces->at[n++] = pieces->at[i];
	pieces->n = n;
	e->pieces = *pieces;
	e->latency_ns = (int64_t)latency_ns;
	*pieces = (struct idle_pieces){ 0 };
}

static int by_mean(const void *a, const void *b)
{
	const struct work_class *x = *(struct work_class *const *)a, *y = *(struct work_class *const *)b;

	return (x->mean_ns > y->mean_ns) - (x->mean_ns < y->mean_ns);
}

/* What a kernel takes: the median over launches, each counting as its kind's mean. False: no memory. */
static bool median_kernel(const struct classes *c, uint64_t *launches, int64_t *ns)
{
	const struct work_class **kernels = array_new(c->n, sizeof(*kernels));
	uint64_t seen = 0;
	size_t n = 0;

	*launches = 0;
	*ns = 0;
	if (!kernels)
		return false;
	for (size_t i = 0; i < c->n; i++)
		if (c->at[i].n && c->at[i].like && c->at[i].like->family == GST_FAMILY_LAUNCH) {
			kernels[n++] = &c->at[i];
			*launches += c->at[i].works;
		}
	array_sort(kernels, n, sizeof(*kernels), by_mean);
	for (size_t i = 0; i < n; i++) {
		seen += kernels[i]->works;
		if (seen * 2 >= *launches) {
			*ns = kernels[i]->mean_ns > 0 && kernels[i]->mean_ns < 9e18 ? (int64_t)kernels[i]->mean_ns : 0;
			break;
		}
	}
	free(kernels);
	return true;
}

static bool make(struct maker *m, struct firing *const *firings)
{
	bool any = false;
	uint64_t kernels;
	int64_t kernel_ns;

	m->looks = array_new(m->n, sizeof(*m->looks));
	if (!m->looks || !estimate_find_bursts(m, firings))
		return false;
	for (size_t i = 0; i < m->out->run->n_traces; i++)
		any |= estimate_says_bursts(m, i);
	if (!any)
		return true;
	if (!classes_new(&m->classes) || !replay_new(&m->replay, m->works, m->n, &m->classes, estimate_samples_of, m) ||
	    !estimate_give_samples(m) || !estimate_look(m) || !median_kernel(&m->classes, &kernels, &kernel_ns))
		return false;
	for (uint32_t i = 0; i < m->n; i++) {
		if (!m->out->devices[i].estimate.made)
			continue;
		estimate_conclude(m, i);
		m->out->devices[i].estimate.kernels = kernels;
		m->out->devices[i].estimate.kernel_ns = kernel_ns;
		keep_pieces(&m->out->devices[i].estimate, &m->looks[i].pieces, m->latency_ns);
	}
	return true;
}

enum err_kind estimate_build(struct timeline *out, const struct device_work *works, struct firing *const *firings,
			     struct error *e)
{
	struct maker m = { .out = out, .works = works, .n = out->n_devices };
	bool ok = make(&m, firings);

	for (size_t i = 0; m.samples && i < out->run->n_traces; i++)
		burst_samples_free(&m.samples[i]);
	for (size_t i = 0; m.looks && i < m.n; i++) {
		for (int k = 0; k < VIEWS; k++)
			intervals_free(&m.looks[i].views[k].where);
		free(m.looks[i].pieces.at);
	}
	free(m.samples);
	free(m.bursts);
	free(m.meetings);
	free(m.looks);
	classes_free(&m.classes);
	replay_free(&m.replay);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
}

void estimate_free(struct estimate *e)
{
	free(e->pieces.at);
	*e = (struct estimate){ 0 };
}
