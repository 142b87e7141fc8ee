/* SPDX-License-Identifier: BSD-2-Clause */
/* report_text.c: the report of one screen: what the device did, why it was idle, the longest gaps, what to do, how far to trust it. */
#include "report.h"

#include <inttypes.h>

#include "ns.h"
#include "report_advice.h"
#include "report_devices.h"
#include "report_gaps.h"
#include "report_memory.h"
#include "report_phases.h"
#include "report_ranks.h"
#include "report_stacks.h"
#include "report_trust.h"
#include "text.h"

static const char *ending(const struct summary *s)
{
	return s->running ? ", still running" : s->cut ? ", cut short" : s->unknown ? ", cut short or still going" : "";
}

static const char *title(const struct trace *t)
{
	const char *command = text_command(t->header.cmdline[0] ? t->header.cmdline : t->header.exe);

	return command[0] ? command : text_base(t->path);
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

static void head(const struct page *p, const struct summary *s)
{
	const struct trace *t = s->run->traces[0];
	char command[512], host[64], length[TEXT_SHORT], more[32] = "";
	int64_t recorded = 0;

	for (size_t i = 0; i < s->run->n_traces; i++)
		if (s->run->traces[i]->n_calls > t->n_calls)
			t = s->run->traces[i];
	for (uint32_t i = 0; i < s->ranks.n_clocks; i++)
		recorded = max64(recorded, recorded_on(s, i));
	if (s->ranks.n_clocks > 1)
		snprintf(more, sizeof(more), " and %zu more", s->ranks.n_clocks - 1);
	page_ink(p, INK_TITLE, "%s\n", text_clean(command, sizeof(command), title(t), p->style->columns));
	fprintf(p->out, "%zu process%s on %s%s, recorded for %s%s\n", s->run->n_traces,
		s->run->n_traces == 1 ? "" : "es",
		text_clean(host, sizeof(host), t->header.host[0] ? t->header.host : "an unnamed host", 40), more,
		text_duration(length, recorded), ending(s));
}

static bool any_damage(const struct run *run)
{
	for (size_t i = 0; i < run->n_traces; i++)
		if (run->traces[i]->damage.kind)
			return true;
	return false;
}

enum err_kind report_text(FILE *out, const struct summary *s, const struct report_style *style, size_t top,
			  struct error *e)
{
	const struct page p = { out, style };
	struct totals all = { 0 };
	enum err_kind kind;

	if (s->run->n_traces)
		head(&p, s);
	if (!s->n_devices) {
		if (any_damage(s->run))
			fprintf(out,
				"\nnothing can be analysed: the damage may have taken work for the device that is older "
				"than all that is left\n");
		else
			fprintf(out,
				"\nno device work was recorded: %" PRIu64
				" driver calls, none of which put work on a device\n",
				s->self.calls);
		report_memory(&p, s);
		report_trust(&p, s);
		return ERR_NONE;
	}
	for (size_t i = 0; i < s->n_devices; i++)
		totals_add(&all, &s->devices[i]);
	report_devices(&p, s, &all);
	kind = report_ranks(&p, s, e);
	if (!kind)
		kind = report_phases(&p, s, e);
	if (!kind)
		kind = report_call_sites(&p, s, e);
	if (!kind)
		kind = report_gaps(&p, s, top, e);
	if (kind)
		return kind;
	report_memory(&p, s);
	kind = report_advice(&p, s, e);
	if (kind)
		return kind;
	report_trust(&p, s);
	return ERR_NONE;
}
