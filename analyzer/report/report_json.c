/* SPDX-License-Identifier: BSD-2-Clause */
/* report_json.c: schema gpushim.report/1. Scripts depend on every key; add, never rename. */
#include "report_json.h"

#include <stdlib.h>

#include "report_advice.h"
#include "report_comm.h"
#include "report_memory.h"
#include "report_phases.h"
#include "report_ranks.h"
#include "report_stacks.h"
#include "tools/text.h"

static void partition(struct json *j, const struct summary_device *d)
{
	const struct device_timeline *t = d->timeline;

	json_key_int(j, "begin_ns", t->begin_ns);
	json_key_int(j, "end_ns", t->end_ns);
	json_key_int(j, "before_ns", d->before_ns);
	json_key_int(j, "span_ns", d->span_ns);
	json_key_int(j, "compute_ns", t->compute_ns);
	json_key_int(j, "comm_exposed_ns", t->comm_ns);
	json_key_int(j, "copy_exposed_ns", d->copy_exposed_ns);
	json_key_int(j, "idle_ns", t->idle_ns);
	json_key_int(j, "idle_error_ns", t->idle_error_ns);
	json_key_int(j, "unresolved_ns", t->unresolved_ns);
	json_key_int(j, "startup_ns", d->startup_ns);
	json_key_int(j, "shutdown_ns", d->shutdown_ns);
	json_key_map(j, "copy");
	json_key_int(j, "copy-h2d-pageable", d->h2d_pageable_ns);
	json_key_int(j, "copy-h2d-pinned", d->h2d_pinned_ns);
	json_key_int(j, "copy-d2h", d->d2h_ns);
	json_key_int(j, "copy-d2d", d->d2d_ns);
	json_key_int(j, "copy-peer", d->peer_ns);
	json_key_int(j, "memset", d->memset_ns);
	json_map_end(j);
	json_key_map(j, "comm");
	json_key_int(j, "comm-wait", d->comm_wait_ns);
	json_key_int(j, "comm-transfer", d->comm_transfer_ns);
	json_key_int(j, "comm-unsplit", d->comm_unsplit_ns);
	json_map_end(j);
	json_key_map(j, "causes");
	for (int i = 0; i < CAUSE_COUNT; i++)
		json_key_int(j, cause_name(i), d->attribution.causes_ns[i]);
	json_map_end(j);
}

/* Only where bursts ran. */
static void estimate(struct json *j, const struct summary_device *d)
{
	const struct estimate *e = &d->timeline->estimate;

	if (!e->made)
		return;
	json_key_int(j, "unresolved_idle_ns", e->unresolved.ns);
	json_key_int(j, "unresolved_idle_low_ns", e->unresolved.low_ns);
	json_key_int(j, "unresolved_idle_high_ns", e->unresolved.high_ns);
	json_key_int(j, "likely_idle_ns", e->whole.ns);
	json_key_int(j, "likely_idle_low_ns", e->whole.low_ns);
	json_key_int(j, "likely_idle_high_ns", e->whole.high_ns);
	json_key_map(j, "unresolved_causes");
	for (int i = 0; i < CAUSE_COUNT; i++)
		json_key_int(j, cause_name(i), d->unresolved_causes[i]);
	json_map_end(j);
	json_key_map(j, "bursts");
	json_key_text(j, "basis", e->measured ? "measured" : "too few bursts");
	json_key_int(j, "bursts", (int64_t)e->bursts);
	json_key_int(j, "bracketed", (int64_t)e->bracketed);
	json_key_int(j, "passed", (int64_t)e->passed);
	json_key_int(j, "submissions", (int64_t)e->works);
	json_key_int(j, "submissions_of_measured_kinds", (int64_t)e->sampled_works);
	json_key_int(j, "inside_graphs_ns", e->inside_ns);
	json_key_int(j, "cost_ns", e->cost_ns);
	json_map_end(j);
}

static void clocks(struct json *j, const struct device_timeline *t)
{
	json_key_int(j, "clock_edges", (int64_t)t->clock.edges);
	json_key_int(j, "clock_error_ns", t->clock.error_ns);
	json_key_int(j, "clock_error_median_ns", t->clock.median_error_ns);
	json_key_int(j, "clock_residual_ns", t->clock.residual_ns);
	json_key_double(j, "clock_drift_ppm", t->clock.drift * 1e6);
	json_key_double(j, "clock_drift_error_ppm", t->clock.drift_error * 1e6);
	json_key_int(j, "clock_host_error_ns", t->host_error_ns);
}

/* listed: by gap number, NULL for all. */
static void device(struct json *j, const struct summary *s, const struct summary_device *d, const bool *listed)
{
	json_map(j);
	json_key_int(j, "device", d->number);
	json_key_text(j, "uuid", d->uuid);
	json_key_int(j, "rank", d->rank == GST_NONE ? -1 : (int64_t)d->rank);
	json_key_text(j, "name", d->name);
	partition(j, d);
	estimate(j, d);
	json_key_int(j, "operations", (int64_t)d->timeline->operations);
	json_key_int(j, "streams", d->timeline->n_streams);
	clocks(j, d->timeline);
	json_key_array(j, "gaps");
	report_gaps_json(j, s, d, listed);
	json_array_end(j);
	json_map_end(j);
}

static void counts(struct json *j, const char *key, const struct summary_count *list, size_t n)
{
	json_key_map(j, key);
	for (size_t i = 0; i < n; i++)
		json_key_int(j, list[i].name, (int64_t)list[i].n);
	json_map_end(j);
}

/* Traces of processes that are not here, or files of host probes that cannot be read. */
static int64_t missing(const struct run *run, bool host)
{
	int64_t n = 0;

	for (size_t i = 0; i < run->n_missing; i++)
		n += run->missing[i].host == host;
	return n;
}

static void run(struct json *j, const struct summary *s)
{
	json_key_map(j, "run");
	json_key_text(j, "source", s->imported ? s->source : "gst");
	json_key_text(j, "host", s->run->n_traces ? s->run->traces[0]->header.host : "");
	json_key_int(j, "processes", (int64_t)s->run->n_traces);
	json_key_int(j, "traces_missing", missing(s->run, false));
	json_key_int(j, "host_files_missing", missing(s->run, true));
	json_key_int(j, "running", (int64_t)s->running);
	json_key_int(j, "cut_short", (int64_t)s->cut);
	json_key_int(j, "end_unknown", (int64_t)s->unknown);
	json_key_int(j, "recycled", (int64_t)s->recycled);
	json_key_int(j, "begins_late_ns", s->begins_late_ns);
	json_key_int(j, "index", s->run->index);
	json_key_int(j, "runs", s->run->count);
	json_key_text(j, "device_timing", s->device_timing);
	json_key_int(j, "activities", (int64_t)s->activities);
	json_key_text(j, "host_probes", s->host_probes);
	json_map_end(j);
}

/* What another tool says of its own trace, and what of it could not be used. */
static void imported(struct json *j, const struct summary *s)
{
	json_key_int(j, "imported_lost", (int64_t)s->imported_lost);
	json_key_int(j, "imported_left_out", (int64_t)s->imported_left_out);
	json_key_int(j, "launches_without_work", (int64_t)s->without_work);
	json_key_array(j, "warnings");
	for (size_t i = 0; i < s->run->n_traces; i++) {
		const struct imported *m = s->run->traces[i]->imported;

		for (size_t k = 0; m && k < m->n_warnings; k++)
			json_text(j, m->warnings[k]);
	}
	json_array_end(j);
}

static void losses(struct json *j, const struct summary *s)
{
	json_key_map(j, "losses");
	json_key_int(j, "records_dropped", (int64_t)s->records_dropped);
	json_key_int(j, "host_records_lost", (int64_t)s->host_lost);
	json_key_int(j, "host_tasks_lost", (int64_t)s->host_tasks_lost);
	json_key_int(j, "operations_unlinked", (int64_t)s->operations_unlinked);
	json_key_int(j, "operations_lost", (int64_t)s->operations_lost);
	json_key_int(j, "activities_dropped", (int64_t)s->activities_dropped);
	json_key_int(j, "entry_points_unknown", (int64_t)s->entry_points_unknown);
	json_key_array(j, "entry_points");
	for (size_t i = 0; i < s->run->n_traces; i++)
		for (size_t k = 0; k < s->run->traces[i]->n_entries; k++)
			json_text(j, s->run->traces[i]->entries[k]);
	json_array_end(j);
	json_key_int(j, "segments_recycled", (int64_t)s->segments_recycled);
	json_key_int(j, "records_recycled", (int64_t)s->records_recycled);
	json_key_int(j, "calls_recycled", (int64_t)s->calls_recycled);
	json_key_int(j, "definitions_lost", (int64_t)s->definitions_lost);
	if (s->imported)
		imported(j, s);
	json_map_end(j);
}

enum err_kind report_json_object(struct json *j, const struct summary *s, const struct report_scope *scope,
				 struct error *e)
{
	enum err_kind kind;

	json_map(j);
	json_key_text(j, "schema", "gpushim.report/1");
	run(j, s);
	json_key_array(j, "devices");
	for (size_t i = 0; i < s->n_devices; i++)
		device(j, s, &s->devices[i], scope->gaps);
	json_array_end(j);
	report_phases_json(j, s, scope);
	report_ranks_json(j, s);
	report_memory_json(j, s, scope);
	losses(j, s);
	counts(j, "calls", s->calls, s->n_calls);
	counts(j, "injected", s->injected, s->n_injected);
	kind = report_comms_json(j, s->run, e);
	if (!kind)
		kind = report_stacks_json(j, s, scope, e);
	if (!kind)
		kind = report_advice_json(j, s, e);
	json_key_map(j, "self");
	json_key_int(j, "calls", (int64_t)s->self.calls);
	json_key_int(j, "calls_timed", (int64_t)s->self.timed);
	json_key_double(j, "ns_per_call", self_ns_per_call(&s->self));
	json_key_int(j, "calls_ns", self_whole_ns(s->self.calls_ns));
	json_key_int(j, "injected_ns", self_whole_ns(s->self.injected_ns));
	json_key_int(j, "attach_ns", self_whole_ns(s->self.attach_ns));
	json_key_int(j, "own_threads_ns", self_whole_ns(s->self.cpu_ns));
	json_key_double(j, "share_of_wall", self_share(&s->self, true));
	json_key_double(j, "share_of_wall_held_up", self_share(&s->self, false));
	json_map_end(j);
	json_map_end(j);
	return kind;
}

enum err_kind report_json(FILE *out, const struct summary *s, size_t top, struct error *e)
{
	size_t n = top;
	size_t *longest = top < s->n_gaps ? summary_longest(s, &n) : NULL;
	bool *listed = longest ? calloc(s->n_gaps, sizeof(*listed)) : NULL;
	struct report_scope scope = { .gaps = listed };
	struct json j = { .file = out };
	enum err_kind kind;

	if (top < s->n_gaps && !listed) {
		free(longest);
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	}
	for (size_t i = 0; listed && i < n; i++)
		listed[longest[i]] = true;
	free(longest);
	json_open(&j, out);
	kind = report_json_object(&j, s, &scope, e);
	fputc('\n', out);
	free(listed);
	return kind;
}
