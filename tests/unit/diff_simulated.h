/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_simulated.h: runs of a training program as they vary: steps by 10 % and not independently (autoregressive, of order one), runs by
 * run-to-run; idle and busy time each by itself around what they have in common. */
#pragma once

#include <math.h>

#include "diff/diff_rows.h"

struct simulated_program {
	double leaf_ns[DIFF_LEAVES]; /* of a step */
	double variation;            /* of a step: standard deviation by mean */
	double autocorrelation;
	double run_to_run;
	double rare, longer;         /* such a part of the steps takes longer by so many compute times */
	size_t steps;
};

static uint64_t simulated_state = 1;

static double simulated_uniform(void)
{
	simulated_state ^= simulated_state << 13;
	simulated_state ^= simulated_state >> 7;
	simulated_state ^= simulated_state << 17;
	return ((double)(simulated_state >> 11) + 0.5) / 9007199254740992.0;
}

static double simulated_normal(void)
{
	return sqrt(-2 * log(simulated_uniform())) * cos(6.283185307179586 * simulated_uniform());
}

/* The next of a series with variance 1. */
static double simulated_follow(double *last, double autocorrelation)
{
	*last = autocorrelation * *last + sqrt(1 - autocorrelation * autocorrelation) * simulated_normal();
	return *last;
}

static void simulated_run(struct diff_series *s, const struct simulated_program *p)
{
	double run = 1 + p->run_to_run * simulated_normal(), common = simulated_normal(), own[DIFF_LEAVES];

	*s = (struct diff_series){ .n = p->steps };
	for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++) {
		own[leaf] = simulated_normal();
		s->leaf[leaf] = p->leaf_ns[leaf] > 0 ? calloc(p->steps, sizeof(int64_t)) : NULL;
	}
	for (size_t i = 0; i < p->steps; i++) {
		double all = simulated_follow(&common, p->autocorrelation);

		for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++) {
			double noise = all + simulated_follow(&own[leaf], p->autocorrelation);
			double ns = p->leaf_ns[leaf] * run * (1 + p->variation * noise);

			if (s->leaf[leaf])
				s->leaf[leaf][i] = ns > 0 ? (int64_t)ns : 0;
		}
		if (p->rare > 0 && simulated_uniform() < p->rare)
			s->leaf[LEAF_COMPUTE][i] += (int64_t)(p->longer * p->leaf_ns[LEAF_COMPUTE] * (0.5 + simulated_uniform()));
	}
}
