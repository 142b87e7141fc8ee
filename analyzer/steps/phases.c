/* SPDX-License-Identifier: BSD-2-Clause */
#include "phases.h"

#include <stdlib.h>
#include <string.h>

#include "cause/cause_evidence.h"
#include "tools/alloc.h"
#include "tools/spill.h"
#include "tools/text.h"
#include "tools/text_put.h"

#define MOSTLY 10 /* a piece is in a range if less than a tenth of it is elsewhere */
#define WITHIN 64 /* ranges of one piece that are told apart */

const char *step_name(char *buf, size_t size, const struct step *s)
{
	struct text_put p = text_put_begin(buf, size);
	char whole[256];

	if (s->range)
		return text_clean(buf, size, range_name(whole, sizeof(whole), s->range), size - 4);
	put_text(&p, s->kind == STEP ? "step " : "after step ");
	put_uint(&p, s->number);
	return buf;
}

/* ---- whose steps they are ---------------------------------------------------------------------------------------------- */

struct worker { /* a process with steps */
	const struct trace_steps *steps;
	size_t n_ops; /* of the device's */
};

static int by_trace(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct worker *)a)->steps->trace;
	uintptr_t y = (uintptr_t)((const struct worker *)b)->steps->trace;

	return (x > y) - (x < y);
}

static bool trace_before(const void *element, const void *key)
{
	return (uintptr_t)((const struct worker *)element)->steps->trace < (uintptr_t)key;
}

/* Those of the process that works most on the device; *best NULL: none has any. False: no memory. */
static bool steps_of_device(const struct trace_steps **best, const struct device_timeline *d, const struct steps *steps)
{
	struct worker *workers = array_new(steps->n_traces, sizeof(*workers));
	size_t n = 0, most = 0;

	*best = NULL;
	if (!workers)
		return false;
	for (size_t i = 0; i < steps->n_traces; i++)
		if (steps->traces[i].n)
			workers[n++].steps = &steps->traces[i];
	array_sort(workers, n, sizeof(*workers), by_trace);
	for (size_t k = 0; n && k < (d->only && d->n_ops ? 1 : d->n_ops);
	     k++) { /* of one process: the first says it all */
		size_t i = array_first(workers, n, sizeof(*workers), trace_before, d->ops[k].of->trace);

		if (i < n && workers[i].steps->trace == d->ops[k].of->trace)
			workers[i].n_ops++;
	}
	for (size_t i = 0; i < n; i++) /* of two that do as much the first of the run */
		if (workers[i].n_ops > most || (most && workers[i].n_ops == most && workers[i].steps < *best)) {
			most = workers[i].n_ops;
			*best = workers[i].steps;
		}
	free(workers);
	return true;
}

/* ---- phases ------------------------------------------------------------------------------------------------------------- */

struct said { /* of the piece before: most are in the same range of the same step */
	uint32_t node;
	const struct step *step;
	bool mostly;
	const char *text; /* NULL: nothing that could be said again */
};

struct sums {
	struct said said;
	struct device_phases *out;
	size_t cap;
	uint32_t *place; /* by node: index in out->phases, + 1 */
	size_t n_places;
};

static struct phase *phase_of(struct sums *s, uint32_t node)
{
	struct device_phases *out = s->out;

	if (node >= s->n_places) {
		size_t n = node * 2u + 64;
		uint32_t *bigger = realloc(s->place, n * sizeof(*bigger));

		if (!bigger)
			return NULL;
		memset(bigger + s->n_places, 0, (n - s->n_places) * sizeof(*bigger));
		s->place = bigger;
		s->n_places = n;
	}
	if (!s->place[node]) {
		if (!array_room(out->phases, out->n_phases, s->cap))
			return NULL;
		out->phases[out->n_phases] = (struct phase){ .node = node };
		s->place[node] = (uint32_t)++out->n_phases;
	}
	return &out->phases[s->place[node] - 1];
}

/* ---- evidence ----------------------------------------------------------------------------------------------------------- */

struct share {
	int64_t ns;
	struct in_ranges in;
};

struct shares { /* of one piece */
	struct share at[WITHIN];
	size_t n;
};

static void add_share(struct shares *s, const struct in_ranges *in, int64_t ns)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->at[i].in.node == in->node && s->at[i].in.step == in->step) {
			s->at[i].ns += ns;
			return;
		}
	if (s->n < WITHIN)
		s->at[s->n++] = (struct share){ ns, *in };
}

static void say(char *buf, size_t size, const struct range_stacks *stacks, const struct share *share, bool mostly)
{
	const struct range *r = share->in.innermost;
	struct text_put p = text_put_begin(buf, size);
	char path[512], step[128];

	range_path(path, sizeof(path), stacks, share->in.node);
	put_text(&p, mostly ? "mostly in " : "in ");
	put_text(&p, path[0] ? "range " : "");
	put_text(&p, path);
	put_text(&p, path[0] && share->in.step ? " of " : "");
	put_text(&p, share->in.step ? step_name(step, sizeof(step), share->in.step) : "");
	if (path[0] && r && r->details && r->details[0]) {
		put_text(&p, " (");
		put_clean(&p, r->details, 512, 512 - 4);
		put_text(&p, ")");
	}
}

static bool add_evidence(struct said *said, struct attribution *a, struct gap_cause *c,
			 const struct range_stacks *stacks, const struct shares *shares)
{
	const struct share *best = NULL;
	const struct range *r;
	char text[1200];
	bool mostly;

	for (size_t i = 0; i < shares->n; i++)
		if (!best || shares->at[i].ns > best->ns)
			best = &shares->at[i];
	if (!best || (best->in.node <= PATH_STEP && !best->in.step))
		return true;
	mostly = best->ns < (c->end_ns - c->begin_ns) / MOSTLY * (MOSTLY - 1);
	r = best->in.innermost;
	if (said->text && said->node == best->in.node && said->step == best->in.step && said->mostly == mostly &&
	    !(r && r->details))
		return cause_add_said(&a->arena, c, said->text);
	say(text, sizeof(text), stacks, best, mostly);
	if (!cause_add_text(&a->arena, c, text))
		return false;
	*said = (struct said){ best->in.node, best->in.step, mostly,
			       r && r->details ? NULL : c->evidence[c->n_evidence - 1] };
	return true;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------------- */

static bool add_piece(struct sums *s, struct attribution *a, struct gap_cause *c, struct submitter who,
		      struct range_stacks *stacks)
{
	struct shares shares = { .n = 0 };

	for (int64_t at = c->begin_ns; at < c->end_ns;) {
		struct in_ranges in = { .until_ns = INT64_MAX, .node = PATH_NONE };
		struct phase *phase;
		int64_t until;

		if (who.trace && !range_stacks_at(stacks, who.trace, who.tid, at, &in))
			return false;
		until = in.until_ns < c->end_ns ? in.until_ns : c->end_ns;
		phase = phase_of(s, in.node);
		if (!phase)
			return false;
		phase->idle_ns += until - at;
		phase->causes_ns[c->cause] += until - at;
		add_share(&shares, &in, until - at);
		at = until;
	}
	return add_evidence(&s->said, a, c, stacks, &shares);
}

static int64_t overlap(int64_t begin, int64_t end, int64_t from, int64_t until)
{
	begin = begin > from ? begin : from;
	end = end < until ? end : until;
	return end > begin ? end - begin : 0;
}

static bool step_ends_by(const void *element, const void *key)
{
	return ((const struct step_idle *)element)->step->end_ns <= *(const int64_t *)key;
}

/* near: the step that was looked at last. */
static void add_to_steps(struct device_phases *p, const struct gap_cause *c, size_t *near)
{
	p->startup_ns += overlap(c->begin_ns, c->end_ns, INT64_MIN, p->steps[0].step->begin_ns);
	p->shutdown_ns += overlap(c->begin_ns, c->end_ns, p->steps[p->n_steps - 1].step->end_ns, INT64_MAX);
	*near = array_first_near(p->steps, p->n_steps, sizeof(*p->steps), step_ends_by, &c->begin_ns, *near);
	for (size_t i = *near; i < p->n_steps && p->steps[i].step->begin_ns < c->end_ns; i++) {
		int64_t ns = overlap(c->begin_ns, c->end_ns, p->steps[i].step->begin_ns, p->steps[i].step->end_ns);

		p->steps[i].idle_ns += ns;
		p->steps[i].causes_ns[c->cause] += ns;
	}
}

/* Steps that have no part in the device's span are not its steps. */
static bool take_steps(struct device_phases *out, const struct device_timeline *d, const struct steps *steps)
{
	const struct trace_steps *of;

	if (!steps_of_device(&of, d, steps))
		return false;
	if (!of)
		return true;
	out->steps = spill_new(of->n, sizeof(*out->steps));
	if (!out->steps)
		return false;
	for (size_t i = 0; i < of->n; i++)
		if (of->at[i].end_ns > d->begin_ns && of->at[i].begin_ns < d->end_ns)
			out->steps[out->n_steps++].step = &of->at[i];
	out->of = out->n_steps ? of : NULL;
	return true;
}

static int by_idle(const void *a, const void *b)
{
	const struct phase *x = a, *y = b;

	if (x->idle_ns != y->idle_ns)
		return x->idle_ns > y->idle_ns ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

enum err_kind device_phases_steps(struct device_phases *out, const struct device_timeline *d,
				  const struct attribution *a, const struct steps *steps, struct error *e)
{
	size_t near = 0;

	if (!take_steps(out, d, steps))
		return err_no_memory(e, "");
	for (size_t i = 0; i < a->n_gaps && out->n_steps; i++)
		for (size_t k = 0; k < a->gaps[i].n_causes; k++)
			add_to_steps(out, &a->gaps[i].causes[k], &near);
	return steps_usual_build(&out->usual, out->steps, out->n_steps) ? ERR_NONE : err_no_memory(e, "");
}

enum err_kind device_phases_ranges(struct device_phases *out, struct attribution *a, struct range_stacks *stacks,
				   struct error *e)
{
	struct sums sums = { .out = out };
	bool ok = true;

	for (size_t i = 0; ok && i < a->n_gaps && stacks->n_threads; i++) {
		const struct gap_story *g = &a->gaps[i];

		for (size_t k = 0; ok && k < g->n_causes; k++)
			ok = add_piece(&sums, a, &g->causes[k], g->by, stacks);
	}
	free(sums.place);
	if (!ok)
		return err_no_memory(e, "");
	array_sort(out->phases, out->n_phases, sizeof(*out->phases), by_idle);
	return ERR_NONE;
}

void device_phases_free(struct device_phases *p)
{
	steps_usual_free(&p->usual);
	spill_free(p->steps);
	free(p->phases);
	*p = (struct device_phases){ 0 };
}
