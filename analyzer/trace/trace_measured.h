/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_measured.h: which measured times can be, and which are taken. */
#pragma once

#include "trace.h"

/* Of one record alone: it ends after it began, and means something. */
bool measured_is_sane(const struct gst_activity *r);

/* What submits such work (enum gst_family), where its call is not on record or says nothing of itself. */
uint8_t measured_family(const struct measured *m);

/* What the levels in force promise to have measured; sorts them. */
void measured_promise(struct trace *t);

/* The coarsest level that was in force while the process ran. */
uint32_t measured_level(const struct trace *t);

/* Why CUPTI was not used, or not to the end, in words, where it was asked for; else NULL. */
const char *measured_why_not(const struct trace *t);

/* Sorts; leaves out what lies outside the recording and, of a damaged file, what had not ended by the cut. end_ns: the last sign of life
 * otherwise. Returns the last one with these. */
int64_t measured_settle(struct trace *t, int64_t end_ns);
