/* SPDX-License-Identifier: BSD-2-Clause */
/* held.h: what code held the submitting thread during a gap: the stacks that were taken of it, laid over the time they stand for. */
#pragma once

#include "gap_view.h"
#include "tools/arena.h"
#include "trace/stacks.h"

enum held_by {
	HELD_UNKNOWN, /* no stack stands for this time */
	HELD_SITE,    /* nothing but where the work that ended the gap was launched from */
	HELD_UNTIL,   /* the thread's next driver call came from there: it was somewhere before that */
	HELD_BETWEEN, /* the driver calls before and behind came from there: it was in that function all the time */
	HELD_LOOK,    /* the thread was seen there, from outside */
	HELD_CALL,    /* it was in a driver call, made there */
};

/* These tile the interval that they explain. */
struct held {
	int64_t begin_ns, end_ns;
	const struct trace *trace; /* whose stack it is; NULL where there is none */
	uint32_t stack;            /* index in trace->stacks.all, GST_NONE none */
	/* the innermost frame that was on the stack all that time: of HELD_BETWEEN what is further in came last */
	uint32_t first;
	uint32_t frame;     /* the innermost of these that is the user's own, else `first` */
	uint32_t from_line; /* HELD_BETWEEN: the line that frame had reached before, 0 not known */
	enum held_by by;
};

/* What stands for time of which no stack says anything; its own times mean nothing. */
extern const struct held held_nothing;

/* What held the view's thread in [begin, end), into the arena; *n pieces, 0: no stack says anything. NULL: no memory. */
const struct held *held_tile(const struct gap_view *v, int64_t begin_ns, int64_t end_ns, struct arena *arena,
			     size_t *n);

/* The frame that is to be named; NULL where there is no stack. */
const struct frame *held_frame(const struct held *h);

/* The innermost frame of its stack that is the user's own, else the innermost; NULL none. */
const struct frame *held_own_frame(const struct held *h);

#define FRAME_WORDS 352 /* room for all of them: a cut could go through a character */
/* "train.py:41 in load_batch", "train.c:38-41 in main", "work+0x1c in libfoo.so (build-id 1f2e…)", "" none. Clean text. */
void held_words(char *buf, size_t size, const struct held *h);
/* The same of any frame. */
void frame_words(char *buf, size_t size, const struct frame *f);

/* Where the call's kernel is launched from, where that is one place as far as it was seen; false: not known. */
bool launch_words(char *buf, size_t size, const struct trace *t, const struct call *c);

const char *held_by_name(enum held_by by);

/* Is it known only what came behind? */
static inline bool held_is_before(const struct held *h)
{
	return h->by == HELD_SITE || h->by == HELD_UNTIL;
}
