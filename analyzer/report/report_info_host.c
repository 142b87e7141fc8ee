/* SPDX-License-Identifier: BSD-2-Clause */
/* report_info_host.c: a file of host probes in sentences: what was watched and how, what was lost, what it cost. */
#include <errno.h>
#include <string.h>

#include "report_info.h"
#include "report_words.h"
#include "tools/ns.h"
#include "tools/text.h"

static const char *how_words(const struct host_trace *h)
{
	switch (h->probes.how) {
	case GST_PROBES_EBPF:
		return "by eBPF";
	case GST_PROBES_PERF:
		return "by perf_event_open and looks at /proc: who woke whom is not on record";
	case GST_PROBES_PROC:
		return "by looks at /proc alone: times are halfway between two looks, and who woke whom is not on record";
	default:
		return "nobody knows how: the file does not say it";
	}
}

static void count_tasks(const struct host_trace *h, uint64_t *processes, uint64_t *threads, uint64_t *strangers)
{
	*processes = *threads = *strangers = 0;
	for (size_t i = 0; i < h->n_tasks; i++) {
		if (h->tasks[i].flags & GST_TASK_STRANGER) {
			++*strangers;
			continue;
		}
		++*threads;
		*processes += h->tasks[i].tid == h->tasks[i].pid;
	}
}

static void recorded(struct words *w, const struct host_trace *h)
{
	const struct gst_file_header *header = &h->header;
	char command[200], when[64], length[TEXT_SHORT], n[5][48];
	uint64_t processes, threads, strangers;

	count_tasks(h, &processes, &threads, &strangers);
	report_time_of_day(when, header->start_real_ns + ((uint64_t)h->begin_ns - header->start_mono_ns));
	text_clean(command, sizeof(command),
		   header->cmdline[0]        ? text_command(header->cmdline)
		   : *text_base(header->exe) ? text_base(header->exe)
					     : "a program",
		   60);
	w->label = "recorded";
	words_say(w, INK_PLAIN,
		  "what the machine did for %s, process %u on %s, and for all it made, in %s, %s%s%s, %s.", command,
		  header->pid, header->host[0] ? header->host : "an unnamed host",
		  text_long(length, h->end_ns - h->begin_ns), h->life == LIFE_RUNNING ? "from " : "begun ", when,
		  h->life == LIFE_RUNNING ? " until now: it goes on" : "", how_words(h));
	w->label = "followed";
	words_say(w, INK_PLAIN, "%s of %s, and %s that woke them: %s, %s.",
		  words_number(n[0], threads, "thread", "threads"),
		  words_number(n[1], processes, "process", "processes"),
		  words_number(n[2], strangers, "other task", "other tasks"),
		  words_number(n[3], h->n_waits, "wait", "waits"),
		  words_number(n[4], h->n_requests, "block request", "block requests"));
}

/* The probes whose bits are set, or are not: "sched_switch, sched_waking". */
static const char *list_probes(char text[600], uint32_t bits)
{
	static const char *const names[] = {
#define PROBE_NAME(name, bit, text) [bit] = text,
		GST_PROBE_BITS(PROBE_NAME)
#undef PROBE_NAME
	};
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < GST_PROBE_COUNT; i++)
		if (bits >> i & 1 && used < 600)
			used += (size_t)snprintf(text + used, 600 - used, "%s%s", used ? "; " : "", names[i]);
	return text;
}

static void watched(struct words *w, const struct host_trace *h)
{
	const uint32_t all = (1u << GST_PROBE_COUNT) - 1;
	char names[600], wait[TEXT_SHORT], period[TEXT_SHORT];

	if (!h->probes.how)
		return;
	w->label = "watched";
	words_say(w, INK_PLAIN, "%s.",
		  h->probes.watched & all ? list_probes(names, h->probes.watched & all) : "nothing");
	words_say(w, INK_PLAIN, "Waits of %s and more stand one by one, shorter ones are summed up%s%s.",
		  text_duration(wait, h->probes.wait_ns), h->probes.period_ns ? "; a look every " : "",
		  h->probes.period_ns ? text_duration(period, h->probes.period_ns) : "");
	if (~h->probes.watched & all)
		words_say(w, INK_PLAIN, "Not watched: %s.", list_probes(names, ~h->probes.watched & all));
}

static void dropped(struct words *w, const struct host_trace *h)
{
	const struct gst_counters *c = &h->counters;
	uint64_t busy = c->dropped_busy < c->records_dropped ? c->dropped_busy : c->records_dropped;
	char n[48], bytes[TEXT_SHORT];

	if (busy)
		words_say(w, INK_WARN, "%s of pipes and sockets left out, as there were too many.",
			  words_number(n, busy, "end", "ends"));
	if (c->records_dropped == busy)
		return;
	words_number(n, c->records_dropped - busy, "record", "records");
	if (c->drop_errno && c->drop_errno < 4096)
		words_say(w, INK_WARN, "%s found no room in the file (%s).", n, strerror((int)c->drop_errno));
	else if (c->limit_bytes)
		words_say(w, INK_WARN, "%s found no room in the file within its limit of %s.", n,
			  text_bytes(bytes, c->limit_bytes));
	else
		words_say(w, INK_WARN, "%s found no room in the file.", n);
}

static void lost(struct words *w, const struct host_trace *h)
{
	char n[48], gone[TEXT_SHORT];
	int64_t front_ns = since64(h->begin_ns, h->probes.begin);

	w->label = "lost";
	w->any = false;
	if (h->damage.kind)
		words_say(w, INK_WARN, "What stands behind the damage at byte %llu of the file is not used.",
			  (unsigned long long)h->damage.byte);
	if (h->counters.recycled_until && front_ns > 0)
		words_say(w, INK_WARN, "The first %s were given up to go on recording: %s.", text_long(gone, front_ns),
			  words_number(n, h->counters.records_recycled, "record", "records"));
	if (h->probes.events_lost)
		words_say(w, INK_WARN, "%s, as the kernel's buffer was full.",
			  words_number(n, h->probes.events_lost, "event was lost", "events were lost"));
	dropped(w, h);
	if (h->probes.tasks_lost)
		words_say(w, INK_WARN, "%s not followed, as the tables were full.",
			  words_number(n, h->probes.tasks_lost, "thread was", "threads were"));
	if (h->strays)
		words_say(w, INK_WARN, "%s left out: of threads that are not on record, or of no length.",
			  words_number(n, h->strays, "record was", "records were"));
	if (h->life != LIFE_RUNNING && !h->probes.end && !h->damage.kind)
		words_say(
			w, INK_WARN,
			"It has no regular end: of each thread nothing is known behind the last record that shows it running.");
	if (!w->any)
		words_say(w, INK_PLAIN, "nothing.");
}

static void cost(struct words *w, const struct host_trace *h)
{
	char cpu[TEXT_SHORT], share[TEXT_SHORT], kernel[TEXT_SHORT];
	int64_t span = h->end_ns - h->begin_ns, own = (int64_t)(h->counters.own_cpu_ns & INT64_MAX);

	w->label = "cost";
	words_say(w, INK_PLAIN, "%s of CPU time in the collector (%s of one CPU)%s%s%s.", text_duration(cpu, own),
		  text_percent(share, own, span), h->probes.kernel_ns ? ", " : "",
		  h->probes.kernel_ns ? text_duration(kernel, (int64_t)(h->probes.kernel_ns & INT64_MAX)) : "",
		  h->probes.kernel_ns ? " in its probes" : "");
}

void report_info_host(FILE *out, const struct host_trace *h, const struct report_style *style)
{
	const struct page p = { out, style };
	struct words w = { .page = &p, .label = "" };
	char name[512];

	page_ink(&p, INK_TITLE, "%s\n", text_clean(name, sizeof(name), text_base(h->path), sizeof(name)));
	recorded(&w, h);
	watched(&w, h);
	lost(&w, h);
	cost(&w, h);
}
