/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_owners.h"

#include <stdlib.h>

#include "report_chain.h"
#include "report_stacks.h"
#include "report_totals.h"
#include "tools/alloc.h"
#include "tools/text.h"

#define TOLD_PART 50 /* what owns less of the gap than one part of so many has no stack */

/* stacks: what held the thread is told with its stack. */
static void cause_lines(const struct page *p, const struct gap *g, const struct gap_cause *c, bool stacks,
			const struct held **last)
{
	char from[TEXT_SHORT], length[TEXT_SHORT], share[TEXT_SHORT];

	fprintf(p->out, "  %-13s ", text_offset(from, c->begin_ns - g->begin_ns));
	page_bar(p, INK_CAUSE, c->end_ns - c->begin_ns, g->end_ns - g->begin_ns, 12);
	fprintf(p->out, " %10s %8s  ", text_duration(length, c->end_ns - c->begin_ns),
		text_percent(share, c->end_ns - c->begin_ns, g->end_ns - g->begin_ns));
	page_ink(p, INK_CAUSE, "%s", cause_name(c->cause));
	page_ink(p, INK_DIM, ", %s\n", confidence_name(c->confidence));
	report_chain(p, c);
	for (size_t i = 0; i < c->n_evidence; i++) {
		if (c->evidence[i] == c->place)
			continue; /* with its stack, below */
		fputs("      ", p->out);
		page_wrap(p, INK_DIM, 6, 8, c->evidence[i]);
	}
	report_held(p, c, stacks && c->end_ns - c->begin_ns >= (g->end_ns - g->begin_ns) / TOLD_PART, last);
}

/* Shorter ones than this are not listed one by one. */
static bool shortest_shown(const struct gap_story *g, size_t most, int64_t *least_ns)
{
	int64_t *lengths = array_new(g->n_causes, sizeof(*lengths));

	if (!lengths)
		return false;
	for (size_t i = 0; i < g->n_causes; i++)
		lengths[i] = g->causes[i].end_ns - g->causes[i].begin_ns;
	array_sort(lengths, g->n_causes, sizeof(*lengths), array_by_int64);
	*least_ns = g->n_causes > most ? lengths[g->n_causes - most] : 0;
	free(lengths);
	return true;
}

bool report_owners(const struct page *p, const struct gap_story *g, size_t most, bool stacks)
{
	int64_t least_ns, left[CAUSE_COUNT] = { 0 }, left_ns = 0;
	const struct held *last = NULL;
	size_t shown = 0;
	char line[256], length[TEXT_SHORT];

	if (!shortest_shown(g, most, &least_ns))
		return false;
	for (size_t i = 0; i < g->n_causes; i++) {
		const struct gap_cause *c = &g->causes[i];
		int64_t ns = c->end_ns - c->begin_ns;

		if (ns >= least_ns && shown < most) {
			cause_lines(p, g->gap, c, stacks, &last);
			shown++;
			continue;
		}
		left[c->cause] += ns;
		left_ns += ns;
	}
	if (shown == g->n_causes)
		return true;
	totals_causes(left, left_ns, line, sizeof(line));
	fprintf(p->out, "  and %zu shorter pieces, %s", g->n_causes - shown, text_duration(length, left_ns));
	page_wrap(p, INK_PLAIN, 40, 4, line);
	return true;
}
