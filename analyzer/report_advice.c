/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_advice.h"

#include <string.h>

#include "text.h"

#define ADVICE_ROWS 3

static const struct gap_cause *best_example(const struct summary *s, enum cause_id id, size_t *number)
{
	const struct gap_cause *best = NULL;

	for (size_t i = 0; i < s->n_devices; i++) {
		const struct attribution *a = &s->devices[i].attribution;

		for (size_t k = 0; k < a->n_gaps; k++) {
			const struct gap_cause *c = totals_main_cause(&a->gaps[k], (int)id);

			if (c && (!best || c->end_ns - c->begin_ns > best->end_ns - best->begin_ns)) {
				best = c;
				*number = s->devices[i].first_gap + k;
			}
		}
	}
	return best;
}

static void advice_row(const struct page *p, const struct summary *s, const struct totals *t, enum cause_id id)
{
	char share[TEXT_SHORT], line[EVIDENCE_BYTES * 2], ceiling[64] = "";
	const struct gap_cause *example;
	size_t number = 0;

	if (id != CAUSE_unexplained && t->causes[id] < t->span)
		snprintf(ceiling, sizeof(ceiling), "; without it at most %.1f %% faster",
			 100.0 * (double)t->causes[id] / (double)(t->span - t->causes[id]));
	fputs("  ", p->out);
	page_ink(p, INK_CAUSE, "%s", cause_name(id));
	snprintf(line, sizeof(line), "%s of idle: %s%s", text_percent(share, t->causes[id], t->idle), cause_title(id),
		 ceiling);
	fputs("  ", p->out);
	page_wrap(p, INK_PLAIN, (unsigned)strlen(cause_name(id)) + 4, 4, line);
	snprintf(line, sizeof(line), "-> %s", cause_advice(id));
	fputs("    ", p->out);
	page_wrap(p, INK_PLAIN, 4, 7, line);
	example = best_example(s, id, &number);
	if (!example)
		return;
	snprintf(line, sizeof(line), "%s in gap %zu: %s", confidence_name(example->confidence), number,
		 example->evidence[0]);
	fputs("    ", p->out);
	page_wrap(p, INK_DIM, 4, 7, line);
}

void report_advice(const struct page *p, const struct summary *s, const struct totals *t)
{
	enum cause_id order[CAUSE_COUNT];
	int n = totals_rank(t->causes, order), shown = 0;

	for (int i = 0; i < n && shown < ADVICE_ROWS; i++) {
		if (shown && t->causes[order[i]] < t->span / 100)
			break;
		if (!shown)
			page_ink(p, INK_TITLE, "\nwhat to do\n");
		advice_row(p, s, t, order[i]);
		shown++;
	}
}
