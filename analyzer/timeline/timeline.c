/* SPDX-License-Identifier: BSD-2-Clause */
#include "timeline.h"

#include "bounds.h"
#include "depend.h"
#include "elsewhere.h"
#include "exact_work.h"
#include "gaps.h"
#include "latency.h"
#include "place.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/pool.h"
#include "tools/progress.h"
#include "tools/spill.h"
#include "trace/one_device.h"
#include "trace/trace_rare.h"

#include <stdlib.h>
#include <string.h>

struct member { /* a process's view of a device */
	size_t trace;
	uint32_t ordinal;
};

struct group { /* one physical device */
	struct device device;
	struct member *members;
	size_t n, cap;
};

struct builder {
	const struct run *run;
	struct exact *exact; /* one per trace, and so are the facts */
	struct facts *facts;
	struct firing **firings; /* an array for each, like its edges */
	struct group *groups;
	struct device_work *works; /* like groups */
	size_t n_groups, cap_groups;
	uint64_t calls; /* of all processes */
};

static enum err_kind no_memory(struct error *e)
{
	return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
}

/* ---- how far it is -------------------------------------------------------------------------------------- */

/* The shares of the stage's time that its parts take, of which there is one for each process or device. */
enum part {
	PART_FACTS = 15,
	PART_WORK = 32,
	PART_BOUNDS = 8,
	PART_DEVICE = 44, /* gaps, places, what held them up */
	PART_ESTIMATE = 1
};

static uint64_t calls_of(const struct run *run)
{
	uint64_t n = 0;

	for (size_t i = 0; i < run->n_traces; i++)
		n += run->traces[i]->n_calls + run->traces[i]->launches.folded;
	return n;
}

static void part_done(const struct builder *b, enum part part, size_t of)
{
	progress_add(b->calls * part / 100 / of);
}

/* ---- which devices there are ------------------------------------------------------------------------ */

static bool is_member(const struct group *g, size_t trace, uint32_t ordinal)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->members[i].trace == trace && g->members[i].ordinal == ordinal)
			return true;
	return false;
}

/* What the trace says about an ordinal; only the number where it says nothing. */
static struct device describe(const struct trace *t, uint32_t ordinal)
{
	for (size_t i = 0; i < t->n_devices; i++)
		if (t->devices[i].device == ordinal)
			return t->devices[i];
	return (struct device){ .device = ordinal };
}

/* Processes number devices in their own way (CUDA_VISIBLE_DEVICES): the UUID says which are one. known_only: not where it would be a new
 * one. */
static bool add_member(struct builder *b, size_t trace, uint32_t ordinal, bool known_only)
{
	const struct trace *t = b->run->traces[trace];
	struct device device = describe(t, ordinal);
	struct group *group = NULL;

	for (size_t i = 0; i < b->n_groups; i++)
		if (is_member(&b->groups[i], trace, ordinal))
			return true;
	for (size_t i = 0; i < b->n_groups && !group; i++)
		if (one_device(b->run->traces[b->groups[i].members[0].trace], &b->groups[i].device, t, &device))
			group = &b->groups[i];
	if (!group && known_only)
		return true;
	if (!group) {
		if (!array_room(b->groups, b->n_groups, b->cap_groups))
			return false;
		group = &b->groups[b->n_groups++];
		*group = (struct group){ .device = device };
	}
	if (!array_room(group->members, group->n, group->cap))
		return false;
	group->members[group->n++] = (struct member){ trace, ordinal };
	return true;
}

/* Those on which a graph's launch runs something: a program may use a device in no other way. */
static bool add_graph_devices(struct builder *b, size_t trace, const struct call *c, uint64_t *seen)
{
	uint64_t devices = elsewhere_devices(b->run->traces[trace], c) & ~*seen;

	*seen |= devices;
	for (uint32_t ordinal = 0; ordinal < GRAPH_DEVICES && devices; ordinal++)
		if ((devices & graph_device_bit(ordinal)) && !add_member(b, trace, ordinal, false))
			return false;
	return true;
}

/* Where the call's work ran, if it was measured: each device of its own. *rest: some of it was not, it counts in its stream. */
static bool add_measured_devices(struct builder *b, size_t trace, const struct call *c, bool *rest)
{
	size_t n;
	const struct exact_op *ops = exact_of(&b->exact[trace], c, &n);
	uint32_t last = GST_NONE;

	for (size_t i = 0; i < n; i++) {
		if (ops[i].measured->device == last)
			continue;
		last = ops[i].measured->device;
		if (!add_member(b, trace, last, false))
			return false;
	}
	*rest = !n || exact_missing(&b->exact[trace], c, ops, n);
	return true;
}

static bool add_unlinked_devices(struct builder *b, size_t trace)
{
	const struct exact *x = &b->exact[trace];

	for (size_t i = x->n_linked; i < x->n; i++)
		if (!add_member(b, trace, x->ops[i].measured->device, false))
			return false;
	return true;
}

/* Have all devices been seen that a plain launch can be on? Most traces use what they have at once. */
static bool all_seen(const struct trace *t, const uint8_t *seen)
{
	for (size_t i = 0; i < t->n_streams; i++)
		if (!(seen[t->streams[i].device / 8] & 1u << t->streams[i].device % 8))
			return false;
	return !t->n_measured;
}

/* Every device that some process put work on. */
static bool find_devices(struct builder *b)
{
	for (size_t i = 0; i < b->run->n_traces; i++) {
		const struct trace *t = b->run->traces[i];
		uint8_t seen[(UINT16_MAX + 1) / 8] = { 0 };
		uint64_t seen_in_graphs = 0;
		bool rare = all_seen(t, seen);

		for (size_t k = rare ? trace_rare(t, 0) : 0; k < t->n_calls; k = rare ? trace_rare(t, k + 1) : k + 1) {
			const struct call *c = &t->calls[k];
			uint32_t ordinal = elsewhere_home(t, c);
			bool rest = true;

			if (!t->n_measured && is_plain_launch(c) && (seen[ordinal / 8] & 1u << ordinal % 8))
				continue;
			if (!add_graph_devices(b, i, c, &seen_in_graphs) ||
			    (t->n_measured && !add_measured_devices(b, i, c, &rest)))
				return false;
			if (!rest || !is_submission(c) || (seen[ordinal / 8] & 1u << ordinal % 8))
				continue;
			seen[ordinal / 8] |= (uint8_t)(1u << ordinal % 8);
			if (!add_member(b, i, ordinal, false))
				return false;
			rare = all_seen(t, seen);
		}
		if (!add_unlinked_devices(b, i))
			return false;
	}
	return true;
}

/* What a process did before its records begin may still run on a device that it does not use any more. */
static bool add_carriers(struct builder *b)
{
	for (size_t i = 0; i < b->run->n_traces; i++) {
		const struct trace *t = b->run->traces[i];

		for (size_t k = 0; k < t->n_carried; k++)
			if (!add_member(b, i, elsewhere_home(t, &t->carried[k].call), true))
				return false;
	}
	return true;
}

/* ---- one device ------------------------------------------------------------------------------------- */

static enum err_kind gather(struct device_work *work, const struct builder *b, const struct group *g, struct error *e)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct member *m = &g->members[i];
		enum err_kind kind = bounds_add(work, b->run->traces[m->trace], m->ordinal, &b->facts[m->trace], e);

		if (kind)
			return kind;
	}
	return ERR_NONE;
}

static bool set_latency(struct device_timeline *out, const struct builder *b, const struct group *g)
{
	struct latencies seen = { 0 };
	bool ok = true;

	for (size_t i = 0; i < g->n && ok; i++)
		ok = latencies_add(&seen, &b->facts[g->members[i].trace], b->run->traces[g->members[i].trace],
				   g->members[i].ordinal);
	out->n_latencies = (uint32_t)seen.n;
	out->latency_ns = latency_own(seen.ns, seen.n);
	free(seen.ns);
	return ok;
}

/* Of all processes on the device: the worst, and the drift that the one with the most edges found. */
static bool set_clock(struct device_timeline *out, const struct builder *b, const struct group *g)
{
	struct device_fit *all = &out->clock, fit;
	uint64_t most = 0;

	for (size_t i = 0; i < g->n; i++) {
		size_t trace = g->members[i].trace;

		if (!device_clock_fit(&fit, b->run->traces[trace], b->firings[trace], g->members[i].ordinal))
			return false;
		all->edges += fit.edges;
		all->error_ns = max64(all->error_ns, fit.error_ns);
		all->residual_ns = max64(all->residual_ns, fit.residual_ns);
		all->median_error_ns = max64(all->median_error_ns, fit.median_error_ns);
		if (fit.edges > most) {
			all->drift = fit.drift;
			all->drift_error = fit.drift_error;
		}
		most = fit.edges > most ? fit.edges : most;
	}
	return true;
}

struct building {
	struct device_timeline *out;
	const struct builder *b;
	size_t device; /* index in b->groups */
};

enum { DEVICE_PLACED, DEVICE_LATENCY, DEVICE_CLOCK, DEVICE_PARTS }; /* none of which needs another */

static enum err_kind place_all(const struct building *g, struct error *e)
{
	const struct builder *b = g->b;
	const struct device_work *work = &b->works[g->device];
	enum err_kind kind = gaps_build(g->out, work, e);

	if (!kind)
		kind = place_ops(g->out, work, e);
	return kind || depend_find(g->out, b->works, b->n_groups, g->device) ? kind : no_memory(e);
}

static enum err_kind build_part(void *building, size_t part, struct error *e)
{
	const struct building *g = building;
	const struct group *group = &g->b->groups[g->device];

	if (part == DEVICE_PLACED)
		return place_all(g, e);
	return (part == DEVICE_LATENCY ? set_latency : set_clock)(g->out, g->b, group) ? ERR_NONE : no_memory(e);
}

static enum err_kind build_device(struct device_timeline *out, const struct builder *b, size_t i, struct error *e)
{
	const struct group *g = &b->groups[i];
	const struct device_work *work = &b->works[i];
	enum err_kind kind;

	out->trace = b->run->traces[g->members[0].trace];
	out->device = g->device;
	out->process_start_ns = INT64_MAX;
	out->settled_ns = INT64_MIN;
	for (size_t k = 0; k < g->n; k++)
		out->settled_ns = max64(out->settled_ns, b->facts[g->members[k].trace].settled_ns);
	for (size_t k = 0; k < g->n; k++)
		if (b->run->traces[g->members[k].trace]->process_start_ns < out->process_start_ns)
			out->process_start_ns = b->run->traces[g->members[k].trace]->process_start_ns;
	kind = pool_run(DEVICE_PARTS, build_part, &(struct building){ out, b, i }, e);
	part_done(b, PART_DEVICE, b->n_groups);
	return kind || exact_count_streams(work, &out->n_streams) ? kind : no_memory(e);
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static enum err_kind build_facts(struct builder *b, struct error *e)
{
	for (size_t i = 0; i < b->run->n_traces; i++) {
		enum err_kind kind = device_clock_map(&b->firings[i], b->run->traces[i], e);

		if (!kind)
			kind = exact_link(&b->exact[i], b->run->traces[i], e);
		if (!kind)
			kind = facts_build(&b->facts[i], b->run->traces[i], b->firings[i], &b->exact[i], e);
		if (kind)
			return kind;
	}
	return ERR_NONE;
}

static int by_ordinal(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->device.device != y->device.device)
		return x->device.device < y->device.device ? -1 : 1;
	return memcmp(x->device.uuid, y->device.uuid, sizeof(x->device.uuid));
}

struct devices { /* each is made for itself, side by side; in between they wait for each other (bounds_finish) */
	struct builder *b;
	struct timeline *out;
};

static enum err_kind gather_one(void *devices, size_t i, struct error *e)
{
	struct builder *b = ((struct devices *)devices)->b;

	return gather(&b->works[i], b, &b->groups[i], e);
}

static enum err_kind build_one(void *devices, size_t i, struct error *e)
{
	const struct devices *d = devices;

	return build_device(&d->out->devices[i], d->b, i, e);
}

static enum err_kind build_all(struct timeline *out, struct builder *b, struct error *e)
{
	struct devices devices = { b, out };
	enum err_kind kind;

	b->calls = calls_of(b->run);
	progress_begin(PROGRESS_TIMELINE, b->calls);
	if ((kind = build_facts(b, e)))
		return kind;
	part_done(b, PART_FACTS, 1);
	if (!find_devices(b) || !add_carriers(b))
		return no_memory(e);
	array_sort(b->groups, b->n_groups, sizeof(*b->groups), by_ordinal);
	out->devices = array_new(b->n_groups, sizeof(*out->devices));
	b->works = array_new(b->n_groups, sizeof(*b->works));
	if (!out->devices || !b->works)
		return no_memory(e);
	kind = pool_run(b->n_groups, gather_one, &devices, e);
	part_done(b, PART_WORK, 1);
	if (!kind)
		kind = bounds_finish(b->works, b->n_groups, e);
	part_done(b, PART_BOUNDS, 1);
	out->n_devices = b->n_groups;
	if (!kind)
		kind = pool_run(b->n_groups, build_one, &devices, e);
	return kind ? kind : estimate_build(out, b->works, b->firings, e);
}

enum err_kind timeline_build(struct timeline *out, const struct run *run, struct error *e)
{
	struct builder b = { .run = run,
			     .exact = array_new(run->n_traces, sizeof(*b.exact)),
			     .facts = array_new(run->n_traces, sizeof(*b.facts)),
			     .firings = array_new(run->n_traces, sizeof(*b.firings)) };
	enum err_kind kind;

	*out = (struct timeline){ .run = run, .exact = b.exact };
	kind = b.facts && b.firings && b.exact ? build_all(out, &b, e) : no_memory(e);
	for (size_t i = 0; b.facts && i < run->n_traces; i++)
		facts_free(&b.facts[i]);
	for (size_t i = 0; b.firings && i < run->n_traces; i++)
		spill_free(b.firings[i]);
	free(b.facts);
	free(b.firings);
	for (size_t i = 0; i < b.n_groups; i++)
		free(b.groups[i].members);
	for (size_t i = 0; b.works && i < b.n_groups; i++)
		bounds_free(&b.works[i]);
	free(b.works);
	free(b.groups);
	if (kind)
		timeline_free(out);
	return kind;
}

void timeline_free(struct timeline *t)
{
	for (size_t i = 0; i < t->n_devices; i++) {
		spill_free(t->devices[i].ops);
		arena_free(&t->devices[i].more);
		free(t->devices[i].others);
		free(t->devices[i].marks.at);
		spill_free(t->devices[i].gaps);
		spill_free(t->devices[i].unresolved);
		free(t->devices[i].undrawn);
		estimate_free(&t->devices[i].estimate);
	}
	free(t->devices);
	for (size_t i = 0; t->exact && i < t->run->n_traces; i++)
		exact_free(&t->exact[i]);
	free(t->exact);
	*t = (struct timeline){ 0 };
}
