/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_contents.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/fnv.h"

#define NO_NAME 1
#define GRAPH 2

struct reading {
	const struct trace *t;
	const struct step *const *steps;
	struct step_contents *out;
	size_t n, at;    /* at: the step that the last call was in, or the one behind it */
	uint64_t *names; /* hashes, by kernel; 0 not made yet */
};

/* All bits of it vary; sums of such numbers do not depend on the order. */
static uint64_t mixed(uint64_t h)
{
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

static uint64_t name_hash(struct reading *r, uint32_t name)
{
	if (name >= r->t->n_kernels)
		return mixed(NO_NAME);
	if (!r->names[name]) {
		const char *text = r->t->kernels[name];

		r->names[name] = text && *text ? mixed(fnv1a(FNV_BEGIN, text, strlen(text))) | 1 : mixed(NO_NAME);
	}
	return r->names[name];
}

/* NULL: in none of them. Calls come by time. */
static inline struct step_contents *step_at(struct reading *r, int64_t ns)
{
	while (r->at < r->n && r->steps[r->at]->end_ns <= ns)
		r->at++;
	return r->at < r->n && r->steps[r->at]->begin_ns <= ns ? &r->out[r->at] : NULL;
}

static void add(struct step_contents *to, uint64_t hash)
{
	to->key += hash;
	to->launches++;
}

/* Its launches may be of several steps, and those of another thread come in between: back to where it began. */
static void add_folded(struct reading *r, const struct call *c)
{
	const struct launch *first = launch_at(&r->t->launches, c->args[0]);
	const struct launch_shape *shapes = launch_part_of(&r->t->launches, c->args[0])->shapes;
	struct step_contents *in = step_at(r, c->begin_ns);
	size_t began_in = r->at;

	for (uint32_t i = 0; i <= c->folded; i++) {
		in = step_at(r, c->begin_ns + (first[i].begin - first->begin));
		if (in)
			add(in, name_hash(r, shapes[first[i].shape].name));
	}
	r->at = began_in;
}

static uint64_t graph_hash(const struct trace *t, const struct call *c)
{
	return mixed(mixed(GRAPH) + (c->graph < t->n_graphs ? t->graphs[c->graph].work : 0));
}

static void add_call(struct reading *r, const struct call *c)
{
	struct step_contents *in;

	if (!is_submission(c))
		return;
	if (c->family == GST_FAMILY_LAUNCH && c->folded) {
		add_folded(r, c);
		return;
	}
	in = step_at(r, c->begin_ns);
	if (in && c->family == GST_FAMILY_LAUNCH)
		add(in, name_hash(r, c->name));
	else if (in && c->family == GST_FAMILY_GRAPH_LAUNCH)
		add(in, graph_hash(r->t, c));
	else if (in && c->family == GST_FAMILY_COPY)
		in->copies++;
}

bool diff_contents_of(struct step_contents *out, const struct trace *t, const struct step *const *steps, size_t n)
{
	struct reading r = { .t = t, .steps = steps, .out = out, .n = n };

	r.names = array_new(t->n_kernels, sizeof(*r.names));
	if (!r.names)
		return false;
	memset(out, 0, n * sizeof(*out));
	for (size_t i = 0; i < t->n_calls; i++)
		add_call(&r, &t->calls[i]);
	for (size_t i = 0; i < n; i++)
		out[i].key = mixed(out[i].key + 1) | 1;
	free(r.names);
	return true;
}
