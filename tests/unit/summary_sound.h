/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_sound.h: what holds of every answer, whatever the files: each nanosecond of the span has one owner, each of idle time one cause,
 * and every sum over parts is the whole. Also of damaged traces, and of hostile ones. */
#pragma once

#include "summary/summary.h"

#define SOUND(holds)                   \
	do {                           \
		if (!(holds))          \
			return #holds; \
	} while (0)

static inline const char *sound_busy(const struct device_timeline *d, const struct summary_device *s)
{
	int64_t busy = d->compute_ns + d->comm_ns + d->memset_ns, unresolved = 0, at = d->begin_ns;

	SOUND(d->begin_ns <= d->end_ns && s->span_ns == d->end_ns - d->begin_ns);
	SOUND(d->compute_ns >= 0 && d->comm_ns >= 0 && d->memset_ns >= 0 && d->idle_ns >= 0 && d->idle_error_ns >= 0);
	for (int i = 0; i < 8; i++) {
		SOUND(d->copy_ns[i] >= 0);
		busy += d->copy_ns[i];
	}
	SOUND(busy + d->idle_ns == s->span_ns);
	SOUND(busy == d->compute_ns + d->comm_ns + s->copy_exposed_ns);
	SOUND(s->h2d_pageable_ns + s->h2d_pinned_ns + s->d2h_ns + s->d2d_ns + s->peer_ns + s->memset_ns ==
	      s->copy_exposed_ns);
	for (size_t i = 0; i < d->n_unresolved; i++) {
		SOUND(d->unresolved[i].begin_ns >= at && d->unresolved[i].end_ns >= d->unresolved[i].begin_ns);
		at = d->unresolved[i].end_ns;
		unresolved += at - d->unresolved[i].begin_ns;
	}
	SOUND(at <= d->end_ns && unresolved == d->unresolved_ns);
	for (size_t i = 0; i < d->n_ops; i++)
		SOUND(d->ops[i].begin_ns <= d->ops[i].end_ns);
	return NULL;
}

static inline const char *sound_piece(const struct gap_cause *c, int64_t at)
{
	SOUND(c->begin_ns == at && c->end_ns > at && c->cause < CAUSE_COUNT);
	for (size_t k = 0; k < c->n_chain; k++)
		SOUND(c->chain[k].begin_ns >= at && c->chain[k].begin_ns <= c->chain[k].end_ns &&
		      c->chain[k].end_ns <= c->end_ns);
	for (size_t k = 0; k < c->n_held; k++) {
		SOUND(c->held[k].begin_ns == at && c->held[k].end_ns > at);
		at = c->held[k].end_ns;
	}
	SOUND(!c->n_held || at == c->end_ns);
	return NULL;
}

/* The pieces of each gap tile it, and the sums by cause are theirs. */
static inline const char *sound_idle(const struct device_timeline *d, const struct attribution *a)
{
	int64_t idle = 0, last = d->begin_ns, causes[CAUSE_COUNT] = { 0 }, observed[CAUSE_COUNT] = { 0 };

	SOUND(a->n_gaps == d->n_gaps);
	for (size_t i = 0; i < d->n_gaps; i++) {
		const struct gap *g = &d->gaps[i];
		int64_t at = g->begin_ns;

		SOUND(a->gaps[i].gap == g && last <= g->begin_ns && g->begin_ns < g->end_ns && g->end_ns <= d->end_ns);
		SOUND(g->begin_error_ns >= 0 && g->end_error_ns >= 0);
		for (size_t k = 0; k < a->gaps[i].n_causes; k++) {
			const struct gap_cause *c = &a->gaps[i].causes[k];
			const char *why = sound_piece(c, at);

			if (why)
				return why;
			at = c->end_ns;
			causes[c->cause] += c->end_ns - c->begin_ns;
			observed[c->cause] += c->confidence == CONFIDENCE_OBSERVED ? c->end_ns - c->begin_ns : 0;
		}
		SOUND(at == g->end_ns);
		idle += g->end_ns - g->begin_ns;
		last = g->end_ns;
	}
	SOUND(idle == d->idle_ns);
	for (int i = 0; i < CAUSE_COUNT; i++) {
		SOUND(causes[i] == a->causes_ns[i] && observed[i] == a->observed_ns[i]);
		idle -= causes[i];
	}
	SOUND(idle == 0);
	return NULL;
}

static inline bool sound_sum(const int64_t causes[CAUSE_COUNT], int64_t sum)
{
	for (int i = 0; i < CAUSE_COUNT; i++) {
		if (causes[i] < 0)
			return false;
		sum -= causes[i];
	}
	return sum == 0;
}

/* Steps lie one behind the other; with startup and shutdown they have all idle time, and so have phases. */
static inline const char *sound_steps(const struct device_timeline *d, const struct summary_device *s)
{
	const struct device_phases *p = &s->phases;
	int64_t steps = p->startup_ns + p->shutdown_ns, phases = 0;

	SOUND(p->startup_ns >= 0 && p->shutdown_ns >= 0 && p->startup_ns == s->startup_ns &&
	      p->shutdown_ns == s->shutdown_ns);
	for (size_t k = 0; k < p->n_steps; k++) {
		SOUND(sound_sum(p->steps[k].causes_ns, p->steps[k].idle_ns));
		SOUND(p->steps[k].step->begin_ns <= p->steps[k].step->end_ns);
		SOUND(!k || p->steps[k - 1].step->end_ns <= p->steps[k].step->begin_ns);
		steps += p->steps[k].idle_ns;
	}
	for (size_t k = 0; k < p->n_phases; k++) {
		SOUND(sound_sum(p->phases[k].causes_ns, p->phases[k].idle_ns));
		phases += p->phases[k].idle_ns;
	}
	SOUND(p->n_steps ? steps == d->idle_ns : steps == 0);
	SOUND(!p->n_phases || phases == d->idle_ns);
	return NULL;
}

/* NULL, or what does not hold. */
static inline const char *summary_unsound(const struct summary *s)
{
	const char *why = NULL;

	for (size_t i = 0; i < s->n_devices && !why; i++) {
		const struct summary_device *d = &s->devices[i];

		why = sound_busy(d->timeline, d);
		if (!why)
			why = sound_idle(d->timeline, &d->attribution);
		if (!why)
			why = sound_steps(d->timeline, d);
		if (!why && !sound_sum(d->unresolved_causes, d->timeline->estimate.unresolved.ns))
			why = "the estimate's causes are its sum";
	}
	return why;
}
