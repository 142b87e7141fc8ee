/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sqlite_parts.h: what the parts of the SQLite export share. Each fills some of the tables. */
#pragma once

#include "export_choice.h"
#include "export_sqlite_rows.h"
#include "summary/summary.h"

struct tables {
	struct rows rows;
	const struct summary *s;
	int64_t *first_call, *first_stream; /* of each trace: the numbers of its first call and stream */
	int64_t *first_operation;           /* of each device */
	struct choice choice;               /* what of a long run is told in detail */
	uint64_t left_out;                  /* rows of what happened at other times */
	size_t last_trace;                  /* that was asked for */
};

/* Is what happened then told in detail? If not it is counted. */
bool tables_wants(struct tables *t, uint32_t clock, int64_t begin_ns, int64_t end_ns);
/* Its place in the run. */
size_t tables_process(struct tables *t, const struct trace *trace);
void tables_stream(struct tables *t, const struct trace *trace, uint32_t stream); /* a column: its number; NULL where it is not known */

void tables_run(struct tables *t);     /* export_sqlite_run.c */
void tables_devices(struct tables *t); /* export_sqlite_device.c: devices, memory, steps, ranks */
enum err_kind tables_idle(struct tables *t, struct error *e); /* export_sqlite_idle.c: gaps, and all about them; advice */
void tables_work(struct tables *t);    /* export_sqlite_work.c: operations, calls, ranges */
