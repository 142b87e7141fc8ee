/* SPDX-License-Identifier: BSD-2-Clause */
#include "estimate_maker.h"

#include "alloc.h"

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

static bool make(struct maker *m, struct firing *const *firings)
{
	bool any = false;

	m->looks = array_new(m->n, sizeof(*m->looks));
	if (!m->looks || !estimate_find_bursts(m, firings))
		return false;
	for (size_t i = 0; i < m->out->run->n_traces; i++)
		any |= estimate_says_bursts(m, i);
	if (!any)
		return true;
	if (!classes_new(&m->classes) || !replay_new(&m->replay, m->works, m->n, &m->classes, estimate_samples_of, m) ||
	    !estimate_give_samples(m) || !estimate_look(m))
		return false;
	for (uint32_t i = 0; i < m->n; i++) {
		if (!m->out->devices[i].estimate.made)
			continue;
		estimate_conclude(m, i);
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
