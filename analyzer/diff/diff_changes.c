/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_changes.c: what changed besides the rows: causes that came or went, memory, the environment; and who says the rest. */
#include "diff_changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_keep.h"
#include "tools/alloc.h"

#define SIDE_VALUES 32 /* that a side's runs have of one fact, at most */

/* ---- causes ---- */

/* It is worth its name in one, nearly nothing in the other, and that is no chance. */
static bool came(const struct diff_compared *row, int64_t before_ns, int64_t after_ns, double least_ns)
{
	bool sure = row->delta_ns > 0 ? row->low_ns > 0 : row->high_ns < 0;

	return sure && (double)after_ns >= least_ns && (double)before_ns < CHANGE_CAUSE * (double)after_ns;
}

static bool changed_causes(struct diff *out, struct diff_pair *pair)
{
	enum cause_id appeared[CAUSE_COUNT], vanished[CAUSE_COUNT];
	double least_ns = CHANGE_PART * (double)pair->compared.row[ROW_STEP].base_ns;

	pair->n_appeared = pair->n_vanished = 0;
	for (int i = 0; i < CAUSE_COUNT && pair->compared.comparable; i++) {
		const struct diff_compared *row = &pair->compared.row[ROW_LEAVES + LEAF_CAUSES + i];

		if (!diff_row_is_alike(&pair->compared, ROW_LEAVES + LEAF_CAUSES + (size_t)i))
			continue;
		if (came(row, row->base_ns, row->new_ns, least_ns))
			appeared[pair->n_appeared++] = (enum cause_id)i;
		else if (came(row, row->new_ns, row->base_ns, least_ns))
			vanished[pair->n_vanished++] = (enum cause_id)i;
	}
	pair->appeared = diff_keep_list(&out->texts, appeared, pair->n_appeared, sizeof(appeared[0]));
	pair->vanished = diff_keep_list(&out->texts, vanished, pair->n_vanished, sizeof(vanished[0]));
	return pair->appeared && pair->vanished;
}

/* ---- memory ---- */

struct memory_figures {
	struct change_of allocated, reserved, fragmentation;
	uint64_t out_of_memory; /* a mean, rounded up */
	bool known;             /* in all of them */
	bool told;              /* in one of them: of fragmentation not all is known */
};

static struct memory_figures memory_of_side(const struct change_side *side)
{
	struct memory_figures f = { .known = side->n > 0 };

	for (size_t i = 0; i < side->n; i++) {
		const struct diff_memory *m = &change_device(side, i)->memory;

		f.known &= m->known;
		f.told |= m->told;
		change_add(&f.allocated, i, side->n, (double)m->peak_allocated);
		change_add(&f.reserved, i, side->n, (double)m->peak_reserved);
		change_add(&f.fragmentation, i, side->n, m->fragmentation);
		f.out_of_memory += m->out_of_memory / side->n + (m->out_of_memory % side->n > 0);
	}
	return f;
}

static bool is_other_peak(const struct change_of *base, const struct change_of *now)
{
	double delta = now->mean - base->mean;

	return change_is_by(base, now, CHANGE_MEMORY) && (delta < 0 ? -delta : delta) >= (double)CHANGE_BLOCK;
}

static const struct diff_memory *keep_memory(struct diff *out, const struct memory_figures *f, bool *ok)
{
	struct diff_memory m = { true,
				 (uint64_t)f->allocated.mean,
				 (uint64_t)f->reserved.mean,
				 f->told ? 0 : f->fragmentation.mean,
				 f->out_of_memory,
				 f->told };
	const struct diff_memory *kept = f->known ? diff_keep_list(&out->texts, &m, 1, sizeof(m)) : NULL;

	*ok &= kept || !f->known;
	return kept;
}

static bool changed_memory(struct diff *out, struct diff_pair *pair, const struct change_side *base,
			   const struct change_side *now)
{
	struct memory_figures a = memory_of_side(base), b = memory_of_side(now);
	double fragments = b.fragmentation.mean - a.fragmentation.mean;
	bool ok = true;

	pair->base_memory = keep_memory(out, &a, &ok);
	pair->new_memory = keep_memory(out, &b, &ok);
	pair->memory_changed = a.known && b.known &&
			       (is_other_peak(&a.allocated, &b.allocated) || is_other_peak(&a.reserved, &b.reserved) ||
				(!a.told && !b.told && change_is_apart(&a.fragmentation, &b.fragmentation) &&
				 (fragments < 0 ? -fragments : fragments) >= CHANGE_FRAGMENTS) ||
				(a.out_of_memory > 0) != (b.out_of_memory > 0));
	return ok;
}

/* ---- the environment ---- */

struct fact_values { /* of one side, sorted, each once */
	const char *at[SIDE_VALUES];
	size_t n;
};

static const char *value_of(const struct diff_run *run, const char *name)
{
	for (size_t i = 0; i < run->n_facts; i++)
		if (strcmp(run->facts[i].name, name) == 0)
			return run->facts[i].value;
	return NULL;
}

static void add_value(struct fact_values *v, const char *value)
{
	size_t i = v->n;

	for (size_t k = 0; k < v->n; k++)
		if (strcmp(v->at[k], value) == 0)
			return;
	if (v->n == SIDE_VALUES)
		return;
	for (v->n++; i > 0 && strcmp(v->at[i - 1], value) > 0; i--)
		v->at[i] = v->at[i - 1];
	v->at[i] = value;
}

static struct fact_values values_of(const struct diff_run *runs, size_t n, const char *name)
{
	struct fact_values v = { .n = 0 };

	for (size_t i = 0; i < n; i++) {
		const char *value = value_of(&runs[i], name);

		if (value)
			add_value(&v, value);
	}
	return v;
}

static bool are_same(const struct fact_values *a, const struct fact_values *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (strcmp(a->at[i], b->at[i]) != 0)
			return false;
	return a->n == b->n;
}

/* "a | b": values have commas of their own. */
static const char *keep_values(struct diff *out, const struct fact_values *v)
{
	char text[DIFF_TEXT] = "";
	size_t used = 0;

	if (v->n == 1)
		return v->at[0];
	for (size_t i = 0; i < v->n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " | " : "", v->at[i]);
	return diff_keep_text(&out->texts, text);
}

struct fact_changes {
	struct diff_fact_change *at;
	size_t n, cap;
};

/* What only one side knows is no change: it may have been the same. */
static bool compare_fact(struct diff *out, struct fact_changes *to, const char *name)
{
	struct fact_values base = values_of(out->base, out->n_base, name);
	struct fact_values now = values_of(out->now, out->n_now, name);
	struct diff_fact_change change = { .name = name };

	for (size_t i = 0; i < to->n; i++)
		if (strcmp(to->at[i].name, name) == 0)
			return true;
	if (!base.n || !now.n || are_same(&base, &now))
		return true;
	change.base = keep_values(out, &base);
	change.now = keep_values(out, &now);
	if (!change.base || !change.now || !array_room(to->at, to->n, to->cap))
		return false;
	to->at[to->n++] = change;
	return true;
}

/* Behind those that are there. */
static bool changed_facts(struct diff *out)
{
	struct fact_changes to = { 0 };
	bool ok = true;

	for (size_t i = 0; ok && i < out->n_facts; i++) {
		ok = array_room(to.at, to.n, to.cap);
		if (ok)
			to.at[to.n++] = out->facts[i];
	}
	for (size_t i = 0; i < out->n_base; i++)
		for (size_t k = 0; ok && k < out->base[i].n_facts; k++)
			ok = compare_fact(out, &to, out->base[i].facts[k].name);
	out->facts = ok ? diff_keep_list(&out->texts, to.at, to.n, sizeof(*to.at)) : NULL;
	out->n_facts = out->facts ? to.n : 0;
	free(to.at);
	return out->facts != NULL;
}

/* ---- all of it ---- */

static bool has_device(const struct change_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		if (side->device >= side->runs[i].n_devices)
			return false;
	return side->n > 0;
}

enum err_kind diff_add_changes(struct diff *out, struct error *e)
{
	bool ok = changed_facts(out);

	for (size_t i = 0; ok && i < out->n_pairs; i++) {
		struct diff_pair *pair = &out->pairs[i];
		struct change_side base = { out->base, out->n_base, pair->base_device };
		struct change_side now = { out->now, out->n_now, pair->new_device };

		if (!has_device(&base) || !has_device(&now))
			continue;
		ok = changed_causes(out, pair) && changed_memory(out, pair, &base, &now) &&
		     diff_changed_work(out, pair, &base, &now) && diff_changed_sites(out, pair, &base, &now) &&
		     diff_changed_gaps(out, pair, &base, &now);
	}
	return ok ? ERR_NONE : err_no_memory(e, NULL);
}
