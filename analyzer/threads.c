/* SPDX-License-Identifier: BSD-2-Clause */
#include "threads.h"

#include <stdlib.h>

#include "alloc.h"
#include "spill.h"

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
	size_t cap, last;
};

static struct thread_records *find_or_add(struct finder *f, uint32_t tid)
{
	struct process_records *p = f->p;
	size_t at = f->last;

	if (at < p->n_threads && p->threads[at].tid == tid)
		return &p->threads[at];
	at = position(p->threads, p->n_threads, tid);
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

/* Whose NCCL call it is; NULL: another's within, the recorder's, or of a thread of which there is nothing else. */
static struct thread_records *maker(const struct process_records *p, const struct nccl_call *c)
{
	size_t at = position(p->threads, p->n_threads, c->tid);

	if (c->flags & (GST_NCCL_OURS | GST_NCCL_INNER) || at == p->n_threads || p->threads[at].tid != c->tid)
		return NULL;
	return &p->threads[at];
}

static bool count_records(struct process_records *p, const struct trace *t)
{
	struct finder f = { p, 0, 0 };
	struct thread_records *r;

	for (size_t i = 0; i < t->n_calls; i++) {
		if (!(r = find_or_add(&f, t->calls[i].tid)))
			return false;
		r->n_calls++;
	}
	for (size_t i = 0; i < t->n_samples; i++) {
		if (!(r = find_or_add(&f, t->samples[i].tid)))
			return false;
		r->n_samples++;
	}
	for (size_t i = 0; i < t->n_usages; i++) {
		if (!(r = find_or_add(&f, t->usages[i].tid)))
			return false;
		r->n_usages++;
	}
	for (size_t i = 0; i < t->n_nccl; i++)
		if ((r = maker(p, &t->nccl[i])))
			r->n_nccl++;
	return true;
}

/* Each thread's share of the pool; the counts start again, as fill counts. */
static void share_pool(struct process_records *p)
{
	size_t at = 0;

	for (size_t i = 0; i < p->n_threads; i++) {
		struct thread_records *r = &p->threads[i];

		r->calls = (const struct call **)(p->pool + at);
		at += r->n_calls;
		r->samples = (const struct sample **)(p->pool + at);
		at += r->n_samples;
		r->usages = (const struct usage **)(p->pool + at);
		at += r->n_usages;
		r->nccl = (const struct nccl_call **)(p->pool + at);
		at += r->n_nccl;
		r->n_calls = r->n_samples = r->n_usages = r->n_nccl = 0;
	}
}

static void fill(struct process_records *p, const struct trace *t)
{
	struct finder f = { p, 0, 0 };
	struct thread_records *r;

	for (size_t i = 0; i < t->n_calls; i++) {
		const struct call *c = &t->calls[i];

		r = find_or_add(&f, c->tid);
		r->calls[r->n_calls++] = c;
		if (c->family == GST_FAMILY_LAUNCH && c->name < t->n_kernels && !p->first_launch[c->name])
			p->first_launch[c->name] = c;
	}
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

/* scratch has room for all calls of the thread. */
static void set_costs(struct thread_records *r, int64_t *scratch)
{
	static const uint8_t families[] = { GST_FAMILY_LAUNCH, GST_FAMILY_GRAPH_LAUNCH, GST_FAMILY_COPY,
					    GST_FAMILY_MEMSET, GST_FAMILY_HOSTFN };

	for (size_t k = 0; k < sizeof(families); k++) {
		size_t n = 0;

		for (size_t i = 0; i < r->n_calls; i++) {
			const struct call *c = r->calls[i];

			if (c->family == families[k] && is_submission(c) && !(c->flags & GST_BLOCKING))
				scratch[n++] = c->end_ns - c->begin_ns;
		}
		r->cost_ns[families[k]] = n < COST_CALLS ? 0 : array_median(scratch, n);
	}
}

static bool find_costs(struct process_records *p, size_t n_calls)
{
	int64_t *scratch = spill_new(n_calls, sizeof(*scratch));

	for (size_t i = 0; scratch && i < p->n_threads; i++)
		set_costs(&p->threads[i], scratch);
	spill_free(scratch);
	return scratch != NULL;
}

static bool build_process(struct process_records *p, const struct trace *t)
{
	p->trace = t;
	p->first_launch = array_new(t->n_kernels, sizeof(struct call *));
	p->pool = spill_new(t->n_calls + t->n_samples + t->n_usages + t->n_nccl, sizeof(void *));
	if (!p->first_launch || !p->pool || !count_records(p, t))
		return false;
	share_pool(p);
	fill(p, t);
	return find_costs(p, t->n_calls);
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

void threads_free(struct threads *t)
{
	for (size_t i = 0; i < t->n_processes; i++) {
		free(t->processes[i].threads);
		free(t->processes[i].first_launch);
		spill_free(t->processes[i].pool);
	}
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
