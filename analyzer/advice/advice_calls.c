/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_calls.c: calls there are too many of: those that wait, launches, allocations, loads of code. */
#include "advice_parts.h"

#include <stdlib.h>
#include <string.h>

#include "gap/gap_view.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#define FIRST_LAUNCH "the first launch of " /* cause_module_load.c */
#define TINY_NS 20000 /* a kernel that takes less hardly pays for a launch, which takes 2 to 10 us of host time */

static bool blocks(const struct trace *t, const struct call *c)
{
	(void)t;
	return call_blocks(c);
}

bool advise_syncs(struct advisor *a, struct advice *out)
{
	struct call_use use;
	char names[SEEN_NAMES];

	if (!advice_matters(a, out))
		return false;
	use = seen_names(a, blocks, names);
	if (!use.n)
		return false;
	figure_count(out, "blocking", use.n);
	figure_ns(out, "calls_ns", use.ns);
	figure_ns(out, "dry_ns", out->lost_ns + out->likely_ns);
	figure_per_step(a, out, "per_step", use.in_steps);
	figure_text(a, out, "calls", names);
	seen_sites(a, out, blocks);
	seen_cause(a, out, CAUSE_sync_bubble);
	return true;
}

/* ---- launches ----------------------------------------------------------------------------------------------------------- */

static bool launches(const struct trace *t, const struct call *c)
{
	(void)t;
	return (c->family == GST_FAMILY_LAUNCH || c->family == GST_FAMILY_GRAPH_LAUNCH) && is_submission(c);
}

/* The median time of the launches of the thread that makes most. 0: too few to tell. */
static int64_t launch_cost(const struct advisor *a)
{
	const struct thread_records *feeder = a->recovery->feeder;
	int64_t ns = feeder ? feeder->cost_ns[GST_FAMILY_LAUNCH] : 0;

	return ns || !feeder ? ns : feeder->cost_ns[GST_FAMILY_GRAPH_LAUNCH];
}

static bool launch_figures(struct advisor *a, struct advice *out)
{
	struct call_use use;

	if (!advice_matters(a, out))
		return false;
	use = seen_launches(a, launches);
	if (!use.n)
		return false;
	figure_count(out, "launches", use.n);
	if (launch_cost(a))
		figure_ns(out, "launch_ns", launch_cost(a));
	figure_ns(out, "waited_ns", out->lost_ns + out->likely_ns);
	figure_ns(out, "calls_ns", use.ns);
	figure_per_step(a, out, "per_step", use.in_steps);
	figure_count(out, "step_launches",
		     a->recovery->n_steps ? (use.in_steps + a->recovery->n_steps / 2) / a->recovery->n_steps : use.n);
	return true;
}

bool advise_graphs(struct advisor *a, struct advice *out)
{
	if (!launch_figures(a, out))
		return false;
	seen_sites(a, out, launches);
	seen_cause(a, out, CAUSE_launch_bound);
	return true;
}

/* ---- kernels ------------------------------------------------------------------------------------------------------------ */

/* Of kernels that were measured one by one. False: hardly any was. */
static bool measured_kernels(struct advisor *a, uint64_t *n, int64_t *median)
{
	const struct device_timeline *d = a->device->timeline;
	int64_t *ns = array_new(d->n_ops, sizeof(*ns));
	uint64_t all = 0;
	bool enough;

	*n = 0;
	a->failed |= !ns;
	for (size_t i = 0; ns && i < d->n_ops; i++) {
		if (d->ops[i].of->class != OP_KERNEL || seen_part(a, d->ops[i].begin_ns, d->ops[i].begin_ns + 1) <= 0)
			continue;
		all += d->ops[i].of->count;
		if (d->ops[i].of->exact && d->ops[i].of->count == 1)
			ns[(*n)++] = d->ops[i].end_ns - d->ops[i].begin_ns;
	}
	enough = ns && *n && *n >= all / 2;
	*median = enough ? array_median(ns, *n) : 0;
	free(ns);
	return enough;
}

bool advise_batches(struct advisor *a, struct advice *out)
{
	const struct estimate *e = &a->device->timeline->estimate;
	int64_t median = 0;
	uint64_t n = 0;

	if (!launch_figures(a, out))
		return false;
	if (!measured_kernels(a, &n, &median)) {
		if (a->failed || !e->measured || !e->kernels)
			return false;
		n = 0; /* those are of all devices together */
		median = e->kernel_ns;
	}
	if (median >= TINY_NS)
		return false;
	if (n)
		figure_count(out, "kernels", n);
	figure_ns(out, "kernel_ns", median);
	return true;
}

bool advise_latency(struct advisor *a, struct advice *out)
{
	if (!advice_matters(a, out))
		return false;
	seen_cause(a, out, CAUSE_device_latency);
	if (a->device->timeline->latency_ns)
		figure_ns(out, "start_ns", a->device->timeline->latency_ns);
	return true;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------- */

static bool is_named(const struct trace *t, const struct call *c, const char *begin)
{
	const char *name = t->hooks[c->hook];

	return name && !strncmp(name, begin, strlen(begin));
}

static bool allocates(const struct trace *t, const struct call *c)
{
	return c->family == GST_FAMILY_ALLOC || (c->family == GST_FAMILY_POOL && is_named(t, c, "cuMemAlloc")) ||
	       (c->family == GST_FAMILY_VMM && is_named(t, c, "cuMemCreate"));
}

static bool frees(const struct trace *t, const struct call *c)
{
	return c->family == GST_FAMILY_FREE || (c->family == GST_FAMILY_POOL && is_named(t, c, "cuMemFree")) ||
	       (c->family == GST_FAMILY_VMM && is_named(t, c, "cuMemRelease"));
}

static bool pins(const struct trace *t, const struct call *c)
{
	(void)t;
	return c->family == GST_FAMILY_HOST_ALLOC;
}

/* As cause_allocator.c has it. */
static bool memory_call(const struct trace *t, const struct call *c)
{
	return allocates(t, c) || frees(t, c) || pins(t, c) || c->family == GST_FAMILY_HOST_FREE ||
	       c->family == GST_FAMILY_POOL || c->family == GST_FAMILY_VMM;
}

bool advise_allocations(struct advisor *a, struct advice *out)
{
	const struct memory_device *m = a->device->memory;
	struct call_use taken, given, pinned, all;
	double fragmentation = m ? memory_fragmentation(&m->worst.use) : 0;

	if (!advice_matters(a, out))
		return false;
	all = seen_calls(a, memory_call);
	if (!all.n)
		return false;
	taken = seen_calls(a, allocates);
	given = seen_calls(a, frees);
	pinned = seen_calls(a, pins);
	figure_count(out, "allocs", taken.n);
	figure_count(out, "frees", given.n);
	figure_bytes(out, "alloc_bytes", taken.bytes);
	if (pinned.n)
		figure_count(out, "host_allocs", pinned.n);
	figure_ns(out, "calls_ns", all.ns);
	figure_per_step(a, out, "per_step", taken.in_steps + given.in_steps);
	if (fragmentation >= 0.1)
		figure_share(out, "fragmentation", fragmentation);
	if (m && m->retries)
		figure_count(out, "retries", m->retries);
	seen_sites(a, out, memory_call);
	seen_cause(a, out, CAUSE_allocator);
	return true;
}

/* ---- code --------------------------------------------------------------------------------------------------------------- */

static bool loads(const struct trace *t, const struct call *c)
{
	return c->family == GST_FAMILY_MODULE &&
	       (is_named(t, c, "cuModuleLoad") || is_named(t, c, "cuLibraryLoad") || is_named(t, c, "cuLinkComplete"));
}

bool advise_modules(struct advisor *a, struct advice *out)
{
	struct call_use use;
	const struct gap_cause *c;
	size_t gap = 0, piece = 0;
	uint64_t first = 0;
	int64_t first_ns = 0;

	if (!advice_matters(a, out))
		return false;
	use = seen_calls(a, loads);
	while ((c = seen_piece(a, CAUSE_module_load, &gap, &piece)))
		if (c->n_evidence && strstr(c->evidence[0], FIRST_LAUNCH)) {
			first++;
			first_ns += seen_part(a, c->begin_ns, c->end_ns);
		}
	figure_count(out, "loads", use.n);
	figure_ns(out, "calls_ns", use.ns);
	figure_per_step(a, out, "per_step", use.in_steps);
	if (first) {
		figure_count(out, "first_launches", first);
		figure_ns(out, "first_ns", first_ns);
	}
	seen_sites(a, out, loads);
	seen_cause(a, out, CAUSE_module_load);
	return true;
}
