/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "summary/call_sites.h"
#include "tools/alloc.h"

/* Stacks are numbered over all processes. */
static size_t stack_number(const struct run *run, const struct trace *t, uint32_t stack)
{
	size_t number = stack;

	for (size_t i = 0; i < run->n_traces && run->traces[i] != t; i++)
		number += run->traces[i]->stacks.n;
	return number;
}

static void build_id(struct json *j, const struct symbol_object *o)
{
	char hex[SYMBOLS_HEX];

	if (o->n_build_id)
		json_key_text(j, "build_id", symbols_hex(hex, o));
}

static void yes(struct json *j, const char *key, bool is)
{
	if (!is)
		return;
	json_key(j, key);
	json_bool(j, true);
}

/* Keys of a frame within a map. */
static void frame_keys(struct json *j, const struct frame *f)
{
	json_key_text(j, "function", f->function);
	if (f->mangled)
		json_key_text(j, "mangled", f->mangled);
	if (f->file)
		json_key_text(j, "file", f->file);
	if (f->line)
		json_key_int(j, "line", f->line);
	if (f->python) {
		json_key_text(j, "language", "python");
	} else {
		json_key_uint(j, "address", f->address);
		if (f->object) {
			json_key_text(j, "module", f->object->file.path);
			build_id(j, &f->object->file);
		}
		if (!f->line && *f->function)
			json_key_uint(j, "offset", f->offset);
	}
	yes(j, "inlined", f->inlined);
	yes(j, "own", f->own);
}

const char *report_held_by(enum held_by by)
{
	static const char *const keys[] = { "none", "launch-site", "next-call", "between", "look", "call" };

	return keys[by];
}

void report_held_json(struct json *j, const struct summary *s, const struct gap_cause *c)
{
	bool any = false;

	for (size_t i = 0; i < c->n_held; i++)
		any |= c->held[i].by != HELD_UNKNOWN;
	if (!any)
		return;
	json_key_array(j, "held");
	for (size_t i = 0; i < c->n_held; i++) {
		const struct held *h = &c->held[i];

		json_map(j);
		json_key_int(j, "begin_ns", h->begin_ns);
		json_key_int(j, "end_ns", h->end_ns);
		json_key_text(j, "by", report_held_by(h->by));
		if (held_frame(h)) {
			frame_keys(j, held_frame(h));
			if (h->from_line)
				json_key_int(j, "from_line", h->from_line);
			json_key_int(j, "stack", (int64_t)stack_number(s->run, h->trace, h->stack));
			json_key_int(j, "frame", h->frame);
		}
		json_map_end(j);
	}
	json_array_end(j);
}

static void site_json(struct json *j, const struct summary *s, const struct call_site *site)
{
	json_map(j);
	json_key_int(j, "device", s->devices[site->device].number);
	json_key_int(j, "idle_ns", site->idle_ns);
	json_key_int(j, "gaps", (int64_t)site->gaps);
	json_key_int(j, "longest_gap", (int64_t)site->longest_gap);
	json_key_text(j, "by", report_held_by(site->held->by));
	if (site->frame) {
		frame_keys(j, site->frame);
		json_key_int(j, "stack", (int64_t)stack_number(s->run, site->held->trace, site->held->stack));
	}
	json_key_map(j, "causes");
	for (int i = 0; i < CAUSE_COUNT; i++)
		if (site->causes[i])
			json_key_int(j, cause_name((enum cause_id)i), site->causes[i]);
	json_map_end(j);
	json_map_end(j);
}

struct marks {
	bool *used; /* by number of the stack */
	const struct run *run;
	size_t bytes_left;
};

#define FRAME_BYTES 160 /* its keys and numbers */

/* In the page <, > and & take six bytes each. */
static size_t text_bytes(const char *text)
{
	size_t bytes = 0;

	for (; text && *text; text++)
		bytes += strchr("<>&\"\\", *text) ? 6 : 1;
	return bytes;
}

static size_t stack_bytes(const struct stack *stack)
{
	size_t bytes = FRAME_BYTES;

	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct frame *f = &stack->frames[i];

		bytes += FRAME_BYTES + text_bytes(f->function) + text_bytes(f->mangled) + text_bytes(f->file) +
			 (f->object ? text_bytes(f->object->file.path) : 0);
	}
	return bytes;
}

static void mark_stack(struct marks *m, const struct trace *t, uint32_t stack)
{
	bool *used = &m->used[stack_number(m->run, t, stack)];
	size_t bytes = *used || m->bytes_left == SIZE_MAX ? 0 : stack_bytes(&t->stacks.all[stack]);

	if (*used || bytes > m->bytes_left)
		return;
	*used = true;
	m->bytes_left -= bytes;
}

static void mark(struct marks *m, const struct held *h)
{
	if (h->trace && h->stack != GST_NONE)
		mark_stack(m, h->trace, h->stack);
}

static void mark_gap(struct marks *m, const struct gap_story *g)
{
	for (size_t c = 0; c < g->n_causes; c++)
		for (size_t k = 0; k < g->causes[c].n_held; k++)
			mark(m, &g->causes[c].held[k]);
}

static void mark_gaps(struct marks *m, const struct summary *s, const struct report_scope *scope)
{
	for (size_t i = 0; scope->page && i < scope->n_stacks; i++)
		mark_gap(m, summary_gap(s, scope->stacks[i], NULL));
	for (size_t i = 0; !scope->page && i < s->n_gaps; i++)
		mark_gap(m, summary_gap(s, i, NULL));
}

static bool is_launch_site(const struct stack_at *a)
{
	return a->why == GST_STACK_SITE && a->kernel;
}

static void mark_launch_sites(struct marks *m, const struct run *run, const struct report_scope *scope)
{
	size_t left = report_rows(scope, SIZE_MAX);

	for (size_t i = 0; i < run->n_traces; i++) {
		const struct trace *t = run->traces[i];

		for (size_t k = 0; k < t->stacks.n_taken; k++)
			if (is_launch_site(&t->stacks.taken[k]) && left && left--)
				mark_stack(m, t, t->stacks.taken[k].stack);
	}
}

/* Where each kernel was first launched from, one entry for each place. */
static void launch_sites_json(struct json *j, const struct run *run, const struct report_scope *scope)
{
	size_t left = report_rows(scope, SIZE_MAX);

	json_key_array(j, "launch_sites");
	for (size_t i = 0; i < run->n_traces; i++) {
		const struct trace *t = run->traces[i];

		for (size_t k = 0; k < t->stacks.n_taken; k++) {
			const struct stack_at *a = &t->stacks.taken[k];
			const struct held h = { .trace = t, .stack = a->stack };
			const struct frame *f;

			if (!is_launch_site(a) || !left)
				continue;
			left--;
			f = held_own_frame(&h);
			json_map(j);
			json_key_int(j, "pid", t->header.pid);
			json_key_text(j, "kernel", t->kernels[a->kernel]);
			if (kernel_title(t, a->kernel) != t->kernels[a->kernel])
				json_key_text(j, "demangled", kernel_title(t, a->kernel));
			if (f)
				frame_keys(j, f);
			json_key_int(j, "stack", (int64_t)stack_number(run, t, a->stack));
			json_map_end(j);
		}
	}
	json_array_end(j);
}

static void stack_json(struct json *j, const struct trace *t, const struct stack *stack, size_t number)
{
	json_map(j);
	json_key_int(j, "stack", (int64_t)number);
	json_key_int(j, "pid", t->header.pid);
	yes(j, "truncated", stack->flags & GST_STACK_TRUNCATED);
	json_key_array(j, "frames");
	for (size_t i = 0; i < stack->n_frames; i++) {
		json_map(j);
		frame_keys(j, &stack->frames[i]);
		json_map_end(j);
	}
	json_array_end(j);
	json_map_end(j);
}

/* Those that the gaps' stories, the call sites and the launch sites name. */
static bool stacks_json(struct json *j, const struct summary *s, const struct call_site *sites, size_t n_sites,
			const struct report_scope *scope)
{
	size_t n = 0, at = 0;
	struct marks marks;
	bool *used;

	for (size_t i = 0; i < s->run->n_traces; i++)
		n += s->run->traces[i]->stacks.n;
	used = array_new(n, sizeof(*used));
	if (!used)
		return false;
	marks = (struct marks){ used, s->run, scope->page ? REPORT_PAGE_STACKS : SIZE_MAX };
	for (size_t i = 0; i < n_sites; i++)
		mark(&marks, sites[i].held);
	mark_gaps(&marks, s, scope);
	mark_launch_sites(&marks, s->run, scope);
	json_key_array(j, "stacks");
	for (size_t i = 0; i < s->run->n_traces; i++)
		for (size_t k = 0; k < s->run->traces[i]->stacks.n; k++, at++)
			if (used[at])
				stack_json(j, s->run->traces[i], &s->run->traces[i]->stacks.all[k], at);
	json_array_end(j);
	free(used);
	return true;
}

static void objects_json(struct json *j, const struct run *run)
{
	json_key_array(j, "objects");
	for (size_t i = 0; i < run->n_traces; i++) {
		const struct stacks *s = &run->traces[i]->stacks;

		for (size_t k = 0; k < s->n_objects; k++) {
			const struct symbol_object *o = &s->objects[k].file;
			const char *trouble = symbols_trouble(o->state);

			json_map(j);
			json_key_int(j, "pid", run->traces[i]->header.pid);
			json_key_text(j, "path", o->path);
			build_id(j, o);
			yes(j, "lines", o->dwarf);
			if (trouble)
				json_key_text(j, "trouble", trouble);
			json_map_end(j);
		}
	}
	json_array_end(j);
}

static void cost_json(struct json *j, const struct run *run)
{
	uint64_t taken = 0, looks = 0, passed = 0, failed = 0, frames = 0, stacks = 0, untracked = 0, missing = 0;
	double taken_ns = 0;
	uint32_t budget = 0;

	for (size_t i = 0; i < run->n_traces; i++) {
		const struct trace *t = run->traces[i];
		const struct gst_stack_cost *c = &t->stacks.cost;

		taken += c->taken;
		looks += c->looks;
		passed += c->passed;
		failed += c->failed;
		frames += c->frames;
		stacks += c->stacks;
		untracked += c->untracked;
		missing += t->stacks.missing;
		taken_ns += (double)c->taken_ticks * t->ns_per_tick;
		budget = c->budget_ppm > budget ? c->budget_ppm : budget;
	}
	json_key_map(j, "stack_cost");
	json_key_int(j, "taken", (int64_t)taken);
	json_key_int(j, "looks", (int64_t)looks);
	json_key_int(j, "passed", (int64_t)passed);
	json_key_int(j, "failed", (int64_t)failed);
	json_key_int(j, "frames", (int64_t)frames);
	json_key_int(j, "stacks", (int64_t)stacks);
	json_key_int(j, "untracked", (int64_t)untracked);
	json_key_int(j, "missing", (int64_t)missing);
	json_key_int(j, "taken_ns", taken_ns > 0 && taken_ns < 9e18 ? (int64_t)taken_ns : 0);
	json_key_int(j, "budget_ppm", budget);
	json_map_end(j);
}

enum err_kind report_stacks_json(struct json *j, const struct summary *s, const struct report_scope *scope,
				 struct error *e)
{
	size_t n = 0;
	struct call_site *sites = call_sites_build(s, &n);
	bool ok = sites != NULL;

	n = report_rows(scope, n);
	json_key_array(j, "call_sites");
	for (size_t i = 0; ok && i < n; i++)
		site_json(j, s, &sites[i]);
	json_array_end(j);
	launch_sites_json(j, s->run, scope);
	ok = ok && stacks_json(j, s, sites, n, scope);
	free(sites);
	objects_json(j, s->run);
	cost_json(j, s->run);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}
