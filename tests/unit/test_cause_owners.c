/* SPDX-License-Identifier: BSD-2-Clause */
/* Who owns each nanosecond of a gap (cause.c), against a slow and obvious reference: for every nanosecond, the best of all proposals that cover
 * it, by the order in CAUSES: a proven chain to another thread, what the thread's own records prove, what is inferred through a chain, what is
 * inferred otherwise, `unexplained` in so many words, a remainder; among equals the upper row of causes.def, then the one that begins first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cause/cause_engine.c"
#include "tests/unit/fewer.h"

#define LAST_SEED FEWER(20000)
#define GAP_NS 64
#define PROPOSALS 14

static uint64_t rng;

static uint32_t below(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 16) % n;
}

/* The first that counts. */
static int rank(const struct finding *f)
{
	if (f->remainder)
		return 5;
	if (f->cause == CAUSE_unexplained)
		return 4;
	if (f->confidence == CONFIDENCE_OBSERVED)
		return f->n_chain > 1 ? 0 : 1;
	return f->n_chain > 1 ? 2 : 3;
}

static size_t reference(const struct findings *list, int64_t ns)
{
	size_t best = NOBODY;

	for (size_t i = 0; i < list->n; i++) {
		const struct finding *f = &list->at[i], *b = best == NOBODY ? NULL : &list->at[best];

		if (f->begin_ns > ns || f->end_ns <= ns)
			continue;
		if (!b || rank(f) < rank(b) || (rank(f) == rank(b) && f->cause < b->cause))
			best = i;
	}
	return best;
}

static void propose(struct findings *list)
{
	for (uint32_t i = below(PROPOSALS + 1); i > 0; i--) {
		int64_t begin = (int64_t)below(GAP_NS + 20) - 10, end = begin + (int64_t)below(GAP_NS) - 2;
		struct finding *f =
			findings_add(list, (enum cause_id)below(CAUSE_COUNT), (enum confidence)below(2), begin, end);

		f->n_chain = below(4);
		f->remainder = below(6) == 0;
	}
}

/* From when on only the device's own causes count. */
static bool is_innocent(const struct gap_view *v, const struct finding *f, int64_t ns)
{
	return v->submit && f->cause != CAUSE_device_dependency && f->cause != CAUSE_device_latency &&
	       f->cause != CAUSE_device_contention && ns >= v->submit->end_ns + gap_view_latency_ns(v);
}

static void check(struct cause_engine *g, const struct gap *gap, bool doubt)
{
	struct findings all = g->found;
	struct finding before[PROPOSALS];
	size_t n = all.n, at = 0;

	memcpy(before, all.at, n * sizeof(*before));
	clip(g, gap, doubt);
	for (size_t i = 0; i < g->found.n; i++)
		assert_true(!doubt || g->found.at[i].confidence == CONFIDENCE_INFERRED);
	assert_true(tile(g, gap));
	for (int64_t ns = gap->begin_ns; ns < gap->end_ns; ns++) {
		size_t covering = 0, owner = reference(&g->found, ns);

		while (g->pieces[at].end_ns <= ns)
			at++;
		assert_in_range(ns, g->pieces[at].begin_ns, g->pieces[at].end_ns - 1);
		assert_int_equal(g->pieces[at].owner, owner);
		for (size_t i = 0; i < n; i++) /* what was clipped away had no right to it */
			covering += before[i].begin_ns <= ns && before[i].end_ns > ns &&
				    !is_innocent(&g->view, &before[i], ns);
		assert_int_equal(owner == NOBODY, covering == 0);
	}
	assert_int_equal(at, g->n_pieces - 1);
	assert_int_equal(g->pieces[0].begin_ns, gap->begin_ns);
	assert_int_equal(g->pieces[at].end_ns, gap->end_ns);
}

static void test_each_nanosecond_has_the_best_owner(void **state)
{
	struct cause_engine g = { 0 };
	struct device_timeline device = { .latency_ns = 1 };
	struct gap gap = { .begin_ns = 0, .end_ns = GAP_NS };
	struct call submit = { 0 };

	(void)state;
	g.view.gap = &gap;
	g.view.device = &device;
	for (uint64_t seed = 1; seed <= LAST_SEED; seed++) {
		rng = seed * 0x9e3779b97f4a7c15u;
		findings_clear(&g.found);
		propose(&g.found);
		submit.end_ns = (int64_t)below(GAP_NS);
		g.view.submit = below(2) ? &submit : NULL;
		check(&g, &gap, below(4) == 0);
	}
	findings_free(&g.found);
	free(g.heap);
	free(g.pieces);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_nanosecond_has_the_best_owner) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
