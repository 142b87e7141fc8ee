/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "step_words.h"
#include "tools/alloc.h"
#include "tools/fnv.h"

#define THREADS 256      /* that submit; others are left out */
#define MUCH 20          /* a thread of the loop launches at least a part in so many of what the first does */
#define SLOTS (1u << 17) /* of the table of tokens, more than twice as many */
#define SIZE_CLASS 6     /* bits: copies of up to 64 bytes, 4 KiB, 256 KiB, … */
#define CALLS_MAX UINT32_MAX
#define WORK_MAX 10000  /* kernels of a graph that are counted */
#define WORK_UNKNOWN 16 /* … where it is not known what is in it */

/* ---- which threads ------------------------------------------------------------------------------------------------------ */

struct submitter {
	uint32_t tid;
	bool of_loop;
	size_t launches; /* 0: a free place */
};

struct submitters { /* a hash table, filled to half at most */
	struct submitter at[2 * THREADS];
	size_t n;
};

/* Its place, or the free one where it belongs. */
static struct submitter *place_of(struct submitters *s, uint32_t tid)
{
	size_t at = tid * 0x9e3779b1u >> 8;

	while (s->at[at % (2 * THREADS)].launches && s->at[at % (2 * THREADS)].tid != tid)
		at++;
	return &s->at[at % (2 * THREADS)];
}

static bool launches(const struct call *c)
{
	return c->family == GST_FAMILY_LAUNCH || c->family == GST_FAMILY_GRAPH_LAUNCH;
}

static void count_launches(struct submitters *s, const struct trace *t)
{
	for (size_t i = 0; i < t->n_calls; i++) {
		const struct call *c = &t->calls[i];
		struct submitter *of = launches(c) && is_submission(c) ? place_of(s, c->tid) : NULL;

		if (!of || (!of->launches && s->n == THREADS))
			continue;
		s->n += !of->launches;
		of->tid = c->tid;
		of->launches += call_count(c);
	}
}

/* one: the first of those that launch most. */
static void choose_threads(struct submitters *s, bool one)
{
	struct submitter *most = &s->at[0];

	for (size_t i = 0; i < 2 * THREADS; i++)
		if (s->at[i].launches > most->launches ||
		    (s->at[i].launches == most->launches && s->at[i].tid < most->tid))
			most = &s->at[i];
	for (size_t i = 0; i < 2 * THREADS; i++)
		s->at[i].of_loop = one ? &s->at[i] == most : s->at[i].launches > most->launches / MUCH;
}

static bool is_of_loop(struct submitters *s, uint32_t tid)
{
	return place_of(s, tid)->of_loop;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------------- */

struct table {
	uint64_t keys[SLOTS]; /* 0: free */
	uint32_t ids[SLOTS];
	uint64_t *names;
	size_t n_names; /* hashes of kernels' names, by index; 0 not made yet */
};

static uint64_t mixed(uint64_t h)
{
	h = (h ^ h >> 31) * 0x9e3779b97f4a7c15u;
	return (h ^ h >> 29) | 1;
}

static uint64_t text_hash(const char *text)
{
	return mixed(fnv1a(FNV_BEGIN, text, strlen(text)));
}

/* By its text: the same kernel of a module that is loaded again has another index. Without one by its grid and block. */
static uint64_t name_hash(struct table *table, const struct trace *t, const struct call *c)
{
	if (!c->name || !t->kernels || !t->kernels[c->name])
		return mixed(c->args[0] ^ c->args[1] << 20);
	if (!table->names[c->name])
		table->names[c->name] = text_hash(t->kernels[c->name]);
	return table->names[c->name];
}

static int size_class(uint64_t bytes)
{
	return bytes ? (63 - __builtin_clzll(bytes)) / SIZE_CLASS : 0;
}

static uint8_t kind_of(const struct call *c)
{
	switch (c->family) {
	case GST_FAMILY_LAUNCH:
		return TOKEN_KERNEL;
	case GST_FAMILY_GRAPH_LAUNCH:
		return TOKEN_GRAPH;
	case GST_FAMILY_COPY:
		if (c->detail == GST_COPY_H2D_PAGEABLE || c->detail == GST_COPY_H2D_PINNED)
			return TOKEN_H2D;
		if (c->detail == GST_COPY_D2H_PAGEABLE || c->detail == GST_COPY_D2H_PINNED)
			return TOKEN_D2H;
		return TOKEN_OTHER;
	default:
		return TOKEN_OTHER;
	}
}

static uint64_t key_of(struct table *table, const struct trace *t, const struct call *c)
{
	uint64_t what = c->family;

	if (c->family == GST_FAMILY_LAUNCH)
		return name_hash(table, t, c);
	if (c->family == GST_FAMILY_GRAPH_LAUNCH &&
	    c->graph < t->n_graphs) /* one that is made anew each time is the same */
		what |= (uint64_t)t->graphs[c->graph].work << 32;
	else if (c->family == GST_FAMILY_COPY)
		what |= (uint64_t)kind_of(c) << 32 | (uint64_t)size_class(c->args[0]) << 40 |
			(kind_of(c) == TOKEN_OTHER ? (uint64_t)c->detail << 48 : 0);
	return mixed(what * 0xff51afd7ed558ccdu);
}

static struct token_about about(const struct trace *t, const struct call *c)
{
	struct token_about a = { .kind = kind_of(c), .work = c->family == GST_FAMILY_LAUNCH };

	if (c->family == GST_FAMILY_LAUNCH && c->name && t->kernels && t->kernels[c->name])
		a.optimizer = name_is_optimizer(t->kernels[c->name]);
	if (c->family == GST_FAMILY_GRAPH_LAUNCH) {
		uint32_t work = c->graph < t->n_graphs ? t->graphs[c->graph].work : 0;

		a.work = work ? (uint16_t)(work < WORK_MAX ? work : WORK_MAX) : WORK_UNKNOWN;
	}
	return a;
}

/* UINT32_MAX: no memory. */
static uint32_t id_of(struct step_tokens *s, struct table *table, const struct call *c, size_t *cap)
{
	uint64_t key = key_of(table, s->trace, c);
	size_t at = key >> 40;

	while (table->keys[at % SLOTS] && table->keys[at % SLOTS] != key)
		at++;
	at %= SLOTS;
	if (table->keys[at])
		return table->ids[at];
	if (s->n_about > TOKENS_MAX)
		return TOKENS_MAX;
	if (!array_room(s->about, s->n_about, *cap))
		return UINT32_MAX;
	s->about[s->n_about] = about(s->trace, c);
	if (s->n_about < TOKENS_MAX) { /* the last one is what all others are */
		table->keys[at] = key;
		table->ids[at] = (uint32_t)s->n_about;
	}
	return (uint32_t)s->n_about++;
}

/* One more than the highest number of a name. */
static size_t names_of(const struct trace *t)
{
	size_t n = 1;

	for (size_t i = 0; i < t->n_calls; i++)
		n = t->calls[i].name >= n ? t->calls[i].name + 1u : n;
	for (size_t i = 0; i < t->launches.n_parts; i++) {
		const struct launch_part *part = &t->launches.parts[i];

		for (size_t k = 0; k < part->n_shapes; k++)
			n = part->shapes[k].name >= n ? part->shapes[k].name + 1u : n;
	}
	return n;
}

/* The next token: a call, or, of one that is folded, a launch. */
static bool add(struct step_tokens *out, struct table *table, size_t call, uint32_t in, size_t *cap)
{
	const struct call *c = &out->trace->calls[call];
	struct call one = call_count(c) > 1 ? launch_elsewhere(out->trace, c, in) : *c;

	out->calls[out->n] = (uint32_t)call;
	if (out->in)
		out->in[out->n] = in;
	out->ids[out->n] = id_of(out, table, &one, cap);
	return out->ids[out->n++] != UINT32_MAX;
}

static bool fill(struct step_tokens *out, struct submitters *threads)
{
	struct table *table = calloc(1, sizeof(*table));
	size_t cap = 0;
	bool ok = table != NULL;

	if (ok)
		table->names = array_new(names_of(out->trace), sizeof(*table->names));
	ok = ok && table->names;
	for (size_t i = 0; ok && i < out->trace->n_calls; i++) {
		const struct call *c = &out->trace->calls[i];

		if (!is_submission(c) || !is_of_loop(threads, c->tid))
			continue;
		if (!out->n)
			out->tid = c->tid;
		for (uint32_t k = 0; ok && k < call_count(c); k++)
			ok = add(out, table, i, k, &cap);
	}
	if (table)
		free(table->names);
	free(table);
	return ok;
}

bool step_tokens_take(struct step_tokens *out, const struct trace *t, bool one_thread)
{
	struct submitters *threads = calloc(1, sizeof(*threads));
	size_t n = 0;
	bool ok = threads != NULL;

	*out = (struct step_tokens){ .trace = t };
	if (ok && t->n_calls + t->launches.folded < CALLS_MAX)
		count_launches(threads, t);
	if (ok && threads->n && !(one_thread && threads->n == 1)) {
		choose_threads(threads, one_thread);
		for (size_t i = 0; i < t->n_calls; i++)
			if (is_submission(&t->calls[i]) && is_of_loop(threads, t->calls[i].tid))
				n += call_count(&t->calls[i]);
		out->ids = array_new(n, sizeof(*out->ids));
		out->calls = array_new(n, sizeof(*out->calls));
		out->in = t->launches.folded ? array_new(n, sizeof(*out->in)) : NULL;
		ok = out->ids && out->calls && (out->in || !t->launches.folded) && fill(out, threads);
	}
	free(threads);
	if (!ok)
		step_tokens_free(out);
	return ok;
}

void step_tokens_free(struct step_tokens *s)
{
	free(s->ids);
	free(s->calls);
	free(s->in);
	free(s->about);
	*s = (struct step_tokens){ 0 };
}

int64_t token_begin_ns(const struct step_tokens *s, size_t i)
{
	const struct call *c = token_call(s, i);

	return call_count(c) > 1 ? launch_begin_ns(s->trace, c, s->in[i]) : c->begin_ns;
}

int64_t token_end_ns(const struct step_tokens *s, size_t i)
{
	const struct call *c = token_call(s, i);

	return call_count(c) > 1 ? launch_end_ns(s->trace, c, s->in[i]) : c->end_ns;
}

int64_t token_pause(const struct step_tokens *s, size_t i)
{
	int64_t begin_ns = token_begin_ns(s, i), idle_from = i ? token_end_ns(s, i - 1) : begin_ns;

	for (size_t k = i ? s->calls[i - 1] + 1u : s->calls[0]; k < s->calls[i]; k++)
		if (call_waits(&s->trace->calls[k]) && s->trace->calls[k].end_ns > idle_from)
			idle_from = s->trace->calls[k].end_ns;
	return begin_ns > idle_from ? begin_ns - idle_from : 0;
}
