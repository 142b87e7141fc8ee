/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace.h"

#include "comm_kernels.h"
#include "front.h"
#include "launch_publish.h"
#include "sequence.h"
#include "tools/alloc.h"
#include "tools/spill.h"
#include "trace_decode.h"
#include "trace_measured.h"

#include <stdlib.h>
#include <string.h>

/* ---- order, cut, lifetime --------------------------------------------------------------------------- */

static int thread_by_tid(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

#define BY_TIME(name, type, field)                                    \
	static int name(const void *a, const void *b)                 \
	{                                                             \
		const struct type *x = a, *y = b;                     \
		return (x->field > y->field) - (x->field < y->field); \
	}
BY_TIME(edge_by_time, edge, begin_ns)
BY_TIME(nccl_by_time, nccl_call, begin_ns)
BY_TIME(poll_by_time, poll, begin_ns)
BY_TIME(burst_by_time, burst, begin_ns)
BY_TIME(sample_by_time, sample, time_ns)
BY_TIME(usage_by_time, usage, time_ns)
BY_TIME(busy_by_time, busy_list, time_ns)

int call_by_time(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->byte > y->byte) - (x->byte < y->byte);
}

void trace_sort(struct trace *t)
{
	array_sort(t->calls, t->n_calls, sizeof(*t->calls), call_by_time);
	array_sort(t->nccl, t->n_nccl, sizeof(*t->nccl), nccl_by_time);
	array_sort(t->edges, t->n_edges, sizeof(*t->edges), edge_by_time);
	array_sort(t->bursts, t->n_bursts, sizeof(*t->bursts), burst_by_time);
	array_sort(t->polls, t->n_polls, sizeof(*t->polls), poll_by_time);
	array_sort(t->samples, t->n_samples, sizeof(*t->samples), sample_by_time);
	array_sort(t->usages, t->n_usages, sizeof(*t->usages), usage_by_time);
	array_sort(t->busy, t->n_busy, sizeof(*t->busy), busy_by_time);
	array_sort(t->threads, t->n_threads, sizeof(*t->threads), thread_by_tid);
}

/* The arrays are sorted, so what began after the cut is their tail. */
void trace_cut(struct trace *t)
{
	while (t->n_calls && t->calls[t->n_calls - 1].begin_ns > t->cut_ns)
		t->n_calls--;
	while (t->n_nccl && t->nccl[t->n_nccl - 1].begin_ns > t->cut_ns)
		t->n_nccl--;
	while (t->n_ranges && t->ranges[t->n_ranges - 1].begin_ns > t->cut_ns)
		t->n_ranges--;
	for (size_t i = 0; i < t->n_ranges; i++)
		if (t->ranges[i].end_ns > t->cut_ns)
			t->ranges[i].end_ns = INT64_MAX;
	while (t->n_edges && t->edges[t->n_edges - 1].begin_ns > t->cut_ns)
		t->n_edges--;
	while (t->n_bursts && t->bursts[t->n_bursts - 1].begin_ns > t->cut_ns)
		t->n_bursts--;
	while (t->n_polls && t->polls[t->n_polls - 1].begin_ns > t->cut_ns)
		t->n_polls--;
	while (t->n_samples && t->samples[t->n_samples - 1].time_ns > t->cut_ns)
		t->n_samples--;
	while (t->n_usages && t->usages[t->n_usages - 1].time_ns > t->cut_ns)
		t->n_usages--;
	trace_memory_cut(&t->memory, t->cut_ns);
}

/* Over the file's time, from the anchors. */
static double average_rate(const struct decoder *d)
{
	uint64_t begin = d->t->header.start_ticks, end = d->t->counters.last_ticks;

	return end > begin ? (double)(clock_ns(d->clock, end) - clock_ns(d->clock, begin)) / (double)(end - begin) : 1;
}

static void set_lifetime(struct decoder *d)
{
	struct trace *t = d->t;
	int64_t end;

	t->begin_ns = clock_ns(d->clock, t->header.start_ticks);
	t->ns_per_tick = average_rate(d);
	end = t->begin_ns;
	if (t->counters.last_ticks)
		end = clock_ns(d->clock, t->counters.last_ticks);
	if (t->cut_ns == INT64_MAX)
		end = d->calls_end_ns > end ? d->calls_end_ns : end;
	for (size_t i = 0; t->cut_ns != INT64_MAX && i < t->n_calls; i++)
		end = t->calls[i].end_ns > end ? t->calls[i].end_ns : end;
	for (size_t i = 0; i < t->n_nccl; i++)
		end = t->nccl[i].end_ns > end ? t->nccl[i].end_ns : end;
	for (size_t i = 0; i < t->n_polls; i++)
		end = t->polls[i].end_ns > end ? t->polls[i].end_ns : end;
	for (size_t i = 0; i < t->n_edges; i++) {
		end = t->edges[i].end_ns > end ? t->edges[i].end_ns : end;
		if (t->edges[i].done_ns != INT64_MAX && t->edges[i].done_ns > end)
			end = t->edges[i].done_ns;
	}
	if (t->n_samples && t->samples[t->n_samples - 1].time_ns > end)
		end = t->samples[t->n_samples - 1].time_ns;
	end = trace_memory_end(&t->memory, end);
	end = measured_settle(t, end);
	end = end > t->cut_ns ? t->cut_ns : end;
	end = end > t->seen_ns ? t->seen_ns : end;
	t->end_ns = end > t->begin_ns ? end : t->begin_ns;
	t->process_start_ns = t->begin_ns;
	if (t->header.process_start_mono_ns && t->header.process_start_mono_ns < (uint64_t)t->begin_ns)
		t->process_start_ns = (int64_t)t->header.process_start_mono_ns;
}

static enum err_kind take_counts(struct decoder *d, struct error *e)
{
	struct trace *t = d->t;
	struct reader_counts counts = reader_counts(d->reader);
	const struct damage *damage = reader_damage(d->reader);
	enum err_kind kind = reader_settle(d->reader, e);

	if (kind)
		return kind;
	t->counters = *reader_counters(d->reader);
	t->recycled = t->counters.recycled_until != 0;
	t->records = counts.records;
	t->unfinished = counts.unfinished;
	t->unknown_records = counts.unknown;
	memcpy(t->injected, t->counters.injected, sizeof(t->injected));
	t->cut_ns = INT64_MAX;
	if (damage) {
		t->damage = damage->error;
		t->cut_ns = clock_ns(d->clock, damage->cut_ticks);
	}
	if (t->counters.drop_first_ticks)
		t->drop_first_ns = clock_ns(d->clock, t->counters.drop_first_ticks);
	if (t->counters.drop_last_ticks)
		t->drop_last_ns = clock_ns(d->clock, t->counters.drop_last_ticks);
	return ERR_NONE;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

/* now_ns: a moment ago; 0 for what is no file. One that ended since then may have grown after others of its run were read. */
static void set_life(struct decoder *d, int64_t now_ns)
{
	struct trace *t = d->t;
	int64_t last_ns = clock_ns(d->clock, t->counters.last_ticks);

	t->life = t->counters.exited ? LIFE_ENDED : LIFE_UNKNOWN;
	t->seen_ns = INT64_MAX;
	if (!now_ns)
		return;
	t->life = life_of(t->path, &t->header, &t->counters, last_ns);
	if (t->life == LIFE_RUNNING || (last_ns > now_ns && last_ns <= life_now_ns()))
		t->seen_ns = now_ns;
}

/* Each launch is looked at after all: the file is gone through once more. */
static void forget_split(struct decoder *d)
{
	trace_split_free(d->split);
	free(d->split);
	d->split = NULL;
}

/* How a trace is to be read. */
struct reading {
	int64_t now_ns; /* a moment ago; 0 for what is no file */
	bool fold;
};

static enum err_kind decode(struct decoder *d, struct reading how, struct error *e)
{
	enum err_kind kind;

	if (d->t->header.kind != GST_FILE_PROCESS)
		return err_set(e, ERR_FORMAT, d->t->path, offsetof(struct gst_file_header, kind),
			       "no recording of a process (kind %u)", d->t->header.kind);
	if (!ranges_new(&d->ranges))
		return trace_no_memory(d->t, e);
	if ((kind = clock_new(&d->clock, &d->t->header, e)) || (kind = names_new(&d->names, e)) ||
	    (kind = graphs_new(&d->graphs, e)))
		return kind;
	if (how.fold &&
	    (!(d->split = calloc(1, sizeof(*d->split))) || !trace_split_read(d->split, d->reader, d->clock)))
		return trace_no_memory(d->t, e);
	if ((kind = trace_describe(d, e)) || (kind = clock_ready(d->clock, e)) ||
	    (kind = names_publish(d->names, d->t, e)))
		return kind;
	if (!graphs_publish(d->graphs, d->t, d->names))
		return trace_no_memory(d->t, e);
	comms_publish(d->t, d->names);
	stacks_sort(&d->t->stacks);
	set_life(d, how.now_ns);
	for (size_t i = 0; i < d->t->n_levels; i++)
		d->t->levels[i].time_ns = clock_ns(d->clock, (uint64_t)d->t->levels[i].time_ns);
	measured_promise(d->t);
	if (d->split && !launch_rows_suit(d->t, reader_damage(d->reader)))
		forget_split(d);
	if ((kind = trace_events(d, e)))
		return kind;
	if ((kind = take_counts(d, e)))
		return kind;
	if ((d->t->cut_ns != INT64_MAX || d->t->recycled) && !trace_unfold(d->t))
		return trace_no_memory(d->t, e); /* it has changed since it was looked at */
	trace_sort(d->t);
	trace_cut(d->t);
	if (!comm_launches_mark(d->t))
		return trace_no_memory(d->t, e);
	if (!stacks_ready(&d->t->stacks, d->t->cut_ns) || !stacks_find_sites(d->t))
		return trace_no_memory(d->t, e);
	set_lifetime(d);
	if ((kind = sequence_unwrap(d->t, e)))
		return kind;
	if (!graphs_apply(d->t))
		return trace_no_memory(d->t, e);
	if ((kind = sequence_edges(d->t, e)))
		return kind;
	if (d->t->recycled && !front_cut(d->t, clock_ns(d->clock, d->t->counters.recycled_until)))
		return trace_no_memory(d->t, e);
	return ERR_NONE;
}

/* Takes the reader over. */
static enum err_kind trace_read(struct trace **out, struct reader *reader, const char *name, struct reading how,
				struct error *e)
{
	struct decoder d = { .reader = reader, .t = calloc(1, sizeof(struct trace)) };
	enum err_kind kind = ERR_SYSTEM;

	if (d.t)
		d.t->path = strdup(name);
	if (d.t && d.t->path) {
		d.t->header = *reader_header(reader);
		d.t->counters = *reader_counters(reader);
		kind = decode(&d, how, e);
	} else {
		err_set(e, ERR_SYSTEM, name, ERR_NO_BYTE, "out of memory");
	}
	names_free(d.names);
	graphs_free(d.graphs);
	ranges_free(d.ranges);
	if (d.split)
		forget_split(&d);
	reader_free(reader);
	if (kind != ERR_NONE) {
		clock_free(d.clock);
		trace_free(d.t);
		return kind;
	}
	d.t->clock = d.clock;
	*out = d.t;
	return ERR_NONE;
}

static enum err_kind open_path(struct trace **out, const char *path, struct reading how, struct error *e)
{
	struct reader *reader;
	enum err_kind kind = reader_open(&reader, path, e);

	*out = NULL;
	return kind ? kind : trace_read(out, reader, path, how, e);
}

static enum err_kind open_bytes(struct trace **out, const void *buf, size_t len, const char *name, bool fold,
				struct error *e)
{
	struct reader *reader;
	enum err_kind kind = reader_open_mem(&reader, buf, len, name, e);

	*out = NULL;
	return kind ? kind : trace_read(out, reader, name, (struct reading){ 0, fold }, e);
}

enum err_kind trace_open(struct trace **out, const char *path, int64_t now_ns, struct error *e)
{
	return open_path(out, path, (struct reading){ now_ns, false }, e);
}

enum err_kind trace_open_folded(struct trace **out, const char *path, int64_t now_ns, struct error *e)
{
	return open_path(out, path, (struct reading){ now_ns, true }, e);
}

enum err_kind trace_open_mem(struct trace **out, const void *buf, size_t len, const char *name, struct error *e)
{
	return open_bytes(out, buf, len, name, false, e);
}

enum err_kind trace_open_mem_folded(struct trace **out, const void *buf, size_t len, const char *name, struct error *e)
{
	return open_bytes(out, buf, len, name, true, e);
}

static void imported_free(struct imported *i)
{
	for (size_t k = 0; i && k < i->n_warnings; k++)
		free(i->warnings[k]);
	if (i)
		free(i->warnings);
	free(i);
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	free(t->path);
	clock_free(t->clock);
	spill_free(t->calls);
	launches_free(&t->launches);
	free(t->rare);
	spill_free(t->edges);
	spill_free(t->measured);
	free(t->bursts);
	free(t->levels);
	free(t->polls);
	free(t->samples);
	free(t->usages);
	free(t->streams);
	free(t->carried);
	free(t->busy);
	free(t->busy_streams);
	free(t->devices);
	free(t->threads);
	graphs_release(t);
	spill_free(t->ranges);
	free(t->range_text);
	stacks_free(&t->stacks);
	free(t->comms);
	free(t->nccl);
	trace_memory_free(&t->memory);
	spill_free(t->host_ops.at);
	free(t->host_ops.names);
	imported_free(t->imported);
	free(t->nccl_hooks);
	free(t->hooks);
	free(t->kernels);
	free(t->kernel_titles);
	free(t->communicates);
	free(t->entries);
	free(t->text);
	free(t);
}

const char *trace_thread_name(const struct trace *t, uint32_t tid)
{
	for (size_t low = 0, high = t->n_threads; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (t->threads[middle].tid == tid)
			return t->threads[middle].name;
		if (t->threads[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return "";
}
