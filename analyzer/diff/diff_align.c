/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_align.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/text.h"

/* ---- devices ---- */

enum by { BY_RANK, BY_UUID, BY_NUMBER, BYS };

static bool same(enum by by, const struct diff_run_device *a, const struct diff_run_device *b)
{
	switch (by) {
	case BY_RANK:
		return a->rank != GST_NONE && a->rank == b->rank;
	case BY_UUID:
		return a->uuid && b->uuid && a->uuid[0] && strcmp(a->uuid, b->uuid) == 0;
	default:
		return a->number == b->number;
	}
}

/* Each of base is exactly one of now. */
static bool match(size_t *out, const struct diff_run *base, const struct diff_run *now, enum by by)
{
	for (size_t i = 0; i < base->n_devices; i++) {
		size_t found = 0;

		for (size_t k = 0; k < base->n_devices; k++)
			if (k != i && same(by, &base->devices[k], &base->devices[i]))
				return false;
		for (size_t k = 0; k < now->n_devices; k++)
			if (same(by, &base->devices[i], &now->devices[k])) {
				out[i] = k;
				found++;
			}
		if (found != 1)
			return false;
	}
	return true;
}

void diff_match_devices(size_t *out, const struct diff_run *base, const struct diff_run *now)
{
	for (enum by by = BY_RANK; by < BYS; by++)
		if (match(out, base, now, by))
			return;
	for (size_t i = 0; i < base->n_devices; i++)
		out[i] = i;
}

/* ---- is a step the same thing? ---- */

static const struct diff_kernel *kernel_of(const struct diff_run_device *d, const char *name)
{
	for (size_t i = 0; i < d->n_kernels; i++)
		if (strcmp(d->kernels[i].name, name) == 0)
			return &d->kernels[i];
	return NULL;
}

static double in_number(const struct diff_kernel *k)
{
	return k->per_step;
}

static double in_time(const struct diff_kernel *k)
{
	return k->has_ns ? (double)k->ns_per_step : 0;
}

static double alike(const struct diff_run_device *a, const struct diff_run_device *b,
		    double (*much)(const struct diff_kernel *))
{
	double of_a = 0, of_b = 0, common = 0;

	for (size_t i = 0; i < b->n_kernels; i++)
		of_b += much(&b->kernels[i]);
	for (size_t i = 0; i < a->n_kernels; i++) {
		const struct diff_kernel *other = kernel_of(b, a->kernels[i].name);

		of_a += much(&a->kernels[i]);
		common += other ? fmin(much(&a->kernels[i]), much(other)) : 0;
	}
	return fmax(of_a, of_b) > 0 ? common / fmax(of_a, of_b) : -1;
}

double diff_kernels_alike(const struct diff_run_device *a, const struct diff_run_device *b)
{
	return alike(a, b, in_number);
}

double diff_kernels_alike_in_time(const struct diff_run_device *a, const struct diff_run_device *b)
{
	return alike(a, b, in_time);
}

static const char *quoted(char buf[64], const struct diff_run_device *d)
{
	char name[56];

	snprintf(buf, 64, "\"%s\"", text_clean(name, sizeof(name), d->step_name ? d->step_name : "", 40));
	return buf;
}

static const char *told_by(const struct diff_run_device *d)
{
	return d->by_ranges ? "NVTX ranges" : "launches";
}

const char *diff_other_steps(char *buf, size_t size, const struct diff_run_device *a, const struct diff_run_device *b)
{
	double number = diff_kernels_alike(a, b), time = diff_kernels_alike_in_time(a, b), part = number;
	double least = ALIGN_KERNELS;
	char first[64], second[64];

	if (!a->n_steps != !b->n_steps) {
		snprintf(buf, size, "only %s has steps", a->n_steps ? "base" : "new");
		return buf;
	}
	if (a->by_ranges && b->by_ranges && strcmp(a->step_name, b->step_name) == 0) {
		least = ALIGN_RANGES;
		part = fmax(number, time);
	} else if (a->by_ranges != b->by_ranges) {
		least = ALIGN_OTHERWISE;
	}
	if (part < 0 || part >= least)
		return NULL;
	if (a->by_ranges != b->by_ranges)
		snprintf(buf, size,
			 "%s tell base's steps and %s new's, and only %.0f %% of what a step launches is the same",
			 told_by(a), told_by(b), 100 * part);
	else if (a->by_ranges && least > ALIGN_RANGES)
		snprintf(buf, size,
			 "steps are %s there and %s here, and only %.0f %% of what a step launches is the same",
			 quoted(first, a), quoted(second, b), 100 * part);
	else
		snprintf(buf, size, "steps are made of other work: only %.0f %% of what a step launches is the same",
			 100 * part);
	return buf;
}

/* ---- kinds of steps ---- */

const struct diff_typical *diff_kind_typical(const struct diff_run_device *d, uint64_t key)
{
	for (size_t i = 0; i < d->n_classes; i++)
		if (d->classes[i].key == key)
			return &d->classes[i].typical;
	return NULL;
}

static struct align_kind *kind_of(struct aligned *out, const struct diff_class *c, size_t *cap)
{
	for (size_t i = 0; i < out->n_kinds; i++)
		if (out->kinds[i].key == c->key)
			return &out->kinds[i];
	if (!array_room(out->kinds, out->n_kinds, *cap))
		return NULL;
	out->kinds[out->n_kinds] = (struct align_kind){ .key = c->key, .words = c->words, .common = c->key != 0 };
	return &out->kinds[out->n_kinds++];
}

static bool add_kinds(struct aligned *out, const struct align_side *side, bool is_new, size_t *cap)
{
	for (size_t i = 0; i < side->n; i++) {
		const struct diff_run_device *d = &side->runs[i].devices[side->device];

		for (size_t k = 0; k < d->n_classes; k++) {
			struct align_kind *kind = kind_of(out, &d->classes[k], cap);
			double share = (double)d->classes[k].typical.n / (double)(d->n_steps * side->n);

			if (!kind)
				return false;
			*(is_new ? &kind->new_share : &kind->base_share) += share;
		}
	}
	return true;
}

static void leave_out_rare(struct aligned *out, const struct align_side *side)
{
	for (size_t k = 0; k < out->n_kinds; k++)
		for (size_t i = 0; i < side->n; i++) {
			const struct diff_typical *t =
				diff_kind_typical(&side->runs[i].devices[side->device], out->kinds[k].key);

			if (!t || t->n < DIFF_LEAST_STEPS)
				out->kinds[k].common = false;
		}
}

static int by_share(const void *a, const void *b)
{
	const struct align_kind *x = a, *y = b;

	if (x->base_share < y->base_share || x->base_share > y->base_share)
		return x->base_share > y->base_share ? -1 : 1;
	if (x->new_share < y->new_share || x->new_share > y->new_share)
		return x->new_share > y->new_share ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

bool diff_align_steps(struct aligned *out, const struct align_side *base, const struct align_side *now)
{
	double apart = 0, base_common = 0, new_common = 0;
	size_t cap = 0;

	*out = (struct aligned){ 0 };
	if (!add_kinds(out, base, false, &cap) || !add_kinds(out, now, true, &cap))
		return false;
	leave_out_rare(out, base);
	leave_out_rare(out, now);
	array_sort(out->kinds, out->n_kinds, sizeof(*out->kinds), by_share);
	for (size_t i = 0; i < out->n_kinds; i++) {
		const struct align_kind *k = &out->kinds[i];

		apart += fabs(k->base_share - k->new_share) / 2;
		base_common += k->common ? k->base_share : 0;
		new_common += k->common ? k->new_share : 0;
	}
	out->by_kind = apart > ALIGN_MIXED && base_common >= ALIGN_COMMON && new_common >= ALIGN_COMMON;
	return true;
}

void diff_aligned_free(struct aligned *a)
{
	free(a->kinds);
	*a = (struct aligned){ 0 };
}

/* ---- the typical step of several kinds ---- */

struct mixture {                                        /* sums, each kind weighted */
	double leaf_ns[DIFF_LEAVES], square[DIFF_ROWS]; /* square: of errors */
	double tail_ns, tail_square, below;
	size_t n;
};

static void add_to_mixture(struct mixture *m, const struct diff_typical *t, double weight)
{
	double square;

	for (size_t i = 0; i < DIFF_LEAVES; i++)
		m->leaf_ns[i] += weight * (double)t->row_ns[ROW_LEAVES + i];
	for (size_t i = 0; i < DIFF_ROWS; i++)
		m->square[i] += weight * weight * t->error_ns[i] * t->error_ns[i];
	square = weight * weight * t->error_ns[ROW_STEP] * t->error_ns[ROW_STEP];
	m->below += square * square / (t->blocks > 2 ? (double)t->blocks - 1 : 1);
	m->tail_ns += weight * (double)t->tail_ns;
	m->tail_square += weight * weight * t->tail_error_ns * t->tail_error_ns;
	m->n += t->n;
}

struct diff_typical diff_aligned_typical(const struct aligned *a, const struct diff_run_device *d)
{
	struct diff_typical out = { .n = 0 };
	struct mixture m = { .n = 0 };
	double all = 0, step;

	if (!a->by_kind)
		return d->typical;
	for (size_t i = 0; i < a->n_kinds; i++)
		all += a->kinds[i].common ? a->kinds[i].base_share : 0;
	for (size_t i = 0; i < a->n_kinds; i++)
		if (a->kinds[i].common)
			add_to_mixture(&m, diff_kind_typical(d, a->kinds[i].key), a->kinds[i].base_share / all);
	for (size_t i = 0; i < DIFF_LEAVES; i++)
		out.row_ns[ROW_LEAVES + i] = llround(m.leaf_ns[i]);
	diff_rows_sum(out.row_ns);
	for (size_t i = 0; i < DIFF_ROWS; i++)
		out.error_ns[i] = sqrt(m.square[i]);
	out.tail_ns = llround(m.tail_ns);
	out.tail_error_ns = sqrt(m.tail_square);
	out.n = m.n;
	step = m.square[ROW_STEP]; /* degrees of freedom: Satterthwaite's */
	out.blocks = m.below > 0 ? (size_t)(step * step / m.below) + 1 : m.n;
	return out;
}
