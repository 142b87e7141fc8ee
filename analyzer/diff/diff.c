/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_align.h"
#include "diff_fail.h"
#include "diff_keep.h"
#include "diff_reason.h"
#include "tools/alloc.h"
#include "tools/text.h"

struct making {
	struct diff *out;
	const struct diff_options *o;
	struct diff_rule *rules;
	size_t n_rules, cap_rules;
};

/* ---- what is no comparison at all ---- */

/* For people; false: no memory. */
static bool refuse(struct diff *d, const char *why)
{
	char clean[DIFF_TEXT];

	d->verdict = DIFF_NOT_COMPARABLE;
	d->reason = diff_keep_text(&d->texts, text_clean(clean, sizeof(clean), why, sizeof(clean)));
	return d->reason != NULL;
}

/* Base's runs, then new's. */
static const struct diff_run *run_at(const struct diff *d, size_t i)
{
	return i < d->n_base ? &d->base[i] : &d->now[i - d->n_base];
}

static const char *kind_words(const struct diff_run *r)
{
	return strcmp(r->kind, "kineto") == 0 ? "Kineto" : strcmp(r->kind, "nsys") == 0 ? "Nsight Systems" : r->kind;
}

static const char *side_of(const struct diff *d, size_t i)
{
	return i < d->n_base ? "base" : "new";
}

/* why "": they can be compared. */
static void whole_runs(char *why, size_t size, struct diff *d)
{
	const struct diff_run *first = d->base;

	*why = 0;
	for (size_t i = 0; i < d->n_base + d->n_now; i++)
		if (run_at(d, i)->cut) {
			d->bad_input = true;
			snprintf(why, size, "%s is not whole: %s", side_of(d, i), run_at(d, i)->cut);
			return;
		}
	for (size_t i = 1; i < d->n_base + d->n_now; i++) {
		const struct diff_run *r = run_at(d, i);

		if (strcmp(r->kind, first->kind) != 0) {
			snprintf(
				why, size,
				"base was recorded by %s and %s by %s: they do not measure the same; compare like with like",
				kind_words(first), i < d->n_base ? "another run of it" : "new", kind_words(r));
			return;
		}
		if (r->n_devices != first->n_devices) {
			snprintf(why, size, "base uses %zu device%s and %s %zu", first->n_devices,
				 first->n_devices == 1 ? "" : "s", i < d->n_base ? "another run of it" : "new",
				 r->n_devices);
			return;
		}
	}
	if (!first->n_devices)
		snprintf(why, size, "no run has work on a device");
}

/* ---- which rows mean the same ---- */

/* Bursts only estimate what edges leave open: what both prove is the same. */
static const char *level(const char *timing)
{
	return strcmp(timing, "bursts") == 0 ? "edges" : timing;
}

static enum diff_rows_alike rows_alike(char *why, size_t size, const struct diff *d)
{
	enum diff_rows_alike alike = DIFF_ALL_ROWS;

	*why = 0;
	for (size_t i = 1; i < d->n_base + d->n_now; i++) {
		const struct diff_run *a = d->base, *b = run_at(d, i);

		if (strcmp(level(a->timing), level(b->timing)) != 0) {
			snprintf(
				why, size,
				"device times are of level %s in base and %s in %s: what is idle is not known alike; only the "
				"step can be compared",
				a->timing, b->timing, i < d->n_base ? "another run of it" : "new");
			return DIFF_STEP_ALONE;
		}
		if (strcmp(a->probes, b->probes) != 0 && alike == DIFF_ALL_ROWS) {
			snprintf(
				why, size,
				"host probes are %s in base and %s in %s: causes are not known alike; idle time and the step "
				"can be compared",
				a->probes, b->probes, i < d->n_base ? "another run of it" : "new");
			alike = DIFF_NO_CAUSES;
		}
	}
	return alike;
}

/* ---- one device ---- */

static bool typicals(struct diff_typical **out, struct diff_side *side, const struct align_side *of,
		     const struct aligned *a)
{
	int64_t blurred = 0;

	*out = array_new(of->n, sizeof(**out));
	for (size_t i = 0; *out && i < of->n; i++) {
		(*out)[i] = diff_aligned_typical(a, &of->runs[i].devices[of->device]);
		blurred += of->runs[i].devices[of->device].blurred_ns / (int64_t)of->n;
	}
	*side = (struct diff_side){ *out, of->n, blurred };
	return *out != NULL;
}

static bool compare(struct diff_device *compared, const struct align_side *base, const struct align_side *now,
		    const struct aligned *a)
{
	struct diff_typical *base_runs = NULL, *new_runs = NULL;
	struct diff_side base_side, new_side;
	bool ok = typicals(&base_runs, &base_side, base, a) && typicals(&new_runs, &new_side, now, a);

	if (ok)
		diff_compare(compared, &base_side, &new_side);
	free(base_runs);
	free(new_runs);
	return ok;
}

/* Of one kind of steps, in the runs that have it. */
static bool compare_kind(struct diff_device *compared, const struct align_side *base, const struct align_side *now,
			 uint64_t key)
{
	struct diff_typical *runs = array_new(base->n + now->n, sizeof(*runs));
	struct diff_side sides[2] = { { runs, 0, 0 } };

	for (int s = 0; runs && s < 2; s++) {
		const struct align_side *of = s ? now : base;

		sides[s].runs = runs + (s ? sides[0].n : 0);
		for (size_t i = 0; i < of->n; i++) {
			const struct diff_typical *t = diff_kind_typical(&of->runs[i].devices[of->device], key);

			if (t)
				runs[(s ? sides[0].n : 0) + sides[s].n++] = *t;
		}
	}
	if (runs)
		diff_compare(compared, &sides[0], &sides[1]);
	free(runs);
	return runs != NULL;
}

static bool add_kinds(struct diff *d, struct diff_pair *p, const struct align_side *base, const struct align_side *now,
		      const struct aligned *a)
{
	bool ok;

	p->classes = arena_alloc(&d->texts, a->n_kinds * sizeof(*p->classes) + 1);
	ok = p->classes != NULL;
	for (size_t i = 0; ok && i < a->n_kinds; i++) {
		struct diff_class_change *c = &p->classes[p->n_classes++];

		*c = (struct diff_class_change){ .key = a->kinds[i].key,
						 .words = a->kinds[i].words,
						 .base_share = a->kinds[i].base_share,
						 .new_share = a->kinds[i].new_share };
		ok = compare_kind(&c->compared, base, now, c->key);
	}
	return ok;
}

/* why "": its steps are the same thing in all runs. */
static void same_steps(char *why, size_t size, const struct align_side *base, const struct align_side *now)
{
	const struct diff_run_device *first = &base->runs[0].devices[base->device];

	*why = 0;
	for (size_t i = 1; i < base->n && !*why; i++)
		if (diff_other_steps(why, size, first, &base->runs[i].devices[base->device]))
			snprintf(why, size, "runs of base do different things in a step");
	for (size_t i = 0; i < now->n && !*why; i++)
		if (!diff_other_steps(why, size, first, &now->runs[i].devices[now->device]))
			*why = 0;
}

static void too_little(char *why, size_t size, const struct align_side *base, const struct align_side *now)
{
	bool steps = base->runs[0].devices[base->device].n_steps > 0;

	for (int s = 0; s < 2 && steps; s++) {
		const struct align_side *of = s ? now : base;

		for (size_t i = 0; i < of->n; i++) {
			size_t n = of->runs[i].devices[of->device].n_steps;
			char path[160];

			if (n >= DIFF_LEAST_STEPS)
				continue;
			snprintf(why, size, "%s has %zu step%s behind its warm-up, and it takes %d to tell",
				 text_clean(path, sizeof(path), of->runs[i].path, 100), n, n == 1 ? "" : "s",
				 DIFF_LEAST_STEPS);
			return;
		}
	}
	snprintf(
		why, size,
		"no steps were found, by NVTX ranges or launches; whole runs can be compared where there are %d on each side",
		DIFF_LEAST_RUNS);
}

static bool make_pair(struct making *m, size_t i, size_t in_new)
{
	struct diff *d = m->out;
	struct diff_pair *p = &d->pairs[i];
	struct align_side base = { d->base, d->n_base, i }, now = { d->now, d->n_now, in_new };
	struct aligned a = { 0 };
	char why[DIFF_TEXT];
	bool other, ok;

	*p = (struct diff_pair){ .base_device = i,
				 .new_device = in_new,
				 .base = &d->base[0].devices[i],
				 .now = &d->now[0].devices[in_new] };
	ok = diff_align_steps(&a, &base, &now) && compare(&p->compared, &base, &now, &a) &&
	     add_kinds(d, p, &base, &now, &a);
	p->by_class = a.by_kind;
	diff_aligned_free(&a);
	if (!ok)
		return false;
	same_steps(why, sizeof(why), &base, &now);
	other = *why;
	if (!other && !p->compared.comparable)
		too_little(why, sizeof(why), &base, &now);
	p->compared.comparable &= !other;
	if (!*why)
		p->compared.alike = (uint8_t)rows_alike(why, sizeof(why), d);
	if (*why)
		p->reason = diff_keep_text(&d->texts, why);
	return p->reason || !*why;
}

/* In all runs of a side a device has one index: they are in order (diff_run.c). why "": so it is. */
static void same_places(char *why, size_t size, const struct diff *d, size_t *match)
{
	*why = 0;
	for (size_t i = 0; i < d->n_base + d->n_now; i++) {
		diff_match_devices(match, i < d->n_base ? d->base : d->now, run_at(d, i));
		for (size_t k = 0; k < d->base[0].n_devices; k++)
			if (match[k] != k)
				snprintf(why, size, "runs of %s have other devices", side_of(d, i));
	}
}

static bool make_pairs(struct making *m)
{
	struct diff *d = m->out;
	size_t n = d->base[0].n_devices, *match = array_new(n, sizeof(*match));
	char why[DIFF_TEXT];
	bool ok = match != NULL;

	d->pairs = arena_alloc(&d->texts, n * sizeof(*d->pairs));
	ok = ok && d->pairs;
	if (ok) {
		same_places(why, sizeof(why), d, match);
		diff_match_devices(match, d->base, d->now);
	}
	if (ok && *why)
		ok = refuse(d, why);
	for (size_t i = 0; ok && !*why && i < n; i++) {
		ok = make_pair(m, i, match[i]);
		d->n_pairs++;
	}
	free(match);
	return ok;
}

/* ---- verdicts ---- */

static bool judge(struct diff *d)
{
	struct diff_device *all = array_new(d->n_pairs, sizeof(*all));
	bool ok = all != NULL;

	for (size_t i = 0; ok && i < d->n_pairs; i++)
		all[i] = d->pairs[i].compared;
	ok = ok && diff_judge(all, d->n_pairs);
	if (ok)
		d->verdict = diff_overall(all, d->n_pairs);
	for (size_t i = 0; ok && i < d->n_pairs; i++)
		d->pairs[i].compared = all[i];
	free(all);
	return ok;
}

/* Not sure not to be worse than the rule allows. */
static bool may_fire(const struct diff_rule *rule, const struct diff_device *c)
{
	const struct diff_compared *row = &c->row[rule->row];
	double limit = rule->amount * (rule->percent ? (double)c->row[ROW_STEP].base_ns / 100 : 1);

	return row->change == DIFF_NOT_COMPARABLE || (row->change == DIFF_INCONCLUSIVE && (double)row->high_ns > limit);
}

static bool ask_rules(struct making *m)
{
	struct diff *d = m->out;

	d->n_rules = m->n_rules;
	d->fired = arena_alloc(&d->texts, m->n_rules * d->n_pairs * sizeof(*d->fired) + 1);
	for (size_t i = 0; d->fired && i < m->n_rules; i++)
		for (size_t k = 0; k < d->n_pairs; k++) {
			d->rules_unsure |= may_fire(&m->rules[i], &d->pairs[k].compared);
			if (diff_rule_fires(&m->rules[i], &d->pairs[k].compared))
				d->fired[d->n_fired++] = (struct diff_fired){ m->rules[i].text, k, m->rules[i].row };
		}
	return d->fired != NULL;
}

/* What the command line says of the commits. */
static bool add_commits(struct diff *d, const struct diff_options *o)
{
	const char *base = o->base_commit, *now = o->new_commit;

	if (!base && !now)
		return true;
	d->facts = arena_alloc(&d->texts, sizeof(*d->facts));
	base = base ? diff_keep_text(&d->texts, base) : NULL;
	now = now ? diff_keep_text(&d->texts, now) : NULL;
	if (!d->facts || (o->base_commit && !base) || (o->new_commit && !now))
		return false;
	d->facts[d->n_facts++] = (struct diff_fact_change){ "commit", base, now };
	return true;
}

static bool make(struct making *m)
{
	struct diff *d = m->out;
	char why[2 * DIFF_TEXT];

	whole_runs(why, sizeof(why), d);
	d->n_rules = m->n_rules;
	if (*why)
		return refuse(d, why);
	if (!make_pairs(m) || (d->n_pairs && (!judge(d) || !ask_rules(m))))
		return false;
	if (d->n_pairs)
		d->reason = diff_reason(d);
	return d->reason != NULL;
}

enum err_kind diff_make(struct diff *out, const struct diff_run *base, size_t n_base, const struct diff_run *now,
			size_t n_now, const struct diff_options *o, struct error *e)
{
	struct making m = { .out = out, .o = o };
	enum err_kind kind = ERR_NONE;

	*out = (struct diff){ .base = base, .now = now, .n_base = n_base, .n_now = n_now };
	for (size_t i = 0; i < o->n_fail_on && !kind; i++)
		kind = diff_rules_parse(&m.rules, &m.n_rules, &m.cap_rules, &out->texts, o->fail_on[i], e);
	if (!kind && (!n_base || !n_now))
		kind = err_set(e, ERR_USAGE, NULL, ERR_NO_BYTE, "diff: a side has no run");
	if (!kind && (!add_commits(out, o) || !make(&m)))
		kind = err_no_memory(e, NULL);
	free(m.rules);
	return kind || out->bad_input ? kind : diff_add_changes(out, e);
}

void diff_free(struct diff *d)
{
	arena_free(&d->texts);
	*d = (struct diff){ 0 };
}

int diff_status(const struct diff *d)
{
	if (d->bad_input)
		return ERR_FORMAT;
	if (d->n_rules && d->n_pairs && d->verdict != DIFF_NOT_COMPARABLE)
		return d->n_fired ? DIFF_EXIT_WORSE : d->rules_unsure ? DIFF_EXIT_UNSURE : 0;
	return d->verdict == DIFF_REGRESSED ? DIFF_EXIT_WORSE : d->verdict >= DIFF_INCONCLUSIVE ? DIFF_EXIT_UNSURE : 0;
}
