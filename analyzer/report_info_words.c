/* SPDX-License-Identifier: BSD-2-Clause */
/* report_info_words.c: a file in sentences. Each loss says when, how much and why; the verdict says what may be done with the rest. */
#include "report_info.h"

#include <string.h>

#include "report_words.h"
#include "text.h"

/* " and 3 NCCL calls", "" where there are none. */
static const char *nccl_calls(char text[64], const struct trace *t)
{
	uint64_t n = 0;
	char count[48];

	for (size_t i = 0; i < t->n_nccl; i++)
		n += t->nccl[i].flags & GST_NCCL_OURS ? 0 : nccl_calls_of(&t->nccl[i]);
	text[0] = '\0';
	if (n)
		snprintf(text, 64, " and %s", words_number(count, n, "NCCL call", "NCCL calls"));
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

static void recorded(struct words *w)
{
	const struct trace *t = w->t;
	const struct gst_file_header *h = &t->header;
	char calls[48], threads[48], streams[48], devices[48], when[160], length[TEXT_SHORT], command[200], nccl[64];
	const char *base = text_base(h->exe);

	text_clean(command, sizeof(command), h->cmdline[0] ? text_command(h->cmdline) : *base ? base : "a program", 60);
	when_recorded(when, t);
	w->label = "recorded";
	words_say(w, INK_PLAIN, "%s, process %u on %s: %s%s of %s to %s of %s, in %s, %s.", command, h->pid,
		  h->host[0] ? h->host : "an unnamed host",
		  words_number(calls, t->n_calls, "driver call", "driver calls"), nccl_calls(nccl, t),
		  words_number(threads, words_calling_threads(t), "thread", "threads"),
		  words_number(streams, t->n_streams, "stream", "streams"),
		  words_number(devices, t->n_devices, "device", "devices"),
		  text_long(length, words_until_ns(t) - words_from_ns(t)), when);
}

void report_info_words(const struct page *p, const struct trace *t)
{
	struct words w = { .page = p, .t = t };

	recorded(&w);
	words_lost(&w);
	words_trust(&w);
}
