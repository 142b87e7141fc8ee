/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_period.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#define WINDOW ((size_t)1 << 20) /* launches that are looked at: those in the middle of a longer run */
#define PAIRS 65536u             /* different pairs of neighbours, of which each may be an anchor */
#define BACK 4                   /* intervals ago to which one is compared */
#define CANDIDATES 48            /* anchors that are looked at closely … */
#define OF_A_KIND 3              /* … of those that come as often */
#define LEAST_ANCHORS (LEAST_STEPS + 1)
#define LEVEL_RATIO 16 /* how many halves and quarters of an iteration could be taken for one */
#define INTERVALS 4096 /* that are looked at for them */

/* ---- how regularly each comes -------------------------------------------------------------------------------------------- */

struct regularity { /* of an anchor */
	uint32_t n, first, last;
	uint32_t back[BACK]; /* the last lengths */
	uint64_t regular;    /* length of those intervals that are as long as one of those before */
};

struct search {
	const struct step_tokens *s;
	size_t from, until;
	uint32_t *pairs; /* by place in the window: which pair ends there; max_pairs: one of too many */
	uint32_t (*pair_of)[2];
	size_t n_pairs, max_pairs;
	struct regularity *at; /* of the tokens, then of the pairs */
	struct token_bags *bags;
	uint8_t bag_of[INTERVALS]; /* the first intervals of what is looked at */
};

static bool about_as_long(uint32_t a, uint32_t b)
{
	uint32_t apart = a > b ? a - b : b - a;

	return apart <= 2 || apart <= (a > b ? a : b) / 8;
}

static void note(struct regularity *r, uint32_t place)
{
	uint32_t length = place - r->last;
	bool regular = false;

	if (!r->n++) {
		r->first = r->last = place;
		return;
	}
	for (int i = 0; i < BACK; i++)
		regular |= r->back[i] && about_as_long(r->back[i], length);
	r->regular += regular ? length : 0;
	memmove(&r->back[1], &r->back[0], (BACK - 1) * sizeof(r->back[0]));
	r->back[0] = length;
	r->last = place;
}

static bool number_pairs(struct search *x)
{
	size_t n_slots = 4 * x->max_pairs;
	uint32_t *slots = array_new(n_slots, sizeof(*slots)); /* + 1 */

	for (size_t i = x->from + 1; slots && i < x->until; i++) {
		uint32_t a = x->s->ids[i - 1], b = x->s->ids[i], *slot;
		size_t at = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u >> 40;

		for (;; at++) {
			slot = &slots[at % n_slots];
			if (!*slot || (x->pair_of[*slot - 1][0] == a && x->pair_of[*slot - 1][1] == b))
				break;
		}
		if (!*slot && x->n_pairs < x->max_pairs) {
			x->pair_of[x->n_pairs][0] = a;
			x->pair_of[x->n_pairs][1] = b;
			*slot = (uint32_t)++x->n_pairs;
		}
		x->pairs[i - x->from] = *slot ? *slot - 1 : (uint32_t)x->max_pairs;
	}
	free(slots);
	return slots != NULL;
}

static void measure_all(struct search *x)
{
	for (size_t i = x->from; i < x->until; i++) {
		uint32_t place = (uint32_t)(i - x->from);

		note(&x->at[x->s->ids[i]], place);
		if (place && x->pairs[place] != x->max_pairs)
			note(&x->at[x->s->n_about + x->pairs[place]], place);
	}
}

/* ---- candidates ---------------------------------------------------------------------------------------------------------- */

struct candidate {
	const struct regularity *r;
	struct anchor anchor;
	/* looked at closely */
	uint64_t alike, most, all, span; /* launches: bags_sum's, and in all intervals */
	size_t length, members, example;
	int64_t time_ns; /* from the first place to the last */
	bool marked;     /* iterations copy to or from the host, or wait */
	bool whole;      /* … or change parameters: what layers do not */
	bool inputs;     /* each has a copy to the device of its own */
	bool turns;      /* they are of several kinds, always in the same order */
	bool phases;     /* other intervals come several in a row, and mostly again: evaluations */
};

static int by_regularity(const void *a, const void *b)
{
	const struct regularity *x = ((const struct candidate *)a)->r, *y = ((const struct candidate *)b)->r;

	if (x->regular != y->regular)
		return x->regular > y->regular ? -1 : 1;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x > y) - (x < y);
}

static bool may_be_anchor(const struct regularity *r, size_t window)
{
	uint32_t span = r->last - r->first;

	return r->n >= LEAST_ANCHORS && span >= window / 4 && r->regular >= span / 5 * 2;
}

/* The most regular ones, a few of those that come about as often: those before may be left out as irregular ones are. */
static size_t thin_out(struct candidate *c, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n && kept < CANDIDATES; i++) {
		size_t alike = 0;

		for (size_t k = 0; k < kept; k++)
			alike += c[k].r->n >= c[i].r->n - c[i].r->n / 16 && c[k].r->n <= c[i].r->n + c[i].r->n / 16;
		if (alike < OF_A_KIND)
			c[kept++] = c[i];
	}
	return kept;
}

static struct candidate *candidates(const struct search *x, size_t *n)
{
	size_t all = x->s->n_about + x->n_pairs;
	struct candidate *c = array_new(all, sizeof(*c));

	*n = 0;
	for (size_t i = 0; c && i < all; i++) {
		struct anchor a = { TOKEN_ANY, (uint32_t)i };

		if (!may_be_anchor(&x->at[i], x->until - x->from))
			continue;
		if (i >= x->s->n_about)
			a = (struct anchor){ x->pair_of[i - x->s->n_about][0], x->pair_of[i - x->s->n_about][1] };
		c[(*n)++] = (struct candidate){ .r = &x->at[i], .anchor = a };
	}
	if (!c)
		return NULL;
	array_sort(c, *n, sizeof(*c), by_regularity);
	*n = thin_out(c, *n);
	return c;
}

/* ---- intervals ----------------------------------------------------------------------------------------------------------- */

/* Iterations have something to do with the host; the layers within them do not. */
static bool has_marks(const struct step_tokens *s, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		if (s->about[s->ids[i]].kind == TOKEN_H2D || s->about[s->ids[i]].kind == TOKEN_D2H)
			return true;
	for (size_t i = s->calls[begin]; i < s->calls[end]; i++)
		if (call_waits(&s->trace->calls[i]))
			return true;
	return false;
}

static bool optimizes(const struct step_tokens *s, size_t begin, size_t end)
{
	while (begin < end && !s->about[s->ids[begin]].optimizer)
		begin++;
	return begin < end;
}

/* Something must go on in it that could be an iteration: one launch after another of the same kernel is none. */
static bool may_be_iteration(const struct step_tokens *s, const struct candidate *c)
{
	bool differ = false, kernels = false, graphs = false;

	for (size_t i = 0; i < c->length; i++) {
		uint32_t id = s->ids[c->example + i];

		differ |= id != s->ids[c->example];
		kernels |= s->about[id].kind == TOKEN_KERNEL;
		graphs |= s->about[id].kind == TOKEN_GRAPH;
	}
	return graphs || (kernels && differ && (c->marked || c->length >= 4));
}

static bool copies(const struct token_bags *b, const struct bag *of)
{
	for (size_t i = 0; i < of->length; i++)
		if (b->s->about[b->s->ids[of->begin + i]].kind >= TOKEN_H2D)
			return true;
	return false;
}

/* Evaluations have many iterations, with data of their own; what is behind the last of an iteration's layers comes alone, and layers have none. */
static bool has_phases(const struct search *x, const struct candidate *c, const struct bag *typical)
{
	size_t last = SIZE_MAX, others = 0, runs = 0;
	bool other = false;

	for (size_t k = 0; k < x->bags->n; k++) {
		const struct bag *b = &x->bags->at[k];

		if (b->members > 1 && !bag_is_as_long(typical, b->length, b->work) && !copies(x->bags, b))
			return false;
	}
	for (size_t i = x->from; i < x->until; i++) {
		if (!anchor_is_at(&c->anchor, x->s, i))
			continue;
		if (last != SIZE_MAX) {
			bool now = !bag_is_as_long(typical, i - last, bags_work(x->bags, last, i));

			others += now;
			runs += now && !other;
			other = now;
		}
		last = i;
	}
	return others >= 2 * runs && c->all * 5 >= c->span * 4 && c->alike * 4 >= c->span;
}

/* After how many are they of the same kinds again? */
static bool take_turns(const uint8_t *bag_of, size_t n)
{
	for (size_t k = 1; k <= LEVEL_RATIO && 3 * k <= n; k++) {
		size_t same = 0;

		for (size_t i = k; i < n; i++)
			same += bag_of[i] == bag_of[i - k];
		if (same * 10 >= (n - k) * 9)
			return k > 1;
	}
	return false;
}

static bool have_inputs(const struct token_bags *b)
{
	for (size_t k = 0; k < b->n; k++) {
		size_t i = 0;

		while (i < b->at[k].length && b->s->about[b->s->ids[b->at[k].begin + i]].kind != TOKEN_H2D)
			i++;
		if (b->at[k].members > 1 && i == b->at[k].length)
			return false;
	}
	return true;
}

static void look_at(struct search *x, struct candidate *c)
{
	size_t last = SIZE_MAX, first = 0, n = 0, marked = 0, all = 0;
	struct bags_sum sum;

	bags_clear(x->bags);
	for (size_t i = x->from; i < x->until; i++) {
		if (!anchor_is_at(&c->anchor, x->s, i))
			continue;
		if (last != SIZE_MAX) {
			size_t bag = bags_add(x->bags, last, i);

			all++;
			marked += has_marks(x->s, last, i);
			if (n < INTERVALS)
				x->bag_of[n++] = (uint8_t)bag;
		} else {
			first = i;
		}
		last = i;
	}
	sum = bags_sum(x->bags);
	c->length = 0;
	if (!sum.typical)
		return;
	c->span = 0;
	for (size_t i = first; i < last; i++)
		c->span += token_work(x->s, i);
	c->span += !c->span;
	c->all = sum.all;
	c->time_ns = token_call(x->s, last)->begin_ns - token_call(x->s, first)->begin_ns;
	c->alike = sum.alike;
	c->most = sum.most;
	c->members = sum.members;
	c->length = sum.typical->length;
	c->example = sum.typical->begin;
	c->marked = marked * 2 > all;
	c->whole = c->marked || optimizes(x->s, c->example, c->example + c->length);
	c->inputs = have_inputs(x->bags);
	c->turns = take_turns(x->bag_of, n);
	c->phases = c->marked && has_phases(x, c, sum.typical);
}

/* ---- which of them ------------------------------------------------------------------------------------------------------- */

static bool is_valid(const struct search *x, const struct candidate *c)
{
	return c->length && c->members >= LEAST_STEPS && (c->alike * 5 >= c->span * 3 || c->phases) &&
	       may_be_iteration(x->s, c);
}

static bool same_level(const struct candidate *a, const struct candidate *b)
{
	return a->length * 20 <= b->length * 23 && b->length * 20 <= a->length * 23;
}

/* Of anchors of one period: which does not come within it again, explains more, is there in more iterations, begins earlier. */
static bool better(const struct candidate *a, const struct candidate *b)
{
	bool a_once = a->r->n <= 2 * a->members + 1, b_once = b->r->n <= 2 * b->members + 1;
	uint64_t a_share = a->alike * 50 / a->span, b_share = b->alike * 50 / b->span;
	bool as_much = a_share + 5 >= b_share && b_share + 5 >= a_share; /* the first ones may be others */

	if (a_once != b_once)
		return a_once;
	if (!as_much)
		return a_share > b_share;
	if (a->r->n != b->r->n)
		return a->r->n > b->r->n;
	return a->r->first < b->r->first;
}

/* Its anchor comes more than once in an iteration that the other has whole: its intervals are of several kinds in turn, and do not begin
 * each with data of their own, where those of the other are all alike; or there are hardly more long ones of them, and they leave out a
 * part. */
static bool is_a_part(const struct candidate *c, const struct candidate *of)
{
	uint64_t share = c->alike * 50 / c->span, of_share = of->alike * 50 / of->span;

	if (of->length <= c->length || of->length > LEVEL_RATIO * c->length)
		return false;
	if (c->members * 2 <= of->members * 3)
		return of_share > share + 5 || (c->r->n * 2 > of->r->n * 3 && of_share + 5 >= share);
	return c->turns && !c->inputs && !same_level(c, of) && of->most * 20 > of->alike * 17 && of_share + 5 >= share;
}

/* Parameters may be made in a loop, too: it is over before the other begins, and soon. */
static bool is_brief(const struct candidate *c, const struct candidate *beside)
{
	uint32_t from = c->r->first > beside->r->first ? c->r->first : beside->r->first;
	uint32_t until = c->r->last < beside->r->last ? c->r->last : beside->r->last;
	bool apart = until < from || until - from < (c->r->last - c->r->first) / 2;

	return apart && c->time_ns < beside->time_ns / 2;
}

/* The shortest one that touches the host or changes parameters: layers do not, and epochs are longer. */
static const struct candidate *choose(const struct search *x, const struct candidate *c, size_t n)
{
	const struct candidate *best = NULL;

	for (size_t i = 0; i < n; i++) {
		bool part = !is_valid(x, &c[i]);

		for (size_t k = 0; k < n && !part; k++)
			part = is_valid(x, &c[k]) && (is_a_part(&c[i], &c[k]) || is_brief(&c[i], &c[k]));
		if (part)
			continue;
		if (!best)
			best = &c[i];
		else if (same_level(best, &c[i]))
			best = better(&c[i], best) ? &c[i] : best;
		else if (c[i].whole != best->whole)
			best = c[i].whole ? &c[i] : best;
		else
			best = c[i].length < best->length ? &c[i] : best;
	}
	return best;
}

static bool search_begin(struct search *x)
{
	x->pairs = array_new(x->until - x->from, sizeof(*x->pairs));
	x->pair_of = array_new(x->max_pairs, sizeof(*x->pair_of));
	x->at = array_new(x->s->n_about + x->max_pairs, sizeof(*x->at));
	return x->pairs && x->pair_of && x->at && number_pairs(x);
}

bool period_find(struct period *out, const struct step_tokens *s, struct token_bags *bags)
{
	size_t n_candidates = 0, window = s->n < WINDOW ? s->n : WINDOW;
	struct search x = { .s = s,
			    .from = (s->n - window) / 2,
			    .until = (s->n - window) / 2 + window,
			    .max_pairs = window < PAIRS ? window : PAIRS,
			    .bags = bags };
	struct candidate *c = NULL, best;
	const struct candidate *found = NULL;
	bool ok;

	*out = (struct period){ .from = x.from, .until = x.until };
	if (window < LEAST_ANCHORS)
		return true;
	ok = search_begin(&x);
	if (ok) {
		measure_all(&x);
		c = candidates(&x, &n_candidates);
		ok = c != NULL;
	}
	for (size_t i = 0; i < n_candidates; i++)
		look_at(&x, &c[i]);
	if (ok)
		found = choose(&x, c, n_candidates);
	if (found) {
		best = *found;
		look_at(&x, &best);
		out->anchor = best.anchor;
		out->length = best.length;
		out->example = best.example;
	}
	free(c);
	free(x.pairs);
	free(x.pair_of);
	free(x.at);
	return ok;
}
