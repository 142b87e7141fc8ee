/* SPDX-License-Identifier: BSD-2-Clause */
#include "range_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/fnv.h"
#include "tools/spill.h"
#include "tools/text.h"
#include "tools/text_put.h"

#define OPEN_MAX_DEPTH 64 /* ranges that a thread is in at once; others above are left out */
#define NODES_MAX 65536   /* beyond, a path ends where it is */
#define NAME_BYTES 96
#define ROOM 16    /* bytes of a buffer that another name is begun in */
#define NUMBERS 32 /* different ones that are told apart */

/* ---- the tree ---------------------------------------------------------------------------------------------------------- */

static uint64_t hash_node(uint32_t parent, const char *name)
{
	uint64_t h = fnv1a(FNV_BEGIN ^ parent, name, strlen(name));

	return (h ^ h >> 29) * 0x9e3779b97f4a7c15u >> 20;
}

static uint32_t *place_of(struct range_stacks *s, uint32_t parent, const char *name)
{
	size_t at = hash_node(parent, name);

	for (;; at++) {
		uint32_t *place = &s->places[at & (s->n_places - 1)];
		const struct path_node *node = &s->nodes[*place];

		if (!*place || (node->parent == parent && strcmp(node->name, name) == 0))
			return place;
	}
}

static uint32_t add_node(struct range_stacks *s, uint32_t parent, bool in_step, const char *name)
{
	const char *kept = arena_text(&s->arena, name);

	if (!kept || !array_room(s->nodes, s->n_nodes, s->cap_nodes))
		return UINT32_MAX;
	s->nodes[s->n_nodes] = (struct path_node){ parent, in_step, kept };
	return (uint32_t)s->n_nodes++;
}

/* UINT32_MAX: no memory. */
static uint32_t child(struct range_stacks *s, uint32_t parent, const char *name)
{
	uint32_t *place = place_of(s, parent, name), node;

	if (*place || s->n_nodes >= NODES_MAX)
		return *place ? *place : parent;
	node = add_node(s, parent, s->nodes[parent].in_step, name);
	if (node != UINT32_MAX)
		*place = node;
	return node;
}

static bool tree_begin(struct range_stacks *s)
{
	s->n_places = 4 * NODES_MAX;
	s->places = calloc(s->n_places, sizeof(*s->places));
	return s->places && add_node(s, PATH_NONE, false, "") == PATH_NONE &&
	       add_node(s, PATH_NONE, true, "") == PATH_STEP;
}

/* ---- names -------------------------------------------------------------------------------------------------------------- */

struct numbers { /* at the end of one name of a trace */
	const char *name;
	uint32_t least, most;
};

struct named { /* a hash table, by the text's address; full: every other name counts on */
	struct numbers all[8192];
};

static struct numbers *numbers_of(struct named *n, const char *name)
{
	size_t at = (uintptr_t)name * 0x9e3779b97f4a7c15u >> 48, size = sizeof(n->all) / sizeof(n->all[0]);

	for (size_t i = 0; i < 64; i++) {
		struct numbers *there = &n->all[(at + i) % size];

		if (!there->name || there->name == name)
			return there;
	}
	return NULL;
}

static void note_numbers(struct named *n, const struct trace *t)
{
	memset(n, 0, sizeof(*n));
	for (size_t i = 0; i < t->n_ranges; i++) {
		const struct range *r = &t->ranges[i];
		struct numbers *there = r->numbered && r->name ? numbers_of(n, r->name) : NULL;

		if (!there)
			continue;
		if (!there->name)
			*there = (struct numbers){ r->name, r->number, r->number };
		there->least = r->number < there->least ? r->number : there->least;
		there->most = r->number > there->most ? r->number : there->most;
	}
}

static void label(char buf[NAME_BYTES], struct named *n, const struct range *r)
{
	const struct numbers *there = r->numbered && r->name ? numbers_of(n, r->name) : NULL;
	char whole[1024];

	if (r->numbered && r->name && (!there || there->name != r->name || there->most - there->least >= NUMBERS))
		snprintf(whole, sizeof(whole), "%s#", r->name);
	else
		range_name(whole, sizeof(whole), r);
	text_clean(buf, NAME_BYTES, whole, NAME_BYTES - 8);
}

/* ---- one thread --------------------------------------------------------------------------------------------------------- */

struct opened {
	const struct range *range;
	int64_t end_ns;
	uint32_t node;
};

struct walk {
	struct range_stacks *out;
	struct named *named;
	const struct trace_steps *steps; /* NULL none */
	struct opened open[OPEN_MAX_DEPTH];
	size_t n;
};

static bool is_step(const struct walk *w, const struct range *r)
{
	return w->steps && w->steps->like && w->steps->encloses && r->tid == w->steps->tid &&
	       range_is_like(r, w->steps->like);
}

/* The path of what is open, from the i-th on anew. */
static bool path_from(struct walk *w, size_t i)
{
	for (; i < w->n; i++) {
		uint32_t below = i ? w->open[i - 1].node : PATH_NONE;
		char name[NAME_BYTES];

		if (is_step(w, w->open[i].range)) {
			w->open[i].node = PATH_STEP;
			continue;
		}
		label(name, w->named, w->open[i].range);
		w->open[i].node = child(w->out, below, name);
		if (w->open[i].node == UINT32_MAX)
			return false;
	}
	return true;
}

static bool change(struct walk *w, int64_t at_ns)
{
	const struct opened *top = w->n ? &w->open[w->n - 1] : NULL;
	struct range_stacks *s = w->out;
	struct range_change *last =
		s->n_changes > s->threads[s->n_threads - 1].first ? &s->changes[s->n_changes - 1] : NULL;
	struct range_change now = { at_ns, top ? top->node : PATH_NONE, top ? top->range : NULL };

	if (last && last->at_ns == at_ns) {
		*last = now;
		return true;
	}
	if (!spill_room(s->changes, s->n_changes, s->cap_changes))
		return false;
	s->changes[s->n_changes++] = now;
	return true;
}

/* Ends what ends by then, in the order of ends. */
static bool end_until(struct walk *w, int64_t ns)
{
	for (;;) {
		size_t first = w->n;
		int64_t at_ns;

		for (size_t i = w->n; i-- > 0;)
			if (w->open[i].end_ns <= ns && (first == w->n || w->open[i].end_ns < w->open[first].end_ns))
				first = i;
		if (first == w->n)
			return true;
		at_ns = w->open[first].end_ns;
		memmove(&w->open[first], &w->open[first + 1], (w->n - first - 1) * sizeof(w->open[0]));
		w->n--;
		if (!path_from(w, first) || !change(w, at_ns))
			return false;
	}
}

/* Where all places are taken, the oldest started one that is not known to have ended gives up its own: its end was lost long ago. */
static bool make_place(struct walk *w)
{
	size_t i = 0;

	while (i < w->n && (w->open[i].end_ns != INT64_MAX || w->open[i].range->kind != GST_RANGE_STARTED))
		i++;
	if (w->n < OPEN_MAX_DEPTH || i == w->n)
		return true;
	memmove(&w->open[i], &w->open[i + 1], (w->n - i - 1) * sizeof(w->open[0]));
	w->n--;
	return path_from(w, i);
}

static bool begin(struct walk *w, const struct range *r)
{
	if (!end_until(w, r->begin_ns) || !make_place(w))
		return false;
	if (w->n == OPEN_MAX_DEPTH || r->end_ns <= r->begin_ns)
		return true;
	w->open[w->n++] = (struct opened){ .range = r, .end_ns = r->end_ns };
	return path_from(w, w->n - 1) && change(w, r->begin_ns);
}

/* Of a thread: what it pushed and popped, and what it started and ended itself. */
static bool belongs_to_thread(const struct range *r)
{
	return r->kind == GST_RANGE_PUSHED || (r->kind == GST_RANGE_STARTED && r->tid == r->ended_by);
}

static int by_thread(const void *a, const void *b)
{
	const struct range *x = *(const struct range *const *)a, *y = *(const struct range *const *)b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x > y) - (x < y);
}

static bool add_trace(struct range_stacks *s, struct named *named, const struct trace *t, const struct steps *steps)
{
	const struct range **sorted = spill_new(t->n_ranges, sizeof(*sorted));
	struct walk w = { .out = s, .named = named, .steps = steps_of(steps, t) };
	size_t n = 0;
	bool ok = sorted != NULL;

	note_numbers(named, t);
	for (size_t i = 0; ok && i < t->n_ranges; i++)
		if (belongs_to_thread(&t->ranges[i]))
			sorted[n++] = &t->ranges[i];
	if (ok)
		array_sort(sorted, n, sizeof(*sorted), by_thread);
	for (size_t i = 0; ok && i < n; i++) {
		if (i == 0 || sorted[i - 1]->tid != sorted[i]->tid) {
			ok = array_room(s->threads, s->n_threads, s->cap_threads);
			if (!ok)
				break;
			s->threads[s->n_threads++] =
				(struct thread_ranges){ .trace = t, .tid = sorted[i]->tid, .first = s->n_changes };
		}
		ok = begin(&w, sorted[i]);
		if (ok && (i + 1 == n || sorted[i + 1]->tid != sorted[i]->tid)) {
			ok = end_until(&w, INT64_MAX - 1);
			w.n = 0; /* the others never ended */
			s->threads[s->n_threads - 1].n = s->n_changes - s->threads[s->n_threads - 1].first;
		}
	}
	spill_free(sorted);
	return ok;
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread_ranges *x = a, *y = b;

	if (x->trace != y->trace)
		return x->trace < y->trace ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

enum err_kind range_stacks_build(struct range_stacks *out, const struct run *run, const struct steps *steps,
				 struct error *e)
{
	struct named *named = malloc(sizeof(*named));
	bool ok;

	*out = (struct range_stacks){ .steps = steps };
	ok = named && tree_begin(out);
	for (size_t i = 0; ok && i < run->n_traces; i++)
		ok = !run->traces[i]->n_ranges || add_trace(out, named, run->traces[i], steps);
	free(named);
	if (!ok) {
		range_stacks_free(out);
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	}
	array_sort(out->threads, out->n_threads, sizeof(*out->threads), compare_threads);
	return ERR_NONE;
}

void range_stacks_free(struct range_stacks *s)
{
	free(s->nodes);
	free(s->places);
	spill_free(s->changes);
	free(s->threads);
	arena_free(&s->arena);
	*s = (struct range_stacks){ 0 };
}

/* ---- questions ---------------------------------------------------------------------------------------------------------- */

static bool thread_before(const void *element, const void *key)
{
	return compare_threads(element, key) < 0;
}

static bool change_by(const void *element, const void *key)
{
	return ((const struct range_change *)element)->at_ns <= *(const int64_t *)key;
}

/* NULL: it has no ranges. */
static struct thread_ranges *thread_of(struct range_stacks *s, const struct trace *trace, uint32_t tid)
{
	struct thread_ranges key = { .trace = trace, .tid = tid };
	size_t i = array_first_near(s->threads, s->n_threads, sizeof(*s->threads), thread_before, &key, s->near_thread);

	s->near_thread = i;
	return i < s->n_threads && compare_threads(&s->threads[i], &key) == 0 ? &s->threads[i] : NULL;
}

static struct in_ranges own_at(struct range_stacks *s, const struct trace *trace, uint32_t tid, int64_t ns)
{
	struct in_ranges in = { .until_ns = INT64_MAX, .node = PATH_NONE };
	struct thread_ranges *t = thread_of(s, trace, tid);
	const struct range_change *changes;

	if (!t)
		return in;
	changes = s->changes + t->first;
	t->near = array_first_near(changes, t->n, sizeof(*changes), change_by, &ns, t->near);
	if (t->near < t->n)
		in.until_ns = changes[t->near].at_ns;
	if (t->near) {
		in.node = changes[t->near - 1].node;
		in.innermost = changes[t->near - 1].innermost;
	}
	return in;
}

/* The path `of`, with `below` in front of it. */
static uint32_t graft(struct range_stacks *s, uint32_t below, uint32_t of)
{
	uint32_t parent;

	if (of == PATH_NONE)
		return below;
	parent = graft(s, below, s->nodes[of].parent);
	return parent == UINT32_MAX ? parent : child(s, parent, s->nodes[of].name);
}

bool range_stacks_at(struct range_stacks *s, const struct trace *trace, uint32_t tid, int64_t ns, struct in_ranges *out)
{
	const struct trace_steps *steps = steps_of(s->steps, trace);
	struct in_ranges main;

	*out = own_at(s, trace, tid, ns);
	if (steps && tid != steps->tid && !s->nodes[out->node].in_step) {
		main = own_at(s, trace, steps->tid, ns);
		out->until_ns = main.until_ns < out->until_ns ? main.until_ns : out->until_ns;
		out->node = graft(s, main.node, out->node);
		out->innermost = out->innermost ? out->innermost : main.innermost;
	}
	out->step = steps_near(steps, ns, &s->near_step);
	if (out->step && out->step->end_ns < out->until_ns)
		out->until_ns = out->step->end_ns;
	else if (!out->step && steps && ns < steps->at[0].begin_ns && steps->at[0].begin_ns < out->until_ns)
		out->until_ns = steps->at[0].begin_ns;
	return out->node != UINT32_MAX;
}

size_t range_path_names(const char **names, size_t max, const struct range_stacks *s, uint32_t node)
{
	size_t depth = 0, at;

	for (uint32_t n = node; n > PATH_STEP; n = s->nodes[n].parent)
		depth++;
	at = depth;
	for (uint32_t n = node; n > PATH_STEP; n = s->nodes[n].parent)
		if (--at < max)
			names[at] = s->nodes[n].name;
	return depth < max ? depth : max;
}

const char *range_path(char *buf, size_t size, const struct range_stacks *s, uint32_t node)
{
	const char *names[OPEN_MAX_DEPTH];
	size_t n = range_path_names(names, OPEN_MAX_DEPTH, s, node);
	struct text_put p = text_put_begin(buf, size);

	for (size_t i = 0; i < n && (size_t)(p.last - p.at) + 1 >= ROOM; i++) {
		put_text(&p, i ? " > " : "");
		text_clean(p.at, (size_t)(p.last - p.at) + 1, names[i], size);
		p.at += strlen(p.at);
	}
	return buf;
}
