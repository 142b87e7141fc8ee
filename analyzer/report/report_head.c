/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_head.h"

#include <stdio.h>
#include <string.h>

#include "tools/ns.h"
#include "tools/text.h"

static const char *ending(const struct summary *s)
{
	return s->running ? ", still running" : s->cut ? ", cut short" : s->unknown ? ", cut short or still going" : "";
}

/* From the first to the last that is known of the processes of one clock. */
static int64_t recorded_on(const struct summary *s, uint32_t clock)
{
	int64_t begin = INT64_MAX, end = 0;

	for (size_t i = 0; i < s->run->n_traces; i++) {
		if (s->ranks.clock_of[i] != clock)
			continue;
		begin = min64(begin, s->run->traces[i]->begin_ns);
		end = max64(end, s->run->traces[i]->end_ns);
	}
	return end - begin;
}

static const struct trace *busiest(const struct summary *s)
{
	const struct trace *t = s->run->traces[0];

	for (size_t i = 0; i < s->run->n_traces; i++)
		if (s->run->traces[i]->n_calls > t->n_calls)
			t = s->run->traces[i];
	return t;
}

/* By whom, where not by us. */
static const char *report_recorder(const struct summary *s)
{
	if (!s->imported)
		return "";
	if (strcmp(s->source, "kineto") == 0)
		return "by Kineto ";
	return strcmp(s->source, "nsys") == 0 ? "by Nsight Systems " : "";
}

const char *report_title(char *buf, size_t size, const struct summary *s, size_t columns)
{
	const struct trace *t = busiest(s);
	const char *command = text_command(t->header.cmdline[0] ? t->header.cmdline : t->header.exe);

	return text_clean(buf, size, command[0] ? command : text_base(t->path), columns);
}

const char *report_subtitle(char buf[REPORT_SUBTITLE], const struct summary *s)
{
	const struct trace *t = busiest(s);
	char host[168], length[TEXT_SHORT], more[32] = "", traces[40] = "";
	size_t processes = s->run->n_traces - s->run->windows_more;
	int64_t recorded = 0;

	for (uint32_t i = 0; i < s->ranks.n_clocks; i++)
		recorded = max64(recorded, recorded_on(s, i));
	if (s->ranks.n_clocks > 1)
		snprintf(more, sizeof(more), " and %zu more", s->ranks.n_clocks - 1);
	if (s->run->windows_more)
		snprintf(traces, sizeof(traces), " in %zu traces", s->run->n_traces);
	snprintf(buf, REPORT_SUBTITLE, "%zu process%s%s on %s%s, recorded %sfor %s%s", processes,
		 processes == 1 ? "" : "es", traces,
		 text_clean(host, sizeof(host), t->header.host[0] ? t->header.host : "an unnamed host", 40), more,
		 report_recorder(s), text_duration(length, recorded), ending(s));
	return buf;
}
