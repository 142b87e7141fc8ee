/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_sites.c: which statement of the program makes certain calls, or is where idle time goes.
 *
 * Programs have functions of their own around the driver's, through which all calls go. So of a stack the innermost frame of the program's is named
 * that no other call came through; where there is none, the innermost. */
#include "advice_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

#define PLACES 16 /* those that come later are not told apart */
#define PLACES_SAID 3

struct place {
	const struct frame *frame;
	uint64_t n;
	size_t order;
};

struct places {
	struct place at[PLACES];
	size_t n;
	uint64_t calls;
	const struct frame **others; /* the program's, that calls which are not asked about came through; by place */
	size_t n_others, cap_others;
};

static int by_text(const char *a, const char *b)
{
	return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

/* The same statement; without a line the same function, without that the same address. */
static int by_place(const struct frame *a, const struct frame *b)
{
	int c;

	if (a == b)
		return 0;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if ((c = by_text(a->file, b->file)) || (c = by_text(a->function, b->function)))
		return c;
	if (a->line || *a->function || a->address == b->address)
		return 0;
	return a->address < b->address ? -1 : 1;
}

static int by_place_of(const void *a, const void *b)
{
	return by_place(*(const struct frame *const *)a, *(const struct frame *const *)b);
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
	return bsearch(&f, p->others, p->n_others, sizeof(*p->others), by_place_of) != NULL;
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
	while (at < p->n && by_place(p->at[at].frame, f))
		at++;
	if (at == p->n && p->n < PLACES) {
		p->at[p->n] = (struct place){ .frame = f, .order = p->n };
		p->n++;
	}
	if (at < p->n)
		p->at[at].n++;
}

static bool add_others(struct places *p, const struct stack *s)
{
	for (size_t i = 0; i < s->n_frames; i++) {
		if (!s->frames[i].own)
			continue;
		if (!array_room(p->others, p->n_others, p->cap_others))
			return false;
		p->others[p->n_others++] = &s->frames[i];
	}
	return true;
}

struct looker {
	struct places *p;
	const struct advisor *a;
	const struct trace *t;
	call_wanted *wanted;
	const struct frame *
		*named; /* by stack: what add_place was told of it; in the first pass: not NULL, it was added */
	uint32_t ordinal;
	bool others; /* the first pass, in which the other calls' stacks are found */
};

static bool look_at_stack(const struct looker *l, const struct call *c, uint32_t stack)
{
	const struct stack *s = &l->t->stacks.all[stack];
	bool wanted = l->wanted(l->t, c);

	if (!s->n_frames)
		return true;
	if (l->others) {
		if (wanted || l->named[stack])
			return true;
		l->named[stack] = &s->frames[0];
		return add_others(l->p, s);
	}
	if (!wanted || !seen_call(l->a, l->t, l->ordinal, c))
		return true;
	if (!l->named[stack])
		l->named[stack] = named_frame(l->p, s);
	add_place(l->p, l->named[stack]);
	return true;
}

static bool look_at_thread(const struct looker *l, const struct stack_thread *st)
{
	const struct process_records *process = threads_process(&l->a->summary->threads, l->t);
	const struct thread_records *r = process ? threads_find(process, st->tid) : NULL;
	const struct call *last = NULL;

	for (size_t i = 0; r && i < st->n_calls; i++) {
		const struct call *c = call_of(r, &st->calls[i]);

		if (!c || c == last || st->calls[i].stack == GST_NONE)
			continue;
		if (!look_at_stack(l, c, st->calls[i].stack))
			return false;
		last = c;
	}
	return true;
}

/* Only of processes that work on the device. */
static bool look(struct places *p, const struct advisor *a, call_wanted *wanted, bool others)
{
	const struct run *run = a->summary->run;
	bool ok = true;

	for (size_t i = 0; ok && i < run->n_traces; i++) {
		const struct stacks *s = &run->traces[i]->stacks;
		struct looker l = { .p = p,
				    .a = a,
				    .t = run->traces[i],
				    .wanted = wanted,
				    .ordinal = recover_ordinal(a->summary, a->device, run->traces[i]),
				    .others = others };

		if (l.ordinal == GST_NONE)
			continue;
		l.named = array_new(s->n, sizeof(*l.named));
		ok = l.named != NULL;
		for (size_t k = 0; ok && k < s->n_threads; k++)
			ok = look_at_thread(&l, &s->threads[k]);
		free(l.named);
	}
	return ok;
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
	struct places p = { .n = 0 };
	bool ok = (p.others = array_grow(NULL, &p.cap_others, sizeof(*p.others))) && look(&p, a, wanted, true);

	if (ok)
		array_sort(p.others, p.n_others, sizeof(*p.others), by_place_of);
	ok = ok && look(&p, a, wanted, false);
	a->failed |= !ok;
	if (ok && p.n)
		say(a, out, &p);
	free(p.others);
}

/* ---- idle time ---------------------------------------------------------------------------------------------------------- */

struct stretch {
	const struct frame *frame;
	const struct held *held;
	int64_t ns;
};

static int by_frame(const void *a, const void *b)
{
	return by_place(((const struct stretch *)a)->frame, ((const struct stretch *)b)->frame);
}

/* NULL: no memory. */
static struct stretch *stretches_of(const struct advisor *a, enum cause_id cause, size_t *n)
{
	size_t gap = 0, piece = 0, cap = 0;
	struct stretch *list = array_grow(NULL, &cap, sizeof(*list));
	const struct gap_cause *c;

	*n = 0;
	if (!list)
		return NULL;
	while ((c = seen_piece(a, cause, &gap, &piece)))
		for (size_t i = 0; i < c->n_held; i++) {
			const struct held *h = &c->held[i];
			struct stretch s = { held_frame(h), h, seen_part(a, h->begin_ns, h->end_ns) };

			if (!s.frame || s.ns <= 0)
				continue;
			if (!array_room(list, *n, cap)) {
				free(list);
				return NULL;
			}
			list[(*n)++] = s;
		}
	return list;
}

void seen_statement(struct advisor *a, struct advice *out, enum cause_id cause)
{
	size_t n;
	struct stretch *list = stretches_of(a, cause, &n), best = { .ns = 0 };
	char words[FRAME_WORDS];

	if (!list) {
		a->failed = true;
		return;
	}
	array_sort(list, n, sizeof(*list), by_frame);
	for (size_t i = 0, k; i < n; i = k) {
		struct stretch sum = { list[i].frame, list[i].held, 0 };

		for (k = i; k < n && !by_frame(&list[k], &list[i]); k++)
			sum.ns += list[k].ns;
		if (sum.ns > best.ns)
			best = sum;
	}
	if (best.ns >= a->recovery->of[recover_of_cause(cause)].lost_ns / 10 && best.frame) {
		frame_words(words, sizeof(words), best.frame);
		figure_ns(out, "site_ns", best.ns);
		seen_site(a, out, words, held_is_before(best.held));
	}
	free(list);
}
