/* SPDX-License-Identifier: BSD-2-Clause */
#include "work_class.h"

#include "node_time.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "trace/burst_arrival.h"

#include <math.h>
#include <stdlib.h>

/* The distance of two events is off by up to a tick, with a triangle's density: the tenth that is shown smallest is so many ticks too small on
 * the average (1 - 2/3 * sqrt(2/10)). */
#define LEAST_TENTH 0.70
#define LEAST_KERNEL_NS 800.0 /* an empty kernel takes 1 to 2 us on current devices */
/* Classes that no burst met: prior means and how far beyond the longest class of their kind they may lie. */
#define PRIOR_KERNEL_NS 20000.0
#define PRIOR_COPY_NS 5000.0
#define PRIOR_BYTES_PER_NS 16.0
#define PRIOR_NODE_NS 1000.0
#define BEYOND 4.0
#define MANY 30 /* samples of a kind say how long it may take; fewer do not */
#define AT_MOST_NS 1000000.0

/* ---- which class ---------------------------------------------------------------------------------------- */

/* Sizes that differ by less than a quarter are one. */
static uint64_t size_class(uint64_t bytes)
{
	unsigned top = bytes ? 63u - (unsigned)__builtin_clzll(bytes) : 0;

	return top < 2 ? bytes : (uint64_t)top << 2 | (bytes >> (top - 2) & 3);
}

struct key {
	uint64_t what, name, first, second;
};

static struct key key_of(const struct trace *t, const struct call *c)
{
	struct key k = { .what = (uint64_t)c->device << 16 | c->family };

	switch (c->family) {
	case GST_FAMILY_LAUNCH:
		k.name = c->name;
		k.first = c->args[0];
		k.second = c->args[1];
		break;
	case GST_FAMILY_GRAPH_LAUNCH:
		k.name = t->graphs[c->graph].root;
		k.first = k.name ? 0 : c->args[0];
		k.second = t->graphs[c->graph].work;
		break;
	default:
		k.name = c->detail;
		k.first = size_class(c->args[0]);
		k.second = c->copies;
	}
	return k;
}

static bool same_key(const struct key *a, const struct key *b)
{
	return a->what == b->what && a->name == b->name && a->first == b->first && a->second == b->second;
}

static size_t hash_of(const struct trace *t, const struct key *k)
{
	uint64_t h = (uintptr_t)t;

	h = (h ^ k->what) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 29 ^ k->name) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 29 ^ k->first) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 29 ^ k->second) * 0x9e3779b97f4a7c15u;
	return (size_t)(h ^ h >> 32);
}

static void table_put(struct classes *c, uint32_t class)
{
	struct key k = key_of(c->at[class].trace, c->at[class].like);
	size_t at = hash_of(c->at[class].trace, &k) & (c->table_size - 1);

	while (c->table[at])
		at = (at + 1) & (c->table_size - 1);
	c->table[at] = class;
}

static bool table_grow(struct classes *c)
{
	size_t size = c->table_size ? c->table_size * 4 : 256;
	uint32_t *table = array_new(size, sizeof(*table));

	if (!table)
		return false;
	free(c->table);
	c->table = table;
	c->table_size = size;
	for (uint32_t i = 1; i < c->n; i++)
		table_put(c, i);
	return true;
}

bool classes_new(struct classes *c)
{
	*c = (struct classes){ 0 };
	if (!array_room(c->at, c->n, c->cap) || !table_grow(c))
		return false;
	c->at[c->n++] = (struct work_class){ 0 };
	return true;
}

void classes_free(struct classes *c)
{
	free(c->at);
	free(c->table);
	free(c->samples);
	*c = (struct classes){ 0 };
}

uint32_t classes_of(struct classes *c, const struct trace *t, const struct call *call)
{
	struct key k = key_of(t, call), other;

	for (size_t at = hash_of(t, &k) & (c->table_size - 1); c->table[at]; at = (at + 1) & (c->table_size - 1)) {
		const struct work_class *w = &c->at[c->table[at]];

		other = key_of(w->trace, w->like);
		if (w->trace == t && same_key(&k, &other)) {
			c->at[c->table[at]].works++;
			return c->table[at];
		}
	}
	if (c->n >= UINT32_MAX || !array_room(c->at, c->n, c->cap) || (c->n * 2 >= c->table_size && !table_grow(c)))
		return CLASS_UNKNOWN;
	c->at[c->n] = (struct work_class){ .trace = t, .like = call, .works = 1 };
	table_put(c, (uint32_t)c->n);
	return (uint32_t)c->n++;
}

/* ---- samples --------------------------------------------------------------------------------------------- */

bool classes_add_sample(struct classes *c, uint32_t class, uint32_t group, const struct burst_sample *s)
{
	if (class == CLASS_UNKNOWN)
		return true;
	if (!array_room(c->samples, c->n_samples, c->cap_samples))
		return false;
	c->samples[c->n_samples++] = (struct class_sample){ class, group, s->ns, s->unsure_ns, s->late, s->placed };
	return true;
}

static int by_class(const void *a, const void *b)
{
	const struct class_sample *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->late != y->late)
		return x->late ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

void classes_sort(struct classes *c)
{
	array_sort(c->samples, c->n_samples, sizeof(*c->samples), by_class);
	for (size_t i = 0; i < c->n_samples; i++) {
		struct work_class *w = &c->at[c->samples[i].class];

		if (!w->n++)
			w->first = i;
		w->n_whole += !c->samples[i].late;
		w->whole_ns += c->samples[i].late ? 0 : c->samples[i].ns;
	}
	for (size_t i = 1; i < c->n; i++) {
		if (c->at[i].n_whole)
			c->at[i].whole_ns /= (double)c->at[i].n_whole;
		c->works += c->at[i].works;
		c->sampled_works += c->at[i].n ? c->at[i].works : 0;
	}
	c->works += c->at[CLASS_UNKNOWN].works;
}

/* ---- means ----------------------------------------------------------------------------------------------- */

/* Of the samples that were measured at both ends. */
static void measure_spread(const struct classes *c, struct work_class *w)
{
	double squares = 0, variance;

	for (size_t i = w->first; i < w->first + w->n_whole; i++)
		squares += (c->samples[i].ns - w->whole_ns) * (c->samples[i].ns - w->whole_ns);
	variance = w->n_whole > 1 ? squares / (double)(w->n_whole - 1) : 0;
	w->keep = variance > EVENT_TICKS_VARIANCE ? sqrt(1 - EVENT_TICKS_VARIANCE / variance) : 0;
	w->spread_ns = w->keep * sqrt(variance);
}

static size_t count(const struct classes *c, const struct work_class *w, uint32_t without)
{
	size_t n = 0;

	for (size_t i = w->first; i < w->first + w->n; i++)
		n += c->samples[i].group != without;
	return n;
}

/* A late edge says only that the work took less. It is as likely to have taken what other samples did that are shorter; so its weight goes
 * to them (Kaplan and Meier's estimate, from the right). What is left at the short end lies between nothing and what is stated. */
static bool measure(struct classes *c, struct work_class *w, uint32_t without)
{
	size_t whole = w->first, late = w->first + w->n_whole, whole_end = late, late_end = w->first + w->n;
	size_t n = count(c, w, without), left = n;
	double weight = 1, low = 0, high = 0, unsure_low = 0, unsure_high = 0;
	double least_ns = w->like->family == GST_FAMILY_LAUNCH ? LEAST_KERNEL_NS : 0;

	if (!n)
		return false;
	while (whole < whole_end || late < late_end) {
		bool is_whole = late == late_end || (whole < whole_end && c->samples[whole].ns >= c->samples[late].ns);
		const struct class_sample *s = &c->samples[is_whole ? whole++ : late++];

		if (s->group == without)
			continue;
		left--;
		if (is_whole || left < n / 10 + 1) {
			low += weight * (is_whole ? s->ns : fmin(s->ns, least_ns));
			high += weight * s->ns;
			unsure_low += is_whole ? weight * s->unsure_ns : 0; /* the least there is has no place */
			unsure_high += weight * (s->unsure_ns + (is_whole ? 0 : LEAST_TENTH * EVENT_TICK_NS));
		} else {
			weight *= (double)(left + 1) / (double)left;
		}
	}
	w->mean_ns = (low + high) / 2 / (double)n;
	w->low_ns = fmax(0, (low - unsure_low) / (double)n);
	w->high_ns = (high + unsure_high) / (double)n;
	measure_spread(c, w);
	return true;
}

struct known { /* of a kind, over the classes with samples */
	double sum_ns, longest_ns;
	size_t n;
};

static struct known known_of(const struct classes *c, uint8_t family)
{
	struct known k = { 0 };

	for (size_t i = 1; i < c->n; i++) {
		const struct work_class *w = &c->at[i];

		if (!w->n || w->like->family != family)
			continue;
		k.sum_ns += w->mean_ns * (double)w->n;
		k.longest_ns = fmax(k.longest_ns, w->mean_ns);
		k.n += w->n;
	}
	return k;
}

/* Of a class that no burst met: what others of its kind take, and wide bounds. */
static void guess(struct work_class *w, const struct known *kernels, const struct known *own)
{
	double kernel_ns = kernels->n ? kernels->sum_ns / (double)kernels->n : PRIOR_KERNEL_NS;
	const struct call *c = w->like;

	switch (c->family) {
	case GST_FAMILY_LAUNCH:
		w->mean_ns = kernel_ns;
		break;
	case GST_FAMILY_GRAPH_LAUNCH:
		w->mean_ns = (kernel_ns + PRIOR_NODE_NS) * fmax(1, w->trace->graphs[c->graph].levels);
		break;
	default:
		w->mean_ns = PRIOR_COPY_NS + (double)c->args[0] / PRIOR_BYTES_PER_NS;
	}
	w->low_ns = w->spread_ns = w->keep = 0;
	w->high_ns = BEYOND * fmax(w->mean_ns, own->longest_ns);
	if (own->n < MANY && (c->family == GST_FAMILY_LAUNCH || c->family == GST_FAMILY_GRAPH_LAUNCH))
		w->high_ns = fmax(w->high_ns, AT_MOST_NS);
}

/* What it would be taken to take, had no burst met it. All its samples are of one group of bursts: what bursts differ by cannot be seen in them,
 * and a jackknife that left them out and kept their mean would call it known. */
static double guess_without(const struct work_class *w, struct known kernels, struct known own)
{
	struct work_class unmet = *w;

	if (w->like->family == GST_FAMILY_LAUNCH) {
		kernels.sum_ns -= w->mean_ns * (double)w->n;
		kernels.n -= w->n;
	}
	guess(&unmet, &kernels, &own);
	return unmet.mean_ns;
}

/* Of a graph that no burst met, but its kernels: one after another at most, the mean of them at least. */
static void guess_graph(const struct classes *c, struct node_kernels *kernels, struct work_class *w)
{
	const struct graph *g = &w->trace->graphs[w->like->graph];
	double between = fmax(0, (double)g->levels - 1);
	struct node_time nodes;

	if (!node_time_find(&nodes, kernels, c, w->trace, g) || !nodes.known)
		return;
	w->low_ns = nodes.chain ? nodes.low + between * NODE_LEAST_NS : nodes.low / g->work;
	w->high_ns = nodes.high + between * NODE_MOST_NS;
	w->mean_ns = (w->low_ns + w->high_ns) / 2;
}

void classes_measure(struct classes *c, uint32_t without)
{
	struct known kernels, known[GST_FAMILY_COUNT];
	struct node_kernels nodes = { 0 };

	for (size_t i = 1; i < c->n; i++) {
		struct work_class *w = &c->at[i];

		w->away_ns = 0;
		if (w->n && !measure(c, w, without)) {
			measure(c, w, GST_NONE);
			w->away_ns = NAN; /* until all the others are known */
		}
	}
	for (uint8_t i = 0; i < GST_FAMILY_COUNT; i++)
		known[i] = known_of(c, i);
	kernels = known[GST_FAMILY_LAUNCH];
	for (size_t i = 1; i < c->n; i++) {
		struct work_class *w = &c->at[i];

		if (isnan(w->away_ns))
			w->away_ns = guess_without(w, kernels, known[w->like->family]) - w->mean_ns;
		if (!w->n)
			guess(w, &kernels, &known[w->like->family]);
		if (!w->n && w->like->family == GST_FAMILY_GRAPH_LAUNCH)
			guess_graph(c, &nodes, w);
		if (w->like->family == GST_FAMILY_GRAPH_LAUNCH && w->trace->graphs[w->like->graph].stalls)
			w->low_ns = 0; /* it may do nothing for the device meanwhile */
	}
	node_kernels_free(&nodes);
	c->at[CLASS_UNKNOWN].high_ns = 1e18;
}

double class_draw(const struct classes *c, uint32_t class, size_t turn, int side)
{
	const struct work_class *w = &c->at[class];
	double ns = w->mean_ns;

	if (!w->n)
		return side < 0 ? w->low_ns : side > 0 ? w->high_ns : ns;
	ns += w->away_ns;
	if (w->keep > 0)
		ns += w->keep * (c->samples[w->first + (turn * 0x9e3779b1u >> 7) % w->n_whole].ns - w->whole_ns);
	ns += side < 0 ? w->low_ns - w->mean_ns : side > 0 ? w->high_ns - w->mean_ns : 0;
	return fmax(ns, 0);
}
