/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_ranks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"
#include "tools/text_symbol.h"

#define HOST 12
#define RANK 16 /* bytes */
#define ROWS 16 /* ranks that are listed; of more, those that cost most */
#define FEW 8   /* … of one screen, where that is all of them; else */
#define WORST 4

/* ---- the table ---------------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
	const struct rank_member *x = *(const struct rank_member *const *)a, *y = *(const struct rank_member *const *)b;

	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : (x > y) - (x < y);
}

static int by_cost(const void *a, const void *b)
{
	const struct rank_member *x = *(const struct rank_member *const *)a, *y = *(const struct rank_member *const *)b;

	return x->cost_ns != y->cost_ns ? (x->cost_ns < y->cost_ns ? 1 : -1) : by_rank(a, b);
}

/* "-": it is not known. */
static const char *rank_number(char buf[RANK], const struct rank_member *m)
{
	if (m->rank == GST_NONE)
		snprintf(buf, RANK, "-");
	else
		snprintf(buf, RANK, "%" PRIu32, m->rank);
	return buf;
}

static const char *step_length(char buf[TEXT_SHORT], const struct steps_usual *usual)
{
	return usual->n ? text_duration(buf, usual->median.length_ns) : "-";
}

/* Not: there is communication, and of none of it what it is. */
static bool is_split(const struct summary_device *d)
{
	return d->comm_wait_ns || d->comm_transfer_ns || !d->comm_unsplit_ns;
}

static void row(const struct page *p, const struct summary *s, const struct rank_member *m)
{
	const struct summary_device *d = &s->devices[m->device];
	const struct device_timeline *t = d->timeline;
	char host[64], rank[RANK], step[TEXT_SHORT], compute[TEXT_SHORT],
		wait[TEXT_SHORT] = "-", transfer[TEXT_SHORT] = "-", idle[TEXT_SHORT], last[TEXT_SHORT] = "-";

	if (m->timed)
		text_percent(last, (int64_t)m->last, (int64_t)m->timed);
	if (is_split(d)) {
		text_percent(wait, d->comm_wait_ns, d->span_ns);
		text_percent(transfer, d->comm_transfer_ns, d->span_ns);
	}
	fprintf(p->out, "  %4s  %-*s %6" PRIu32 " %9s %7s %7s %7s %7s", rank_number(rank, m), HOST,
		text_clean(host, sizeof(host), m->trace->header.host, HOST), d->number,
		step_length(step, &d->phases.usual), text_percent(compute, t->compute_ns, d->span_ns), wait, transfer,
		text_percent(idle, t->idle_ns, d->span_ns));
	page_ink(p, m->timed && m->last > m->timed / 2 ? INK_WARN : INK_PLAIN, " %7s\n", last);
}

/* False: no memory. */
static bool table(const struct page *p, const struct summary *s, size_t n)
{
	const struct rank_member **order = array_new(n, sizeof(const struct rank_member *));
	size_t at = 0, rows = p->style->full ? ROWS : n <= FEW ? FEW : WORST;

	if (!order)
		return false;
	for (size_t i = 0; i < s->ranks.n_members; i++)
		if (rank_is_one(&s->ranks.members[i]))
			order[at++] = &s->ranks.members[i];
	qsort(order, n, sizeof(const struct rank_member *), n > rows ? by_cost : by_rank);
	if (n > rows)
		qsort(order, rows, sizeof(const struct rank_member *), by_rank);
	page_ink(p, INK_DIM, "  %4s  %-*s %6s %9s %7s %7s %7s %7s %7s\n", "rank", HOST, "host", "device", "step",
		 "compute", "waits", "moves", "idle", "last");
	for (size_t i = 0; i < n && i < rows; i++)
		row(p, s, order[i]);
	if (n > rows)
		fprintf(p->out, "  and %zu more that the others wait less for: %s\n", n - rows,
			p->style->full ? "--json has them" : "--full");
	free(order);
	return true;
}

/* Why there is no number. */
static void unsplit_line(const struct page *p, const struct summary *s)
{
	bool unsplit = false;

	for (size_t i = 0; i < s->ranks.n_members; i++)
		unsplit |= rank_is_one(&s->ranks.members[i]) && !is_split(&s->devices[s->ranks.members[i].device]);
	if (!unsplit && !s->ranks.groups_apart)
		return;
	fputs("  ", p->out);
	page_wrap(
		p, INK_DIM, 2, 4,
		s->ranks.groups_apart
			? "not split into waits and moves where collectives carry no numbers and the ranks have different ones on record"
			: "-: not split into waits and moves: no collective is on record of all its ranks");
}

/* ---- clocks ------------------------------------------------------------------------------------------- */

static void clocks_line(const struct page *p, const struct ranks *r)
{
	char text[512], host[64], p99[TEXT_SHORT], count[TEXT_SHORT];
	uint64_t violations = 0, ends = 0;
	const struct rank_clock *alone = NULL;
	int64_t worst_ns = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->n_clocks; i++) {
		violations += r->clocks[i].violations;
		ends += r->clocks[i].matches;
		worst_ns = max64(worst_ns, r->clocks[i].residual_p99_ns);
		n += r->clocks[i].aligned;
		alone = !r->clocks[i].aligned && !alone ? &r->clocks[i] : alone;
	}
	if (!r->aligned && alone)
		snprintf(
			text, sizeof(text),
			"the clocks are not aligned: %s has too few collectives in common with the others whose ends are known",
			text_clean(host, sizeof(host), alone->header->host[0] ? alone->header->host : "an unnamed host",
				   40));
	else if (!ends)
		return;
	else if (r->n_clocks == 1)
		snprintf(text, sizeof(text), "one clock; of %s ends of collectives 99 %% are within %s of the others'",
			 text_count(count, ends), text_duration(p99, worst_ns));
	else
		snprintf(
			text, sizeof(text),
			"the clocks of %zu hosts are aligned on %s ends of collectives: 99 %% of each host's are within %s of the others'",
			n, text_count(count, ends), text_duration(p99, worst_ns));
	fputs("  ", p->out);
	page_wrap(p, INK_DIM, 2, 4, text);
	if (!violations)
		return;
	snprintf(
		text, sizeof(text),
		"%s times a rank was done before the last had come, which cannot be: do not compare times of different ranks",
		text_count(count, violations));
	fputs("  ", p->out);
	page_wrap(p, INK_WARN, 2, 4, text);
}

/* ---- stragglers --------------------------------------------------------------------------------------- */

/* "Longer compute: 5.0 ms before each, the median rank 1.0 ms; most in conv_forward" */
static void why(char *buf, size_t size, const struct straggler *f)
{
	char own[TEXT_SHORT], others[TEXT_SHORT], kernel[128] = "", name[96];
	int64_t n = f->looked_at ? (int64_t)f->looked_at : 1;

	if (!f->excess_ns) {
		snprintf(buf, size, "What it does meanwhile is not known");
		return;
	}
	text_duration(own, f->own_ns / n);
	text_duration(others, f->median_ns / n);
	if (f->kernel)
		snprintf(kernel, sizeof(kernel), "; most in %s", text_symbol(name, sizeof(name), f->kernel_title, 60));
	if (f->doing == RANK_COMPUTE)
		snprintf(buf, size, "Longer compute: %s before each, the median rank %s%s", own, others, kernel);
	else if (f->doing < CAUSE_COUNT)
		snprintf(buf, size, "%s: idle for %s before each, the median rank for %s", rank_doing_name(f->doing),
			 own, others);
	else
		snprintf(buf, size, "Longer %s: %s before each, the median rank %s", rank_doing_name(f->doing), own,
			 others);
}

/* "each other rank waited 4.0 ms for it" */
static void waited(char *buf, size_t size, const struct ranks *r, const struct straggler *f)
{
	int64_t cost_ns = r->members[f->member].cost_ns;
	size_t others = 0, n = f->waiters ? f->waiters : 1;
	char cost[TEXT_SHORT];

	for (size_t i = 0; i < r->n_members; i++)
		others += i != f->member && r->members[i].timed > 0;
	text_duration(cost, cost_ns / (int64_t)n);
	if (n >= others)
		snprintf(buf, size, "each other rank waited %s for it", cost);
	else if (n == 1)
		snprintf(buf, size, "one other rank waited %s for it", cost);
	else
		snprintf(buf, size, "%zu of the others waited %s each for it", n, cost);
}

/* "node7, "; "" where it has no name. */
static const char *host_before(char *buf, size_t size, const struct trace *t)
{
	char host[64];

	snprintf(buf, size, "%s%s", text_clean(host, sizeof(host), t->header.host, 40), t->header.host[0] ? ", " : "");
	return buf;
}

static void straggler_lines(const struct page *p, const struct summary *s, const struct straggler *f)
{
	const struct rank_member *m = &s->ranks.members[f->member];
	char text[1024], rank[RANK], on[72], share[TEXT_SHORT], cost[96], reason[384];

	why(reason, sizeof(reason), f);
	waited(cost, sizeof(cost), &s->ranks, f);
	snprintf(text, sizeof(text), "rank %s (%sdevice %" PRIu32 ") came last to %s of the collectives, and %s. %s",
		 rank_number(rank, m), host_before(on, sizeof(on), m->trace), s->devices[m->device].number,
		 text_percent(share, (int64_t)m->last, (int64_t)m->timed), cost, reason);
	fputs("  ", p->out);
	page_wrap(p, INK_WARN, 2, 4, text);
	if (!f->owned || !f->owned->n_evidence)
		return;
	snprintf(text, sizeof(text), "%s in gap %zu: %s", confidence_name((enum confidence)f->owned->confidence),
		 s->devices[m->device].first_gap + f->gap_number, f->owned->evidence[0]);
	fputs("    ", p->out);
	page_wrap(p, INK_DIM, 4, 6, text);
}

enum err_kind report_ranks(const struct page *p, const struct summary *s, struct error *e)
{
	const struct ranks *r = &s->ranks;
	size_t n = 0;

	for (size_t i = 0; i < r->n_members; i++)
		n += rank_is_one(&r->members[i]);
	if (n < 2)
		return ERR_NONE;
	page_ink(p, INK_TITLE, "\nranks");
	page_ink(p, INK_DIM, "  of their time; waits: for the last rank to come; last: came last\n");
	if (!table(p, s, n))
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	unsplit_line(p, s);
	clocks_line(p, r);
	for (size_t i = 0; i < r->n_stragglers; i++)
		straggler_lines(p, s, &r->stragglers[i]);
	return ERR_NONE;
}
