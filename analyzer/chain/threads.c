/* SPDX-License-Identifier: BSD-2-Clause */
#include "threads.h"

#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/spill.h"
#include "tools/tally.h"
#include "trace/trace_rare.h"

static enum err_kind no_memory(struct error *e)
{
	return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}

static bool lower_tid(const void *element, const void *key)
{
	return ((const struct thread_records *)element)->tid < *(const uint32_t *)key;
}

/* Where tid stands in the sorted list, or should stand. */
static size_t position(const struct thread_records *threads, size_t n, uint32_t tid)
{
	return array_first(threads, n, sizeof(*threads), lower_tid, &tid);
}

struct finder { /* records of one thread mostly come in a row */
	struct process_records *p;
	size_t cap; /* of p->threads, from the first pass to the last that adds some */
	size_t last;
};

static struct thread_records *look_or_add(struct finder *f, uint32_t tid)
{
	struct process_records *p = f->p;
	size_t at = position(p->threads, p->n_threads, tid);

	f->last = at;
	if (at < p->n_threads && p->threads[at].tid == tid)
		return &p->threads[at];
	if (!array_room(p->threads, p->n_threads, f->cap))
		return NULL;
	for (size_t i = p->n_threads++; i > at; i--)
		p->threads[i] = p->threads[i - 1];
	p->threads[at] = (struct thread_records){ .tid = tid };
	return &p->threads[at];
}

static inline struct thread_records *find_or_add(struct finder *f, uint32_t tid)
{
	struct process_records *p = f->p;

	return f->last < p->n_threads && p->threads[f->last].tid == tid ? &p->threads[f->last] : look_or_add(f, tid);
}

/* Whose NCCL call it is; NULL: another's within, the recorder's, or of a thread of which there is nothing else. */
static struct thread_records *maker(const struct process_records *p, const struct nccl_call *c)
{
	size_t at = position(p->threads, p->n_threads, c->tid);

	if (c->flags & (GST_NCCL_OURS | GST_NCCL_INNER) || at == p->n_threads || p->threads[at].tid != c->tid)
		return NULL;
	return &p->threads[at];
}

static bool count_records(struct finder *f, const struct trace *t)
{
	struct thread_records *r;

	for (size_t i = 0; i < t->n_samples; i++) {
		if (!(r = find_or_add(f, t->samples[i].tid)))
			return false;
		r->n_samples++;
	}
	for (size_t i = 0; i < t->n_usages; i++) {
		if (!(r = find_or_add(f, t->usages[i].tid)))
			return false;
		r->n_usages++;
	}
	for (size_t i = 0; i < t->n_nccl; i++)
		if ((r = maker(f->p, &t->nccl[i])))
			r->n_nccl++;
	return true;
}

/* Each thread's share of the pool; the counts start again, as fill counts. */
static void share_pool(struct process_records *p)
{
	size_t at = 0;

	for (size_t i = 0; i < p->n_threads; i++) {
		struct thread_records *r = &p->threads[i];

		r->samples = (const struct sample **)(p->pool + at);
		at += r->n_samples;
		r->usages = (const struct usage **)(p->pool + at);
		at += r->n_usages;
		r->nccl = (const struct nccl_call **)(p->pool + at);
		at += r->n_nccl;
		r->n_samples = r->n_usages = r->n_nccl = 0;
	}
}

static void fill(struct process_records *p, const struct trace *t)
{
	struct finder f = { p, 0, 0 };
	struct thread_records *r;

	for (size_t i = 0; i < t->n_samples; i++) {
		r = find_or_add(&f, t->samples[i].tid);
		r->samples[r->n_samples++] = &t->samples[i];
	}
	for (size_t i = 0; i < t->n_usages; i++) {
		r = find_or_add(&f, t->usages[i].tid);
		r->usages[r->n_usages++] = &t->usages[i];
	}
	for (size_t i = 0; i < t->n_nccl; i++)
		if ((r = maker(p, &t->nccl[i])))
			r->nccl[r->n_nccl++] = &t->nccl[i];
}

/* ---- calls: in one pass, as there may be more than any cache holds ---- */

static bool has_cost(const struct call *c)
{
	switch (c->family) {
	case GST_FAMILY_LAUNCH:
	case GST_FAMILY_GRAPH_LAUNCH:
	case GST_FAMILY_COPY:
	case GST_FAMILY_MEMSET:
	case GST_FAMILY_HOSTFN:
		return is_submission(c) && !(c->flags & GST_BLOCKING);
	default:
		return false;
	}
}

static bool add_rare(struct thread_records *r, const struct call *c)
{
	if (!spill_room(r->rare, r->n_rare, r->cap_rare))
		return false;
	r->rare[r->n_rare++] = c;
	return true;
}

static bool add_cost(struct thread_records *r, const struct trace *t, const struct call *c)
{
	struct tally *tally;

	if (!r->costs) /* of few threads */
		r->costs = array_new(GST_FAMILY_COUNT, sizeof(*r->costs));
	if (!r->costs)
		return false;
	tally = &r->costs[c->family];
	if (call_count(c) == 1)
		return tally_add(tally, c->end_ns - c->begin_ns);
	for (uint32_t i = 0; i <= c->folded; i++)
		if (!tally_add(tally, launch_at(&t->launches, c->args[0])[i].took))
			return false;
	return true;
}

static bool add_calls(struct finder *f, const struct trace *t)
{
	struct process_records *p = f->p;

	for (size_t i = 0; i < t->n_calls; i++) {
		const struct call *c = &t->calls[i];
		struct thread_records *r = find_or_add(f, c->tid);
		bool plain = is_plain_launch(c);

		if (!r || !spill_room(r->calls, r->n_calls, r->cap_calls) || (!plain && !add_rare(r, c)) ||
		    ((plain || has_cost(c)) && !add_cost(r, t, c)))
			return false;
		r->calls[r->n_calls++] = c;
		p->hook_calls[c->hook < t->n_hooks ? c->hook : t->n_hooks] += call_count(c);
		if (c->family == GST_FAMILY_LAUNCH && c->name < t->n_kernels && !p->first_launch[c->name])
			p->first_launch[c->name] = c;
	}
	return true;
}

static void set_costs(struct process_records *p)
{
	for (size_t i = 0; i < p->n_threads; i++) {
		struct thread_records *r = &p->threads[i];

		for (size_t k = 0; r->costs && k < GST_FAMILY_COUNT; k++)
			if (r->costs[k].n >= COST_CALLS)
				r->cost_ns[k] = tally_median(&r->costs[k]);
	}
}

static void free_costs(struct process_records *p)
{
	for (size_t i = 0; i < p->n_threads; i++) {
		struct thread_records *r = &p->threads[i];

		for (size_t k = 0; r->costs && k < GST_FAMILY_COUNT; k++)
			tally_free(&r->costs[k]);
		free(r->costs);
		r->costs = NULL;
	}
}

/* What other tools saw. Most threads only run operators of others: who submits nothing explains no gap. */
static bool build_pieces(struct process_records *p, const struct trace *t)
{
	if (!t->imported && !t->host_ops.n)
		return true;
	if (!op_labels_build(&p->op_labels, t) || !op_pieces_build_overhead(&p->overhead, t, 0))
		return false;
	for (size_t i = 0; i < p->n_threads; i++) {
		struct thread_records *r = &p->threads[i];

		if (r->n_calls && (!op_pieces_build(&r->ops, t, &p->op_labels, r->tid) ||
				   !op_pieces_build_overhead(&r->overhead, t, r->tid)))
			return false;
	}
	return true;
}

static bool build_process(struct process_records *p, const struct trace *t)
{
	struct finder f = { .p = p };
	bool ok;

	p->trace = t;
	p->first_launch = array_new(t->n_kernels, sizeof(struct call *));
	p->hook_calls = array_new(t->n_hooks + 1, sizeof(*p->hook_calls));
	p->pool = spill_new(t->n_samples + t->n_usages + t->n_nccl, sizeof(void *));
	ok = p->first_launch && p->hook_calls && p->pool && add_calls(&f, t);
	if (ok)
		set_costs(p);
	free_costs(p);
	if (!ok || !count_records(&f, t))
		return false;
	share_pool(p);
	fill(p, t);
	return build_pieces(p, t);
}

static int by_trace(const void *a, const void *b)
{
	const struct process_records *x = a, *y = b;

	return ((uintptr_t)x->trace > (uintptr_t)y->trace) - ((uintptr_t)x->trace < (uintptr_t)y->trace);
}

enum err_kind threads_build(struct threads *out, const struct run *run, struct error *e)
{
	*out = (struct threads){ .run = run };
	out->processes = array_new(run->n_traces, sizeof(*out->processes));
	if (!out->processes)
		return no_memory(e);
	for (; out->n_processes < run->n_traces; out->n_processes++) {
		if (!build_process(&out->processes[out->n_processes], run->traces[out->n_processes])) {
			out->n_processes++;
			threads_free(out);
			return no_memory(e);
		}
	}
	array_sort(out->processes, out->n_processes, sizeof(*out->processes), by_trace);
	return ERR_NONE;
}

static void free_process(struct process_records *p)
{
	for (size_t i = 0; i < p->n_threads; i++) {
		op_pieces_free(&p->threads[i].ops);
		op_pieces_free(&p->threads[i].overhead);
		spill_free(p->threads[i].calls);
		spill_free(p->threads[i].rare);
	}
	op_pieces_free(&p->overhead);
	op_labels_free(&p->op_labels);
	free(p->threads);
	free(p->first_launch);
	free(p->hook_calls);
	spill_free(p->pool);
}

void threads_free(struct threads *t)
{
	for (size_t i = 0; i < t->n_processes; i++)
		free_process(&t->processes[i]);
	free(t->processes);
	*t = (struct threads){ 0 };
}

const struct process_records *threads_process(const struct threads *t, const struct trace *trace)
{
	struct process_records key = { .trace = trace };

	return t->n_processes ? bsearch(&key, t->processes, t->n_processes, sizeof(key), by_trace) : NULL;
}

const struct thread_records *threads_find(const struct process_records *p, uint32_t tid)
{
	size_t at = position(p->threads, p->n_threads, tid);

	return at < p->n_threads && p->threads[at].tid == tid ? &p->threads[at] : NULL;
}

static bool taken_by(const void *element, const void *key)
{
	return (*(const struct usage *const *)element)->time_ns <= *(const int64_t *)key;
}

size_t threads_usage_after(const struct thread_records *r, int64_t ns)
{
	return array_first(r->usages, r->n_usages, sizeof(*r->usages), taken_by, &ns);
}

bool call_place_back(const struct thread_records *r, struct call_place *p)
{
	if (p->in) {
		p->in--;
		return true;
	}
	if (!p->at)
		return false;
	p->at--;
	p->in = (uint32_t)(call_count(r->calls[p->at]) - 1);
	return true;
}

const struct call *call_at_place(const struct trace *t, const struct thread_records *r, struct call_place p,
				 struct call *room)
{
	const struct call *c = r->calls[p.at];
	size_t near = 0;

	if (call_count(c) == 1)
		return c;
	*room = launch_call(t, c, p.in, &near);
	return room;
}
