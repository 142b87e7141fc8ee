/* SPDX-License-Identifier: BSD-2-Clause */
/* report_trust_line.c: how far to trust a report, in two lines: between what the idle time lies, what was lost, what recording cost; and what was
 * not recorded at all. In full: report_trust.c. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "report_trust.h"
#include "tools/ns.h"
#include "tools/text.h"
#include "trace/trace_measured.h"

#define LABEL 8
#define LOST_LINES 3

struct words {
	char text[1024];
	size_t used;
};

static void say(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *w, const char *format, ...)
{
	va_list args;
	int n;

	if (w->used && w->used + 3 < sizeof(w->text)) {
		strcpy(w->text + w->used, "; ");
		w->used += 2;
	}
	va_start(args, format);
	n = vsnprintf(w->text + w->used, sizeof(w->text) - w->used, format, args);
	va_end(args);
	w->used += n < 0 ? 0 : (size_t)n;
	w->used = w->used < sizeof(w->text) ? w->used : sizeof(w->text) - 1;
}

static void say_count(struct words *w, uint64_t n, const char *one, const char *several)
{
	char count[TEXT_SHORT];

	if (n)
		say(w, "%s %s", text_count(count, n), n == 1 ? one : several);
}

static void idle_time(struct words *w, const struct summary *s)
{
	int64_t idle = 0, error = 0, unresolved = 0;
	char low[TEXT_SHORT], high[TEXT_SHORT];

	for (size_t i = 0; i < s->n_devices; i++) {
		const struct device_timeline *d = s->devices[i].timeline;

		idle = sum64(idle, d->idle_ns);
		error = sum64(error, d->idle_error_ns);
		unresolved = sum64(unresolved, d->unresolved_ns);
	}
	if (s->n_devices)
		say(w, "idle %s to %s (%s)", text_duration(low, idle > error ? idle - error : 0),
		    text_duration(high, sum64(sum64(idle, error), unresolved)), s->device_timing);
}

static uint64_t damaged(const struct run *run)
{
	uint64_t n = 0;

	for (size_t i = 0; i < run->n_traces; i++)
		n += run->traces[i]->damage.kind != ERR_NONE;
	for (size_t i = 0; i < run->n_hosts; i++)
		n += run->hosts[i]->damage.kind != ERR_NONE;
	return n;
}

static uint64_t without_cupti(const struct run *run)
{
	uint64_t n = 0;

	for (size_t i = 0; i < run->n_traces; i++)
		n += measured_why_not(run->traces[i]) != NULL;
	return n;
}

/* Several traces of one rank: --trust says what is made of them. */
static void windows(struct words *w, const struct run *run)
{
	if (run->windowed_ranks)
		say_count(w, run->windowed, "rank has several traces, one after the other",
			  "ranks have several traces each, one after the other");
	else
		say_count(w, run->windowed, "process has several traces, one after the other",
			  "processes have several traces each, one after the other");
}

/* What is not in it and should be. */
static void lost(struct words *w, const struct summary *s)
{
	char gone[TEXT_SHORT];

	say_count(w, damaged(s->run), "file is damaged", "files are damaged");
	say_count(w, s->run->n_missing, "trace is not here", "traces are not here");
	if (s->recycled)
		say(w, "the first %s are not in it", text_long(gone, s->begins_late_ns));
	say_count(w, s->records_dropped - s->host_lost, "record dropped", "records dropped");
	say_count(w, s->operations_unlinked - s->measured_unlinked, "operation without device times",
		  "operations without device times");
	say_count(w, s->streams_untracked, "submission to a stream beyond the table",
		  "submissions to streams beyond the table");
	say_count(w, s->host_lost, "host record lost", "host records lost");
	say_count(w, s->host_tasks_lost, "thread not followed", "threads not followed");
	say_count(w, s->definitions_lost, "name given up", "names given up");
	if (s->imported)
		say_count(w, s->operations_lost, "operation without device times", "operations without device times");
	else
		say_count(w, s->operations_lost, "operation without CUPTI's times", "operations without CUPTI's times");
	say_count(w, s->without_work, "launch without its work", "launches without their work");
	say_count(w, s->imported_left_out, "record left out", "records left out");
	say_count(w, s->measured_unlinked, "measured operation without a call", "measured operations without a call");
	say_count(w, s->activities_bad, "measured time cannot be", "measured times cannot be");
	say_count(w, without_cupti(s->run), "process without CUPTI, which was asked for",
		  "processes without CUPTI, which was asked for");
	say_count(w, s->running, "process is still running", "processes are still running");
	say_count(w, s->cut, "process ended without a regular exit", "processes ended without a regular exit");
	say_count(w, s->unknown, "process left no regular end", "processes left no regular end");
}

static void not_recorded(struct words *w, const struct summary *s)
{
	say_count(w, s->entry_points_unknown, "driver function that is not hooked",
		  "driver functions that are not hooked");
	if (s->imported)
		say(w, "who kept threads waiting (an imported trace has no host probes)");
	else if (strcmp(s->host_probes, "none") == 0)
		say(w, "who kept threads waiting (no host probes)");
	else if (strcmp(s->host_probes, "ebpf") != 0)
		say(w, "who kept threads waiting (inferred)");
}

void report_trust_line(const struct page *p, const struct summary *s)
{
	struct words sure = { .used = 0 }, gone = { .used = 0 }, never = { .used = 0 };
	char line[1100];

	idle_time(&sure, s);
	lost(&gone, s);
	if (!gone.used)
		say(&sure, "nothing lost");
	windows(&sure, s->run);
	if (s->imported)
		say(&sure, "what its profiler cost is not known");
	else
		say(&sure, "our own cost %.3f %% of the run time", self_share(&s->self, false) * 100);
	page_ink(p, INK_TITLE, "%-*s", LABEL, "trust");
	page_wrap_lines(p, INK_PLAIN, LABEL, LABEL, 2, sure.text);
	if (gone.used) {
		snprintf(line, sizeof(line), "not whole: %s", gone.text);
		fprintf(p->out, "%*s", LABEL, "");
		page_wrap_lines(p, INK_WARN, LABEL, LABEL, LOST_LINES, line);
	}
	not_recorded(&never, s);
	snprintf(line, sizeof(line), "%s%s%smore: --trust", never.used ? "not recorded: " : "", never.text,
		 never.used ? "; " : "");
	fprintf(p->out, "%*s", LABEL, "");
	page_wrap_lines(p, INK_DIM, LABEL, LABEL, 2, line);
}
