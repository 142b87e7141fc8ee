/* SPDX-License-Identifier: BSD-2-Clause */
/* recover_window.c: what the losses are counted in: the steps behind the warm-up, or the whole span. */
#include "recover_parts.h"

#include "tools/alloc.h"
#include "tools/ns.h"

#define STEPS_MIN 3 /* fewer are no steady state */
#define WARM_UP 3   /* first steps so many times as long as most are none of it */

int64_t recovery_part(const struct recovery *r, int64_t begin_ns, int64_t end_ns)
{
	return max64(0, min64(end_ns, r->end_ns) - max64(begin_ns, r->begin_ns));
}

/* ---- steps, and what lies between them ---------------------------------------------------------------------------------- */

static bool ends_before(const void *element, const void *key)
{
	return ((const struct between *)element)->end_ns <= *(const int64_t *)key;
}

/* How much until then is between two steps. */
static int64_t between_until(const struct recovery *r, int64_t ns)
{
	size_t i = array_first(r->between, r->n_between, sizeof(*r->between), ends_before, &ns);
	const struct between *last = i ? &r->between[i - 1] : NULL;

	if (i < r->n_between)
		return r->between[i].before_ns + max64(0, ns - r->between[i].begin_ns);
	return last ? last->before_ns + last->end_ns - last->begin_ns : 0;
}

int64_t recovery_in_steps(const struct recovery *r, int64_t begin_ns, int64_t end_ns)
{
	int64_t begin = max64(begin_ns, r->begin_ns), end = min64(end_ns, r->end_ns);

	return begin < end ? end - begin - (between_until(r, end) - between_until(r, begin)) : 0;
}

/* The call of the first work begins before it. */
bool recovery_is_in_step(const struct recovery *r, int64_t begin_ns)
{
	int64_t at = max64(begin_ns, r->begin_ns);

	return recovery_in_steps(r, at, at + 1) > 0;
}

static bool set_between(struct recovery *r, const struct device_phases *p)
{
	int64_t before = 0;

	r->between = array_new(p->of->n - p->of->n_steps, sizeof(*r->between));
	if (!r->between)
		return false;
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct step *s = p->steps[i].step;
		int64_t ns = recovery_part(r, s->begin_ns, s->end_ns);

		if (s->kind == STEP || ns <= 0)
			continue;
		r->between[r->n_between++] =
			(struct between){ max64(s->begin_ns, r->begin_ns), min64(s->end_ns, r->end_ns), before };
		before += ns;
	}
	return true;
}

/* ---- the window --------------------------------------------------------------------------------------------------------- */

static void set_calls(struct recovery *r, const struct device_timeline *d)
{
	r->calls_from_ns = r->begin_ns;
	if (r->begin_ns > d->begin_ns)
		return;
	for (size_t i = 0; i < d->n_ops && d->ops[i].begin_ns <= r->begin_ns; i++)
		if (!d->ops[i].of->unlinked && d->ops[i].end_ns > r->begin_ns)
			r->calls_from_ns = min64(r->calls_from_ns, d->ops[i].call->begin_ns);
}

/* How many launches of the op's call, of which several may be one op, began before ns. */
static uint64_t begun_before(const struct op *op, int64_t ns)
{
	if (op->call->begin_ns >= ns)
		return 0;
	return call_count(op->call) == 1 ? 1 : (uint64_t)launch_begun_by(op->of->trace, op->call, ns - 1) + 1;
}

/* Is that what the program is about: much of the time, or most of the work, by when it was submitted? */
static bool is_most(const struct recovery *r, const struct summary_device *d)
{
	const struct device_timeline *t = d->timeline;
	uint64_t all = 0, in = 0;

	if (recovery_span(r) <= 0 || recovery_span(r) >= d->span_ns / 4)
		return recovery_span(r) > 0;
	for (size_t i = 0; i < t->n_ops; i++) {
		all += call_count(t->ops[i].call);
		in += begun_before(&t->ops[i], r->end_ns) - begun_before(&t->ops[i], r->begin_ns);
	}
	return in > all / 2;
}

/* How many of the first pieces are warm-up: in a row, each no step, or far longer than most steps. */
static size_t warm_up(const struct device_phases *p)
{
	size_t first = 0;

	while (first < p->n_steps / 2) {
		const struct step *s = p->steps[first].step;

		if (s->kind == STEP && (s->end_ns - s->begin_ns) / WARM_UP <= p->usual.median.length_ns)
			break;
		first++;
	}
	return first;
}

static void set_span(struct recovery *r, const struct device_timeline *t)
{
	r->begin_ns = t->begin_ns;
	r->end_ns = t->end_ns;
	r->n_steps = 0;
}

/* Where there are hardly any steps, or they are not what it is about, the span. */
static void set_steps(struct recovery *r, const struct summary_device *d)
{
	const struct device_timeline *t = d->timeline;
	const struct device_phases *p = &d->phases;
	size_t first = warm_up(p);

	if (p->n_steps < STEPS_MIN) {
		set_span(r, t);
		return;
	}
	for (size_t i = first; i < p->n_steps; i++)
		r->n_steps += p->steps[i].step->kind == STEP;
	r->begin_ns = clamp64(p->steps[first].step->begin_ns, t->begin_ns, t->end_ns);
	r->end_ns = clamp64(p->steps[p->n_steps - 1].step->end_ns, r->begin_ns, t->end_ns);
	if (r->n_steps < STEPS_MIN || !is_most(r, d))
		set_span(r, t);
}

bool recover_set_window(struct recovery *r, const struct summary_device *d)
{
	set_steps(r, d);
	set_calls(r, d->timeline);
	return !r->n_steps || set_between(r, &d->phases);
}
