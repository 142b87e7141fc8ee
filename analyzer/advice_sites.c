/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_sites.c: which statement of the program makes certain calls.
 *
 * Programs have functions of their own around the driver's, through which all calls go. So of a stack the innermost frame of the program's is named
 * that no other call came through; where there is none, the innermost. */
#include "advice_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#define PLACES 16 /* those that come later are not told apart */
#define PLACES_SAID 3
#define OTHERS ((size_t)512) /* stacks of other calls that are compared with */

struct place {
	const struct frame *frame;
	uint64_t n;
	size_t order;
};

struct places {
	struct place at[PLACES];
	size_t n;
	uint64_t calls;
	const struct stack **others; /* of calls that are not asked about */
	size_t n_others;
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_place(const struct frame *a, const struct frame *b)
{
	return a == b || (a->line == b->line && same_text(a->file, b->file) && same_text(a->function, b->function) &&
			  (a->line || *a->function || a->address == b->address));
}

static int by_number(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* ---- which frame -------------------------------------------------------------------------------------------------------- */

static bool is_others(const struct places *p, const struct frame *f)
{
	for (size_t i = 0; i < p->n_others; i++)
		for (size_t k = 0; k < p->others[i]->n_frames; k++)
			if (p->others[i]->frames[k].own && same_place(&p->others[i]->frames[k], f))
				return true;
	return false;
}

static const struct frame *named_frame(const struct places *p, const struct stack *s)
{
	const struct frame *innermost = NULL;

	for (size_t i = 0; i < s->n_frames; i++) {
		if (!s->frames[i].own)
			continue;
		if (!is_others(p, &s->frames[i]))
			return &s->frames[i];
		innermost = innermost ? innermost : &s->frames[i];
	}
	return innermost ? innermost : s->n_frames ? &s->frames[0] : NULL;
}

/* ---- which calls -------------------------------------------------------------------------------------------------------- */

static bool begins_before(const void *element, const void *key)
{
	return (*(const struct call *const *)element)->begin_ns < *(const int64_t *)key;
}

/* The call that the stack was taken for; of a silence, the one behind it. NULL: another reason, or it is gone. */
static const struct call *call_of(const struct thread_records *r, const struct stack_at *s)
{
	int64_t at = s->why == GST_STACK_SILENCE ? s->end_ns : s->begin_ns;
	size_t i = array_first(r->calls, r->n_calls, sizeof(*r->calls), begins_before, &at);

	return i < r->n_calls && r->calls[i]->begin_ns == at ? r->calls[i] : NULL;
}

static void add_place(struct places *p, const struct frame *f)
{
	size_t at = 0;

	p->calls++;
	while (at < p->n && !same_place(p->at[at].frame, f))
		at++;
	if (at == p->n && p->n < PLACES) {
		p->at[p->n] = (struct place){ .frame = f, .order = p->n };
		p->n++;
	}
	if (at < p->n)
		p->at[at].n++;
}

static void add_other(struct places *p, const struct stack *s)
{
	for (size_t i = 0; i < p->n_others; i++)
		if (p->others[i] == s)
			return;
	if (p->n_others < OTHERS)
		p->others[p->n_others++] = s;
}

/* First the other calls' stacks are found, then with these the places. */
static void look_at(struct places *p, const struct advisor *a, const struct trace *t, const struct stack_thread *st,
		    call_wanted *wanted, bool others)
{
	const struct process_records *process = threads_process(&a->summary->threads, t);
	const struct thread_records *r = process ? threads_find(process, st->tid) : NULL;
	uint32_t ordinal = recover_ordinal(a->device, t);
	const struct call *last = NULL;

	for (size_t i = 0; r && i < st->n_calls; i++) {
		const struct call *c = call_of(r, &st->calls[i]);
		const struct frame *f;

		if (!c || c == last || st->calls[i].stack == GST_NONE)
			continue;
		if (others && !wanted(t, c))
			add_other(p, &t->stacks.all[st->calls[i].stack]);
		if (others || !seen_call(a, t, ordinal, c) || !wanted(t, c))
			continue;
		f = named_frame(p, &t->stacks.all[st->calls[i].stack]);
		if (f)
			add_place(p, f);
		last = c;
	}
}

static void say(struct advisor *a, struct advice *out, struct places *p)
{
	char words[FRAME_WORDS], line[FRAME_WORDS + 64];

	array_sort(p->at, p->n, sizeof(*p->at), by_number);
	frame_words(words, sizeof(words), p->at[0].frame);
	if (!*words)
		return;
	seen_site(a, out, words, false);
	figure_count(out, "sites", p->n);
	figure_count(out, "calls_with_stacks", p->calls);
	for (size_t i = 0; p->n > 1 && i < p->n && i < PLACES_SAID; i++) {
		frame_words(words, sizeof(words), p->at[i].frame);
		snprintf(line, sizeof(line), "%s: %" PRIu64 " of %" PRIu64 " stacks of such calls", words, p->at[i].n,
			 p->calls);
		advice_evidence(a, out, line);
	}
}

void seen_sites(struct advisor *a, struct advice *out, call_wanted *wanted)
{
	const struct run *run = a->summary->run;
	struct places p = { .others = array_new(OTHERS, sizeof(*p.others)) };

	a->failed |= !p.others;
	for (int others = 1; p.others && others >= 0; others--)
		for (size_t i = 0; i < run->n_traces; i++)
			for (size_t k = 0; k < run->traces[i]->stacks.n_threads; k++)
				look_at(&p, a, run->traces[i], &run->traces[i]->stacks.threads[k], wanted, others);
	if (p.n)
		say(a, out, &p);
	free(p.others);
}
