/* SPDX-License-Identifier: BSD-2-Clause */
/* export_chrome.c: the timeline as Chrome trace JSON. Perfetto shows it, and tools made for Kineto's files take it:
 * one event per line, the names and fields Kineto uses, times in microseconds with three decimals from the first event. */
#include "export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "export_tracks.h"
#include "gap_view.h"
#include "interval.h"
#include "json.h"
#include "text.h"

#define FEW_EVENTS 200000
#define TOP_GAPS 50
#define AROUND_NS 2000000 /* what is shown on either side of a top gap */

/* Threads have ids below 2^22, streams small numbers; what is ours lies above. */
#define TID_IDLE 4000000u
#define TID_UNRESOLVED 4000001u
#define TID_HOSTFN 4000002u
#define TID_LANES 4100000u
#define PID_OURS 4000000u

struct chrome {
	struct json json;
	FILE *out;
	const struct summary *s;
	int64_t zero_ns;
	bool all, failed, first;
	struct intervals around;
	uint8_t **wanted;            /* per trace and call: its device work is written */
	uint32_t *device_pid;        /* per device */
	uint32_t *trace_pid;         /* per trace */
	uint64_t *first_correlation; /* per trace */
	struct tracks tracks;
	uint64_t left_out;
};

/* ---- events ---- */

static void number_us(struct chrome *x, const char *key, int64_t ns)
{
	char digits[40];

	snprintf(digits, sizeof(digits), "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
	json_key(&x->json, key);
	json_number(&x->json, digits);
}

static void event_begin(struct chrome *x, const char *ph, const char *cat, const char *name, uint32_t pid, uint32_t tid)
{
	struct json *j = &x->json;
	char clean[1024];

	fputs(x->first ? "\n" : ",\n", x->out);
	x->first = false;
	json_next(j);
	json_map(j);
	json_key_text(j, "ph", ph);
	if (cat)
		json_key_text(j, "cat", cat);
	json_key_text(j, "name", text_clean(clean, sizeof(clean), name, sizeof(clean)));
	json_key_int(j, "pid", pid);
	json_key_int(j, "tid", tid);
}

static void slice_begin(struct chrome *x, const char *cat, const char *name, uint32_t pid, uint32_t tid, int64_t begin,
			int64_t end)
{
	event_begin(x, "X", cat, name, pid, tid);
	number_us(x, "ts", begin - x->zero_ns);
	number_us(x, "dur", end - begin);
	json_key_map(&x->json, "args");
}

static void event_end(struct chrome *x)
{
	json_map_end(&x->json);
}

static void slice_end(struct chrome *x)
{
	json_map_end(&x->json);
	event_end(x);
}

static void metadata(struct chrome *x, const char *what, uint32_t pid, uint32_t tid, const char *key, const char *text,
		     int64_t number)
{
	char clean[512];

	event_begin(x, "M", NULL, what, pid, tid);
	number_us(x, "ts", 0);
	json_key_map(&x->json, "args");
	if (text)
		json_key_text(&x->json, key, text_clean(clean, sizeof(clean), text, 200));
	else
		json_key_int(&x->json, key, number);
	slice_end(x);
}

static void name_process(struct chrome *x, uint32_t pid, const char *name, int64_t order)
{
	metadata(x, "process_name", pid, 0, "name", name, 0);
	metadata(x, "process_sort_index", pid, 0, "sort_index", NULL, order);
}

static void name_thread(struct chrome *x, uint32_t pid, uint32_t tid, const char *name, int64_t order)
{
	metadata(x, "thread_name", pid, tid, "name", name, 0);
	metadata(x, "thread_sort_index", pid, tid, "sort_index", NULL, order);
}

static void flow(struct chrome *x, const char *ph, uint32_t pid, uint32_t tid, int64_t at, uint64_t id)
{
	event_begin(x, ph, "ac2g", "ac2g", pid, tid);
	number_us(x, "ts", at - x->zero_ns);
	json_key_int(&x->json, "id", (int64_t)id);
	if (*ph == 'f')
		json_key_text(&x->json, "bp", "e");
	event_end(x);
}

/* Where a slice goes, with a name for the track on its first use. 0: no memory. */
static uint32_t place(struct chrome *x, const void *owner, uint64_t id, uint32_t pid, uint32_t tid, const char *name,
		      bool nest, int64_t *begin, int64_t *end)
{
	bool new_track, new_lane;
	struct track *track = tracks_find(&x->tracks, owner, id, tid, &new_track);
	struct lane *lane = track ? track_lane(&x->tracks, track, nest, begin, end, &new_lane) : NULL;
	char beside[160];

	if (!lane) {
		x->failed = true;
		return 0;
	}
	if (new_track)
		name_thread(x, pid, tid, name, tid);
	if (new_lane) {
		snprintf(beside, sizeof(beside), "%.120s (overlapping)", name);
		name_thread(x, pid, lane->tid, beside, tid);
	}
	return lane->tid;
}

/* ---- what to write ---- */

static bool wanted(const struct chrome *x, int64_t begin, int64_t end)
{
	size_t low = 0, high = x->around.n;

	if (x->all)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->around.at[middle].end_ns < begin)
			low = middle + 1;
		else
			high = middle;
	}
	return low < x->around.n && x->around.at[low].begin_ns <= end;
}

static bool choose(struct chrome *x)
{
	uint64_t events = 0;
	size_t n = TOP_GAPS;
	size_t *longest;

	for (size_t i = 0; i < x->s->run->n_traces; i++)
		events += x->s->run->traces[i]->n_calls;
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

/* The first time that occurs, so that none is negative. */
static void set_zero(struct chrome *x)
{
	int64_t zero = INT64_MAX;

	for (size_t i = 0; i < x->s->run->n_traces; i++) {
		const struct trace *t = x->s->run->traces[i];

		earlier(&zero, t->begin_ns);
		if (t->n_calls)
			earlier(&zero, t->calls[0].begin_ns);
	}
	for (size_t i = 0; i < x->s->n_devices; i++) {
		const struct device_timeline *d = x->s->devices[i].timeline;

		earlier(&zero, d->begin_ns);
		for (size_t k = 0; k < d->n_ops; k++) {
			earlier(&zero, d->ops[k].begin_ns);
			earlier(&zero, d->ops[k].stretch_begin_ns);
		}
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
		correlation += run->traces[i]->n_calls;
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

static size_t trace_index(const struct chrome *x, const struct trace *t)
{
	size_t i = 0;

	while (i < x->s->run->n_traces && x->s->run->traces[i] != t)
		i++;
	return i;
}

/* ---- device work ---- */

static const char *copy_name(uint8_t kind)
{
	switch (kind) {
	case GST_COPY_H2D_PAGEABLE:
		return "Memcpy HtoD (Pageable -> Device)";
	case GST_COPY_H2D_PINNED:
		return "Memcpy HtoD (Pinned -> Device)";
	case GST_COPY_D2H_PAGEABLE:
		return "Memcpy DtoH (Device -> Pageable)";
	case GST_COPY_D2H_PINNED:
		return "Memcpy DtoH (Device -> Pinned)";
	case GST_COPY_D2D:
		return "Memcpy DtoD (Device -> Device)";
	case GST_COPY_PEER:
		return "Memcpy PtoP (Device -> Device)";
	case GST_COPY_H2H:
		return "Memcpy HtoH (Pageable -> Pageable)";
	default:
		return "Memcpy";
	}
}

static const char *op_category(const struct op *op)
{
	return op->class == OP_COPY ? "gpu_memcpy" : op->class == OP_MEMSET ? "gpu_memset" : "kernel";
}

static const char *op_name(const struct op *op)
{
	const struct call *c = op->call;

	if (op->class == OP_COPY)
		return copy_name(op->copy);
	if (op->class == OP_MEMSET)
		return "Memset (Device)";
	if (c->family == GST_FAMILY_GRAPH_LAUNCH)
		return "CUDA graph";
	if (c->name > 0 && c->name < op->trace->n_kernels && op->trace->kernels[c->name][0])
		return op->trace->kernels[c->name];
	return "kernel without a name";
}

static void timing_args(struct chrome *x, const struct op *op)
{
	json_key_text(&x->json, "timing", op->exact ? "exact" : "bounded");
	if (op->exact)
		return;
	number_us(x, "stretch_begin_us", op->stretch_begin_ns - x->zero_ns);
	number_us(x, "stretch_end_us", op->stretch_end_ns - x->zero_ns);
}

static void work_args(struct chrome *x, const struct op *op, uint32_t device, uint64_t stream, uint64_t correlation)
{
	struct json *j = &x->json;
	const struct call *c = op->call;

	json_key_int(j, "device", device);
	json_key_int(j, "stream", (int64_t)stream);
	json_key_int(j, "correlation", (int64_t)correlation);
	if (op->class == OP_COPY || op->class == OP_MEMSET) {
		json_key_int(j, "bytes", c->args[0] > INT64_MAX ? INT64_MAX : (int64_t)c->args[0]);
	} else if (c->family == GST_FAMILY_LAUNCH) {
		json_key_array(j, "grid");
		json_int(j, (uint32_t)c->args[0]);
		json_int(j, (uint32_t)(c->args[0] >> 32));
		json_int(j, (uint32_t)c->args[1]);
		json_array_end(j);
		json_key_int(j, "threads per block", (int64_t)(c->args[1] >> 32));
	}
	timing_args(x, op);
}

/* A host function is no device work: without a stream it counts as none in any tool. */
static void host_function(struct chrome *x, size_t device, const struct op *op)
{
	int64_t begin = op->begin_ns, end = op->end_ns;
	uint32_t pid = x->device_pid[device];
	uint32_t tid = place(x, &x->s->devices[device], TID_HOSTFN, pid, TID_HOSTFN, "host functions in streams", false,
			     &begin, &end);

	if (x->failed)
		return;
	slice_begin(x, "host_function", "host function", pid, tid, begin, end);
	timing_args(x, op);
	slice_end(x);
}

static void work(struct chrome *x, size_t device, const struct op *op, uint32_t *streams)
{
	size_t process = trace_index(x, op->trace);
	uint64_t id = (uint64_t)process << 32 | op->stream, call = (uint64_t)(op->call - op->trace->calls), correlation;
	int64_t begin = op->begin_ns, end = op->end_ns;
	uint32_t pid = x->device_pid[device], tid;
	const struct stream *stream = op->stream < op->trace->n_streams ? &op->trace->streams[op->stream] : NULL;
	char name[96];
	bool is_new;
	struct track *track = tracks_find(&x->tracks, x->s->devices[device].timeline, id, *streams, &is_new);

	if (!track) {
		x->failed = true;
		return;
	}
	snprintf(name, sizeof(name), "stream %u%s of process %u", stream ? stream->id : 0,
		 stream && stream->kind == GST_STREAM_LEGACY ? " (default)" : "", op->trace->header.pid);
	if (is_new) {
		name_thread(x, pid, *streams, name, *streams);
		++*streams;
	}
	tid = track->lanes[0].tid;
	correlation = x->first_correlation[process] + call;
	x->wanted[process][call] = 1;
	tid = place(x, x->s->devices[device].timeline, id, pid, tid, name, false, &begin, &end);
	if (x->failed)
		return;
	slice_begin(x, op_category(op), op_name(op), pid, tid, begin, end);
	work_args(x, op, x->s->devices[device].number, tid, correlation);
	slice_end(x);
	flow(x, "s", x->trace_pid[process], op->call->tid, op->call->begin_ns, correlation);
	flow(x, "f", pid, tid, begin, correlation);
}

static void device_work(struct chrome *x, size_t device)
{
	const struct device_timeline *d = x->s->devices[device].timeline;
	uint32_t streams = 1;

	for (size_t i = 0; i < d->n_ops && !x->failed; i++) {
		const struct op *op = &d->ops[i];

		if (!wanted(x, op->begin_ns, op->end_ns))
			x->left_out++;
		else if (op->class == OP_HOSTFN)
			host_function(x, device, op);
		else
			work(x, device, op, &streams);
	}
}

/* ---- idle time ---- */

static void idle_slice(struct chrome *x, size_t device, size_t number, const struct gap_story *g,
		       const struct gap_cause *c)
{
	struct json *j = &x->json;
	char name[64];

	snprintf(name, sizeof(name), "idle: %s", cause_name(c->cause));
	slice_begin(x, "idle", name, x->device_pid[device], TID_IDLE, c->begin_ns, c->end_ns);
	json_key_int(j, "gap", (int64_t)number);
	json_key_text(j, "cause", cause_name(c->cause));
	json_key_text(j, "confidence", confidence_name(c->confidence));
	json_key_array(j, "evidence");
	for (size_t i = 0; i < c->n_evidence; i++)
		json_text(j, c->evidence[i]);
	json_array_end(j);
	json_key_text(j, "because", cause_title(c->cause));
	number_us(x, "gap_us", g->gap->end_ns - g->gap->begin_ns);
	number_us(x, "begin_error_us", g->gap->begin_error_ns);
	number_us(x, "end_error_us", g->gap->end_error_ns);
	slice_end(x);
}

static void device_idle(struct chrome *x, size_t device)
{
	const struct summary_device *d = &x->s->devices[device];

	if (d->attribution.n_gaps)
		name_thread(x, x->device_pid[device], TID_IDLE, "idle, and why", 0);
	for (size_t i = 0; i < d->attribution.n_gaps; i++) {
		const struct gap_story *g = &d->attribution.gaps[i];

		for (size_t k = 0; k < g->n_causes; k++)
			idle_slice(x, device, d->first_gap + i, g, &g->causes[k]);
	}
	if (d->timeline->n_unresolved)
		name_thread(x, x->device_pid[device], TID_UNRESOLVED, "cannot tell busy from idle", TID_UNRESOLVED);
	for (size_t i = 0; i < d->timeline->n_unresolved; i++) {
		const struct interval *u = &d->timeline->unresolved[i];

		if (!wanted(x, u->begin_ns, u->end_ns))
			continue;
		slice_begin(x, "unresolved", "unresolved", x->device_pid[device], TID_UNRESOLVED, u->begin_ns,
			    u->end_ns);
		slice_end(x);
	}
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
		json_key_text(j, "kernel", t->kernels[c->name]);
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
	const struct trace *t = s->run->n_traces ? s->run->traces[0] : NULL;
	int64_t base = t ? (int64_t)t->header.start_real_ns + (x->zero_ns - (int64_t)t->header.start_mono_ns) : 0;

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
	char name[256], command[160];

	for (size_t i = 0; i < x->s->run->n_traces; i++) {
		const struct trace *t = x->s->run->traces[i];

		snprintf(
			name, sizeof(name), "%s (process %u)",
			text_clean(command, sizeof(command), t->header.cmdline[0] ? t->header.cmdline : "process", 100),
			t->header.pid);
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
			device_idle(&x, i);
			device_work(&x, i);
		}
		for (size_t i = 0; i < s->run->n_traces; i++)
			calls(&x, i);
		fputs("\n]}\n", out);
	}
	*left_out = x.left_out;
	chrome_free(&x);
	return x.failed ? err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory") : ERR_NONE;
}
