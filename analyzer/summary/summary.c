/* SPDX-License-Identifier: BSD-2-Clause */
#include "summary.h"

#include <stdlib.h>
#include <string.h>

#include "host/host_match.h"
#include "summary_parts.h"
#include "tools/alloc.h"
#include "tools/pool.h"
#include "tools/progress.h"
#include "trace/trace_measured.h"

/* ---- counts ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct summary_count *)a)->name, ((const struct summary_count *)b)->name);
}

/* Sorts by name, adds up what has the same name, drops what is 0. */
static size_t join(struct summary_count *list, size_t n)
{
	size_t kept = 0;

	array_sort(list, n, sizeof(*list), by_name);
	for (size_t i = 0; i < n; i++) {
		if (!list[i].n)
			continue;
		if (kept && strcmp(list[kept - 1].name, list[i].name) == 0)
			list[kept - 1].n += list[i].n;
		else
			list[kept++] = list[i];
	}
	return kept;
}

static enum err_kind count_calls(struct summary *s, struct error *e)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < s->run->n_traces; i++)
		n += s->run->traces[i]->n_hooks + s->run->traces[i]->n_nccl_hooks;
	s->calls = array_new(n, sizeof(*s->calls));
	s->injected = array_new(n, sizeof(*s->injected));
	if (!s->calls || !s->injected)
		return err_no_memory(e, "");
	for (size_t i = 0; i < s->run->n_traces; i++) {
		const struct trace *t = s->run->traces[i];

		for (size_t k = 0; k < t->n_hooks; k++) {
			const char *name = t->hooks[k] ? t->hooks[k] : "unknown";

			s->calls[at + k].name = s->injected[at + k].name = name;
			s->injected[at + k].n = k < GST_HOOK_MAX ? t->injected[k] : 0;
		}
		for (size_t k = 0; k < t->n_hooks; k++)
			s->calls[at + k].n = threads_process(&s->threads, t)->hook_calls[k];
		at += t->n_hooks;
		for (size_t k = 0; k < t->n_nccl_hooks; k++)
			s->calls[at + k].name = s->injected[at + k].name =
				t->nccl_hooks[k] ? t->nccl_hooks[k] : "unknown";
		for (size_t k = 0; k < t->n_nccl; k++)
			(t->nccl[k].flags & GST_NCCL_OURS ? s->injected : s->calls)[at + t->nccl[k].hook].n +=
				nccl_calls_of(&t->nccl[k]);
		at += t->n_nccl_hooks;
	}
	s->n_calls = join(s->calls, n);
	s->n_injected = join(s->injected, n);
	return ERR_NONE;
}

/* ---- what the recording itself was ---- */

static const char *level_name(uint32_t level)
{
	switch (level) {
	case GST_LEVEL_EDGES:
		return "edges";
	case GST_LEVEL_BURSTS:
		return "bursts";
	case GST_LEVEL_CUPTI:
		return "cupti";
	default:
		return "host";
	}
}

/* Of another tool's trace: it has not our levels. */
static void add_imported(struct summary *s)
{
	for (size_t i = 0; i < s->run->n_traces; i++) {
		const struct imported *m = s->run->traces[i]->imported;

		if (!m)
			continue;
		s->source = m->tool;
		s->device_timing = "imported";
		s->imported++;
		s->imported_lost += m->lost;
		s->imported_left_out += m->left_out;
		s->without_work += m->without_work;
		s->records_dropped += m->lost;
	}
}

static void add_front(struct summary *s, const struct trace *t)
{
	s->segments_recycled += t->counters.segments_recycled;
	s->records_recycled += t->counters.records_recycled;
	s->calls_recycled += t->counters.calls_recycled;
	s->definitions_lost += t->counters.definitions_lost;
	if (!t->from_ns)
		return;
	s->recycled++;
	if (t->from_ns - t->begin_ns > s->begins_late_ns)
		s->begins_late_ns = t->from_ns - t->begin_ns;
}

static const char *const probes_names[] = { "none", "ebpf", "perf", "proc" }; /* enum gst_probes_how, best first */

/* The looks of the recorder itself are as good as the last. */
static void add_probes(struct summary *s)
{
	uint32_t best = 0;

	for (size_t i = 0; i < s->run->n_traces; i++) {
		const struct trace *t = s->run->traces[i];
		const struct host_trace *h = host_match_process(s->run->hosts, s->run->n_hosts, t);
		uint32_t how = h && h->probes.how ? h->probes.how : t->n_samples || t->n_usages ? GST_PROBES_PROC : 0;

		best = how && (!best || how < best) ? how : best;
	}
	s->host_probes = probes_names[best];
	for (size_t i = 0; i < s->run->n_hosts; i++) {
		const struct host_trace *h = s->run->hosts[i];

		s->host_lost += h->counters.records_dropped + h->probes.events_lost;
		s->host_tasks_lost += h->probes.tasks_lost;
	}
	s->records_dropped += s->host_lost;
}

static void add_recording(struct summary *s)
{
	uint32_t level = s->run->n_traces ? GST_LEVEL_CUPTI : GST_LEVEL_HOST;

	for (size_t i = 0; i < s->run->n_traces; i++) {
		const struct trace *t = s->run->traces[i];

		if (measured_level(t) < level)
			level = measured_level(t);
		s->running += t->life == LIFE_RUNNING;
		s->cut += t->life == LIFE_CUT;
		s->unknown += t->life == LIFE_UNKNOWN;
		s->records_dropped += t->counters.records_dropped;
		s->entry_points_unknown += t->counters.entry_points_unknown;
		s->activities += t->n_measured;
		s->activities_bad += t->measured_bad;
		s->activities_dropped += t->counters.activities_dropped;
		s->streams_untracked += t->counters.streams_untracked;
		s->edges_skipped += t->counters.edges_skipped;
		s->names_missing += t->names_missing;
		s->unfinished += t->unfinished;
		add_front(s, t);
		self_add(&s->self, t);
	}
	s->device_timing = level_name(level);
	add_imported(s);
	add_probes(s);
}

/* ---- all of it ---- */

static uint64_t gaps_of(const struct timeline *tl)
{
	uint64_t n = 0;

	for (size_t i = 0; i < tl->n_devices; i++)
		n += tl->devices[i].n_gaps;
	return n;
}

/* With its parts, whether they could be made or not; it is freed where it cannot be completed. */
static enum err_kind complete(struct summary *out, enum err_kind kind, struct error *e)
{
	if (!kind) {
		progress_begin(PROGRESS_CAUSES, gaps_of(out->timeline));
		kind = summary_devices(out, e);
	}
	if (!kind)
		kind = count_calls(out, e);
	if (!kind)
		add_recording(out);
	else
		summary_free(out);
	return kind;
}

enum err_kind summary_build(struct summary *out, const struct timeline *tl, struct error *e)
{
	*out = (struct summary){ .run = tl->run, .timeline = tl };
	return complete(out, summary_parts(out, e), e);
}

struct both {
	struct summary *summary;
	struct timeline *timeline;
	bool there; /* the timeline is */
};

static enum err_kind build_one_of_both(void *both, size_t task, struct error *e)
{
	struct both *b = both;
	enum err_kind kind;

	if (task == 1)
		return summary_parts(b->summary, e);
	kind = timeline_build(b->timeline, b->summary->run, e);
	b->there = !kind;
	return kind;
}

enum err_kind summary_of_run(struct summary *out, struct timeline *tl, const struct run *run, struct error *e)
{
	struct both both = { .summary = out, .timeline = tl };
	enum err_kind kind;

	*out = (struct summary){ .run = run, .timeline = tl };
	kind = complete(out, pool_run(2, build_one_of_both, &both, e), e);
	if (kind && both.there)
		timeline_free(tl);
	return kind;
}

void summary_free(struct summary *s)
{
	for (size_t i = 0; i < s->n_devices; i++)
		device_phases_free(&s->devices[i].phases);
	for (size_t i = 0; i < s->n_devices; i++)
		attribution_free(&s->devices[i].attribution);
	ranks_free(&s->ranks);
	range_stacks_free(&s->ranges);
	steps_free(&s->steps);
	threads_free(&s->threads);
	memory_free(&s->memory);
	free(s->devices);
	free(s->calls);
	free(s->injected);
	*s = (struct summary){ 0 };
}

const struct gap_story *summary_gap(const struct summary *s, size_t number, const struct summary_device **device)
{
	for (size_t i = 0; i < s->n_devices; i++) {
		const struct summary_device *d = &s->devices[i];

		if (number - d->first_gap < d->attribution.n_gaps) {
			if (device)
				*device = d;
			return &d->attribution.gaps[number - d->first_gap];
		}
	}
	return NULL;
}
