/* SPDX-License-Identifier: BSD-2-Clause */
/* report_info.c: what a directory and its files hold. */
#include "report_info.h"

#include <string.h>
#include <time.h>

#include "report_comm.h"
#include "tools/text.h"

const char *report_time_of_day(char buf[64], uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000u);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(buf, 64, "%Y-%m-%d %H:%M:%S UTC", &tm))
		strcpy(buf, "unknown");
	return buf;
}

void report_runs(FILE *out, const struct run *run, const struct report_style *style)
{
	const struct page p = { out, style };
	char when[64], command[512];

	page_ink(&p, INK_TITLE, "%d runs\n", run->count);
	page_ink(&p, INK_DIM, "  %4s  %-23s  %9s  %s\n", "run", "begun", "processes", "command");
	for (int i = 0; i < run->count; i++) {
		const struct run_listed *r = &run->listed[i];

		fprintf(out, "  %4d  %-23s  %9zu  %s\n", i, report_time_of_day(when, (uint64_t)r->begin_real_ns),
			r->processes,
			text_clean(command, sizeof(command), text_command(r->command), style->columns - 45));
	}
}

enum err_kind report_info(FILE *out, const struct trace *t, const struct report_style *style, struct error *e)
{
	const struct page p = { out, style };
	char name[512];
	enum err_kind kind;

	page_ink(&p, INK_TITLE, "%s\n", text_clean(name, sizeof(name), t->path, sizeof(name)));
	report_info_words(&p, t);
	fputc('\n', out);
	kind = report_info_tables(&p, t, e);
	return kind ? kind : report_comms(&p, t, e);
}
