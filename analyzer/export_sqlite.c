/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sqlite.c: the summary as tables (SQLITE.md), for questions that no report asks. */
#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "export.h"
#include "export_sqlite_parts.h"
#include "ns.h"
#include "progress.h"

#define FEW_ROWS 2000000 /* of operations, calls and ranges: some 150 MB */
#define TOP_GAPS 50
#define ROWS_OF_A_GAP 5   /* itself, its pieces, their evidence … */
#define AROUND_NS 2000000 /* what is told in detail on either side of a top gap */

bool tables_wants(struct tables *t, int64_t begin_ns, int64_t end_ns)
{
	size_t i;

	if (t->all)
		return true;
	i = intervals_after(&t->around, begin_ns);
	if (i < t->around.n && t->around.at[i].begin_ns <= end_ns)
		return true;
	t->left_out++;
	return false;
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

static bool set_around(struct tables *t)
{
	size_t n = TOP_GAPS;
	size_t *longest = summary_longest(t->s, &n);
	bool ok = longest != NULL;

	for (size_t i = 0; ok && i < n; i++) {
		const struct gap *g = summary_gap(t->s, longest[i], NULL)->gap;

		ok = intervals_add(&t->around, sum64(g->begin_ns, -AROUND_NS), sum64(g->end_ns, AROUND_NS));
	}
	free(longest);
	intervals_merge(&t->around);
	return ok;
}

static bool prepare(struct tables *t)
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
	t->all = t->all || calls + operations + ranges <= FEW_ROWS;
	progress_begin(PROGRESS_TABLES,
		       ROWS_OF_A_GAP * t->s->n_gaps + (t->all ? (uint64_t)(calls + operations + ranges) : 0));
	return t->all || set_around(t);
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
	meta(t, "details", t->all ? "all" : "around the longest gaps");
	meta(t, "left_out", left_out);
	return ERR_NONE;
}

enum err_kind export_sqlite(const char *path, const char *name, const struct summary *s, bool all, uint64_t *left_out,
			    struct error *e)
{
	struct tables t = { .s = s, .all = all };
	enum err_kind kind = ERR_NONE, closed;
	struct error later;

	rows_open(&t.rows, path);
	if (prepare(&t))
		kind = fill(&t, e);
	else
		kind = err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	closed = rows_close(&t.rows, name, kind ? &later : e);
	free(t.first_call);
	free(t.first_stream);
	free(t.first_operation);
	intervals_free(&t.around);
	*left_out = t.left_out;
	return kind ? kind : closed;
}
