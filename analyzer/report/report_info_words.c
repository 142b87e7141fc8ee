/* SPDX-License-Identifier: BSD-2-Clause */
/* report_info_words.c: a file in sentences. Each loss says when, how much and why; the verdict says what may be done with the rest. */
#include "report_info.h"

#include <string.h>

#include "report_words.h"
#include "tools/text.h"

/* What there is besides the driver's calls: " and 3 NCCL calls", "" where there is nothing. */
static const char *others(char text[128], const struct trace *t)
{
	uint64_t n = 0;
	char count[48], ranges[48];

	for (size_t i = 0; i < t->n_nccl; i++)
		n += t->nccl[i].flags & GST_NCCL_OURS ? 0 : nccl_calls_of(&t->nccl[i]);
	text[0] = '\0';
	words_number(count, n, "NCCL call", "NCCL calls");
	words_number(ranges, t->n_ranges,
		     t->imported && strcmp(t->imported->tool, "kineto") == 0 ? "user annotation" : "NVTX range",
		     words_ranges(t));
	if (n && t->n_ranges)
		snprintf(text, 128, ", %s and %s", count, ranges);
	else if (n || t->n_ranges)
		snprintf(text, 128, " and %s", n ? count : ranges);
	return text;
}

/* "from 2026-11-21 10:12:01 to 10:53:04 UTC"; within two seconds, "begun 2026-11-21 10:12:01 UTC" */
static void when_recorded(char text[160], const struct trace *t)
{
	char begin[64], end[64];

	words_time_of_day(begin, t, words_from_ns(t), NULL);
	words_time_of_day(end, t, words_until_ns(t), begin);
	if (t->life == LIFE_RUNNING)
		snprintf(text, 160, "from %s until now: it is still running", begin);
	else if (words_until_ns(t) - words_from_ns(t) < 2000000000)
		snprintf(text, 160, "begun %s", begin);
	else
		snprintf(text, 160, "from %.*s to %s", (int)(strlen(begin) > 4 ? strlen(begin) - 4 : 0), begin, end);
}

/* Why there are no ranges, where somebody wanted that. */
static void slot(struct words *w)
{
	char tool[200];

	if (w->t->nvtx.what == GST_NVTX_TAKEN && w->t->nvtx.tool && w->t->nvtx.tool[0])
		words_say(w, INK_PLAIN, "No NVTX ranges: NVTX_INJECTION64_PATH belongs to another tool, %s.",
			  text_clean(tool, sizeof(tool), w->t->nvtx.tool, 120));
	else if (w->t->nvtx.what == GST_NVTX_TAKEN)
		words_say(w, INK_PLAIN, "No NVTX ranges: NVTX_INJECTION64_PATH was set to nothing.");
	else if (w->t->nvtx.what == GST_NVTX_OFF)
		words_say(w, INK_PLAIN, "No NVTX ranges: GPUSHIM_NVTX=off.");
}

/* Likewise stacks. */
static void stacks(struct words *w)
{
	const struct gst_stack_cost *c = &w->t->stacks.cost;

	if (c->python & GST_STACKS_REFUSED)
		words_say(w, INK_PLAIN, "%s: the kernel refuses what they are read with, process_vm_readv.",
			  c->taken || c->looks ? "No stacks from some moment on" : "No stacks");
}

static void recorded(struct words *w)
{
	const struct trace *t = w->t;
	const struct gst_file_header *h = &t->header;
	char calls[48], threads[48], streams[48], devices[48], when[160], length[TEXT_SHORT], command[200], more[128];
	const char *base = text_base(h->exe);
	bool timed = !t->imported || h->start_real_ns;

	text_clean(command, sizeof(command), h->cmdline[0] ? text_command(h->cmdline) : *base ? base : "a program", 60);
	when_recorded(when, t);
	w->label = "recorded";
	words_say(w, INK_PLAIN, "%s%s, process %u on %s: %s%s of %s to %s of %s, in %s%s%s.",
		  t->imported ? (strcmp(t->imported->tool, "nsys") == 0 ? "By Nsight Systems: " : "By Kineto: ") : "",
		  command, h->pid, h->host[0] ? h->host : "an unnamed host",
		  t->imported ? words_number(calls, t->n_calls, "call", "calls")
			      : words_number(calls, t->n_calls, "driver call", "driver calls"),
		  others(more, t), words_number(threads, words_calling_threads(t), "thread", "threads"),
		  words_number(streams, t->n_streams, "stream", "streams"),
		  words_number(devices, t->n_devices, "device", "devices"),
		  text_long(length, words_until_ns(t) - words_from_ns(t)), timed ? ", " : "", timed ? when : "");
	slot(w);
	stacks(w);
}

void report_info_words(const struct page *p, const struct trace *t)
{
	struct words w = { .page = p, .t = t };

	recorded(&w);
	words_lost(&w);
	words_trust(&w);
}
