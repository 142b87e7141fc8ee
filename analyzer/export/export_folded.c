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

#include "export.h"
#include "summary/idle_stacks.h"
#include "tools/alloc.h"
#include "tools/ns.h"

struct text { /* what is printed of a stack; several with the same one become one */
	char *text;
	size_t order;
	int64_t ns;
};

struct texts {
	struct text *at;
	size_t n, cap;
};

/* A ';' ends a frame and a line's last blank begins its number: neither may be in a name. */
static void put_line(FILE *out, const struct summary *s, const struct idle_stack *l)
{
	const struct frame *frame;
	char buf[IDLE_FRAME];

	fprintf(out, "device %u", s->devices[l->device].number);
	for (size_t i = 0; i < idle_stack_frames(l); i++) {
		idle_stack_frame(buf, l, i, &frame);
		for (char *c = buf; *c; c++)
			*c = *c == ';' ? ':' : *c;
		fprintf(out, ";%s", buf);
	}
	fprintf(out, ";[%s]", cause_name((enum cause_id)l->cause));
}

static bool add_text(struct texts *t, const struct summary *s, const struct idle_stack *l)
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
		t->at[first].ns = sum64(t->at[first].ns, t->at[i].ns);
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

enum err_kind export_folded(FILE *out, const struct summary *s, struct error *e)
{
	struct texts texts = { 0 };
	size_t n = 0;
	struct idle_stack *list = idle_stacks_build(s, &n);
	bool ok = list != NULL;

	for (size_t i = 0; ok && i < n; i++)
		ok = add_text(&texts, s, &list[i]);
	if (ok)
		put_texts(out, &texts);
	texts_free(&texts);
	free(list);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}
