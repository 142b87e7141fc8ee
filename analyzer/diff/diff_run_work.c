/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_run_work.c: what a device did, by name: how many of each a step has, and what they take where that was measured.
 *
 * An operation is of the step in which it was submitted: that is known exactly at every level of timing, and for each launch of a folded call. One
 * that nobody is known to have submitted is of the step in which it began. */
#include "diff_run.h"

#include <stdlib.h>
#include <string.h>

#include "diff_keep.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#define LONGEST_NS 0x1p56 /* two years: of a damaged trace */

struct counted {
	const char *name;  /* untrusted text; NULL: a kernel's, not looked up yet */
	uint64_t n, timed; /* operations; those of which it is known what they take */
	int64_t ns;
	double bytes;
};

struct counting {
	struct diff_window window;
	const struct run *run;
	struct counted **kernels; /* of each trace, by number, 0 what has no name; NULL: none was seen */
	struct counted *others;   /* what has no number */
	size_t n_others, cap_others;
	size_t trace; /* the one that was asked for last */
};

/* The trace's list; NULL: no memory. */
static struct counted *counted_kernels(struct counting *c, const struct trace *t)
{
	if (c->run->traces[c->trace] != t)
		for (c->trace = 0; c->run->traces[c->trace] != t;)
			c->trace++;
	if (!c->kernels[c->trace])
		c->kernels[c->trace] = array_new(t->n_kernels + 1, sizeof(**c->kernels));
	return c->kernels[c->trace];
}

/* label: lives on */
static struct counted *counted_other(struct counting *c, const char *label)
{
	for (size_t i = 0; i < c->n_others; i++)
		if (strcmp(c->others[i].name, label) == 0)
			return &c->others[i];
	if (!array_room(c->others, c->n_others, c->cap_others))
		return NULL;
	c->others[c->n_others] = (struct counted){ .name = label };
	return &c->others[c->n_others++];
}

/* ---- operations ---- */

/* Of a folded call's launches, how many were submitted before then. */
static uint32_t launches_before(const struct trace *t, const struct call *c, int64_t ns)
{
	return ns <= c->begin_ns ? 0 : launch_begun_by(t, c, ns - 1) + 1;
}

static bool count_folded(struct counting *c, const struct trace *t, const struct call *call)
{
	uint32_t first = launches_before(t, call, c->window.from_ns);
	uint32_t end = launches_before(t, call, c->window.until_ns);
	const struct launch_part *part = launch_part_of(&t->launches, call->args[0]);
	const struct launch *at = launch_at(&t->launches, call->args[0]);
	struct counted *kernels = counted_kernels(c, t);

	for (uint32_t i = first; kernels && i < end; i++) {
		uint32_t name = part->shapes[at[i].shape].name;

		if (c->window.between && !diff_window_has(&c->window, call->begin_ns + (at[i].begin - at->begin)))
			continue;
		kernels[name < t->n_kernels ? name : 0].n++;
	}
	return kernels != NULL;
}

static bool count_one(struct counting *c, const struct op *op)
{
	uint32_t kernel = *op_title(op) ? op_kernel_index(op) : 0;
	struct counted *to = kernel ? counted_kernels(c, op->of->trace) : counted_other(c, op_label(op));

	if (!to)
		return false;
	to += kernel; /* of the others it is the one itself */
	to->n += op->of->count;
	if (op->of->exact) {
		to->timed += op->of->count;
		to->ns = sum64(to->ns, op->end_ns - op->begin_ns);
	}
	if (op->of->class == OP_COPY || op->of->class == OP_MEMSET)
		to->bytes += (double)op_bytes(op);
	return true;
}

static bool count_all(struct counting *c, const struct device_timeline *d)
{
	for (size_t i = 0; i < d->n_ops; i++) {
		const struct op *op = &d->ops[i];

		if (op->of->class == OP_HOSTFN)
			continue;
		if (!op->of->unlinked && call_count(op->call) > 1) {
			if (!count_folded(c, op->of->trace, op->call))
				return false;
		} else if (diff_window_has(&c->window, op->of->unlinked ? op->begin_ns : op->call->begin_ns) &&
			   !count_one(c, op)) {
			return false;
		}
	}
	return true;
}

/* ---- the list ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct counted *)a)->name, ((const struct counted *)b)->name);
}

struct list {
	struct counted *at;
	size_t n, cap;
};

static const char *title_or_none(const struct trace *t, uint32_t kernel)
{
	const char *title = kernel && kernel < t->n_kernels ? kernel_title(t, kernel) : "";

	return *title ? title : OP_NAMELESS;
}

/* t: whose kernels they are, by number; NULL: they have their names. */
static bool gather(struct list *l, const struct counted *from, size_t n, const struct trace *t)
{
	for (size_t i = 0; i < n; i++) {
		if (!from[i].n)
			continue;
		if (!array_room(l->at, l->n, l->cap))
			return false;
		l->at[l->n] = from[i];
		if (t)
			l->at[l->n].name = title_or_none(t, (uint32_t)i);
		l->n++;
	}
	return true;
}

/* What has one name is one, of whichever process. */
static void merge(struct list *l)
{
	size_t n = 0;

	array_sort(l->at, l->n, sizeof(*l->at), by_name);
	for (size_t i = 0; i < l->n; i++) {
		if (!n || by_name(&l->at[n - 1], &l->at[i]) != 0) {
			l->at[n++] = l->at[i];
			continue;
		}
		l->at[n - 1].n += l->at[i].n;
		l->at[n - 1].timed += l->at[i].timed;
		l->at[n - 1].ns = sum64(l->at[n - 1].ns, l->at[i].ns);
		l->at[n - 1].bytes += l->at[i].bytes;
	}
	l->n = n;
}

/* Where some were not measured, they are taken for what the others are. */
static struct diff_kernel kernel_of(const struct counted *c, const char *name, double steps)
{
	double per_step = (double)c->n / steps;
	double ns = c->timed ? (double)c->ns / (double)c->timed * per_step + 0.5 : 0;

	return (struct diff_kernel){ .name = name,
				     .per_step = per_step,
				     .ns_per_step = (int64_t)(ns < LONGEST_NS ? ns : LONGEST_NS),
				     .has_ns = c->timed > 0,
				     .bytes_per_step = c->bytes / steps };
}

static int by_weight(const void *a, const void *b)
{
	const struct diff_kernel *x = a, *y = b;

	if (x->ns_per_step != y->ns_per_step)
		return x->ns_per_step > y->ns_per_step ? -1 : 1;
	if (x->per_step < y->per_step || x->per_step > y->per_step)
		return x->per_step > y->per_step ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool publish(struct diff_run *out, struct diff_run_device *d, const struct list *l, size_t steps)
{
	struct diff_kernel *all = array_new(l->n, sizeof(*all));
	bool ok = all != NULL;

	for (size_t i = 0; ok && i < l->n; i++)
		all[i] = kernel_of(&l->at[i], l->at[i].name, (double)steps);
	if (ok)
		array_sort(all, l->n, sizeof(*all), by_weight);
	d->n_kernels = ok && l->n < DIFF_KERNELS ? l->n : DIFF_KERNELS;
	for (size_t i = 0; ok && i < d->n_kernels; i++)
		ok = (all[i].name = diff_keep_text(&out->texts, all[i].name)) != NULL;
	d->kernels = ok ? diff_keep_list(&out->texts, all, d->n_kernels, sizeof(*all)) : NULL;
	d->n_kernels = d->kernels ? d->n_kernels : 0;
	free(all);
	return d->kernels != NULL;
}

enum err_kind diff_run_add_work(struct diff_run *out, struct diff_run_device *d, const struct summary *s,
				const struct summary_device *of, struct diff_window w, struct error *e)
{
	struct counting c = { .window = w, .run = s->run };
	struct list l = { 0 };
	bool ok;

	c.kernels = array_new(s->run->n_traces, sizeof(*c.kernels));
	ok = c.kernels && count_all(&c, of->timeline) && gather(&l, c.others, c.n_others, NULL);
	for (size_t i = 0; ok && i < s->run->n_traces; i++)
		ok = !c.kernels[i] || gather(&l, c.kernels[i], s->run->traces[i]->n_kernels + 1, s->run->traces[i]);
	if (ok) {
		merge(&l);
		ok = publish(out, d, &l, w.n ? w.n : 1);
	}
	for (size_t i = 0; c.kernels && i < s->run->n_traces; i++)
		free(c.kernels[i]);
	free(c.kernels);
	free(c.others);
	free(l.at);
	return ok ? ERR_NONE : err_no_memory(e, out->path);
}
