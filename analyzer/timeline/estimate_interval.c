/* SPDX-License-Identifier: BSD-2-Clause */
#include "estimate_maker.h"

#include "tools/ns.h"

#include <math.h>

#define FEW_BURSTS 3u
#define FEW_SAMPLES 8u

/* Student's t, 0.975 */
static double quantile(uint32_t degrees)
{
	static const double t[] = { 12.71, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26,
				    2.23,  2.20,  2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09 };

	return t[degrees < sizeof(t) / sizeof(t[0]) ? degrees : sizeof(t) / sizeof(t[0]) - 1];
}

/* The jackknife's, of the mean over the groups. */
static double variance(const struct view *v, uint32_t n)
{
	double mean = 0, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		mean += v->groups[i] / n;
	for (uint32_t i = 0; i < n; i++)
		sum += (v->groups[i] - mean) * (v->groups[i] - mean);
	return n > 1 ? sum * (n - 1) / n : 0;
}

/* Single pieces of work differ from their class's mean by chance. */
static double own_variance(const struct maker *m, uint32_t device)
{
	double sum = 0;

	for (size_t i = 0; i < m->replay.n_steps; i++) {
		const struct replay_step *s = &m->replay.steps[i];

		if (s->work && m->replay.flows[s->flow].device == device)
			sum += m->classes.at[s->class].spread_ns * m->classes.at[s->class].spread_ns;
	}
	return sum;
}

static int64_t within(double ns, int64_t least, int64_t most)
{
	return ns <= (double)least ? least : ns >= (double)most ? most : (int64_t)(ns + 0.5);
}

static uint32_t groups_met(const struct maker *m, uint32_t device)
{
	return (uint32_t)__builtin_popcount(m->looks[device].met);
}

/* share: of the device's time that the view is about. */
static struct likely likely(const struct maker *m, uint32_t device, int view, int64_t least, int64_t most, double share)
{
	const struct view *v = &m->looks[device].views[view];
	const struct inside *in = &m->looks[device].inside;
	double idle = v->idle_ns + in->middle, chance, clock;
	struct likely l = { within(idle, least, most), least, most };

	if (!m->out->devices[device].estimate.measured)
		return l;
	chance = quantile(groups_met(m, device) - 1) * sqrt(variance(v, m->n_groups) + own_variance(m, device) * share);
	clock = fabs(v->later_ns - v->earlier_ns) / 2;
	l.low_ns = within(idle - chance - clock - fmax(0, v->idle_ns - v->longer_ns) - (in->middle - in->low), least,
			  l.ns);
	l.high_ns = within(idle + chance + clock + fmax(0, v->shorter_ns - v->idle_ns) + (in->high - in->middle), l.ns,
			   most);
	return l;
}

void estimate_conclude(struct maker *m, uint32_t device)
{
	struct device_timeline *d = &m->out->devices[device];
	struct estimate *e = &d->estimate;
	int64_t span_ns = d->end_ns - d->begin_ns, least_ns = max64(0, d->idle_ns - d->idle_error_ns);
	int64_t most_ns = max64(least_ns, min64(span_ns, sum64(d->idle_ns + d->unresolved_ns, d->idle_error_ns)));

	e->measured = groups_met(m, device) >= FEW_BURSTS && e->bracketed >= FEW_SAMPLES;
	e->unresolved = likely(m, device, UNRESOLVED, 0, d->unresolved_ns,
			       fmin(1, (double)d->unresolved_ns / (double)max64(1, span_ns)));
	e->whole = likely(m, device, WHOLE, least_ns, most_ns, 1);
	if (!e->bracketed) {
		e->unresolved.ns = d->unresolved_ns / 2;
		e->whole.ns = middle64(least_ns, most_ns);
	}
	e->inside_ns = within(m->looks[device].inside.middle, 0, e->unresolved.ns);
}
