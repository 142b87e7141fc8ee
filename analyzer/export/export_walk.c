/* SPDX-License-Identifier: BSD-2-Clause */
/* export_walk.c: what of a run is on its timeline, and in which order it is told. */
#include "export_walk.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/text.h"

#define FEW_EVENTS 200000 /* of so many all are written */

static void earlier(int64_t *zero, int64_t ns)
{
	*zero = ns < *zero ? ns : *zero;
}

/* The first time that occurs on a clock. */
static int64_t first_on(const struct walk *w, uint32_t clock)
{
	int64_t zero = INT64_MAX;

	for (size_t i = 0; i < w->s->run->n_traces; i++) {
		const struct trace *t = w->s->run->traces[i];

		if (w->s->ranks.clock_of[i] != clock)
			continue;
		earlier(&zero, t->begin_ns);
		if (t->n_calls)
			earlier(&zero, t->calls[0].begin_ns);
		if (t->n_nccl)
			earlier(&zero, t->nccl[0].begin_ns);
		if (t->n_ranges)
			earlier(&zero, t->ranges[0].begin_ns);
	}
	for (size_t i = 0; i < w->s->n_devices; i++) {
		const struct device_timeline *d = w->s->devices[i].timeline;

		if (ranks_device_clock(&w->s->ranks, i) != clock)
			continue;
		earlier(&zero, d->begin_ns);
		for (size_t k = 0; k < d->n_ops; k++) {
			earlier(&zero, d->ops[k].begin_ns);
			earlier(&zero, d->ops[k].stretch_begin_ns);
		}
	}
	return zero;
}

/* The first of all, so that none is negative. */
static void set_zero(struct walk *w)
{
	int64_t zero = INT64_MAX;

	for (uint32_t i = 0; i < w->s->ranks.n_clocks; i++) {
		int64_t first = first_on(w, i);

		if (first != INT64_MAX)
			earlier(&zero, ranks_drawn_ns(&w->s->ranks, i, first));
	}
	w->zero_ns = zero == INT64_MAX ? 0 : zero;
}

static bool pid_taken(const struct walk *w, size_t traces, size_t devices, uint32_t pid)
{
	for (size_t i = 0; i < traces; i++) {
		if (w->trace_pid[i] == pid)
			return true;
	}
	for (size_t i = 0; i < devices; i++) {
		if (w->device_pid[i] == pid)
			return true;
	}
	return false;
}

/* Devices are processes of their own, numbered as such, as in Kineto's files; containers and hosts may repeat process ids. */
static bool set_ids(struct walk *w)
{
	const struct run *run = w->s->run;
	uint32_t spare = PID_OURS;
	uint64_t correlation = 1;

	w->trace_pid = array_new(run->n_traces, sizeof(*w->trace_pid));
	w->device_pid = array_new(w->s->n_devices, sizeof(*w->device_pid));
	w->first_correlation = array_new(run->n_traces, sizeof(*w->first_correlation));
	w->calls = array_new(run->n_traces, sizeof(*w->calls));
	if (!w->trace_pid || !w->device_pid || !w->first_correlation || !w->calls)
		return false;
	for (size_t i = 0; i < run->n_traces; i++) {
		w->trace_pid[i] = run->traces[i]->header.pid;
		while (pid_taken(w, i, 0, w->trace_pid[i]))
			w->trace_pid[i] = spare++;
		w->first_correlation[i] = correlation;
		correlation += run->traces[i]->n_calls + w->s->timeline->exact[i].n_unlinked;
		w->calls[i] = array_new(run->traces[i]->n_calls, 1);
		if (!w->calls[i])
			return false;
	}
	for (size_t i = 0; i < w->s->n_devices; i++) {
		w->device_pid[i] = w->s->devices[i].number;
		while (pid_taken(w, run->n_traces, i, w->device_pid[i]))
			w->device_pid[i] = spare++;
	}
	return true;
}

/* ---- the whole ---- */

/* When the first event was, by the clock of the host that all times are on. */
static void open_sink(struct walk *w)
{
	const struct ranks *r = &w->s->ranks;
	const struct gst_file_header *h = NULL;

	for (size_t i = 0; i < r->n_clocks; i++)
		h = r->clocks[i].reference ? r->clocks[i].header : h;
	w->sink->open(w->to, w->zero_ns,
		      h ? (int64_t)(h->start_real_ns + ((uint64_t)w->zero_ns - h->start_mono_ns)) : 0);
}

static void name_processes(struct walk *w)
{
	char name[320], command[160], host[64], on[72] = "";
	struct sink_process p = { .name = name };

	for (size_t i = 0; i < w->s->run->n_traces; i++) {
		const struct trace *t = w->s->run->traces[i];

		if (w->s->ranks.n_clocks > 1)
			snprintf(on, sizeof(on), " on %s", text_clean(host, sizeof(host), t->header.host, 40));
		snprintf(
			name, sizeof(name), "%s (process %u%s)",
			text_clean(command, sizeof(command), t->header.cmdline[0] ? t->header.cmdline : "process", 100),
			t->header.pid, on);
		p.pid = w->trace_pid[i];
		p.order = (int64_t)i;
		w->sink->process(w->to, &p);
	}
	p.device = true;
	for (size_t i = 0; i < w->s->n_devices; i++) {
		snprintf(name, sizeof(name), "device %u: %s", w->s->devices[i].number, w->s->devices[i].name);
		p.pid = w->device_pid[i];
		p.order = (int64_t)(1000000 + i);
		w->sink->process(w->to, &p);
	}
}

static void walk_free(struct walk *w)
{
	for (size_t i = 0; w->calls && i < w->s->run->n_traces; i++)
		free(w->calls[i]);
	free(w->calls);
	free(w->trace_pid);
	free(w->device_pid);
	free(w->first_correlation);
	choice_free(&w->choice);
	tracks_free(&w->tracks);
}

static void each_process(struct walk *w, void (*write)(struct walk *w, size_t process))
{
	for (size_t i = 0; i < w->s->run->n_traces; i++) {
		w->clock = w->s->ranks.clock_of[i];
		write(w, i);
	}
}

static void each_device(struct walk *w, void (*write)(struct walk *w, size_t device))
{
	for (size_t i = 0; i < w->s->n_devices; i++) {
		w->clock = ranks_device_clock(&w->s->ranks, i);
		write(w, i);
	}
}

static bool is_short(const struct summary *s)
{
	uint64_t events = 0;

	for (size_t i = 0; i < s->run->n_traces; i++)
		events += s->run->traces[i]->n_calls + s->run->traces[i]->n_nccl + s->run->traces[i]->n_ranges;
	for (size_t i = 0; i < s->n_devices; i++)
		events += 3 * s->devices[i].timeline->n_ops + s->devices[i].attribution.n_gaps; /* work and its arrow */
	return events < FEW_EVENTS;
}

/* Calls come before the work that they gave to a device: where both are drawn at one instant, viewers find an arrow's begin first. */
enum err_kind export_walk(const struct sink *sink, void *to, const struct summary *s, bool all, uint64_t *left_out,
			  struct error *e)
{
	struct walk w = { .sink = sink, .to = to, .s = s, .tracks.next_tid = TID_LANES };

	if (!choice_make(&w.choice, s, all || is_short(s)) || !set_ids(&w))
		w.failed = true;
	if (!w.failed) {
		set_zero(&w);
		open_sink(&w);
		name_processes(&w);
		each_device(&w, device_calls);
		each_process(&w, driver_calls);
		each_process(&w, nccl_calls);
		each_process(&w, nvtx_ranges);
		each_process(&w, launch_steps);
		each_device(&w, device_idle);
		each_device(&w, device_work);
		each_device(&w, device_memory);
		if (!sink->close(to))
			w.failed = true;
	}
	*left_out = w.left_out;
	walk_free(&w);
	return w.failed ? err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory") : ERR_NONE;
}
