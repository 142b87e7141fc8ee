/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cause_chain_evidence.h"
#include "cause_chain_words.h"
#include "cause_evidence.h"
#include "cause_rules.h"
#include "doubt.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"

#define NOBODY SIZE_MAX

typedef void cause_rule(const struct gap_view *v, struct findings *out);

static cause_rule *const rules[] = {
#define CAUSE(name, id, title, advice)
#define CAUSE_RULE(name, id, title, advice) cause_##name,
#include "causes.def"
	cause_chain,
};

/* ---- one gap: proposals → owners ---- */

/* Rule 1 of CAUSES: a proven chain to another thread, what the thread's own records prove, what is inferred (a chain before what the
 * thread's samples alone say), the rest. */
static int standing(const struct finding *f)
{
	if (f->remainder)
		return 4;
	if (f->cause == CAUSE_unexplained)
		return 3; /* the lowest of those */
	return (f->confidence == CONFIDENCE_INFERRED ? 2 : 0) + (f->n_chain <= 1);
}

static bool goes_before(const struct findings *list, size_t a, size_t b)
{
	const struct finding *x = &list->at[a], *y = &list->at[b];
	int sx = standing(x), sy = standing(y);

	if (sx != sy)
		return sx < sy;
	return x->cause != y->cause ? x->cause < y->cause : a < b;
}

static bool heap_push(struct cause_engine *g, size_t finding)
{
	size_t at = g->n_heap;

	if (!array_room(g->heap, g->n_heap, g->cap_heap))
		return false;
	g->n_heap++;
	while (at > 0 && goes_before(&g->found, finding, g->heap[(at - 1) / 2])) {
		g->heap[at] = g->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	g->heap[at] = finding;
	return true;
}

static void heap_pop(struct cause_engine *g)
{
	size_t last = g->heap[--g->n_heap], at = 0, child;

	while ((child = 2 * at + 1) < g->n_heap) {
		if (child + 1 < g->n_heap && goes_before(&g->found, g->heap[child + 1], g->heap[child]))
			child++;
		if (!goes_before(&g->found, g->heap[child], last))
			break;
		g->heap[at] = g->heap[child];
		at = child;
	}
	if (g->n_heap)
		g->heap[at] = last;
}

static bool add_piece(struct cause_engine *g, int64_t begin, int64_t end, size_t owner)
{
	struct cause_piece *last = g->n_pieces ? &g->pieces[g->n_pieces - 1] : NULL;

	if (last && last->owner == owner && last->end_ns == begin) {
		last->end_ns = end;
		return true;
	}
	if (!array_room(g->pieces, g->n_pieces, g->cap_pieces))
		return false;
	g->pieces[g->n_pieces++] = (struct cause_piece){ begin, end, owner };
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Rule 7 of CAUSES: once the next work was submitted, and the device had the time it takes to start it, the host is innocent. */
static int64_t may_own_until(const struct gap_view *v, const struct finding *f)
{
	if (!v->submit || f->cause == CAUSE_device_dependency || f->cause == CAUSE_device_latency ||
	    f->cause == CAUSE_device_contention)
		return v->gap->end_ns;
	return min64(v->gap->end_ns, sum64(v->submit->end_ns, sum64(gap_view_latency_ns(v), v->gap->end_error_ns)));
}

/* Clips to the gap and drops what is empty. Records that may be missing make everything an inference (rule 5). */
static void clip(struct cause_engine *g, const struct gap *gap, bool doubt)
{
	struct findings *list = &g->found;
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct finding *f = &list->at[i];

		if (f->begin_ns < gap->begin_ns)
			f->begin_ns = gap->begin_ns;
		f->end_ns = min64(f->end_ns, may_own_until(&g->view, f));
		if (f->end_ns <= f->begin_ns)
			continue;
		if (doubt)
			f->confidence = CONFIDENCE_INFERRED;
		if (kept != i)
			list->at[kept] = *f;
		kept++;
	}
	list->n = kept;
	array_sort(list->at, list->n, sizeof(*list->at), by_begin);
}

/* Every nanosecond of the gap gets one owner: the best of those that cover it. */
static bool tile(struct cause_engine *g, const struct gap *gap)
{
	const struct findings *list = &g->found;
	int64_t at = gap->begin_ns;
	size_t next = 0;

	g->n_heap = g->n_pieces = 0;
	while (at < gap->end_ns) {
		int64_t until = gap->end_ns;
		size_t owner = NOBODY;

		for (; next < list->n && list->at[next].begin_ns <= at; next++) {
			if (!heap_push(g, next))
				return false;
		}
		while (g->n_heap && list->at[g->heap[0]].end_ns <= at)
			heap_pop(g);
		if (g->n_heap) {
			owner = g->heap[0];
			until = list->at[owner].end_ns;
		}
		if (next < list->n && list->at[next].begin_ns < until)
			until = list->at[next].begin_ns;
		if (!add_piece(g, at, until, owner))
			return false;
		at = until;
	}
	return true;
}

/* ---- owners → the story that is kept ---- */

/* Not proof of anything, but what there is to say about time that nobody owns. */
static void describe_unknown(struct finding *f, const struct gap_view *v)
{
	char call[256], early[TEXT_SHORT];
	const struct activity *at, *longest = NULL;
	size_t n;

	if (v->ready || (v->submit && f->begin_ns > v->submit->end_ns)) {
		evidence_call(call, sizeof(call), v->trace, v->submit);
		snprintf(f->words->evidence, sizeof(f->words->evidence),
			 "the next work had been submitted %s before %s: %s",
			 text_duration(early, (v->ready ? v->gap->begin_ns : f->begin_ns) - v->submit->end_ns),
			 v->ready ? "the gap" : "that", call);
		chain_submitter_in(f, v, "its work was queued", "");
		return;
	}
	at = gap_view_activities(v, f->begin_ns, f->end_ns, &n);
	for (size_t i = 0; i < n; i++)
		if (!longest || at[i].end_ns - at[i].begin_ns > longest->end_ns - longest->begin_ns)
			longest = &at[i];
	if (v->tid)
		chain_submitter_in(f, v, "unknown", "");
	if (longest) {
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), v->trace, longest);
	} else if (v->submit && f->begin_ns >= v->submit_begin_ns) {
		evidence_call(call, sizeof(call), v->trace, v->submit);
		snprintf(f->words->evidence, sizeof(f->words->evidence), "the next work was being submitted: %s", call);
		chain_submitter_in(f, v, "in ", call_name(v->trace, v->submit));
	} else {
		evidence_accounts(f->words->evidence, sizeof(f->words->evidence), "", v, f->begin_ns, f->end_ns);
	}
}

/* The submitting thread's link, where nothing is said of others. */
static bool keep_link(struct arena *arena, struct gap_cause *c, const struct finding *f)
{
	struct chain_link *link;

	if (!f->n_chain)
		return true;
	link = arena_alloc(arena, sizeof(*link));
	if (!link)
		return false;
	*link = (struct chain_link){ .pid = f->pid,
				     .tid = f->tid,
				     .name = "",
				     .state = arena_text_once(arena, f->words->state),
				     .woken_by = "",
				     .begin_ns = c->begin_ns,
				     .end_ns = c->end_ns };
	c->chain = link;
	c->n_chain = 1;
	return link->state != NULL;
}

static bool keep_words(struct cause_engine *g, struct gap_cause *c, const struct finding *f)
{
	if (f->way)
		return chain_keep_evidence(&g->arena, c, f, g->view.host.host);
	return cause_keep_text(&g->arena, c, f->words->evidence);
}

static bool keep_chain(struct cause_engine *g, struct gap_cause *c, const struct finding *f)
{
	return f->way ? chain_keep_links(&g->arena, c, f, g->view.host.host) : keep_link(&g->arena, c, f);
}

/* Two neighbours that say the same are one. last_way: of c. */
static bool same_story(const struct gap_cause *c, const struct chain_segment *last_way, const struct finding *f)
{
	if (c->cause != f->cause || c->confidence != f->confidence || c->n_chain != f->n_chain || !last_way != !f->way)
		return false;
	if (f->way)
		return chain_same_way(last_way, f->way);
	return !f->n_chain || (c->chain[0].tid == f->tid && strcmp(c->chain[0].state, f->words->state) == 0);
}

static bool keep(struct cause_engine *g, const struct cause_piece *piece)
{
	struct finding_words words = { .state = "" };
	struct finding unknown = {
		.begin_ns = piece->begin_ns, .end_ns = piece->end_ns, .cause = CAUSE_unexplained, .words = &words
	};
	const struct finding *f = piece->owner == NOBODY ? &unknown : &g->found.at[piece->owner];
	struct gap_cause *c = g->n_causes ? &g->causes[g->n_causes - 1] : NULL;

	if (f == &unknown)
		describe_unknown(&unknown, &g->view);
	g->causes_ns[f->cause] += piece->end_ns - piece->begin_ns;
	if (f->confidence == CONFIDENCE_OBSERVED)
		g->observed_ns[f->cause] += piece->end_ns - piece->begin_ns;
	if (c && same_story(c, g->last_way, f)) {
		c->end_ns = piece->end_ns;
		chain_lengthen_links(c, g->last_way, f->way);
		g->last_way = f->way;
		return keep_words(g, c, f);
	}
	if (!array_room(g->causes, g->n_causes, g->cap_causes))
		return false;
	c = &g->causes[g->n_causes++];
	*c = (struct gap_cause){
		.begin_ns = piece->begin_ns, .end_ns = piece->end_ns, .cause = f->cause, .confidence = f->confidence
	};
	g->last_way = f->way;
	return keep_words(g, c, f) && keep_chain(g, c, f);
}

/* What code held each of the story's intervals; then it goes where it stays. */
static bool keep_story(struct cause_engine *g, struct gap_story *story)
{
	for (size_t i = 0; i < g->n_causes; i++)
		if (!cause_keep_place(&g->arena, &g->view, &g->causes[i]))
			return false;
	story->causes = arena_alloc(&g->arena, g->n_causes * sizeof(*g->causes));
	if (!story->causes)
		return false;
	if (g->n_causes)
		memcpy(story->causes, g->causes, g->n_causes * sizeof(*g->causes));
	story->n_causes = g->n_causes;
	return true;
}

static struct submitter submitter_of(const struct gap *gap)
{
	const struct op *op = gap->after && !gap->after->of->unlinked ? gap->after : gap->before;

	if (!op || op->of->unlinked)
		return (struct submitter){ NULL, 0 };
	return (struct submitter){ op->of->trace, op->call->tid };
}

bool cause_explain(struct cause_engine *g, const struct device_timeline *d, const struct gap *gap,
		   struct gap_story *story)
{
	story->gap = gap;
	story->by = submitter_of(gap);
	g->n_causes = 0;
	if (!gap_view_set(&g->view, d, gap, g->threads))
		return false;
	findings_clear(&g->found);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		rules[i](&g->view, &g->found);
	if (g->found.failed)
		return false;
	clip(g, gap, doubt_about(d, gap, g->doubt_from_ns));
	if (!tile(g, gap))
		return false;
	for (size_t i = 0; i < g->n_pieces; i++) {
		if (!keep(g, &g->pieces[i]))
			return false;
	}
	return keep_story(g, story);
}

void cause_engine_free(struct cause_engine *g)
{
	gap_view_free(&g->view);
	findings_free(&g->found);
	free(g->heap);
	free(g->pieces);
	free(g->causes);
	arena_free(&g->arena);
	*g = (struct cause_engine){ 0 };
}
