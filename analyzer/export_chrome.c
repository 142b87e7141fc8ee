/* SPDX-License-Identifier: BSD-2-Clause */
/* export_chrome.c: the timeline as Chrome trace JSON. Perfetto shows it, and tools made for Kineto's files take it:
 * one event per line, the names and fields Kineto uses, times in microseconds with three decimals from the first event. */
#include "export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "export_chrome_event.h"
#include "gap_view.h"
#include "text.h"

#define FEW_EVENTS 200000
#define TOP_GAPS 50
#define AROUND_NS 2000000 /* what is shown on either side of a top gap */

/* ---- what to write ---- */

static bool choose(struct chrome *x)
{
	uint64_t events = 0;
	size_t n = TOP_GAPS;
	size_t *longest;

	for (size_t i = 0; i < x->s->run->n_traces; i++)
		events += x->s->run->traces[i]->n_calls + x->s->run->traces[i]->n_nccl + x->s->run->traces[i]->n_ranges;
	for (size_t i = 0; i < x->s->n_devices; i++)
		events += 3 * x->s->devices[i].timeline->n_ops +
			  x->s->devices[i].attribution.n_gaps; /* work and its flow */
	if (events < FEW_EVENTS)
		x->all = true;
	if (x->all)
		return true;
	longest = summary_longest(x->s, &n);
	for (size_t i = 0; longest && i < n; i++) {
		const struct gap *g = summary_gap(x->s, longest[i], NULL)->gap;

		if (!intervals_add(&x->around, g->begin_ns - AROUND_NS, g->end_ns + AROUND_NS))
			n = 0;
	}
	free(longest);
	intervals_merge(&x->around);
	return longest && (n || !x->s->n_gaps);
}

static void earlier(int64_t *zero, int64_t ns)
{
	*zero = ns < *zero ? ns : *zero;
}

/* Of the first process that has work on it: those of one device are on one host. */
static uint32_t clock_of_device(const struct chrome *x, size_t device)
{
	const struct ranks *r = &x->s->ranks;

	for (size_t i = 0; i < r->n_members; i++)
		if (r->members[i].device == device)
			return r->members[i].clock;
	return 0;
}

/* The first time that occurs on a clock. */
static int64_t first_on(const struct chrome *x, uint32_t clock)
{
	int64_t zero = INT64_MAX;

	for (size_t i = 0; i < x->s->run->n_traces; i++) {
		const struct trace *t = x->s->run->traces[i];

		if (x->s->ranks.clock_of[i] != clock)
			continue;
		earlier(&zero, t->begin_ns);
		if (t->n_calls)
			earlier(&zero, t->calls[0].begin_ns);
		if (t->n_nccl)
			earlier(&zero, t->nccl[0].begin_ns);
		if (t->n_ranges)
			earlier(&zero, t->ranges[0].begin_ns);
	}
	for (size_t i = 0; i < x->s->n_devices; i++) {
		const struct device_timeline *d = x->s->devices[i].timeline;

		if (clock_of_device(x, i) != clock)
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
static void set_zero(struct chrome *x)
{
	int64_t zero = INT64_MAX;

	for (uint32_t i = 0; i < x->s->ranks.n_clocks; i++) {
		int64_t first = first_on(x, i);

		if (first != INT64_MAX)
			earlier(&zero, ranks_drawn_ns(&x->s->ranks, i, first));
	}
	x->zero_ns = zero == INT64_MAX ? 0 : zero;
}

static bool pid_taken(const struct chrome *x, size_t traces, size_t devices, uint32_t pid)
{
	for (size_t i = 0; i < traces; i++) {
		if (x->trace_pid[i] == pid)
			return true;
	}
	for (size_t i = 0; i < devices; i++) {
		if (x->device_pid[i] == pid)
			return true;
	}
	return false;
}

/* Devices are processes of their own, numbered as such, as in Kineto's files; containers and hosts may repeat process ids. */
static bool set_ids(struct chrome *x)
{
	const struct run *run = x->s->run;
	uint32_t spare = PID_OURS;
	uint64_t correlation = 1;

	x->trace_pid = array_new(run->n_traces, sizeof(*x->trace_pid));
	x->device_pid = array_new(x->s->n_devices, sizeof(*x->device_pid));
	x->first_correlation = array_new(run->n_traces, sizeof(*x->first_correlation));
	x->wanted = array_new(run->n_traces, sizeof(*x->wanted));
	if (!x->trace_pid || !x->device_pid || !x->first_correlation || !x->wanted)
		return false;
	for (size_t i = 0; i < run->n_traces; i++) {
		x->trace_pid[i] = run->traces[i]->header.pid;
		while (pid_taken(x, i, 0, x->trace_pid[i]))
			x->trace_pid[i] = spare++;
		x->first_correlation[i] = correlation;
		correlation += run->traces[i]->n_calls + x->s->timeline->exact[i].n_unlinked;
		x->wanted[i] = array_new(run->traces[i]->n_calls, 1);
		if (!x->wanted[i])
			return false;
	}
	for (size_t i = 0; i < x->s->n_devices; i++) {
		x->device_pid[i] = x->s->devices[i].number;
		while (pid_taken(x, run->n_traces, i, x->device_pid[i]))
			x->device_pid[i] = spare++;
	}
	return true;
}

/* ---- driver calls ---- */

static bool submitted(const struct call *c)
{
	return (c->flags & GST_SUBMISSION) && !(c->flags & GST_CAPTURED) && !c->result;
}

static void call(struct chrome *x, size_t process, size_t index)
{
	const struct trace *t = x->s->run->traces[process];
	const struct call *c = &t->calls[index];
	struct json *j = &x->json;
	int64_t begin = c->begin_ns, end = c->end_ns;
	char name[32];
	uint32_t tid;

	snprintf(name, sizeof(name), "thread %u", c->tid);
	tid = place(x, t, c->tid, x->trace_pid[process], c->tid, name, true, &begin, &end);
	if (x->failed)
		return;
	slice_begin(x, "cuda_driver", call_name(t, c), x->trace_pid[process], tid, begin, end);
	if (submitted(c))
		json_key_int(j, "correlation", (int64_t)(x->first_correlation[process] + index));
	if (c->result)
		json_key_int(j, "result", c->result);
	if (c->name && c->name < t->n_kernels)
		json_key_text(j, "kernel", kernel_title(t, c->name));
	json_key_int(j, "byte", (int64_t)c->byte);
	slice_end(x);
}

static void calls(struct chrome *x, size_t process)
{
	const struct trace *t = x->s->run->traces[process];

	for (size_t i = 0; i < t->n_calls && !x->failed; i++) {
		if (x->wanted[process][i] || wanted(x, t->calls[i].begin_ns, t->calls[i].end_ns))
			call(x, process, i);
		else
			x->left_out++;
	}
}

/* ---- the whole ---- */

static void head(struct chrome *x)
{
	const struct summary *s = x->s;
	const struct gst_file_header *h = NULL; /* of the host whose clock all times are on */
	int64_t base;

	for (size_t i = 0; i < s->ranks.n_clocks; i++)
		h = s->ranks.clocks[i].reference ? s->ranks.clocks[i].header : h;
	base = h ? (int64_t)(h->start_real_ns + ((uint64_t)x->zero_ns - h->start_mono_ns)) : 0;

	/* Readers look for "rank": with the space; the generator writes none. */
	fputs("{\"schemaVersion\": 1,\n\"distributedInfo\": {\"backend\": \"none\", \"rank\": 0, \"world_size\": 1},\n",
	      x->out);
	fprintf(x->out,
		"\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %" PRId64 ",\n\"deviceProperties\": ", base);
	json_array(&x->json);
	for (size_t i = 0; i < s->n_devices; i++) {
		json_map(&x->json);
		json_key_int(&x->json, "id", s->devices[i].number);
		json_key_text(&x->json, "name", s->devices[i].name);
		json_key_int(&x->json, "totalGlobalMem",
			     (int64_t)(s->devices[i].timeline->device.memory_bytes & INT64_MAX));
		json_map_end(&x->json);
	}
	json_array_end(&x->json);
	fputs(",\n\"traceEvents\": [", x->out);
	x->first = true;
}

static void name_processes(struct chrome *x)
{
	char name[320], command[160], host[64], on[72] = "";

	for (size_t i = 0; i < x->s->run->n_traces; i++) {
		const struct trace *t = x->s->run->traces[i];

		if (x->s->ranks.n_clocks > 1)
			snprintf(on, sizeof(on), " on %s", text_clean(host, sizeof(host), t->header.host, 40));
		snprintf(
			name, sizeof(name), "%s (process %u%s)",
			text_clean(command, sizeof(command), t->header.cmdline[0] ? t->header.cmdline : "process", 100),
			t->header.pid, on);
		name_process(x, x->trace_pid[i], name, (int64_t)i);
	}
	for (size_t i = 0; i < x->s->n_devices; i++) {
		snprintf(name, sizeof(name), "device %u: %s", x->s->devices[i].number, x->s->devices[i].name);
		name_process(x, x->device_pid[i], name, (int64_t)(1000000 + i));
	}
}

static void chrome_free(struct chrome *x)
{
	for (size_t i = 0; x->wanted && i < x->s->run->n_traces; i++)
		free(x->wanted[i]);
	free(x->wanted);
	free(x->trace_pid);
	free(x->device_pid);
	free(x->first_correlation);
	intervals_free(&x->around);
	tracks_free(&x->tracks);
}

static void each_process(struct chrome *x, void (*write)(struct chrome *x, size_t process))
{
	for (size_t i = 0; i < x->s->run->n_traces; i++) {
		x->clock = x->s->ranks.clock_of[i];
		write(x, i);
	}
}

enum err_kind export_chrome(FILE *out, const struct summary *s, bool all, uint64_t *left_out, struct error *e)
{
	struct chrome x = { .out = out, .s = s, .all = all, .tracks.next_tid = TID_LANES };

	json_open(&x.json, out);
	if (!choose(&x) || !set_ids(&x))
		x.failed = true;
	if (!x.failed) {
		set_zero(&x);
		head(&x);
		name_processes(&x);
		for (size_t i = 0; i < s->n_devices; i++) {
			x.clock = clock_of_device(&x, i);
			device_idle(&x, i);
			device_work(&x, i);
			device_memory(&x, i);
		}
		each_process(&x, calls);
		each_process(&x, nccl_calls);
		each_process(&x, nvtx_ranges);
		each_process(&x, launch_steps);
		fputs("\n]}\n", out);
	}
	*left_out = x.left_out;
	chrome_free(&x);
	return x.failed ? err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory") : ERR_NONE;
}
