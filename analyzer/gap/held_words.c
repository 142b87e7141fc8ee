/* SPDX-License-Identifier: BSD-2-Clause */
/* held_words.c: frames and what they held as people read them. */
#include "held_frame.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/text.h"
#include "tools/text_symbol.h"

static void module_words(char *buf, size_t size, const struct frame *f)
{
	const struct symbol_object *o = f->object ? &f->object->file : NULL;
	char name[80], hex[SYMBOLS_HEX];

	if (!o) {
		snprintf(buf, size, " in code made at run time");
		return;
	}
	text_clean(name, sizeof(name), text_base(o->path), 64);
	if (o->n_build_id)
		snprintf(buf, size, " in %s (build-id %s)", name, symbols_hex(hex, o));
	else
		snprintf(buf, size, " in %s", name);
}

static void place_words(char *buf, size_t size, const struct frame *f, uint32_t from_line)
{
	char function[160], file[96], module[160];

	text_symbol(function, sizeof(function), f->function, 120);
	if (f->file && f->line) {
		text_clean(file, sizeof(file), text_base(f->file), 64);
		if (from_line && from_line < f->line)
			snprintf(buf, size, "%s:%u-%u%s%s", file, from_line, f->line, *function ? " in " : "",
				 function);
		else
			snprintf(buf, size, "%s:%u%s%s", file, f->line, *function ? " in " : "", function);
		return;
	}
	if (f->python) {
		snprintf(buf, size, "%s%s%s",
			 f->file ? text_clean(file, sizeof(file), text_base(f->file), 64) : "a Python function",
			 *function ? " in " : "", function);
		return;
	}
	module_words(module, sizeof(module), f);
	if (*function)
		snprintf(buf, size, "%s+0x%" PRIx64 "%s", function, f->offset, module);
	else
		snprintf(buf, size, "0x%" PRIx64 "%s", f->address, module);
}

void frame_words(char *buf, size_t size, const struct frame *f)
{
	place_words(buf, size, f, 0);
}

void held_words(char *buf, size_t size, const struct held *h)
{
	const struct frame *f = held_frame(h);

	*buf = 0;
	if (f)
		place_words(buf, size, f, h->from_line);
}

bool launch_words(char *buf, size_t size, const struct trace *t, const struct call *c)
{
	struct held h = { .trace = t, .stack = stacks_launch(t, c) };
	const struct stack *s = held_stack(&h);

	*buf = 0;
	if (!s)
		return false;
	h.frame = frame_own(s, 0);
	held_words(buf, size, &h);
	return *buf != 0;
}

const char *held_by_name(enum held_by by)
{
	switch (by) {
	case HELD_SITE:
		return "before the launch at";
	case HELD_UNTIL:
		return "before the call at";
	case HELD_BETWEEN:
	case HELD_LOOK:
		return "at";
	case HELD_CALL:
		return "in the call at";
	default:
		return "";
	}
}
