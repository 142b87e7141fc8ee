/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_changes.h: what it takes for a change of something to be told. A verdict rests on none of that: rows have their own statistics
 * (diff_verdict.h). These say what is worth reading beside them, and leave out what two runs of one program differ in by themselves. */
#pragma once

#include "diff.h"

#define CHANGE_PART 0.001  /* of base's step: a twentieth of the dead band. What is less explains nothing that a verdict is about */
#define CHANGE_COUNT 0.02  /* of how many a step has: programs do the same in each step, but for those at the ends of what is compared */
#define CHANGE_ENDS 2      /* … which are so many in all steps together */
#define CHANGE_SIZE 0.05   /* of what one takes: a GPU's clock goes up and down by a few percent */
#define CHANGE_BYTES 0.02  /* of what a copy moves: padded batches differ a little */
#define CHANGE_SITE 0.1    /* of a site's idle time: waiting is never twice the same */
#define CHANGE_SEEN 3      /* of a run: what is seen less often may be there by chance */
#define CHANGE_CAUSE 0.1   /* a cause had vanished where less than that part of it is left, and appeared likewise */
#define CHANGE_MEMORY 0.01 /* of a peak, … */
#define CHANGE_BLOCK ((uint64_t)2 << 20) /* … and so many bytes: what frameworks' allocators take at least */
#define CHANGE_FRAGMENTS 0.05

#define CHANGES_MOST 32 /* of one kind, of a pair */

/* A figure in the runs of one side, 0 where it is not there. */
struct change_of {
	double mean, least, most;
};

struct change_side {
	const struct diff_run *runs; size_t n;
	size_t device; /* index in the runs' devices */
};

static inline const struct diff_run_device *change_device(const struct change_side *side, size_t run)
{
	return &side->runs[run].devices[side->device];
}

/* Beyond what several runs of a side differ in: all of them lie on one side of all others. */
static inline bool change_is_apart(const struct change_of *base, const struct change_of *now)
{
	return now->least > base->most || now->most < base->least;
}

/* By that part of the larger one at least. */
static inline bool change_is_by(const struct change_of *base, const struct change_of *now, double part)
{
	double delta = now->mean - base->mean, larger = now->mean > base->mean ? now->mean : base->mean;

	return change_is_apart(base, now) && (delta < 0 ? -delta : delta) >= part * larger;
}

/* One more of n figures; the first: i is 0. */
static inline void change_add(struct change_of *c, size_t i, size_t n, double figure)
{
	c->mean += figure / (double)n;
	c->least = !i || figure < c->least ? figure : c->least;
	c->most = !i || figure > c->most ? figure : c->most;
}

/* ---- what is alike in the runs of both sides ---- */

struct change_seen { /* something in a run */
	const void *of;
	const char *name;
	uint64_t key; /* what has the same key and name is the same */
	bool now;
	size_t run;   /* of its side */
};

struct change_list {
	struct change_seen *at;
	size_t n, cap;
};

bool change_see(struct change_list *l, struct change_seen seen); /* false: no memory */
void change_sort(struct change_list *l); /* what is the same together; base first, by run */
/* Of those from the first on, how many are the same; 0: there are no more. */
size_t change_group(const struct change_list *l, size_t first);
/* The first of a side among them; NULL: it has none. */
const void *change_first(const struct change_seen *group, size_t n, bool now);
struct change_of change_figure(const struct change_seen *group, size_t n, bool now, const struct change_side *side, double (*figure)(const void *of));
/* The mean of a whole number of ns. */
int64_t change_mean_ns(const struct change_seen *group, size_t n, bool now, const struct change_side *side, int64_t (*figure)(const void *of, size_t which), size_t which);

/* Each for one pair, its lists in the diff's arena. False: no memory. */
bool diff_changed_work(struct diff *out, struct diff_pair *pair, const struct change_side *base, const struct change_side *now);
bool diff_changed_sites(struct diff *out, struct diff_pair *pair, const struct change_side *base, const struct change_side *now);
bool diff_changed_gaps(struct diff *out, struct diff_pair *pair, const struct change_side *base, const struct change_side *now);
