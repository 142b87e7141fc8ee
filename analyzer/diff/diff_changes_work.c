/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_changes_work.c: kernels, copies, collectives and messages that came, went, come more or less often, or are larger or smaller. */
#include "diff_changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff_keep.h"
#include "tools/alloc.h"

static double count(const void *of)
{
	return ((const struct diff_kernel *)of)->per_step;
}

/* What one of them takes, and moves. Both are means: so of several runs theirs is. */
static double size(const void *of)
{
	const struct diff_kernel *k = of;

	return k->per_step > 0 ? (double)k->ns_per_step / k->per_step : 0;
}

static double bytes(const void *of)
{
	const struct diff_kernel *k = of;

	return k->per_step > 0 ? k->bytes_per_step / k->per_step : 0;
}

static int64_t time_of(const void *of, size_t which)
{
	(void)which;
	return ((const struct diff_kernel *)of)->ns_per_step;
}

/* ---- one of them in all runs ---- */

/* Which list of a device's: kernels, or what was asked for of NCCL. */
struct work_of {
	const struct diff_kernel *at;
	size_t n;
};

typedef struct work_of listed(const struct diff_run_device *d);

static struct work_of kernels_of(const struct diff_run_device *d)
{
	return (struct work_of){ d->kernels, d->n_kernels };
}

static struct work_of comms_of(const struct diff_run_device *d)
{
	return (struct work_of){ d->comms, d->n_comms };
}

struct alike {
	const struct change_seen *at;
	size_t n;
	const struct change_side *base, *now;
	listed *list;
	double step_ns;
};

/* A list that is full may lack it for being short. */
static bool is_full(const struct change_side *side, listed *list)
{
	for (size_t i = 0; i < side->n; i++)
		if (list(change_device(side, i)).n >= DIFF_KERNELS)
			return true;
	return false;
}

static double least_steps(const struct change_side *side)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < side->n; i++)
		least = change_device(side, i)->n_steps < least ? change_device(side, i)->n_steps : least;
	return least ? (double)least : 1;
}

static bool came(const struct change_of *without, const struct change_side *side, const struct change_of *with,
		 const struct change_side *with_side, listed *list)
{
	return without->most <= 0 && with->least * least_steps(with_side) >= CHANGE_SEEN && !is_full(side, list);
}

static bool is_other_count(const struct alike *a, const struct change_of *base, const struct change_of *now)
{
	double ends = CHANGE_ENDS / least_steps(a->base) + CHANGE_ENDS / least_steps(a->now);

	if (base->most <= 0 || now->most <= 0)
		return base->most <= 0 ? came(base, a->base, now, a->now, a->list)
				       : came(now, a->now, base, a->base, a->list);
	return change_is_by(base, now, CHANGE_COUNT) && fabs(now->mean - base->mean) > ends;
}

static bool is_other_size(const struct alike *a, const struct diff_kernel *base, const struct diff_kernel *now)
{
	struct change_of was = change_figure(a->at, a->n, false, a->base, size);
	struct change_of is = change_figure(a->at, a->n, true, a->now, size);
	double delta = (double)now->ns_per_step - (double)base->ns_per_step;

	return base->has_ns && now->has_ns && change_is_by(&was, &is, CHANGE_SIZE) &&
	       fabs(delta) >= CHANGE_PART * a->step_ns;
}

static bool moves_other_bytes(const struct alike *a)
{
	struct change_of was = change_figure(a->at, a->n, false, a->base, bytes);
	struct change_of is = change_figure(a->at, a->n, true, a->now, bytes);

	return change_is_by(&was, &is, CHANGE_BYTES);
}

static bool is_worth_telling(const struct alike *a, const struct diff_kernel *base, const struct diff_kernel *now)
{
	struct change_of was = change_figure(a->at, a->n, false, a->base, count);
	struct change_of is = change_figure(a->at, a->n, true, a->now, count);

	return is_other_count(a, &was, &is) || (base && now && (is_other_size(a, base, now) || moves_other_bytes(a)));
}

/* Its means over the side's runs. *failed: no memory. NULL else: the side has none. */
static const struct diff_kernel *mean_of(struct diff *out, const struct alike *a, bool now, bool *failed)
{
	const struct change_side *side = now ? a->now : a->base;
	const struct diff_kernel *first = change_first(a->at, a->n, now);
	struct diff_kernel k = { 0 };
	const struct diff_kernel *kept;

	if (!first)
		return NULL;
	k.name = first->name;
	k.per_step = change_figure(a->at, a->n, now, side, count).mean;
	k.ns_per_step = change_mean_ns(a->at, a->n, now, side, time_of, 0);
	k.has_ns = first->has_ns;
	for (size_t i = 0; i < a->n; i++)
		if (a->at[i].now == now)
			k.bytes_per_step += ((const struct diff_kernel *)a->at[i].of)->bytes_per_step / (double)side->n;
	kept = diff_keep_list(&out->texts, &k, 1, sizeof(k));
	*failed |= !kept;
	return kept;
}

/* ---- the list ---- */

struct changes {
	struct diff_work_change *at;
	size_t n, cap;
};

static double delta_ns(const struct diff_work_change *c)
{
	return fabs((c->now ? (double)c->now->ns_per_step : 0) - (c->base ? (double)c->base->ns_per_step : 0));
}

static double delta_count(const struct diff_work_change *c)
{
	return fabs((c->now ? c->now->per_step : 0) - (c->base ? c->base->per_step : 0));
}

static double delta_bytes(const struct diff_work_change *c)
{
	return fabs((c->now ? c->now->bytes_per_step : 0) - (c->base ? c->base->bytes_per_step : 0));
}

static int by_weight(const void *a, const void *b)
{
	const struct diff_work_change *x = a, *y = b;
	double by_time = delta_ns(y) - delta_ns(x), by_count = delta_count(y) - delta_count(x);
	double by_bytes = delta_bytes(y) - delta_bytes(x);

	if (by_time < 0 || by_time > 0)
		return by_time < 0 ? -1 : 1;
	if (by_count < 0 || by_count > 0)
		return by_count < 0 ? -1 : 1;
	if (by_bytes < 0 || by_bytes > 0)
		return by_bytes < 0 ? -1 : 1;
	return strcmp((x->base ? x->base : x->now)->name, (y->base ? y->base : y->now)->name);
}

static bool compare(struct diff *out, struct changes *to, const struct alike *a)
{
	struct diff_work_change c;
	bool failed = false;

	c.base = mean_of(out, a, false, &failed);
	c.now = mean_of(out, a, true, &failed);
	if (failed)
		return false;
	if (!is_worth_telling(a, c.base, c.now))
		return true;
	if (!array_room(to->at, to->n, to->cap))
		return false;
	to->at[to->n++] = c;
	return true;
}

static bool see_all(struct change_list *l, const struct change_side *side, bool now, listed *list)
{
	for (size_t run = 0; run < side->n; run++) {
		struct work_of all = list(change_device(side, run));

		for (size_t i = 0; i < all.n; i++)
			if (!change_see(l, (struct change_seen){ &all.at[i], all.at[i].name, 0, now, run }))
				return false;
	}
	return true;
}

static bool compare_all(struct diff *out, const struct diff_pair *pair, const struct change_side *base,
			const struct change_side *now, listed *list, struct diff_work_change **changed,
			size_t *n_changed)
{
	struct change_list l = { 0 };
	struct changes to = { 0 };
	bool ok = see_all(&l, base, false, list) && see_all(&l, now, true, list);

	change_sort(&l);
	for (size_t first = 0, n; ok && (n = change_group(&l, first)); first += n) {
		struct alike a = { &l.at[first], n, base, now, list, (double)pair->compared.row[ROW_STEP].base_ns };

		ok = compare(out, &to, &a);
	}
	if (ok && to.n)
		array_sort(to.at, to.n, sizeof(*to.at), by_weight);
	*n_changed = to.n < CHANGES_MOST ? to.n : CHANGES_MOST;
	*changed = ok ? diff_keep_list(&out->texts, to.at, *n_changed, sizeof(*to.at)) : NULL;
	free(to.at);
	free(l.at);
	return *changed != NULL;
}

static bool have_comms(const struct change_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		if (!change_device(side, i)->has_comms)
			return false;
	return true;
}

bool diff_changed_work(struct diff *out, struct diff_pair *pair, const struct change_side *base,
		       const struct change_side *now)
{
	return compare_all(out, pair, base, now, kernels_of, &pair->kernels, &pair->n_kernels) &&
	       (!have_comms(base) || !have_comms(now) ||
		compare_all(out, pair, base, now, comms_of, &pair->comms, &pair->n_comms));
}
