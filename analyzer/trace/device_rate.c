/* SPDX-License-Identifier: BSD-2-Clause */
#include "device_rate.h"

#include "tools/alloc.h"

#include <math.h>
#include <stdlib.h>

#define PARTS 16 /* of a block: in each, the point that is known best speaks for it */
#define FAR 8    /* blocks without any point: what was measured before and after says nothing of the rate between */
#define WIDER 4  /* times, where bounds contradict each other */
#define ROUNDS 4

struct rates { /* offset change per device nanosecond */
	double low, high;
};

struct block { /* of points within RATE_BLOCK_NS */
	double begin_ns, end_ns;
	size_t first_rep, n_reps;
	struct rates average; /* bounds on it */
	double wander;
	bool contradicts;
};

struct fit {
	struct clock_point *p;
	size_t n;
	struct block *blocks;
	size_t n_blocks;
	size_t *reps; /* points */
	size_t n_reps;
	double limit; /* of any rate */
};

/* What may happen to the offset between point i-1 and point i, besides what the clocks' rates say. */
static double jump_ns(const struct clock_point *p)
{
	if (p[0].section == p[-1].section)
		return 0;
	return p[0].section > p[-1].section ? p[0].link_ns : p[-1].link_ns; /* of the later one */
}

static void carry(struct clock_point *p, struct rates r)
{
	double dt = p[0].device_ns - p[-1].device_ns, jump = jump_ns(p);

	p[0].low = fmax(p[0].low, p[-1].low + r.low * dt - jump);
	p[0].high = fmin(p[0].high, p[-1].high + r.high * dt + jump);
}

static void carry_back(struct clock_point *p, struct rates r)
{
	double dt = p[0].device_ns - p[-1].device_ns, jump = jump_ns(p);

	p[-1].low = fmax(p[-1].low, p[0].low - r.high * dt - jump);
	p[-1].high = fmin(p[-1].high, p[0].high - r.low * dt + jump);
}

static struct rates rates_between(const struct fit *f, size_t i)
{
	const struct block *a = &f->blocks[f->p[i - 1].block], *b = &f->blocks[f->p[i].block];
	double gap = a == b ? 0 : (b->begin_ns - a->end_ns) / RATE_BLOCK_NS, more;

	if (gap > FAR)
		return (struct rates){ -f->limit, f->limit };
	more = fmax(a->wander, b->wander) * (1 + gap);
	return (struct rates){ fmax(fmin(a->average.low, b->average.low) - more, -f->limit),
			       fmin(fmax(a->average.high, b->average.high) + more, f->limit) };
}

/* Carries every bound to every point, loosened by what the clocks can have drifted in between. */
static void propagate(const struct fit *f)
{
	struct rates limit = { -f->limit, f->limit };

	for (size_t i = 1; i < f->n; i++)
		carry(&f->p[i], f->blocks ? rates_between(f, i) : limit);
	for (size_t i = f->n; i-- > 1;)
		carry_back(&f->p[i], f->blocks ? rates_between(f, i) : limit);
}

/* ---- estimating ----------------------------------------------------------------------------------------------------- */

static double width(const struct clock_point *p)
{
	return p->high - p->low;
}

static struct block *add_block(struct fit *f, const struct clock_point *p)
{
	f->blocks[f->n_blocks] = (struct block){
		.begin_ns = p->device_ns, .end_ns = p->device_ns, .first_rep = f->n_reps, .wander = RATE_WANDER
	};
	return &f->blocks[f->n_blocks++];
}

static void make_blocks(struct fit *f)
{
	struct block *b = NULL;
	int part = -1;

	for (size_t i = 0; i < f->n; i++) {
		struct clock_point *p = &f->p[i];
		int at;

		if (!b || p->device_ns - b->begin_ns >= RATE_BLOCK_NS) {
			b = add_block(f, p);
			part = -1;
		}
		at = (int)((p->device_ns - b->begin_ns) / RATE_BLOCK_NS * PARTS);
		if (at != part) {
			f->reps[f->n_reps++] = i;
			b->n_reps++;
			part = at;
		} else if (width(p) < width(&f->p[f->reps[f->n_reps - 1]])) {
			f->reps[f->n_reps - 1] = i;
		}
		b->end_ns = p->device_ns;
		p->block = (uint32_t)(f->n_blocks - 1);
	}
}

/* From every pair of the points that stand for the block and its neighbours: a line through both windows. */
static void estimate(struct fit *f, size_t k)
{
	struct block *b = &f->blocks[k];
	bool before = k > 0 && b->begin_ns - b[-1].end_ns < RATE_BLOCK_NS;
	bool after = k + 1 < f->n_blocks && b[1].begin_ns - b->end_ns < RATE_BLOCK_NS;
	size_t first = before ? b[-1].first_rep : b->first_rep;
	size_t last = after ? b[1].first_rep + b[1].n_reps : b->first_rep + b->n_reps;
	struct rates r = { -f->limit, f->limit };
	double middle, half;

	for (size_t i = first; i < last; i++) {
		for (size_t j = i + 1; j < last; j++) {
			const struct clock_point *p = &f->p[f->reps[i]], *q = &f->p[f->reps[j]];
			double dt = q->device_ns - p->device_ns;
			double more = 2 * EVENT_STEP_NS;

			if (dt <= 0)
				continue;
			r.low = fmax(r.low, (q->low - p->high - more) / dt - RATE_FLOAT);
			r.high = fmin(r.high, (q->high - p->low + more) / dt + RATE_FLOAT);
		}
	}
	/* Contradicting bounds (low > high) are a rate that changed, or noise: the width then says how much. */
	middle = (r.low + r.high) / 2;
	half = fabs(r.high - r.low) / 2;
	b->average = (struct rates){ middle - half, middle + half };
}

/* ---- contradictions ------------------------------------------------------------------------------------------------- */

/* Bounds that miss each other by no more than their own rounding say the same. */
static double missed_ns(const struct clock_point *p)
{
	return fmax(0, p->low - p->high - EVENT_STEP_NS - 2 * p->loose_ns);
}

static bool find_contradictions(struct fit *f)
{
	bool any = false;

	for (size_t i = 0; i < f->n; i++) {
		f->p[i].residual_ns = missed_ns(&f->p[i]);
		if (f->p[i].residual_ns > 0)
			any = f->blocks[f->p[i].block].contradicts = true;
	}
	return any;
}

/* There the rate wandered further than was allowed for. */
static void widen(struct fit *f)
{
	for (size_t k = 0; k < f->n_blocks; k++) {
		bool near = (k > 0 && f->blocks[k - 1].contradicts) ||
			    (k + 1 < f->n_blocks && f->blocks[k + 1].contradicts);

		if (near || f->blocks[k].contradicts)
			f->blocks[k].wander *= WIDER;
	}
	for (size_t k = 0; k < f->n_blocks; k++)
		f->blocks[k].contradicts = false;
	for (size_t i = 0; i < f->n; i++) {
		f->p[i].low = f->p[i].own_low;
		f->p[i].high = f->p[i].own_high;
	}
}

/* True: no contradiction is left. blocks is room for one for each point. */
static bool fit(struct fit *f, struct block *blocks)
{
	bool contradicts;

	f->blocks = NULL;
	f->n_blocks = f->n_reps = 0;
	propagate(f);
	for (size_t i = 0; i < f->n; i++) {
		f->p[i].own_low = f->p[i].low;
		f->p[i].own_high = f->p[i].high;
	}
	f->blocks = blocks;
	make_blocks(f);
	for (size_t k = 0; k < f->n_blocks; k++)
		estimate(f, k);
	propagate(f);
	contradicts = find_contradictions(f);
	for (int round = 0; contradicts && round < ROUNDS; round++) {
		widen(f);
		propagate(f);
		contradicts = find_contradictions(f);
	}
	return !contradicts;
}

bool device_rate_fit(struct clock_point *p, size_t n)
{
	struct fit f = { .p = p, .n = n, .limit = RATE_CRYSTALS };
	struct block *blocks = array_new(n, sizeof(*blocks));
	double *low = array_new(n, sizeof(*low)), *high = array_new(n, sizeof(*high));
	bool ok;

	f.reps = array_new(n, sizeof(*f.reps));
	ok = blocks && low && high && f.reps;
	for (size_t i = 0; ok && i < n; i++) {
		low[i] = p[i].low;
		high[i] = p[i].high;
	}
	if (ok && !fit(&f, blocks)) {
		for (size_t i = 0; i < n; i++) {
			p[i].low = low[i];
			p[i].high = high[i];
		}
		f.limit = RATE_SLEWED;
		fit(&f, blocks);
	}
	free(blocks);
	free(low);
	free(high);
	free(f.reps);
	return ok;
}
