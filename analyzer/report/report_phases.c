/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_phases.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report_steps.h"
#include "report_words.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"

#define PATH_MAX_NAMES 64
#define ROWS 8   /* phases that are listed; */
#define FEW 3    /* … of one screen, */
#define LINES 2  /* and devices on it whose steps are told of */
#define CAUSES 2 /* … each with so many of its causes */
#define LEAST 20 /* … that have more than one part in so many of its time */
#define NAME 30

/* ---- JSON --------------------------------------------------------------------------------------------------------------- */

static void causes(struct json *j, const int64_t causes_ns[CAUSE_COUNT])
{
	json_key_map(j, "causes");
	for (int i = 0; i < CAUSE_COUNT; i++)
		json_key_int(j, cause_name(i), causes_ns[i]);
	json_map_end(j);
}

static void step_json(struct json *j, const struct summary_device *d, size_t index)
{
	const struct step_idle *s = &d->phases.steps[index];
	char name[160];

	json_map(j);
	json_key_int(j, "index", (int64_t)index);
	json_key_int(j, "device", d->number);
	json_key_text(j, "name", step_name(name, sizeof(name), s->step));
	json_key_text(j, "kind", s->step->kind == STEP ? "step" : "between");
	json_key_text(j, "by", s->step->range ? "ranges" : "launches");
	json_key_int(j, "begin_ns", s->step->begin_ns);
	json_key_int(j, "end_ns", s->step->end_ns);
	json_key_int(j, "idle_ns", s->idle_ns);
	causes(j, s->causes_ns);
	json_map_end(j);
}

static void phase_json(struct json *j, const struct summary *s, const struct summary_device *d, const struct phase *p)
{
	const char *names[PATH_MAX_NAMES];
	size_t n = range_path_names(names, PATH_MAX_NAMES, &s->ranges, p->node);

	json_map(j);
	json_key_int(j, "device", d->number);
	json_key_array(j, "path");
	for (size_t i = 0; i < n; i++)
		json_text(j, names[i]);
	json_array_end(j);
	json_key(j, "in_step");
	json_bool(j, s->ranges.nodes[p->node].in_step);
	json_key_int(j, "idle_ns", p->idle_ns);
	causes(j, p->causes_ns);
	json_map_end(j);
}

static void steps_json(struct json *j, const struct summary *s)
{
	json_key_array(j, "steps");
	for (size_t i = 0; i < s->n_devices; i++)
		for (size_t k = 0; k < s->devices[i].phases.n_steps; k++)
			step_json(j, &s->devices[i], k);
	json_array_end(j);
}

void report_phases_json(struct json *j, const struct summary *s, const struct report_scope *scope)
{
	if (!scope->page)
		steps_json(j, s);
	report_steps_usual_json(j, s, scope);
	json_key_array(j, "phases");
	for (size_t i = 0; i < s->n_devices; i++)
		for (size_t k = 0; k < report_rows(scope, s->devices[i].phases.n_phases); k++)
			phase_json(j, s, &s->devices[i], &s->devices[i].phases.phases[k]);
	json_array_end(j);
}

/* ---- text --------------------------------------------------------------------------------------------------------------- */

/* "device 0: 57 steps (step 1 to step 57), half of them within 12.0 ms; the device was idle in 34 % of them, longest in step 12: 5.1 ms" */
static bool steps_line(const struct page *p, const struct summary *s, const struct summary_device *d)
{
	const struct device_phases *of = &d->phases;
	int64_t *lengths = array_new(of->n_steps, sizeof(*lengths)), idle = 0, whole = 0;
	char line[1024], device[32] = "", name[96], last_name[96], worst[96], count[TEXT_SHORT], half[TEXT_SHORT],
			 share[TEXT_SHORT], most[TEXT_SHORT];
	const struct step_idle *idlest = NULL, *first = NULL, *last = NULL;
	size_t n = 0;

	if (!lengths)
		return false;
	for (size_t i = 0; i < of->n_steps; i++) {
		const struct step_idle *step = &of->steps[i];

		if (step->step->kind != STEP)
			continue;
		first = first ? first : step;
		last = step;
		lengths[n] = step->step->end_ns - step->step->begin_ns;
		whole = sum64(whole, lengths[n++]);
		idle = sum64(idle, step->idle_ns);
		idlest = !idlest || step->idle_ns > idlest->idle_ns ? step : idlest;
	}
	if (s->n_devices > 1)
		snprintf(device, sizeof(device), "device %" PRIu32 ": ", d->number);
	if (n)
		snprintf(
			line, sizeof(line),
			"%s%s steps (%s to %s), half of them within %s; the device was idle in %s of them, longest in %s: %s",
			device, text_count(count, n), step_name(name, sizeof(name), first->step),
			step_name(last_name, sizeof(last_name), last->step),
			text_duration(half, array_median_low(lengths, n)), text_percent(share, idle, whole),
			step_name(worst, sizeof(worst), idlest->step), text_duration(most, idlest->idle_ns));
	free(lengths);
	if (!n)
		return true;
	fputs("  ", p->out);
	page_wrap(p, INK_PLAIN, 2, 4, line);
	return true;
}

/* The phases of all devices, by node. */
struct all {
	struct phase *at;
	size_t n;
	int64_t idle_ns;
};

static int by_node(const void *a, const void *b)
{
	const struct phase *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

static int by_idle(const void *a, const void *b)
{
	const struct phase *x = a, *y = b;

	return x->idle_ns != y->idle_ns ? (x->idle_ns < y->idle_ns ? 1 : -1) : by_node(a, b);
}

static bool add_up(struct all *out, const struct summary *s)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < s->n_devices; i++)
		n += s->devices[i].phases.n_phases;
	*out = (struct all){ .at = array_new(n, sizeof(*out->at)) };
	if (!out->at)
		return false;
	for (size_t i = 0; i < s->n_devices; i++)
		for (size_t k = 0; k < s->devices[i].phases.n_phases; k++)
			out->at[out->n++] = s->devices[i].phases.phases[k];
	array_sort(out->at, out->n, sizeof(*out->at), by_node);
	for (size_t i = 0; i < out->n; i++) {
		struct phase *last = kept ? &out->at[kept - 1] : NULL;

		out->idle_ns = sum64(out->idle_ns, out->at[i].idle_ns);
		if (!last || last->node != out->at[i].node) {
			out->at[kept++] = out->at[i];
			continue;
		}
		last->idle_ns = sum64(last->idle_ns, out->at[i].idle_ns);
		for (int c = 0; c < CAUSE_COUNT; c++)
			last->causes_ns[c] = sum64(last->causes_ns[c], out->at[i].causes_ns[c]);
	}
	out->n = kept;
	array_sort(out->at, out->n, sizeof(*out->at), by_idle);
	return true;
}

/* 0 to 100, rounded down: two shares make no more than the whole. */
static int percent(int64_t part, int64_t whole)
{
	return (int)(whole > INT64_MAX / 100 ? part / (whole / 100) : part * 100 / whole);
}

void causes_mainly(char *buf, size_t size, int64_t idle_ns, const int64_t causes_ns[CAUSE_COUNT])
{
	bool said[CAUSE_COUNT] = { false };
	size_t used = 0;

	buf[0] = 0;
	for (int row = 0; row < CAUSES; row++) {
		int best = -1;

		for (int i = 0; i < CAUSE_COUNT; i++)
			if (!said[i] && causes_ns[i] > idle_ns / LEAST && (best < 0 || causes_ns[i] > causes_ns[best]))
				best = i;
		if (best < 0 || used >= size)
			return;
		said[best] = true;
		used += (size_t)snprintf(buf + used, size - used, "%s%s %d %%", used ? ", " : "", cause_name(best),
					 percent(causes_ns[best], idle_ns));
	}
}

static void phase_row(const struct page *p, const struct summary *s, const struct phase *phase, int64_t idle_ns)
{
	char path[512], clean[NAME + 4], time[TEXT_SHORT], share[TEXT_SHORT], why[128];

	if (phase->node == PATH_NONE)
		snprintf(path, sizeof(path), "(in no range)");
	else if (phase->node == PATH_STEP)
		snprintf(path, sizeof(path), "(step, in no range of it)");
	else
		range_path(path, sizeof(path), &s->ranges, phase->node);
	causes_mainly(why, sizeof(why), phase->idle_ns, phase->causes_ns);
	fprintf(p->out, "  %-*s", NAME, text_clean(clean, sizeof(clean), path, NAME - 1));
	fprintf(p->out, " %9s %8s  ", text_duration(time, phase->idle_ns),
		text_percent(share, phase->idle_ns, idle_ns));
	page_wrap_lines(p, INK_DIM, NAME + 23, NAME + 23, p->style->full ? 2 : 1, why);
}

static bool only_outside(const struct all *all)
{
	return all->n == 1 && all->at[0].node == PATH_NONE;
}

/* Has this device a line of its own? Of one screen with many devices only the one whose steps were idle longest. */
static bool has_line(const struct page *p, const struct summary *s, size_t device)
{
	int64_t most = -1;
	size_t idlest = 0;

	if (p->style->full || s->n_devices <= LINES)
		return true;
	for (size_t i = 0; i < s->n_devices; i++) {
		int64_t idle = s->devices[i].timeline->idle_ns;

		if (s->devices[i].phases.n_steps && idle > most) {
			most = idle;
			idlest = i;
		}
	}
	return device == idlest;
}

enum err_kind report_phases(const struct page *p, const struct summary *s, struct error *e)
{
	struct all all;
	bool ok = add_up(&all, s), titled = false;
	size_t rows = p->style->full ? ROWS : FEW;

	for (size_t i = 0; ok && i < s->n_devices; i++) {
		if (!s->devices[i].phases.n_steps || !has_line(p, s, i))
			continue;
		if (!titled)
			page_ink(p, INK_TITLE, "\nsteps and phases");
		if (!titled)
			page_ink(p, INK_DIM, "  by %s%s\n", s->devices[i].phases.of->like ? "the program's own " : "",
				 s->devices[i].phases.of->like ? words_ranges(s->devices[i].phases.of->trace)
							       : "what repeats in its launches");
		titled = true;
		ok = steps_line(p, s, &s->devices[i]);
		if (ok)
			report_outliers(p, &s->devices[i]);
	}
	if (ok && all.n && all.idle_ns && !only_outside(&all)) {
		page_ink(p, INK_TITLE, "%s  %-*s", titled ? "" : "\n", NAME, "idle in phase");
		page_ink(p, INK_DIM, " %9s %8s  %s\n", "time", "of idle", "mainly");
		for (size_t i = 0; i < all.n && i < rows && all.at[i].idle_ns; i++)
			phase_row(p, s, &all.at[i], all.idle_ns);
		if (all.n > rows)
			page_ink(p, INK_DIM, "  and %zu more: %s\n", all.n - rows,
				 p->style->full ? "--json has them" : "--full");
	}
	free(all.at);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}
