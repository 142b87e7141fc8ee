/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h: the recorder's ticks -> CLOCK_MONOTONIC nanoseconds, piecewise linear between its anchors (FORMAT.md, "Time").
 * Anchors come from the file's payload, so any may be nonsense: those that contradict the others are left out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shim/format.h"
#include "tools/error.h"

/* Every time of the analysis lies in [0, CLOCK_MAX_NS] (nine years), so that sums and differences cannot overflow. */
#define CLOCK_MAX_NS ((int64_t)1 << 58)

/* A time as a file has it. */
static inline int64_t clock_clamp(uint64_t ns)
{
	return ns < (uint64_t)CLOCK_MAX_NS ? (int64_t)ns : CLOCK_MAX_NS;
}

struct clock;

enum err_kind clock_new(struct clock **out, const struct gst_file_header *header, struct error *e);
void clock_free(struct clock *c);

enum err_kind clock_add(struct clock *c, const struct gst_anchor *anchor, struct error *e);
/* After the last anchor, before the first question. */
enum err_kind clock_ready(struct clock *c, struct error *e);

/* What clock_ns says of all ticks in [from, until), one after the other, for who asks for very many. */
struct clock_line {
	uint64_t from, until; /* ticks */
	uint64_t origin;
	double ns, rate;      /* of origin, since the start; of a tick */
	int64_t start_ns;
};

struct clock_line clock_line_at(const struct clock *c, uint64_t ticks);

static inline int64_t clock_line_ns(const struct clock_line *l, uint64_t ticks)
{
	double since = l->ns + (double)(int64_t)(ticks - l->origin) * l->rate;
	int64_t whole;

	if (!(since > -(double)l->start_ns))
		return 0;
	if (since >= (double)(CLOCK_MAX_NS - l->start_ns))
		return CLOCK_MAX_NS;
	whole = (int64_t)since; /* towards 0: floor is one less where that is more */
	return l->start_ns + whole - ((double)whole > since);
}

/* Lie all ticks in [first, last] in it, behind its origin and within the times of the analysis? Then clock_line_short says of them what clock_line_ns does, in
 * half the time. */
static inline bool clock_line_is_short(const struct clock_line *l, uint64_t first, uint64_t last)
{
	return first >= l->from && first >= l->origin && last < l->until && last - l->origin < (uint64_t)CLOCK_MAX_NS &&
	       l->ns >= 0 && l->rate >= 0 && l->ns + (double)(last - l->origin) * l->rate < (double)(CLOCK_MAX_NS - l->start_ns);
}

static inline int64_t clock_line_short(const struct clock_line *l, uint64_t ticks)
{
	return l->start_ns + (int64_t)(l->ns + (double)(int64_t)(ticks - l->origin) * l->rate);
}

/* Are ticks nanoseconds already? */
bool clock_is_ns(const struct clock *c);
int64_t clock_ns(struct clock *c, uint64_t ticks);

/* At this instant the answer is off by no more: the anchors' widths, and how far the rate can have bent between them. 0 where ticks are
 * CLOCK_MONOTONIC itself. */
int64_t clock_error_ns(const struct clock *c, int64_t ns);

struct clock_error { /* the same, and from when up to when it stays: there are many instants between two anchors. Of one
		      * instant, where from is until */
	int64_t from_ns, until_ns;
	int64_t error_ns;
};
struct clock_error clock_error_at(const struct clock *c, int64_t ns);

/* The same instants on a scale without CLOCK_MONOTONIC's slewing, in nanoseconds since the file's start: ticks times one rate. A device's clock
 * drifts steadily against it. */
double clock_steady(const struct clock *c, int64_t ns);
int64_t clock_from_steady(const struct clock *c, double steady);
