/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h: the recorder's ticks -> CLOCK_MONOTONIC nanoseconds, piecewise linear between its anchors (FORMAT.md, "Time").
 * Anchors come from the file's payload, so any may be nonsense: those that contradict the others are left out. */
#pragma once

#include <stdint.h>

#include "../shim/format.h"
#include "error.h"

/* Every time of the analysis lies in [0, CLOCK_MAX_NS] (nine years), so that sums and differences cannot overflow. */
#define CLOCK_MAX_NS ((int64_t)1 << 58)

struct clock;

enum err_kind clock_new(struct clock **out, const struct gst_file_header *header, struct error *e);
void clock_free(struct clock *c);

enum err_kind clock_add(struct clock *c, const struct gst_anchor *anchor, struct error *e);
/* After the last anchor, before the first question. */
enum err_kind clock_ready(struct clock *c, struct error *e);

int64_t clock_ns(struct clock *c, uint64_t ticks);

/* At this instant the answer is off by no more: the anchors' widths, and how far the rate can have bent between them. 0 where ticks are
 * CLOCK_MONOTONIC itself. */
int64_t clock_error_ns(const struct clock *c, int64_t ns);

/* The same instants on a scale without CLOCK_MONOTONIC's slewing, in nanoseconds since the file's start: ticks times one rate. A device's clock
 * drifts steadily against it. */
double clock_steady(const struct clock *c, int64_t ns);
int64_t clock_from_steady(const struct clock *c, double steady);
