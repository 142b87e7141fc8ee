/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sqlite_run.c: the run, its processes and their clocks, what was lost, what recording cost. */
#include <string.h>

#include "export_sqlite_parts.h"

static void run_row(struct rows *r, const struct summary *s)
{
	row_begin(r, TABLE_run);
	row_text(r, s->run->n_traces ? s->run->traces[0]->header.host : "");
	row_int(r, (int64_t)s->run->n_traces);
	row_text(r, s->device_timing);
	row_text(r, s->host_probes);
	row_int(r, s->run->index);
	row_int(r, s->run->count);
	row_int(r, (int64_t)s->running);
	row_int(r, (int64_t)s->cut);
	row_int(r, (int64_t)s->unknown);
	row_int(r, s->begins_late_ns);
	row_bytes(r, s->self.calls);
	row_real(r, self_ns_per_call(&s->self));
	row_real(r, self_share(&s->self, true));
	row_end(r);
}

static void counted(struct rows *r, enum table_id table, const char *what, uint64_t n)
{
	row_begin(r, table);
	row_text(r, what);
	row_bytes(r, n);
	row_end(r);
}

static void losses(struct rows *r, const struct summary *s)
{
	counted(r, TABLE_losses, "records_dropped", s->records_dropped);
	counted(r, TABLE_losses, "host_records_lost", s->host_lost);
	counted(r, TABLE_losses, "host_tasks_lost", s->host_tasks_lost);
	counted(r, TABLE_losses, "operations_unlinked", s->operations_unlinked);
	counted(r, TABLE_losses, "operations_lost", s->operations_lost);
	counted(r, TABLE_losses, "activities_dropped", s->activities_dropped);
	counted(r, TABLE_losses, "entry_points_unknown", s->entry_points_unknown);
	counted(r, TABLE_losses, "segments_recycled", s->segments_recycled);
	counted(r, TABLE_losses, "records_recycled", s->records_recycled);
	counted(r, TABLE_losses, "calls_recycled", s->calls_recycled);
	counted(r, TABLE_losses, "definitions_lost", s->definitions_lost);
	if (s->imported) {
		counted(r, TABLE_losses, "imported_lost", s->imported_lost);
		counted(r, TABLE_losses, "imported_left_out", s->imported_left_out);
		counted(r, TABLE_losses, "launches_without_work", s->without_work);
	}
	counted(r, TABLE_overhead, "calls", (uint64_t)self_whole_ns(s->self.calls_ns));
	counted(r, TABLE_overhead, "injected", (uint64_t)self_whole_ns(s->self.injected_ns));
	counted(r, TABLE_overhead, "attach", (uint64_t)self_whole_ns(s->self.attach_ns));
	counted(r, TABLE_overhead, "own-threads", (uint64_t)self_whole_ns(s->self.cpu_ns));
}

static void clocks(struct rows *r, const struct ranks *ranks)
{
	for (size_t i = 0; i < ranks->n_clocks; i++) {
		const struct rank_clock *c = &ranks->clocks[i];

		row_begin(r, TABLE_clocks);
		row_int(r, (int64_t)i);
		row_text(r, c->header->host);
		row_int(r, c->reference);
		row_int(r, c->aligned);
		row_int(r, c->at_ns);
		row_int(r, c->offset_ns);
		row_real(r, c->drift);
		row_end(r);
	}
}

static const char *life_word(enum life life)
{
	static const char *const words[] = { "ended", "running", "cut", "unknown" };

	return words[life];
}

static void process(struct rows *r, const struct summary *s, size_t i)
{
	const struct trace *t = s->run->traces[i];

	row_begin(r, TABLE_processes);
	row_int(r, (int64_t)i);
	row_int(r, t->header.pid);
	row_text(r, t->header.host);
	row_int(r, s->ranks.clock_of[i]);
	row_text(r, t->header.cmdline);
	row_text(r, t->path);
	row_int(r, t->process_start_ns);
	row_int(r, t->begin_ns);
	row_int(r, t->end_ns);
	row_text(r, life_word(t->life));
	row_end(r);
	for (size_t k = 0; k < t->n_threads; k++) {
		row_begin(r, TABLE_threads);
		row_int(r, (int64_t)i);
		row_int(r, t->threads[k].tid);
		row_text(r, t->threads[k].name);
		row_end(r);
	}
}

/* Both lists in one, in the order of the first, then what only the recorder called. */
static void counts(struct rows *r, const struct summary *s)
{
	for (size_t i = 0; i < s->n_calls + s->n_injected; i++) {
		bool made = i < s->n_calls;
		const struct summary_count *c = made ? &s->calls[i] : &s->injected[i - s->n_calls];
		const struct summary_count *others = made ? s->injected : s->calls, *other = NULL;
		size_t n = made ? s->n_injected : s->n_calls;

		for (size_t k = 0; k < n && !other; k++)
			other = strcmp(others[k].name, c->name) == 0 ? &others[k] : NULL;
		if (!made && other)
			continue;
		row_begin(r, TABLE_call_counts);
		row_text(r, c->name);
		row_bytes(r, made ? c->n : 0);
		row_bytes(r, made ? (other ? other->n : 0) : c->n);
		row_end(r);
	}
}

void tables_run(struct tables *t)
{
	run_row(&t->rows, t->s);
	losses(&t->rows, t->s);
	clocks(&t->rows, &t->s->ranks);
	for (size_t i = 0; i < t->s->run->n_traces; i++)
		process(&t->rows, t->s, i);
	counts(&t->rows, t->s);
}
