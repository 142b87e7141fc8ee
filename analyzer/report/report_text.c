/* SPDX-License-Identifier: BSD-2-Clause */
/* report_text.c: the report of one screen: what the device did, why it was idle, the longest gaps, what to do, how far to trust it. */
#include "report.h"

#include <inttypes.h>

#include "report_advice.h"
#include "report_devices.h"
#include "report_gaps.h"
#include "report_head.h"
#include "report_memory.h"
#include "report_phases.h"
#include "report_ranks.h"
#include "report_stacks.h"
#include "report_trust.h"

static void head(const struct page *p, const struct summary *s)
{
	char command[512], line[REPORT_SUBTITLE];

	page_ink(p, INK_TITLE, "%s\n", report_title(command, sizeof(command), s, p->style->columns));
	fprintf(p->out, "%s\n", report_subtitle(line, s));
}

static bool any_damage(const struct run *run)
{
	for (size_t i = 0; i < run->n_traces; i++)
		if (run->traces[i]->damage.kind)
			return true;
	return false;
}

/* Of one screen memory and trust stand together. */
static void last_lines(const struct page *p, const struct summary *s)
{
	if (!p->style->full)
		fputc('\n', p->out);
	report_memory(p, s);
	report_trust(p, s);
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
		last_lines(&p, s);
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
	kind = report_advice(&p, s, e);
	if (kind)
		return kind;
	last_lines(&p, s);
	return ERR_NONE;
}
