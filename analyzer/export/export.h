/* SPDX-License-Identifier: BSD-2-Clause */
/* export.h: the summary as other tools read it. Each writes to the FILE it is given; write errors stay in it (ferror). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "summary/summary.h"

/* Chrome trace JSON, for Perfetto, chrome://tracing and tools that read Kineto's. all: every event, however many; else all if
 * they are few, and of many the idle time with its causes, and evidence and all else around the longest gaps and in the worst steps.
 * *left_out: events that were not written. */
enum err_kind export_chrome(FILE *out, const struct summary *s, bool all, uint64_t *left_out, struct error *e);

/* Perfetto's own trace (https://perfetto.dev/docs/reference/trace-packet-proto), of the same events. */
enum err_kind export_perfetto(FILE *out, const struct summary *s, bool all, uint64_t *left_out, struct error *e);

/* Idle nanoseconds by stack, folded, for flamegraph.pl, inferno and speedscope; the cause is the innermost frame. */
enum err_kind export_folded(FILE *out, const struct summary *s, struct error *e);

/* An SQLite database (SQLITE.md). path: a file that is there, and is filled. name: what the user calls it. all, *left_out: as above, of
 * operations, calls and ranges. */
enum err_kind export_sqlite(const char *path, const char *name, const struct summary *s, bool all, uint64_t *left_out, struct error *e);

/* OpenMetrics text: totals by device and cause, histograms of gaps and steps, losses, cost. */
void export_metrics(FILE *out, const struct summary *s);
