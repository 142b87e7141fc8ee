/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_anchors.c: which tokens, and pairs of neighbours, come again and again about as many submissions apart. */
#include "steps_candidate.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

#define PAIRS 65536u  /* different pairs of neighbours, of which each may be an anchor */
#define BACK 4        /* intervals ago to which one is compared */
#define CANDIDATES 48 /* anchors that are looked at closely … */
#define OF_A_KIND 3   /* … of those that come as often */
#define LEAST_ANCHORS (LEAST_STEPS + 1)

/* ---- how regularly each comes -------------------------------------------------------------------------------------------- */

struct regularity { /* of an anchor */
	uint32_t n, first, last;
	uint32_t back[BACK]; /* the last lengths */
	uint64_t regular;    /* length of those intervals that are as long as one of those before */
};

struct measure {
	const struct step_tokens *s;
	size_t from, until;
	uint32_t *pairs; /* by place in the window: which pair ends there; max_pairs: one of too many */
	uint32_t (*pair_of)[2];
	size_t n_pairs, max_pairs;
	struct regularity *at; /* of the tokens, then of the pairs */
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

static bool number_pairs(struct measure *m)
{
	size_t n_slots = 4 * m->max_pairs;
	uint32_t *slots = array_new(n_slots, sizeof(*slots)); /* + 1 */

	for (size_t i = m->from + 1; slots && i < m->until; i++) {
		uint32_t a = m->s->ids[i - 1], b = m->s->ids[i], *slot;
		size_t at = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u >> 40;

		for (;; at++) {
			slot = &slots[at % n_slots];
			if (!*slot || (m->pair_of[*slot - 1][0] == a && m->pair_of[*slot - 1][1] == b))
				break;
		}
		if (!*slot && m->n_pairs < m->max_pairs) {
			m->pair_of[m->n_pairs][0] = a;
			m->pair_of[m->n_pairs][1] = b;
			*slot = (uint32_t)++m->n_pairs;
		}
		m->pairs[i - m->from] = *slot ? *slot - 1 : (uint32_t)m->max_pairs;
	}
	free(slots);
	return slots != NULL;
}

static void measure_all(struct measure *m)
{
	for (size_t i = m->from; i < m->until; i++) {
		uint32_t place = (uint32_t)(i - m->from);

		note(&m->at[m->s->ids[i]], place);
		if (place && m->pairs[place] != m->max_pairs)
			note(&m->at[m->s->n_about + m->pairs[place]], place);
	}
}

/* ---- candidates ---------------------------------------------------------------------------------------------------------- */

static int by_regularity(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->regular != y->regular)
		return x->regular > y->regular ? -1 : 1;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
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
			alike += c[k].n >= c[i].n - c[i].n / 16 && c[k].n <= c[i].n + c[i].n / 16;
		if (alike < OF_A_KIND)
			c[kept++] = c[i];
	}
	return kept;
}

static struct candidate *candidates(const struct measure *m, size_t *n)
{
	size_t all = m->s->n_about + m->n_pairs;
	struct candidate *c = array_new(all, sizeof(*c));

	*n = 0;
	for (size_t i = 0; c && i < all; i++) {
		const struct regularity *r = &m->at[i];
		struct anchor a = { TOKEN_ANY, (uint32_t)i };

		if (!may_be_anchor(r, m->until - m->from))
			continue;
		if (i >= m->s->n_about)
			a = (struct anchor){ m->pair_of[i - m->s->n_about][0], m->pair_of[i - m->s->n_about][1] };
		c[(*n)++] = (struct candidate){
			.anchor = a, .n = r->n, .first = r->first, .last = r->last, .regular = r->regular, .number = i
		};
	}
	if (!c)
		return NULL;
	array_sort(c, *n, sizeof(*c), by_regularity);
	*n = thin_out(c, *n);
	return c;
}

bool anchors_find(struct candidate **out, size_t *n, const struct step_tokens *s, size_t from, size_t until)
{
	size_t window = until - from;
	struct measure m = { .s = s, .from = from, .until = until, .max_pairs = window < PAIRS ? window : PAIRS };

	*out = NULL;
	*n = 0;
	if (window < LEAST_ANCHORS)
		return true;
	m.pairs = array_new(window, sizeof(*m.pairs));
	m.pair_of = array_new(m.max_pairs, sizeof(*m.pair_of));
	m.at = array_new(s->n_about + m.max_pairs, sizeof(*m.at));
	if (m.pairs && m.pair_of && m.at && number_pairs(&m)) {
		measure_all(&m);
		*out = candidates(&m, n);
	}
	free(m.pairs);
	free(m.pair_of);
	free(m.at);
	return *out != NULL;
}
