/* SPDX-License-Identifier: BSD-2-Clause */
/* report_info.c: what one file holds, what was lost, and whether it can be trusted. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "reader.h"
#include "report_comm.h"
#include "report_page.h"
#include "text.h"

#define TOP_CALLS 8
#define TYPES 11

static const char *const type_names[TYPES] = {
	"other", "calls", "names", "streams", "devices", "anchors", "edges", "polls", "samples", "usages", "threads",
};

struct contents {
	uint64_t types[TYPES];
	uint64_t segments;
	struct reader_counts counts;
};

static enum err_kind count_records(struct contents *c, const struct trace *t, struct error *e)
{
	struct record_view view;
	struct reader *r;
	uint32_t last = GST_NONE;
	enum err_kind kind = reader_open(&r, t->path, e);

	if (kind)
		return kind;
	while (reader_next(r, &view)) {
		c->types[view.record->type < TYPES ? view.record->type : 0]++;
		c->segments += view.segment != last;
		last = view.segment;
	}
	c->counts = reader_counts(r);
	reader_free(r);
	return ERR_NONE;
}

static void line(const struct page *p, const char *label, const char *text)
{
	char clean[1024];

	fprintf(p->out, "  %-12s ", label);
	page_wrap(p, INK_PLAIN, 15, 15, text_clean(clean, sizeof(clean), text, sizeof(clean)));
}

static const char *time_of_day(char buf[64], uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000u);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(buf, 64, "%Y-%m-%d %H:%M:%S UTC", &tm))
		strcpy(buf, "unknown");
	return buf;
}

static void head(const struct page *p, const struct trace *t)
{
	const struct gst_file_header *h = &t->header;
	static const char *const clocks[] = { "unknown", "time stamp counter", "CLOCK_MONOTONIC", "virtual counter" };
	static const char *const levels[] = { "unknown", "host", "edges", "bursts", "cupti" };
	char text[2560], when[64], length[TEXT_SHORT];

	snprintf(text, sizeof(text), "%u (parent %u) on %s", h->pid, h->ppid, h->host);
	line(p, "process", text);
	line(p, "command", h->cmdline[0] ? h->cmdline : h->exe);
	if (h->run_id[0])
		line(p, "run", h->run_id);
	snprintf(text, sizeof(text), "%s, for %s%s", time_of_day(when, h->start_real_ns),
		 text_duration(length, t->end_ns - t->begin_ns),
		 t->life == LIFE_RUNNING   ? "; still running"
		 : t->life == LIFE_CUT     ? "; cut short"
		 : t->life == LIFE_UNKNOWN ? "; cut short, or still going"
					   : "");
	line(p, "recorded", text);
	snprintf(text, sizeof(text), "clock %s, device timing %s, recorder %s", clocks[h->clock < 4 ? h->clock : 0],
		 levels[h->device_level < 5 ? h->device_level : 0], h->shim[0] ? h->shim : "unnamed");
	line(p, "how", text);
}

static void devices(const struct page *p, const struct trace *t)
{
	for (size_t i = 0; i < t->n_devices; i++) {
		char text[160], bytes[TEXT_SHORT];

		snprintf(text, sizeof(text), "%u: %s, %s", t->devices[i].device, t->devices[i].name,
			 text_bytes(bytes, t->devices[i].memory_bytes));
		line(p, "device", text);
	}
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

static void records(const struct page *p, const struct contents *c)
{
	char text[512], number[TEXT_SHORT];
	size_t used;

	used = (size_t)snprintf(text, sizeof(text),
				"%s in %" PRIu64 " segments:", text_count(number, c->counts.records), c->segments);
	for (int i = 1; i <= TYPES; i++) {
		int type = i % TYPES;

		if (c->types[type] && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, " %s %s",
						 text_count(number, c->types[type]), type_names[type]);
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
		counts[t->calls[i].family < GST_FAMILY_COUNT ? t->calls[i].family : 0]++;
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
	line(p, "calls we made", used ? text : "none");
}

/* Everything that stands against trusting it, or that nothing does. */
static void verdict(const struct page *p, const struct trace *t)
{
	const struct gst_counters *c = &t->counters;
	char text[640], number[TEXT_SHORT];
	unsigned against = 0;

	if (t->damage.kind) {
		snprintf(text, sizeof(text), "damaged at byte %" PRIu64 ": %s; what precedes is sound", t->damage.byte,
			 t->damage.text);
		line(p, against++ ? "" : "trust", text);
	}
	if (c->records_dropped) {
		snprintf(text, sizeof(text),
			 "%s records were dropped (disk full, or GPUSHIM_LIMIT): counts are too low",
			 text_count(number, c->records_dropped));
		line(p, against++ ? "" : "trust", text);
	}
	if (c->streams_untracked) {
		snprintf(text, sizeof(text),
			 "%s submissions went to streams beyond the table: device times are not to be trusted",
			 text_count(number, c->streams_untracked));
		line(p, against++ ? "" : "trust", text);
	}
	if (c->entry_points_unknown) {
		snprintf(text, sizeof(text),
			 "%s driver functions that the program looked up are unknown to the recorder",
			 text_count(number, c->entry_points_unknown));
		line(p, against++ ? "" : "trust", text);
	}
	if (c->edges_skipped) {
		snprintf(text, sizeof(text), "%s timing events were not recorded: some gap ends are less exact",
			 text_count(number, c->edges_skipped));
		line(p, against++ ? "" : "trust", text);
	}
	if (t->names_missing) {
		snprintf(text, sizeof(text), "%s names were lost", text_count(number, t->names_missing));
		line(p, against++ ? "" : "trust", text);
	}
	if (t->unknown_records) {
		snprintf(text, sizeof(text), "%s records are of a later version and were skipped",
			 text_count(number, t->unknown_records));
		line(p, against++ ? "" : "trust", text);
	}
	if (t->life == LIFE_RUNNING)
		line(p, against++ ? "" : "trust", "still running: this is how it stood when it was read");
	else if (t->life == LIFE_CUT)
		line(p, against++ ? "" : "trust",
		     "no regular end (killed, or gone through _exit or exec); the last moments may be missing");
	else if (t->life == LIFE_UNKNOWN)
		line(p, against++ ? "" : "trust",
		     "no regular end: killed, or still running elsewhere; the last moments may be missing");
	if (!against)
		line(p, "trust", "complete: nothing dropped, nothing damaged, a regular end");
}

void report_runs(FILE *out, const struct run *run, const struct report_style *style)
{
	const struct page p = { out, style };
	char when[64], command[512];

	page_ink(&p, INK_TITLE, "%d runs\n", run->count);
	page_ink(&p, INK_DIM, "  %4s  %-23s  %9s  %s\n", "run", "begun", "processes", "command");
	for (int i = 0; i < run->count; i++) {
		const struct run_listed *r = &run->listed[i];

		fprintf(out, "  %4d  %-23s  %9zu  %s\n", i, time_of_day(when, (uint64_t)r->begin_real_ns), r->processes,
			text_clean(command, sizeof(command), r->command, style->columns - 45));
	}
}

enum err_kind report_info(FILE *out, const struct trace *t, const struct report_style *style, struct error *e)
{
	const struct page p = { out, style };
	struct contents c = { 0 };
	char name[512];
	enum err_kind kind = count_records(&c, t, e);

	if (kind)
		return kind;
	page_ink(&p, INK_TITLE, "%s\n", text_clean(name, sizeof(name), t->path, sizeof(name)));
	head(&p, t);
	devices(&p, t);
	records(&p, &c);
	families(&p, t);
	kind = top_calls(&p, t, e);
	injected(&p, t);
	verdict(&p, t);
	return kind ? kind : report_comms(&p, t, e);
}
