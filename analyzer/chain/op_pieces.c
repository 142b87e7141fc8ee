/* SPDX-License-Identifier: BSD-2-Clause */
#include "op_pieces.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"

/* ---- names ---- */

/* trace.ranges are by begin, longer ones first: with the thread before it, equals stay so. */
struct loader_range {
	uint32_t tid, range;
};

static int by_thread(const void *a, const void *b)
{
	const struct loader_range *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Of most traces a few names come again and again, each a text of its own. */
struct known {
	struct {
		const char *name;
		bool loads;
	} at[1024];
};

static bool is_loader(struct known *known, const char *name)
{
	size_t at = (uintptr_t)name * 0x9e3779b97f4a7c15u >> 54;

	if (known->at[at].name != name) {
		known->at[at].name = name;
		known->at[at].loads = loader_by_name(name) != LOADER_NONE;
	}
	return known->at[at].loads;
}

static bool find_ranges(struct op_labels *out, const struct trace *t)
{
	struct loader_range *found = NULL;
	struct known known = { .at = { { 0 } } };
	size_t n = 0, cap = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < t->n_ranges && i < OP_RANGE; i++) {
		const struct range *r = &t->ranges[i];

		if (r->kind != GST_RANGE_PUSHED || r->end_ns == INT64_MAX || !is_loader(&known, r->name))
			continue;
		ok = array_room(found, n, cap);
		if (ok)
			found[n++] = (struct loader_range){ r->tid, (uint32_t)i };
	}
	if (ok)
		array_sort(found, n, sizeof(*found), by_thread);
	out->ranges = ok ? array_new(n, sizeof(*out->ranges)) : NULL;
	for (size_t i = 0; out->ranges && i < n; i++)
		out->ranges[out->n_ranges++] = found[i].range;
	free(found);
	return out->ranges != NULL;
}

bool op_labels_build(struct op_labels *out, const struct trace *t)
{
	const struct host_ops *o = &t->host_ops;

	*out = (struct op_labels){ 0 };
	if (!t->imported && !o->n)
		return true;
	out->of_name = array_new(o->n_names, sizeof(*out->of_name));
	if (!out->of_name)
		return false;
	for (size_t i = 0; i < o->n_names; i++)
		out->of_name[i] = (struct op_label){ .loader = (uint8_t)loader_by_name(o->names[i]),
						     .function = (uint8_t)loader_by_function(o->names[i]),
						     .wants_cpu = off_cpu_wants_cpu(o->names[i]),
						     .window = op_is_window(o->names[i]) };
	return find_ranges(out, t);
}

void op_labels_free(struct op_labels *c)
{
	free(c->of_name);
	free(c->ranges);
	*c = (struct op_labels){ 0 };
}

static enum loader loader_of(const struct op_labels *c, const struct host_op *op)
{
	const struct op_label *label = &c->of_name[op->name];

	return op->kind == HOST_OP_OPERATOR ? label->loader
	       : op->kind == HOST_OP_PYTHON ? label->function
					    : LOADER_NONE;
}

enum loader op_loader_kind(const struct trace *t, const struct op_labels *c, uint32_t number)
{
	if (number & OP_RANGE)
		return loader_by_name(t->ranges[number & ~OP_RANGE].name);
	return number ? loader_of(c, op_of(t, number)) : LOADER_NONE;
}

const char *op_loader_name(char *buf, size_t size, const struct trace *t, uint32_t number)
{
	if (number & OP_RANGE)
		return range_name(buf, size, &t->ranges[number & ~OP_RANGE]);
	return number ? t->host_ops.names[op_of(t, number)->name] : "";
}

int64_t op_loader_ns(const struct trace *t, uint32_t number)
{
	const struct range *r = number & OP_RANGE ? &t->ranges[number & ~OP_RANGE] : NULL;
	const struct host_op *op = op_of(t, number);

	return r ? r->end_ns - r->begin_ns : op ? op->end_ns - op->begin_ns : 0;
}

/* ---- one pass over a thread's ops ---- */

struct opened {
	int64_t end_ns;
	uint32_t number;
};

struct open_ops { /* in the order in which they began; those that are over go when they are at an end of it */
	struct opened *at;
	size_t first, n, cap;
};

struct walk {
	const struct trace *trace;
	const struct op_labels *labels; /* NULL: of overhead */
	struct op_pieces *out;
	struct open_ops all, operators, pythons, loaders;
};

static bool is_open(const struct open_ops *o)
{
	return o->n > o->first;
}

static uint32_t innermost(const struct open_ops *o)
{
	return is_open(o) ? o->at[o->n - 1].number : OP_NONE;
}

static int64_t innermost_end(const struct open_ops *o)
{
	return is_open(o) ? o->at[o->n - 1].end_ns : INT64_MAX;
}

static void drop_over(struct open_ops *o, int64_t ns)
{
	while (is_open(o) && o->at[o->n - 1].end_ns <= ns)
		o->n--;
	while (is_open(o) && o->at[o->first].end_ns <= ns)
		o->first++;
	if (!is_open(o))
		o->first = o->n = 0;
}

static bool push(struct open_ops *o, int64_t end_ns, uint32_t number)
{
	if (!spill_room(o->at, o->n, o->cap))
		return false;
	o->at[o->n++] = (struct opened){ end_ns, number };
	return true;
}

static bool says_the_same(const struct op_piece *a, const struct op_piece *b)
{
	return a->inner == b->inner && a->outer == b->outer && a->python == b->python && a->loader == b->loader;
}

/* From ns on it is as it is now. */
static bool add_piece(struct walk *w, int64_t ns)
{
	struct op_pieces *out = w->out;
	struct op_piece piece = { .begin_ns = ns,
				  .inner = innermost(&w->all),
				  .outer =
					  is_open(&w->operators) ? w->operators.at[w->operators.first].number : OP_NONE,
				  .python = innermost(&w->pythons),
				  .loader = innermost(&w->loaders) };

	if (out->n && out->at[out->n - 1].begin_ns == ns)
		out->n--;
	if (out->n && says_the_same(&out->at[out->n - 1], &piece))
		return true;
	if (!spill_room(out->at, out->n, out->cap))
		return false;
	out->at[out->n++] = piece;
	return true;
}

/* What ends until then ends. Of each list only its ends are looked at: those in between are over unseen, or come to an end of it. */
static bool go_on(struct walk *w, int64_t until_ns)
{
	for (;;) {
		int64_t ns = min64(min64(innermost_end(&w->all), innermost_end(&w->pythons)),
				   min64(innermost_end(&w->loaders), innermost_end(&w->operators)));

		if (is_open(&w->operators))
			ns = min64(ns, w->operators.at[w->operators.first].end_ns);
		if (ns > until_ns || ns == INT64_MAX)
			return true;
		drop_over(&w->all, ns);
		drop_over(&w->operators, ns);
		drop_over(&w->pythons, ns);
		drop_over(&w->loaders, ns);
		if (!add_piece(w, ns))
			return false;
	}
}

static bool begin_loader(struct walk *w, enum loader kind, int64_t end_ns, uint32_t number)
{
	if (kind == LOADER_NONE || (kind == LOADER_EITHER && is_open(&w->loaders)))
		return true;
	return push(&w->loaders, end_ns, number);
}

/* That it waited in a call of the operating system is known: that it had no CPU then says no more. */
static bool is_told(const struct walk *w, const struct host_op *op)
{
	const struct host_op *around = op_of(w->trace, innermost(&w->all));

	return op->kind == HOST_OP_OFF_CPU && !w->labels->of_name[op->name].wants_cpu && around &&
	       around->kind == HOST_OP_OS_CALL;
}

static bool begin_op(struct walk *w, const struct host_op *op)
{
	uint32_t number = (uint32_t)(op - w->trace->host_ops.at) + 1;
	enum loader loader;

	if (!w->labels)
		return op->kind != HOST_OP_OVERHEAD || push(&w->all, op->end_ns, number);
	if (op->kind == HOST_OP_OVERHEAD || w->labels->of_name[op->name].window || is_told(w, op))
		return true;
	loader = loader_of(w->labels, op);
	if (op->kind == HOST_OP_OPERATOR && loader == LOADER_NONE && !push(&w->operators, op->end_ns, number))
		return false;
	if (op->kind == HOST_OP_PYTHON && !push(&w->pythons, op->end_ns, number))
		return false;
	return push(&w->all, op->end_ns, number) && begin_loader(w, loader, op->end_ns, number);
}

static bool begin_range(struct walk *w, uint32_t range)
{
	const struct range *r = &w->trace->ranges[range];

	return begin_loader(w, loader_by_name(r->name), r->end_ns, OP_RANGE | range);
}

static size_t first_range(const struct walk *w, uint32_t tid)
{
	const struct op_labels *c = w->labels;
	size_t low = 0, n = c ? c->n_ranges : 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (w->trace->ranges[c->ranges[middle]].tid < tid)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Next of the thread's loader ranges, if it begins by then; NULL none. */
static const struct range *range_by(const struct walk *w, size_t at, uint32_t tid, int64_t ns)
{
	const struct range *r = w->labels && at < w->labels->n_ranges ? &w->trace->ranges[w->labels->ranges[at]] : NULL;

	return r && r->tid == tid && r->begin_ns <= ns ? r : NULL;
}

static bool walk_thread(struct walk *w, uint32_t tid)
{
	size_t n, range = first_range(w, tid);
	const struct host_op *ops = host_ops_of(&w->trace->host_ops, tid, &n);

	for (size_t i = 0; i <= n && i < OP_RANGE; i++) {
		int64_t ns = i < n ? ops[i].begin_ns : INT64_MAX;
		const struct range *r;

		for (; (r = range_by(w, range, tid, ns)); range++)
			if (!go_on(w, r->begin_ns) || !begin_range(w, w->labels->ranges[range]) ||
			    !add_piece(w, r->begin_ns))
				return false;
		if (!go_on(w, ns))
			return false;
		if (i < n && (!begin_op(w, &ops[i]) || !add_piece(w, ns)))
			return false;
	}
	return true;
}

static bool build(struct op_pieces *out, const struct trace *t, const struct op_labels *c, uint32_t tid)
{
	struct walk w = { .trace = t, .labels = c, .out = out };
	bool ok = walk_thread(&w, tid);

	spill_free(w.all.at);
	spill_free(w.operators.at);
	spill_free(w.pythons.at);
	spill_free(w.loaders.at);
	return ok;
}

bool op_pieces_build(struct op_pieces *out, const struct trace *t, const struct op_labels *c, uint32_t tid)
{
	return build(out, t, c, tid);
}

bool op_pieces_build_overhead(struct op_pieces *out, const struct trace *t, uint32_t tid)
{
	return build(out, t, NULL, tid);
}

void op_pieces_free(struct op_pieces *p)
{
	spill_free(p->at);
	*p = (struct op_pieces){ 0 };
}

static bool begun_by(const void *element, const void *key)
{
	return ((const struct op_piece *)element)->begin_ns <= *(const int64_t *)key;
}

size_t op_pieces_at(const struct op_pieces *p, int64_t ns)
{
	size_t behind = array_first(p->at, p->n, sizeof(*p->at), begun_by, &ns);

	return behind ? behind - 1 : 0;
}
