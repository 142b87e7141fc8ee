/* SPDX-License-Identifier: BSD-2-Clause */
/* cause.c: all gaps of a device. Each is explained for itself, so stretches of them are worked on side by side. */
#include "cause.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cause_engine.h"
#include "doubt.h"
#include "tools/alloc.h"
#include "tools/pool.h"
#include "tools/progress.h"
#include "tools/spill.h"

#define STRETCH 64                   /* gaps that an engine takes at a time */
#define LOOKS_LEFT ((size_t)1 << 22) /* that no walk has ever been short of */

static const struct {
	const char *name, *title, *advice;
} causes[] = {
#define CAUSE(name, id, title, advice) { id, title, advice },
#define CAUSE_RULE CAUSE
#include "causes.def"
};

const char *cause_name(enum cause_id id)
{
	return causes[id].name;
}

const char *cause_title(enum cause_id id)
{
	return causes[id].title;
}

const char *cause_advice(enum cause_id id)
{
	return causes[id].advice;
}

const char *confidence_name(enum confidence c)
{
	return c == CONFIDENCE_OBSERVED ? "observed" : "inferred";
}

/* ---- all gaps ---- */

struct attributing {
	struct attribution *out;
	const struct device_timeline *d;
	struct cause_engine *engines;
	size_t n_engines;
	atomic_size_t next;   /* gap */
	atomic_size_t looked; /* by all engines */
	atomic_bool too_many; /* looks for several engines: see share_looks() */
	atomic_size_t done;   /* gaps that progress has not heard of */
};

/* Walks of chains share so many looks (chain.h), gap by gap. Engines side by side would each have them all: that is the same only as long
 * as all of them together stay below. False: they do not. */
static bool share_looks(struct attributing *a, size_t looked)
{
	if (a->n_engines > 1 && looked && atomic_fetch_add(&a->looked, looked) + looked > CHAIN_LOOKS - LOOKS_LEFT)
		atomic_store(&a->too_many, true);
	return !atomic_load(&a->too_many);
}

static enum err_kind attribute(void *job, size_t engine, struct error *e)
{
	struct attributing *a = job;
	struct cause_engine *g = &a->engines[engine];
	size_t first;

	while ((first = atomic_fetch_add(&a->next, STRETCH)) < a->d->n_gaps) {
		size_t end = a->d->n_gaps - first < STRETCH ? a->d->n_gaps : first + STRETCH;

		for (size_t i = first; i < end; i++) {
			size_t looked = g->view.looked;

			if (!cause_explain(g, a->d, &a->d->gaps[i], &a->out->gaps[i]))
				return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
			if (!share_looks(a, g->view.looked - looked))
				return ERR_NONE;
		}
		atomic_fetch_add(&a->done, end - first);
		if (progress_is_heard())
			progress_add(atomic_exchange(&a->done, 0));
	}
	return ERR_NONE;
}

/* What the engines have made becomes the attribution's. */
static void gather(struct attributing *a)
{
	for (size_t i = 0; i < a->n_engines; i++) {
		struct cause_engine *g = &a->engines[i];

		for (int cause = 0; cause < CAUSE_COUNT; cause++) {
			a->out->causes_ns[cause] += g->causes_ns[cause];
			a->out->observed_ns[cause] += g->observed_ns[cause];
		}
		a->out->arenas[i] = g->arena;
		g->arena = (struct arena){ 0 };
		a->out->n_arenas++;
	}
}

/* n: engines. */
static enum err_kind attribute_all(struct attributing *a, const struct threads *threads, size_t n, struct error *e)
{
	enum err_kind kind;

	a->n_engines = n;
	a->next = a->looked = a->done = 0;
	a->too_many = false;
	for (size_t i = 0; i < n; i++)
		a->engines[i] =
			(struct cause_engine){ .threads = threads, .doubt_from_ns = doubt_from(a->d, threads->run) };
	kind = pool_run(n, attribute, a, e);
	progress_add(atomic_exchange(&a->done, 0));
	if (!kind && !a->too_many)
		gather(a);
	for (size_t i = 0; i < n; i++)
		cause_engine_free(&a->engines[i]);
	return kind;
}

enum err_kind attribution_build(struct attribution *out, const struct device_timeline *d, const struct threads *threads,
				struct error *e)
{
	struct attributing a = { .out = out, .d = d };
	size_t most = d->n_gaps / STRETCH + 1, n = pool_threads() < most ? pool_threads() : most;
	enum err_kind kind;

	*out = (struct attribution){ .n_gaps = d->n_gaps };
	out->gaps = spill_new(d->n_gaps, sizeof(*out->gaps));
	out->arenas = array_new(n, sizeof(*out->arenas));
	a.engines = array_new(n, sizeof(*a.engines));
	kind = out->gaps && out->arenas && a.engines ? attribute_all(&a, threads, n, e)
						     : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	if (!kind && a.too_many)
		kind = attribute_all(&a, threads, 1, e);
	free(a.engines);
	if (kind)
		attribution_free(out);
	return kind;
}

void attribution_free(struct attribution *a)
{
	spill_free(a->gaps);
	for (size_t i = 0; i < a->n_arenas; i++)
		arena_free(&a->arenas[i]);
	free(a->arenas);
	arena_free(&a->arena);
	*a = (struct attribution){ 0 };
}
