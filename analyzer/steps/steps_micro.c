/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_micro.h"

#include <stdlib.h>

#include "tools/alloc.h"

#define MOST 64        /* iterations of one step … */
#define MOST_UNNAMED 8 /* … where no name says that there is an optimizer: other things come seldom, too */
#define LEAST 3  /* steps of several iterations, to tell them from chance; kernels of an optimizer that no name tells */
#define PART 20  /* … which are at least a part in so many of the iteration */
#define LOGGED 4 /* … and so many for each copy to the host */

struct surplus { /* what an iteration launches that most others do not */
	size_t kernels, copies_out, optimizer;
};

struct find {
	const struct step_tokens *s;
	const size_t *at; /* of the iterations alone */
	const size_t *ends;
	size_t n, length;
	bool named;        /* there are kernels whose names say optimizer */
	uint32_t *present; /* by token: in how many of them it is */
	bool *changes;     /* by iteration: the parameters */
};

static bool count_present(struct find *f)
{
	uint32_t *last = array_new(f->s->n_about, sizeof(*last)); /* iteration, + 1 */

	f->present = array_new(f->s->n_about, sizeof(*f->present));
	for (size_t i = 0; last && f->present && i < f->n; i++)
		for (size_t k = f->at[i]; k < f->ends[i]; k++) {
			uint32_t id = f->s->ids[k];

			f->present[id] += last[id] != i + 1;
			last[id] = (uint32_t)i + 1;
		}
	free(last);
	return last && f->present;
}

static bool is_rare(const struct find *f, uint32_t id)
{
	return (uint64_t)f->present[id] * 5 <= (uint64_t)f->n * 3;
}

static struct surplus surplus_of(const struct find *f, size_t i)
{
	struct surplus r = { 0 };

	for (size_t k = f->at[i]; k < f->ends[i]; k++) {
		const struct token_about *a = &f->s->about[f->s->ids[k]];

		if (!is_rare(f, f->s->ids[k]))
			continue;
		r.kernels += a->kind == TOKEN_KERNEL || a->kind == TOKEN_GRAPH;
		r.copies_out += a->kind == TOKEN_D2H;
		r.optimizer += a->optimizer;
	}
	return r;
}

/* An optimizer, by its name; or many kernels that are most of what there is more of (those of another shape are in place of others), and
 * hardly anything is read. */
static bool changes_parameters(const struct find *f, size_t i)
{
	struct surplus r = surplus_of(f, i);
	size_t length = f->ends[i] - f->at[i], more = length > f->length ? length - f->length : 0;

	if (f->named)
		return r.optimizer;
	return r.kernels >= LEAST && r.kernels <= more && r.kernels * PART >= f->length && r.kernels * 2 >= more &&
	       r.kernels >= LOGGED * r.copies_out;
}

/* Every iteration has an optimizer: then none is a part of a step. */
static bool always_optimizes(struct find *f)
{
	for (size_t id = 0; id < f->s->n_about; id++) {
		bool optimizer = f->s->about[id].optimizer && f->present[id];

		f->named |= optimizer;
		if (optimizer && !is_rare(f, (uint32_t)id))
			return true;
	}
	return false;
}

/* How many iterations lie from one that changes parameters to the next, mostly; 0: not always as many, or too few to tell. */
static size_t regular_distance(const struct find *f)
{
	size_t counts[MOST + 1] = { 0 }, all = 0, last = SIZE_MAX, best = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (!f->changes[i])
			continue;
		if (last != SIZE_MAX) {
			counts[i - last <= MOST ? i - last : 0]++;
			all++;
		}
		last = i;
	}
	for (size_t m = 2; m <= MOST; m++)
		best = counts[m] > counts[best] ? m : best;
	if (best < 2 || (!f->named && best > MOST_UNNAMED) || counts[best] + 1 < LEAST || counts[best] * 5 < all * 4)
		return 0;
	return (all + 1) * best * 5 >= f->n * 4 ? best : 0;
}

static bool take(struct micro *out, const struct find *f, size_t distance)
{
	size_t begun = 0, shortest = SIZE_MAX;

	out->at = array_new(f->n + 1, sizeof(*out->at));
	if (!out->at)
		return false;
	out->at[out->n++] = f->at[0];
	for (size_t i = 0; i + 1 < f->n; i++) {
		if (!f->changes[i])
			continue;
		if (i + 1 - begun == distance && f->at[i + 1] - f->at[begun] < shortest) { /* nothing lies in between */
			shortest = f->at[i + 1] - f->at[begun];
			out->typical = out->n - 1;
		}
		begun = i + 1;
		out->at[out->n++] = f->at[i + 1];
	}
	return true;
}

/* The length of an iteration, as half of them have it. 0: no memory. */
static size_t usual_length(const struct find *f)
{
	int64_t *lengths = array_new(f->n, sizeof(*lengths));
	size_t usual = 0;

	for (size_t i = 0; lengths && i < f->n; i++)
		lengths[i] = (int64_t)(f->ends[i] - f->at[i]);
	if (lengths)
		usual = (size_t)array_median_low(lengths, f->n);
	free(lengths);
	return usual;
}

bool micro_find(struct micro *out, const struct step_tokens *s, const size_t *at, const uint8_t *is_step, size_t n)
{
	size_t *begins = array_new(n, sizeof(*begins)), *ends = array_new(n, sizeof(*ends));
	struct find f = { .s = s, .at = begins, .ends = ends, .changes = array_new(n, sizeof(*f.changes)) };
	bool ok = begins && ends && f.changes;
	size_t distance;

	*out = (struct micro){ .at = NULL };
	for (size_t i = 0; ok && i < n; i++)
		if (is_step[i]) {
			begins[f.n] = at[i];
			ends[f.n++] = i + 1 < n ? at[i + 1] : s->n;
		}
	if (ok && f.n > LEAST) {
		f.length = usual_length(&f);
		ok = f.length && count_present(&f);
		if (ok && !always_optimizes(&f)) {
			for (size_t i = 0; i < f.n; i++)
				f.changes[i] = changes_parameters(&f, i);
			distance = regular_distance(&f);
			ok = !distance || take(out, &f, distance);
		}
	}
	free(begins);
	free(ends);
	free(f.present);
	free(f.changes);
	return ok;
}

void micro_free(struct micro *m)
{
	free(m->at);
	*m = (struct micro){ 0 };
}
