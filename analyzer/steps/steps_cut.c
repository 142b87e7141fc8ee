/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_cut.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

#define SAMPLES 31 /* iterations whose pauses are compared */
#define BEHIND 16  /* launches from a place on, and before it, that are compared with those of a typical begin */
#define BEFORE 8
#define CLEAR_NS 2000 /* pauses below are no longer than those between any launches */

/* ---- what is usual ---------------------------------------------------------------------------------------------------- */

/* Like the example, launch for launch, but for one in sixteen. */
static bool is_the_same(const struct step_tokens *s, const struct period *p, size_t at)
{
	size_t others = 0;

	for (size_t i = 0; i < p->length; i++)
		others += s->ids[at + i] != s->ids[p->example + i];
	return others <= p->length / 16;
}

/* Up to SAMPLES intervals as the example, of those that begin at an anchor, all over the sequence; it among them. */
static size_t take_samples(size_t samples[SAMPLES], const struct step_tokens *s, const struct period *p)
{
	size_t n = 1, apart = (p->until - p->from) / SAMPLES, next = p->from;

	samples[0] = p->example;
	for (size_t i = p->from; i + p->length < p->until && n < SAMPLES; i++) {
		if (i < next || i == p->example || !anchor_is_at(&p->anchor, s, i))
			continue;
		if (!anchor_is_at(&p->anchor, s, i + p->length) || !is_the_same(s, p, i))
			continue;
		samples[n++] = i;
		next = i + apart;
	}
	return n;
}

/* What is usual before each launch of an iteration. False: no memory. */
static int64_t *usual_pauses(const struct step_tokens *s, const struct period *p)
{
	int64_t *usual = array_new(p->length, sizeof(*usual)), pauses[SAMPLES];
	size_t samples[SAMPLES], n = take_samples(samples, s, p);

	for (size_t i = 0; usual && i < p->length; i++) {
		for (size_t k = 0; k < n; k++)
			pauses[k] = token_pause(s, samples[k] + i);
		usual[i] = array_median(pauses, n);
	}
	return usual;
}

static uint8_t kind_at(const struct step_tokens *s, const struct period *p, size_t i)
{
	return s->about[s->ids[p->example + i % p->length]].kind;
}

/* ---- where iterations are apart ------------------------------------------------------------------------------------------- */

struct votes { /* for each launch of an iteration, counted from the anchor */
	uint32_t *at;
	size_t most;
};

/* Of an interval into which something was put: how much of the example is before it, and behind. */
static size_t same_from(const struct step_tokens *s, const struct period *p, size_t begin)
{
	size_t n = 0;

	while (n < p->length && s->ids[begin + n] == s->ids[p->example + n])
		n++;
	return n;
}

static size_t same_until(const struct step_tokens *s, const struct period *p, size_t end)
{
	size_t n = 0;

	while (n < p->length && s->ids[end - 1 - n] == s->ids[p->example + p->length - 1 - n])
		n++;
	return n;
}

/* What is put into the sequence now and then (a checkpoint, an evaluation, a value that is logged) is put between two iterations: behind a launch of the
 * example that is before it, and before one that is behind it. False: no memory. */
static bool count_votes(struct votes *v, const struct step_tokens *s, const struct period *p)
{
	int32_t *changes = array_new(p->length + 2, sizeof(*changes)), sum = 0;
	size_t last = SIZE_MAX;

	v->at = array_new(p->length, sizeof(*v->at));
	for (size_t i = p->from; changes && i < p->until; i++) {
		if (!anchor_is_at(&p->anchor, s, i))
			continue;
		if (last != SIZE_MAX && i - last > p->length) {
			size_t before = same_from(s, p, last), behind = same_until(s, p, i);

			if (before + behind >= p->length) {
				changes[p->length - behind]++;
				changes[before + 1]--;
			}
		}
		last = i;
	}
	for (size_t i = 0; changes && v->at && i <= p->length; i++) {
		sum += changes[i];
		v->at[i % p->length] += (uint32_t)sum;
	}
	for (size_t i = 0; changes && v->at && i < p->length; i++)
		v->most = v->at[i] > v->most ? v->at[i] : v->most;
	free(changes);
	return changes && v->at;
}

/* How far the example's period reaches back from it: there the first iteration begins that is as the others. */
static size_t of_the_first(const struct step_tokens *s, const struct period *p)
{
	size_t i = p->example;

	while (i && s->ids[i - 1] == s->ids[i - 1 + p->length])
		i--;
	return (i + p->length - p->example % p->length) % p->length;
}

/* ---- which launch is the first -------------------------------------------------------------------------------------------- */

/* Is a batch copied there? Behind a copy to the host, which ends an iteration, or a pause that is not short; not while the device works on
 * another one. */
static bool is_input(const struct step_tokens *s, const struct period *p, size_t i, int64_t usual, int64_t longest)
{
	uint8_t before = kind_at(s, p, i + p->length - 1);

	return kind_at(s, p, i) == TOKEN_H2D && before != TOKEN_H2D && (before == TOKEN_D2H || usual >= longest / 10);
}

/* Of the launches that have most votes the one behind a copy to the host, else behind the longest pause. */
static size_t elected(const struct step_tokens *s, const struct period *p, const int64_t *usual, const struct votes *v)
{
	size_t best = SIZE_MAX;
	bool best_ends = false;

	for (size_t i = 0; i < p->length; i++) {
		bool ends = kind_at(s, p, i + p->length - 1) == TOKEN_D2H;

		if (v->at[i] == v->most &&
		    (best == SIZE_MAX || ends > best_ends || (ends == best_ends && usual[i] > usual[best]))) {
			best = i;
			best_ends = ends;
		}
	}
	return best;
}

/* The first launch of an iteration, counted from the anchor. */
static size_t first_launch(const struct step_tokens *s, const struct period *p, const int64_t *usual,
			   const struct votes *v)
{
	size_t longest = 0, copy = SIZE_MAX, first;

	for (size_t i = 1; i < p->length; i++)
		longest = usual[i] > usual[longest] ? i : longest;
	for (size_t i = 0; i < p->length; i++)
		if (is_input(s, p, i, usual[i], usual[longest]) && (copy == SIZE_MAX || usual[i] > usual[copy]))
			copy = i;
	if (copy != SIZE_MAX)
		return copy;
	first = v->most ? elected(s, p, usual, v) : of_the_first(s, p);
	return usual[longest] >= CLEAR_NS && usual[first] < usual[longest] / 3 ? longest : first;
}

/* ---- where each begins ---------------------------------------------------------------------------------------------------- */

/* How much the place looks like a begin: what comes from there on counts twice. */
static size_t likeness(const struct cut *c, const struct step_tokens *s, size_t at)
{
	size_t same = 0;

	for (size_t i = 0; i < BEHIND && i < c->n && at + i < s->n; i++)
		same += 2 * (s->ids[at + i] == c->first[i]);
	for (size_t i = 1; i <= BEFORE && i <= c->n && i <= at; i++)
		same += s->ids[at - i] == c->first[c->n - i];
	return same;
}

static size_t most_like(const struct cut *c)
{
	return 2 * (c->n < BEHIND ? c->n : BEHIND) + (c->n < BEFORE ? c->n : BEFORE);
}

/* Of the iteration that has this anchor and begins behind low: the place that is most like a begin, nearest to where it should be. */
static size_t begin_of(const struct cut *c, const struct step_tokens *s, size_t anchor, size_t low)
{
	size_t expected = anchor >= low + c->anchor ? anchor - c->anchor : low, best = expected, like = 0;

	if (anchor >= low + c->anchor && likeness(c, s, expected) == most_like(c))
		return expected;
	for (size_t at = low; at <= anchor; at++) {
		size_t now = s->ids[at] == c->first[0] ? likeness(c, s, at) : 0;
		size_t far = at > expected ? at - expected : expected - at;
		size_t best_far = best > expected ? best - expected : expected - best;

		if (now > like || (now && now == like && far < best_far)) {
			best = at;
			like = now;
		}
	}
	return best;
}

static bool place_all(struct cut *out, const struct step_tokens *s, const struct period *p)
{
	size_t low = 0, cap = 0;

	for (size_t i = 0; i < s->n; i++) {
		size_t at;

		if (!anchor_is_at(&p->anchor, s, i))
			continue;
		at = begin_of(out, s, i, low);
		if (!array_room(out->at, out->n_at, cap))
			return false;
		out->at[out->n_at++] = at;
		low = i + 1;
	}
	return true;
}

bool cut_make(struct cut *out, const struct step_tokens *s, const struct period *p)
{
	int64_t *usual = usual_pauses(s, p);
	struct votes votes = { .at = NULL };
	bool ok = usual && count_votes(&votes, s, p);
	size_t first = ok ? first_launch(s, p, usual, &votes) : 0;

	free(usual);
	free(votes.at);
	*out = (struct cut){ .first = array_new(p->length, sizeof(*out->first)), .n = p->length };
	ok = ok && out->first;
	for (size_t i = 0; ok && i < p->length; i++)
		out->first[i] = s->ids[p->example + (first + i) % p->length];
	out->anchor = (p->length - first) % p->length;
	ok = ok && place_all(out, s, p);
	if (!ok)
		cut_free(out);
	return ok;
}

void cut_free(struct cut *c)
{
	free(c->first);
	free(c->at);
	*c = (struct cut){ 0 };
}
