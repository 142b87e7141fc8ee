/* SPDX-License-Identifier: BSD-2-Clause */
#include "held_frame.h"

#include <string.h>

const struct stack *held_stack(const struct held *h)
{
	return h->trace && h->stack != GST_NONE ? &h->trace->stacks.all[h->stack] : NULL;
}

const struct frame *held_frame(const struct held *h)
{
	const struct stack *s = held_stack(h);

	return s && h->frame < s->n_frames ? &s->frames[h->frame] : NULL;
}

uint32_t frame_own(const struct stack *s, uint32_t first)
{
	for (uint32_t i = first; i < s->n_frames; i++)
		if (s->frames[i].own)
			return i;
	return first;
}

const struct frame *held_own_frame(const struct held *h)
{
	const struct stack *s = held_stack(h);

	return s && s->n_frames ? &s->frames[frame_own(s, 0)] : NULL;
}

static bool same_raw(const struct gst_frame *a, const struct gst_frame *b)
{
	return a->at == b->at && a->of == b->of && a->kind == b->kind;
}

/* The outermost frame of what raw frame i became. */
static const struct frame *frame_of_raw(const struct stack *s, size_t i, uint32_t *index)
{
	for (size_t k = s->n_frames; k-- > 0;) {
		if (s->frames[k].raw == i) {
			*index = (uint32_t)k;
			return &s->frames[k];
		}
	}
	return NULL;
}

static bool same_function(const struct stack *a, const struct frame *x, const struct stack *b, const struct frame *y)
{
	if (x->python != y->python || !*x->function || strcmp(x->function, y->function) != 0)
		return false;
	return x->python ? a->raw[x->raw].of == b->raw[y->raw].of : x->object == y->object;
}

static bool comes_after(const struct frame *y, const struct frame *x)
{
	return x->line && y->line ? y->line > x->line : !x->python && y->address > x->address;
}

bool frame_common(const struct stack *before, const struct stack *after, uint32_t *index, uint32_t *line)
{
	size_t i = before->n_raw, k = after->n_raw;
	const struct frame *x = NULL, *y = NULL;
	uint32_t other;

	*line = *index = 0;
	while (i > 0 && k > 0 && same_raw(&before->raw[i - 1], &after->raw[k - 1])) {
		i--;
		k--;
	}
	if (i == 0 && k == 0)
		return false;
	if (i > 0 && k > 0) {
		x = frame_of_raw(before, i - 1, &other);
		y = frame_of_raw(after, k - 1, index);
	}
	if (x && y && same_function(before, x, after, y)) {
		*line = x->line;
		return comes_after(y, x);
	}
	return k < after->n_raw && frame_of_raw(after, k, index); /* the innermost of those that are the same */
}
