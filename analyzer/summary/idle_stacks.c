/* SPDX-License-Identifier: BSD-2-Clause */
#include "idle_stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"
#include "tools/text_symbol.h"

/* ---- which there are ---- */

static uint32_t innermost(const struct held *h)
{
	return held_is_before(h) ? h->frame : h->first;
}

static int by_stack(const void *a, const void *b)
{
	const struct idle_stack *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->held->stack != y->held->stack)
		return x->held->stack < y->held->stack ? -1 : 1;
	if (innermost(x->held) != innermost(y->held))
		return innermost(x->held) < innermost(y->held) ? -1 : 1;
	if (x->cause != y->cause)
		return x->cause < y->cause ? -1 : 1;
	return (x->held->by > y->held->by) - (x->held->by < y->held->by);
}

/* Processes in the run's order; what no stack is known of comes first: 0. */
static size_t process_of(const struct summary *s, const struct held *h)
{
	size_t i = 0;

	while (i < s->run->n_traces && s->run->traces[i] != h->trace)
		i++;
	return h->trace ? i + 1 : 0;
}

struct list {
	struct idle_stack *at;
	size_t n, cap;
};

static bool add_gap(struct list *l, const struct summary *s, size_t device, size_t gap)
{
	const struct gap_story *g = &s->devices[device].attribution.gaps[gap];

	for (size_t i = 0; i < g->n_causes; i++)
		for (uint32_t k = 0; k < cause_n_held(&g->causes[i]); k++) {
			int64_t ns;
			const struct held *h = cause_held(&g->causes[i], k, &ns);

			if (!array_room(l->at, l->n, l->cap))
				return false;
			l->at[l->n++] = (struct idle_stack){ .held = h,
							     .device = device,
							     .process = process_of(s, h),
							     .ns = ns,
							     .longest_ns = ns,
							     .gap = s->devices[device].first_gap + gap,
							     .cause = g->causes[i].cause };
		}
	return true;
}

static void take_in(struct idle_stack *into, const struct idle_stack *one)
{
	into->ns = sum64(into->ns, one->ns);
	if (one->longest_ns > into->longest_ns || (one->longest_ns == into->longest_ns && one->gap < into->gap)) {
		into->longest_ns = one->longest_ns;
		into->gap = one->gap;
	}
}

static size_t merge(struct idle_stack *at, size_t n)
{
	size_t kept = 0;

	array_sort(at, n, sizeof(*at), by_stack);
	for (size_t i = 0; i < n; i++) {
		if (kept && by_stack(&at[kept - 1], &at[i]) == 0)
			take_in(&at[kept - 1], &at[i]);
		else if (at[i].ns)
			at[kept++] = at[i];
	}
	return kept;
}

/* Millions of gaps have few stacks: they are merged now and then, whenever there are twice as many as were left the last time. */
#define UNMERGED ((size_t)1 << 17)

struct idle_stack *idle_stacks_build(const struct summary *s, size_t *n)
{
	struct list l = { 0 };
	size_t limit = UNMERGED;
	bool ok = array_room(l.at, l.n, l.cap);

	for (size_t i = 0; ok && i < s->n_devices; i++)
		for (size_t k = 0; ok && k < s->devices[i].attribution.n_gaps; k++) {
			ok = add_gap(&l, s, i, k);
			if (l.n < limit)
				continue;
			l.n = merge(l.at, l.n);
			limit = 2 * l.n > UNMERGED ? 2 * l.n : UNMERGED;
		}
	if (!ok) {
		free(l.at);
		return NULL;
	}
	*n = merge(l.at, l.n);
	return l.at;
}

/* ---- what they are made of ---- */

static const struct stack *stack_of(const struct idle_stack *l)
{
	const struct held *h = l->held;
	const struct stack *stack = h->trace && h->stack != GST_NONE ? &h->trace->stacks.all[h->stack] : NULL;

	return stack && stack->n_frames ? stack : NULL;
}

/* Of a Python program the interpreter's own way to its first line is left out: stacks seen from outside begin there too. */
static size_t outermost(const struct stack *stack, uint32_t last)
{
	if (!(stack->flags & GST_STACK_UNMERGED))
		for (size_t i = stack->n_frames; i-- > last;)
			if (stack->frames[i].python)
				return i + 1;
	return stack->n_frames;
}

size_t idle_stack_frames(const struct idle_stack *l)
{
	const struct stack *stack = stack_of(l);
	uint32_t last = innermost(l->held);
	size_t n = stack ? outermost(stack, last) : 0;

	return n > last ? n - last : 1;
}

static void frame_text(char buf[IDLE_FRAME], const struct frame *f, const char *before)
{
	char name[416], file[208], hex[32];
	const char *what = f->function;

	if (!*what && !f->python) {
		snprintf(hex, sizeof(hex), "0x%" PRIx64, f->address);
		what = hex;
	}
	text_symbol(name, sizeof(name), *what ? what : "?", 400);
	if (f->file && f->line)
		snprintf(buf, IDLE_FRAME, "%s%s (%s:%u)", before, name,
			 text_clean(file, sizeof(file), text_base(f->file), 200), f->line);
	else if (f->object || f->file)
		snprintf(buf, IDLE_FRAME, "%s%s (%s)", before, name,
			 text_clean(file, sizeof(file), text_base(f->object ? f->object->file.path : f->file), 200));
	else
		snprintf(buf, IDLE_FRAME, "%s%s", before, name);
}

const char *idle_stack_site(char buf[IDLE_FRAME], const struct held *h, const struct frame *f)
{
	frame_text(buf, f, held_is_before(h) ? "[before] " : "");
	return buf;
}

const char *idle_stack_frame(char buf[IDLE_FRAME], const struct idle_stack *l, size_t number,
			     const struct frame **frame)
{
	const struct stack *stack = stack_of(l);
	uint32_t last = innermost(l->held);
	size_t n = stack ? outermost(stack, last) : 0;

	*frame = n > last ? &stack->frames[n - 1 - number] : NULL;
	if (!*frame)
		snprintf(buf, IDLE_FRAME, "[no stack]");
	else
		frame_text(buf, *frame, n - 1 - number == last && held_is_before(l->held) ? "[before] " : "");
	return buf;
}
