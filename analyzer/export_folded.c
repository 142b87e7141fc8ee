/* SPDX-License-Identifier: BSD-2-Clause */
/* export_folded.c: folded stacks, as flamegraph.pl, inferno and speedscope read them: one line for each stack, its frames from the
 * outermost in, ';' between them, a blank, and the idle nanoseconds. The first frame is the device, the last one the cause; the sum of
 * all lines is the devices' idle time, exactly.
 *
 *   device 0;<module> (train.py:88);train (train.py:61);load_batch (train.py:41);[host-sleep] 170300000
 *
 * A launch, or the next driver call, that is only known to have come after the time says so: "[before] step (train.py:52)". */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "call_sites.h"
#include "export.h"
#include "text.h"

struct line { /* one stack with one cause */
	const struct held *held;
	size_t device, process;
	int64_t ns;
	uint8_t cause;
};

struct text { /* what is printed of it; several with the same one become one */
	char *text;
	size_t order;
	int64_t ns;
};

struct texts {
	struct text *at;
	size_t n, cap;
};

static uint32_t innermost(const struct held *h)
{
	return held_is_before(h) ? h->frame : h->first;
}

static int by_stack(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

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

/* A ';' ends a frame and a line's last blank begins its number: neither may be in a name. */
static void put_frame(FILE *out, const struct frame *f, const char *before)
{
	char name[512], file[256], hex[32];
	const char *what = f->function;

	if (!*what && !f->python) {
		snprintf(hex, sizeof(hex), "0x%" PRIx64, f->address);
		what = hex;
	}
	text_clean(name, sizeof(name), *what ? what : "?", 400);
	for (char *c = name; *c; c++)
		*c = *c == ';' ? ':' : *c;
	fprintf(out, ";%s%s", before, name);
	if (f->file && f->line)
		text_clean(file, sizeof(file), text_base(f->file), 200);
	else if (f->object)
		text_clean(file, sizeof(file), text_base(f->object->file.path), 200);
	else if (f->file)
		text_clean(file, sizeof(file), text_base(f->file), 200);
	else
		return;
	for (char *c = file; *c; c++)
		*c = *c == ';' ? ':' : *c;
	if (f->line)
		fprintf(out, " (%s:%u)", file, f->line);
	else
		fprintf(out, " (%s)", file);
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

static void put_line(FILE *out, const struct summary *s, const struct line *l)
{
	const struct held *h = l->held;
	const struct stack *stack = h->trace && h->stack != GST_NONE ? &h->trace->stacks.all[h->stack] : NULL;
	uint32_t last = innermost(h);

	fprintf(out, "device %u", s->devices[l->device].number);
	if (!stack || !stack->n_frames)
		fputs(";[no stack]", out);
	for (size_t i = stack ? outermost(stack, last) : 0; i-- > last;)
		put_frame(out, &stack->frames[i], i == last && held_is_before(h) ? "[before] " : "");
	fprintf(out, ";[%s]", cause_name((enum cause_id)l->cause));
}

static bool add_text(struct texts *t, const struct summary *s, const struct line *l)
{
	char *text = NULL;
	size_t length;
	FILE *out = array_room(t->at, t->n, t->cap) ? open_memstream(&text, &length) : NULL;

	if (!out)
		return false;
	put_line(out, s, l);
	if (fclose(out) != 0) {
		free(text);
		return false;
	}
	t->at[t->n] = (struct text){ text, t->n, l->ns };
	t->n++;
	return true;
}

static int by_text(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	int c = strcmp(x->text, y->text);

	return c ? c : (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b)
{
	const struct text *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

/* Those with one text are one, where the first stood. */
static void put_texts(FILE *out, struct texts *t)
{
	size_t first = 0;

	array_sort(t->at, t->n, sizeof(*t->at), by_text);
	for (size_t i = 1; i < t->n; i++) {
		if (strcmp(t->at[first].text, t->at[i].text) != 0) {
			first = i;
			continue;
		}
		t->at[first].ns += t->at[i].ns;
		t->at[i].ns = 0;
	}
	array_sort(t->at, t->n, sizeof(*t->at), by_order);
	for (size_t i = 0; i < t->n; i++)
		if (t->at[i].ns)
			fprintf(out, "%s %" PRId64 "\n", t->at[i].text, t->at[i].ns);
}

static void texts_free(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->at[i].text);
	free(t->at);
}

/* Processes in the run's order; what no stack is known of comes first: 0. */
static size_t process_of(const struct summary *s, const struct held *h)
{
	size_t i = 0;

	while (i < s->run->n_traces && s->run->traces[i] != h->trace)
		i++;
	return h->trace ? i + 1 : 0;
}

static bool add_gap(struct line **list, size_t *n, size_t *cap, const struct summary *s, const struct gap_story *g,
		    size_t device)
{
	for (size_t i = 0; i < g->n_causes; i++)
		for (size_t k = 0; k < g->causes[i].n_held; k++) {
			const struct held *h = &g->causes[i].held[k];

			if (!array_room(*list, *n, *cap))
				return false;
			(*list)[(*n)++] = (struct line){ .held = h,
							 .device = device,
							 .process = process_of(s, h),
							 .ns = h->end_ns - h->begin_ns,
							 .cause = g->causes[i].cause };
		}
	return true;
}

enum err_kind export_folded(FILE *out, const struct summary *s, struct error *e)
{
	struct line *list = NULL;
	struct texts texts = { 0 };
	size_t n = 0, cap = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < s->n_devices; i++)
		for (size_t k = 0; ok && k < s->devices[i].attribution.n_gaps; k++)
			ok = add_gap(&list, &n, &cap, s, &s->devices[i].attribution.gaps[k], i);
	if (ok)
		array_sort(list, n, sizeof(*list), by_stack);
	for (size_t i = 0; ok && i < n; i++) {
		if (i + 1 < n && by_stack(&list[i], &list[i + 1]) == 0)
			list[i + 1].ns += list[i].ns;
		else if (list[i].ns)
			ok = add_text(&texts, s, &list[i]);
	}
	if (ok)
		put_texts(out, &texts);
	texts_free(&texts);
	free(list);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}
