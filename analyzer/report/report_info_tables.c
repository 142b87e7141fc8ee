/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_info.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "trace/clock.h"
#include "trace/device_clock.h"
#include "tools/ns.h"
#include "tools/spill.h"
#include "report_words.h"
#include "tools/text.h"
#include "trace/trace_measured.h"

#define TOP_CALLS 8

static const struct {
	const char *one, *many;
} type_names[TRACE_TYPES] = {
	[0] = { "other", "other" },
	[GST_CALL] = { "call", "calls" },
	[GST_NAME] = { "name", "names" },
	[GST_STREAM] = { "stream", "streams" },
	[GST_DEVICE] = { "device", "devices" },
	[GST_ANCHOR] = { "anchor", "anchors" },
	[GST_EDGE] = { "edge", "edges" },
	[GST_POLL] = { "poll", "polls" },
	[GST_SAMPLE] = { "sample", "samples" },
	[GST_USAGE] = { "usage", "usages" },
	[GST_THREAD] = { "thread", "threads" },
	[GST_GRAPH] = { "graph", "graphs" },
	[GST_GRAPH_NODES] = { "list of nodes", "lists of nodes" },
	[GST_GRAPH_EDGES] = { "list of dependencies", "lists of dependencies" },
	[GST_BUSY] = { "list of busy streams", "lists of busy streams" },
	[GST_LEVEL] = { "level", "levels" },
	[GST_ACTIVITY] = { "activity", "activities" },
	[GST_BURST] = { "burst", "bursts" },
	[GST_COMM] = { "communicator", "communicators" },
	[GST_NCCL] = { "NCCL call", "NCCL calls" },
	[GST_RANGE] = { "begin or end of an NVTX range", "begins and ends of NVTX ranges" },
	[GST_RANGE_DATA] = { "NVTX payload", "NVTX payloads" },
	[GST_NVTX] = { "word on NVTX", "words on NVTX" },
	[GST_STACK] = { "stack", "stacks" },
	[GST_STACK_AT] = { "use of a stack", "uses of stacks" },
	[GST_OBJECT] = { "object", "objects" },
	[GST_CODE] = { "code object", "code objects" },
	[GST_STACK_COST] = { "cost of stacks", "costs of stacks" },
	[GST_BLOCK] = { "block of memory", "blocks of memory" },
	[GST_MAPPING] = { "mapping", "mappings" },
	[GST_POOL] = { "state of a pool", "states of pools" },
	[GST_MEMORY_LEFT] = { "memory left", "memory left" },
};

static void line(const struct page *p, const char *label, const char *text)
{
	char clean[1024];

	fprintf(p->out, "  %-12s ", label);
	page_wrap(p, INK_PLAIN, 15, 15, text_clean(clean, sizeof(clean), text, sizeof(clean)));
}

static void head(const struct page *p, const struct trace *t)
{
	const struct gst_file_header *h = &t->header;
	static const char *const clocks[] = { "unknown", "time stamp counter", "CLOCK_MONOTONIC", "virtual counter" };
	static const char *const levels[] = { "unknown", "host", "edges", "bursts", "cupti" };
	char text[2560];

	if (t->imported)
		snprintf(text, sizeof(text), "%u on %s", h->pid, h->host[0] ? h->host : "an unnamed host");
	else
		snprintf(text, sizeof(text), "%u (parent %u) on %s", h->pid, h->ppid, h->host);
	line(p, "process", text);
	if (h->cmdline[0] || h->exe[0] || !t->imported)
		line(p, "command", h->cmdline[0] ? h->cmdline : h->exe);
	if (h->run_id[0])
		line(p, "run", h->run_id);
	if (t->imported)
		snprintf(text, sizeof(text), "imported from %s: times are as it has them",
			 strcmp(t->imported->tool, "nsys") == 0 ? "Nsight Systems" : "Kineto");
	else
		snprintf(text, sizeof(text), "clock %s, device timing %s, recorder %s",
			 clocks[h->clock < 4 ? h->clock : 0], levels[h->device_level < 5 ? h->device_level : 0],
			 h->shim[0] ? h->shim : "unnamed");
	line(p, "how", text);
	if (measured_why_not(t)) {
		snprintf(text, sizeof(text), "asked for; not used, or not to the end: %s", measured_why_not(t));
		line(p, "cupti", text);
	}
}

#define DRIFT_MOST 100e-6 /* two crystals drift apart by less: what is known no better is not worth saying */
#define CLOCKS 64         /* devices whose clocks are looked at */

static size_t add_drift(char *text, size_t size, const struct device_fit *fit)
{
	if (fit->drift_error <= 0 || fit->drift_error >= DRIFT_MOST)
		return 0;
	return (size_t)snprintf(text, size, "; runs %.1f ppm %s, give or take %.1f", fabs(fit->drift) * 1e6,
				fit->drift < 0 ? "slow" : "fast", fit->drift_error * 1e6);
}

static void clock_fit(const struct page *p, const struct device_fit *fit, int64_t host_error_ns)
{
	char text[320], number[TEXT_SHORT], worst[TEXT_SHORT], half[TEXT_SHORT];
	size_t used;

	used = (size_t)snprintf(text, sizeof(text), "its clock is tied to the host's by %s timing event%s, within %s",
				text_count(number, fit->edges), fit->edges == 1 ? "" : "s",
				text_duration(worst, fit->error_ns));
	if (strcmp(text_duration(half, fit->median_error_ns), worst) != 0)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ", half of them within %s", half);
	used += add_drift(text + used, sizeof(text) - used, fit);
	if (fit->residual_ns)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "; they contradict each other by %s",
					 text_duration(worst, fit->residual_ns));
	if (host_error_ns)
		snprintf(text + used, sizeof(text) - used, "; the host's own is known within %s",
			 text_duration(worst, host_error_ns));
	line(p, "", text);
}

/* Of the host's clock where the device's edges fired, the worst. */
static int64_t host_error(const struct trace *t, const struct firing *firings, uint32_t device)
{
	int64_t worst_ns = 0;

	for (size_t i = 0; t->clock && i < t->n_edges; i++)
		if (t->edges[i].device == device && firings[i].exact)
			worst_ns = max64(worst_ns, clock_error_ns(t->clock, firings[i].time_ns));
	return worst_ns;
}

/* How well the device's clock is tied to the host's, and that to CLOCK_MONOTONIC. */
static enum err_kind device_clock(const struct page *p, const struct trace *t, const struct firing *firings,
				  uint32_t device, struct error *e)
{
	struct device_fit fit;

	if (!device_clock_fit(&fit, t, firings, device))
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	if (fit.edges)
		clock_fit(p, &fit, host_error(t, firings, device));
	else if (t->imported)
		line(p, "", "its times are on the host's clock as the profiler converted them");
	else if (t->n_measured)
		line(p, "", "its times are converted to the host's clock by CUPTI");
	else
		line(p, "", "its clock is not tied to the host's: there are no timing events");
	return ERR_NONE;
}

static enum err_kind devices(const struct page *p, const struct trace *t, struct error *e)
{
	struct firing *firings;
	enum err_kind kind = device_clock_map(&firings, t, e);

	for (size_t i = 0; i < t->n_devices && !kind; i++) {
		const struct device *d = &t->devices[i];
		char text[160], bytes[TEXT_SHORT];

		if (d->memory_bytes || !t->imported)
			snprintf(text, sizeof(text), "%u: %s, %s", d->device, d->name,
				 text_bytes(bytes, d->memory_bytes));
		else
			snprintf(text, sizeof(text), "%u%s%s", d->device, d->name[0] ? ": " : "", d->name);
		line(p, "device", text);
		if (i < CLOCKS)
			kind = device_clock(p, t, firings, t->devices[i].device, e);
	}
	spill_free(firings);
	return kind;
}

static void threads(const struct page *p, const struct trace *t)
{
	for (size_t i = 0; i < t->n_threads; i++) {
		char text[64];

		snprintf(text, sizeof(text), "%u %.16s", t->threads[i].tid, t->threads[i].name);
		line(p, i ? "" : "threads", text);
		if (i == 7 && t->n_threads > 9) {
			snprintf(text, sizeof(text), "and %zu more", t->n_threads - 8);
			line(p, "", text);
			break;
		}
	}
}

static void records(const struct page *p, const struct trace *t)
{
	char text[512], number[TEXT_SHORT];
	size_t used;

	if (t->imported) {
		char calls[48], work[48], ranges[48], ops[TEXT_SHORT];

		snprintf(text, sizeof(text), "%s, %s, %s, %s of what threads were at",
			 words_number(calls, t->n_calls, "call", "calls"),
			 words_number(work, t->n_measured, "piece of device work", "pieces of device work"),
			 words_number(ranges, t->n_ranges, "range", "ranges"), text_count(ops, t->host_ops.n));
		line(p, "records", text);
		return;
	}
	used = (size_t)snprintf(text, sizeof(text), "%s in %" PRIu64 " segment%s:", text_count(number, t->records),
				t->segments, t->segments == 1 ? "" : "s");
	for (int i = 1; i <= TRACE_TYPES; i++) {
		int type = i % TRACE_TYPES;

		if (t->types[type] && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, " %s %s",
						 text_count(number, t->types[type]),
						 !type_names[type].one ? "of a later version"
						 : t->types[type] == 1 ? type_names[type].one
								       : type_names[type].many);
	}
	line(p, "records", text);
}

struct call_count {
	uint64_t n;
	uint16_t hook;
};

static int by_count(const void *a, const void *b)
{
	const struct call_count *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n ? 1 : -1) : (int)x->hook - (int)y->hook;
}

static void families(const struct page *p, const struct trace *t)
{
#define FAMILY_NAME(name, value) [value] = #name,
	static const char *const names[GST_FAMILY_COUNT] = { GST_FAMILIES(FAMILY_NAME) };
#undef FAMILY_NAME
	uint64_t counts[GST_FAMILY_COUNT] = { 0 };
	char text[1024], number[TEXT_SHORT];
	size_t used = 0;

	for (size_t i = 0; i < t->n_calls; i++)
		counts[t->calls[i].family < GST_FAMILY_COUNT ? t->calls[i].family : 0] += call_count(&t->calls[i]);
	text[0] = 0;
	for (int i = 0; i < GST_FAMILY_COUNT; i++) {
		if (counts[i] && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s", used ? ", " : "",
						 text_count(number, counts[i]), names[i]);
	}
	line(p, "calls", text[0] ? text : "none");
}

static enum err_kind top_calls(const struct page *p, const struct trace *t, struct error *e)
{
	struct call_count *list = array_new(t->n_hooks, sizeof(*list));
	char text[128], number[TEXT_SHORT];

	if (!list)
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	for (size_t i = 0; i < t->n_hooks; i++)
		list[i].hook = (uint16_t)i;
	for (size_t i = 0; i < t->n_calls; i++) {
		if (t->calls[i].hook < t->n_hooks)
			list[t->calls[i].hook].n++;
	}
	array_sort(list, t->n_hooks, sizeof(*list), by_count);
	for (size_t i = 0; i < t->n_hooks && i < TOP_CALLS && list[i].n; i++) {
		const char *name = t->hooks[list[i].hook];

		snprintf(text, sizeof(text), "%s %.80s", text_count(number, list[i].n), name ? name : "unknown");
		line(p, i ? "" : "most called", text);
	}
	free(list);
	return ERR_NONE;
}

static void injected(const struct page *p, const struct trace *t)
{
	char text[1024], number[TEXT_SHORT];
	uint64_t nameless = 0;
	size_t used = 0;

	for (size_t i = 0; i < GST_HOOK_MAX && used < sizeof(text); i++) {
		if (i >= t->n_hooks || !t->hooks[i])
			nameless += t->injected[i];
		else if (t->injected[i])
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %.80s", used ? ", " : "",
						 text_count(number, t->injected[i]), t->hooks[i]);
	}
	if (nameless && used < sizeof(text))
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s whose names are lost",
					 used ? ", " : "", text_count(number, nameless));
	line(p, "added calls", used ? text : "none");
}

enum err_kind report_info_tables(const struct page *p, const struct trace *t, struct error *e)
{
	enum err_kind kind;

	head(p, t);
	kind = devices(p, t, e);
	if (kind)
		return kind;
	threads(p, t);
	records(p, t);
	families(p, t);
	kind = top_calls(p, t, e);
	injected(p, t);
	return kind;
}
