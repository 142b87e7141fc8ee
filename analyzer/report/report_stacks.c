/* SPDX-License-Identifier: BSD-2-Clause */
/* report_stacks.c: for people. For programs: report_stacks_json.c. */
#include "report_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/stacks_own.h"
#include "summary/call_sites.h"
#include "tools/alloc.h"
#include "tools/text.h"

#define SITES_SHOWN 8
#define SITES_FEW 3 /* of one screen */
#define OBJECTS_SHOWN 6
#define FRAMES_SHOWN 40

static bool any_stacks(const struct summary *s)
{
	for (size_t i = 0; i < s->run->n_traces; i++)
		if (s->run->traces[i]->stacks.n_taken)
			return true;
	return false;
}

/* In all processes; in some there may have been stacks before. */
static bool refused(const struct summary *s)
{
	for (size_t i = 0; i < s->run->n_traces; i++)
		if (!(s->run->traces[i]->stacks.cost.python & GST_STACKS_REFUSED))
			return false;
	return s->run->n_traces > 0;
}

static enum cause_id main_cause(const struct call_site *site)
{
	int best = 0;

	for (int i = 1; i < CAUSE_COUNT; i++)
		if (site->causes[i] > site->causes[best])
			best = i;
	return (enum cause_id)best;
}

static void site_row(const struct page *p, const struct summary *s, const struct call_site *site)
{
	char place[FRAME_WORDS] = "no stack says", time[TEXT_SHORT], share[TEXT_SHORT], line[512], on[24] = "";
	int64_t idle = s->devices[site->device].timeline->idle_ns;
	const char *before = !site->frame ? "" : held_is_before(site->held) ? "before " : "";

	if (site->frame)
		held_words(place, sizeof(place), site->held);
	if (s->n_devices > 1)
		snprintf(on, sizeof(on), "dev%u ", s->devices[site->device].number);
	snprintf(line, sizeof(line), "%s%s%s; %s in %zu gap%s", on, before, place, cause_name(main_cause(site)),
		 site->gaps, site->gaps == 1 ? "" : "s");
	fprintf(p->out, "  %10s %9s  ", text_duration(time, site->idle_ns), text_percent(share, site->idle_ns, idle));
	page_wrap_lines(p, site->frame ? INK_PLAIN : INK_DIM, 24, 26, p->style->full ? 4 : 1, line);
}

/* Have several processes this object, and was it said of an earlier one? Ranks share their libraries. */
static bool was_said(const struct object_file *const *said, size_t n, const struct object_file *o)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(said[i]->file.path, o->file.path) == 0 && said[i]->file.state == o->file.state)
			return true;
	return false;
}

/* Objects that stacks went through and whose functions have no names. */
static void troubles(const struct page *p, const struct run *run)
{
	const struct object_file *said[OBJECTS_SHOWN];
	size_t shown = 0, most = p->style->full ? OBJECTS_SHOWN : 1;

	for (size_t i = 0; i < run->n_traces; i++) {
		const struct stacks *s = &run->traces[i]->stacks;

		for (size_t k = 0; k < s->n_objects && shown < most; k++) {
			const char *trouble = symbols_trouble(s->objects[k].file.state);
			char path[128], line[256];

			if (!trouble || was_said(said, shown, &s->objects[k]))
				continue;
			snprintf(line, sizeof(line), "%s %s",
				 text_clean(path, sizeof(path), s->objects[k].file.path, 100), trouble);
			fputs("  ", p->out);
			page_wrap_lines(p, INK_WARN, 2, 4, p->style->full ? 4 : 1, line);
			said[shown++] = &s->objects[k];
		}
	}
}

/* What it took to know that. */
static void cost(const struct page *p, const struct summary *s)
{
	uint64_t taken = 0, looks = 0, passed = 0;
	double took_ns = 0, lived_ns = 0;
	char taken_text[TEXT_SHORT], looks_text[TEXT_SHORT], passed_text[TEXT_SHORT], took[TEXT_SHORT], line[256];

	for (size_t i = 0; i < s->run->n_traces; i++) {
		const struct trace *t = s->run->traces[i];

		taken += t->stacks.cost.taken;
		looks += t->stacks.cost.looks;
		passed += t->stacks.cost.passed;
		took_ns += (double)t->stacks.cost.taken_ticks * t->ns_per_tick;
		lived_ns += (double)(t->end_ns - t->begin_ns);
	}
	if (!taken && !looks)
		return;
	snprintf(
		line, sizeof(line),
		"%s stacks taken in %s, %.2f %% of the run; %s looks from outside; %s moments passed by for the budget",
		text_count(taken_text, taken),
		text_duration(took, took_ns > 0 && took_ns < 9e18 ? (int64_t)took_ns : 0),
		lived_ns > 0 && took_ns > 0 ? 100 * took_ns / lived_ns : 0, text_count(looks_text, looks),
		text_count(passed_text, passed));
	fputs("  ", p->out);
	page_wrap(p, INK_DIM, 2, 4, line);
}

/* The longest of all devices; of equal ones as the devices stand. */
static int by_idle(const void *a, const void *b)
{
	const struct call_site *x = a, *y = b;

	if (x->idle_ns != y->idle_ns)
		return x->idle_ns > y->idle_ns ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->longest_gap > y->longest_gap) - (x->longest_gap < y->longest_gap);
}

enum err_kind report_call_sites(const struct page *p, const struct summary *s, struct error *e)
{
	struct call_site *sites;
	size_t n, shown = 0, most = p->style->full ? SITES_SHOWN : SITES_FEW;

	if (!any_stacks(s) || !s->n_gaps) {
		if (s->n_gaps && refused(s))
			page_ink(p, INK_DIM,
				 "\nno stacks: the kernel refuses what they are read with, process_vm_readv\n");
		return ERR_NONE;
	}
	sites = call_sites_build(s, &n);
	if (!sites)
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	array_sort(sites, n, sizeof(*sites), by_idle);
	page_ink(p, INK_TITLE, "\nidle time by call site");
	page_ink(p, INK_DIM, "  the statement that the submitting thread was at\n");
	for (size_t i = 0; i < n && shown < most; i++) {
		if (shown && sites[i].idle_ns < s->devices[sites[i].device].timeline->idle_ns / 200)
			continue;
		site_row(p, s, &sites[i]);
		shown++;
	}
	if (n > shown)
		page_ink(p, INK_DIM, "  and %zu more: %s\n", n - shown,
			 p->style->full ? "--json, export --folded" : "--full");
	if (p->style->full)
		cost(p, s);
	troubles(p, s->run);
	free(sites);
	return ERR_NONE;
}

/* ---- of one gap ---- */

static void frame_line(const struct page *p, const struct held *h, const struct stack *stack, uint32_t i)
{
	const struct frame *f = &stack->frames[i];
	const char *where = f->file && f->line ? f->file : f->object && f->line ? text_base(f->object->file.path) : "";
	char words[FRAME_WORDS], file[320], line[FRAME_WORDS + sizeof(file) + 16];

	frame_words(words, sizeof(words), f);
	text_clean(file, sizeof(file), where, 300);
	snprintf(line, sizeof(line), "%s%s%s%s", words, f->inlined ? " (inlined)" : "", *file ? "  " : "", file);
	fprintf(p->out, "        %s", i == h->frame ? "=> " : "   ");
	page_wrap(p, i == h->frame ? INK_TITLE : INK_DIM, 11, 13, line);
}

/* Up to the outermost that is the user's own: what started the program is of no interest. All where none is. */
static size_t frames_told(const struct stack *stack)
{
	size_t own = stack->n_frames;

	while (own > 0 && !frame_is_own(&stack->frames[own - 1]))
		own--;
	return own && own + 1 < stack->n_frames ? own
						: stack->n_frames; /* one that is left out would be a line as well */
}

static void stack_lines(const struct page *p, const struct held *h)
{
	const struct stack *stack = &h->trace->stacks.all[h->stack];
	size_t told = frames_told(stack), shown = told < FRAMES_SHOWN ? told : FRAMES_SHOWN;

	for (uint32_t i = 0; i < shown; i++)
		frame_line(p, h, stack, i);
	if (stack->n_frames > shown)
		page_ink(p, INK_DIM, "           and %zu more%s\n", stack->n_frames - shown,
			 shown == told ? ", none of them yours: --json has them" : "");
	else if (stack->flags & GST_STACK_TRUNCATED)
		page_ink(p, INK_DIM, "           and more that could not be seen\n");
}

void report_held(const struct page *p, const struct gap_cause *c, bool stacks, const struct held **last)
{
	for (size_t i = 0; i < c->n_held; i++) {
		const struct held *h = &c->held[i];
		char place[FRAME_WORDS], length[TEXT_SHORT], line[FRAME_WORDS + 96];

		if (!held_frame(h))
			continue;
		held_words(place, sizeof(place), h);
		snprintf(line, sizeof(line), "%s %s, for %s", held_by_name(h->by), place,
			 text_duration(length, h->end_ns - h->begin_ns));
		fputs("      ", p->out);
		page_wrap(p, INK_PLAIN, 6, 8, line);
		if (!stacks)
			continue;
		if (!*last || (*last)->trace != h->trace || (*last)->stack != h->stack || (*last)->first != h->first)
			stack_lines(p, h);
		*last = h;
	}
}
