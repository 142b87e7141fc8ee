/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sqlite.c: the summary as tables (SQLITE.md), for questions that no report asks. */
#include <inttypes.h>
#include <stdlib.h>

#include "export.h"
#include "export_sqlite_parts.h"
#include "tools/alloc.h"
#include "tools/progress.h"

#define FEW_ROWS 2000000 /* of operations, calls and ranges: some 150 MB */
#define ROWS_OF_A_GAP 5  /* itself, its pieces, their evidence … */

bool tables_wants(struct tables *t, uint32_t clock, int64_t begin_ns, int64_t end_ns)
{
	bool wanted = choice_wants(&t->choice, clock, begin_ns, end_ns);

	t->left_out += !wanted;
	return wanted;
}

size_t tables_process(struct tables *t, const struct trace *trace)
{
	const struct run *run = t->s->run;

	for (size_t i = 0; i < run->n_traces; i++) {
		if (run->traces[t->last_trace] == trace)
			break;
		t->last_trace = (t->last_trace + 1) % run->n_traces;
	}
	return t->last_trace;
}

void tables_stream(struct tables *t, const struct trace *trace, uint32_t stream)
{
	row_int_or_null(&t->rows, stream < trace->n_streams, t->first_stream[tables_process(t, trace)] + stream);
}

static bool prepare(struct tables *t, bool all)
{
	const struct run *run = t->s->run;
	int64_t calls = 0, streams = 0, operations = 0, ranges = 0;

	t->first_call = array_new(run->n_traces, sizeof(*t->first_call));
	t->first_stream = array_new(run->n_traces, sizeof(*t->first_stream));
	t->first_operation = array_new(t->s->n_devices, sizeof(*t->first_operation));
	if (!t->first_call || !t->first_stream || !t->first_operation)
		return false;
	for (size_t i = 0; i < run->n_traces; i++) {
		t->first_call[i] = calls;
		t->first_stream[i] = streams;
		calls += (int64_t)run->traces[i]->n_calls;
		streams += (int64_t)run->traces[i]->n_streams;
		ranges += (int64_t)(run->traces[i]->n_ranges + run->traces[i]->n_nccl);
	}
	for (size_t i = 0; i < t->s->n_devices; i++) {
		t->first_operation[i] = operations;
		operations += (int64_t)t->s->devices[i].timeline->n_ops;
	}
	all = all || calls + operations + ranges <= FEW_ROWS;
	progress_begin(PROGRESS_TABLES,
		       ROWS_OF_A_GAP * t->s->n_gaps + (all ? (uint64_t)(calls + operations + ranges) : 0));
	return choice_make(&t->choice, t->s, all);
}

static void meta(struct tables *t, const char *key, const char *value)
{
	row_begin(&t->rows, TABLE_meta);
	row_text(&t->rows, key);
	row_text(&t->rows, value);
	row_end(&t->rows);
}

static enum err_kind fill(struct tables *t, struct error *e)
{
	char left_out[24];
	enum err_kind kind;

	tables_run(t);
	tables_devices(t);
	kind = tables_idle(t, e);
	if (kind)
		return kind;
	tables_work(t);
	snprintf(left_out, sizeof(left_out), "%" PRIu64, t->left_out);
	meta(t, "schema", "gpushim.sqlite/1");
	meta(t, "version", GPUSHIM_VERSION);
	meta(t, "details", t->choice.all ? "all" : "around the longest gaps");
	meta(t, "left_out", left_out);
	return ERR_NONE;
}

enum err_kind export_sqlite(const char *path, const char *name, const struct summary *s, bool all, uint64_t *left_out,
			    struct error *e)
{
	struct tables t = { .s = s };
	enum err_kind kind = ERR_NONE, closed;
	struct error later;

	rows_open(&t.rows, path);
	if (prepare(&t, all))
		kind = fill(&t, e);
	else
		kind = err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	closed = rows_finish(&t.rows, name, kind ? &later : e);
	free(t.first_call);
	free(t.first_stream);
	free(t.first_operation);
	choice_free(&t.choice);
	*left_out = t.left_out;
	return kind ? kind : closed;
}
