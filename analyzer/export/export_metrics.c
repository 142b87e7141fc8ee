/* SPDX-License-Identifier: BSD-2-Clause */
/* export_metrics.c: the summary as OpenMetrics text, for a monitoring system that has one run beside others: totals by device and cause, and
 * histograms of steps and gaps. node_exporter's textfile collector reads it, too, though it knows the older format only: so what says
 * "info" is a gauge of 1, there are no time stamps, and no _created. Seconds are written from whole nanoseconds, never through a double. */
#include <inttypes.h>
#include <string.h>

#include "export.h"
#include "report/report_memory.h"
#include "tools/ns.h"
#include "tools/text.h"

#define PREFIX "gpushim_"
#define LABEL_BYTES 512
#define NS_PER_S 1000000000u

struct metrics {
	FILE *out;
	const struct summary *s;
};

/* ---- lines -------------------------------------------------------------------------------------------------------------- */

static void family(const struct metrics *m, const char *name, const char *type, const char *unit, const char *help)
{
	fprintf(m->out, "# TYPE " PREFIX "%s %s\n", name, type);
	if (*unit)
		fprintf(m->out, "# UNIT " PREFIX "%s %s\n", name, unit);
	fprintf(m->out, "# HELP " PREFIX "%s %s\n", name, help);
}

/* key="value": what would end the value is escaped, what is no text is '?'. */
static void label(const struct metrics *m, char before, const char *key, const char *value)
{
	char clean[LABEL_BYTES];

	fprintf(m->out, "%c%s=\"", before, key);
	for (const char *c = text_clean(clean, sizeof(clean), value, LABEL_BYTES - 4); *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', m->out);
		fputc(*c, m->out);
	}
	fputc('"', m->out);
}

static void seconds(const struct metrics *m, int64_t ns)
{
	uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	fprintf(m->out, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", size / NS_PER_S, size % NS_PER_S);
}

/* name{device="0",uuid="…",rank="3": what tells this device from all others. A rank that nobody knows is no label. */
static void of_device(const struct metrics *m, const char *name, const char *suffix, const struct summary_device *d)
{
	fprintf(m->out, PREFIX "%s%s{device=\"%" PRIu32 "\"", name, suffix, d->number);
	label(m, ',', "uuid", d->uuid);
	if (d->rank != GST_NONE)
		fprintf(m->out, ",rank=\"%" PRIu32 "\"", d->rank);
}

static void end_seconds(const struct metrics *m, int64_t ns)
{
	fputs("} ", m->out);
	seconds(m, ns);
	fputc('\n', m->out);
}

static void end_number(const struct metrics *m, uint64_t n)
{
	fprintf(m->out, "} %" PRIu64 "\n", n);
}

static void value(const struct metrics *m, const char *unit, int64_t n)
{
	if (*unit)
		seconds(m, n);
	else
		fprintf(m->out, "%" PRIu64, (uint64_t)n);
	fputc('\n', m->out);
}

static const char *suffix_of(const char *type)
{
	return strcmp(type, "counter") == 0 ? "_total" : "";
}

/* ---- of the list ---------------------------------------------------------------------------------------------------------- */

#define DEVICE(name, type, unit, help, ns)                           \
	static int64_t device_##name(const struct summary_device *d) \
	{                                                            \
		return ns;                                           \
	}
#define RUN(name, type, unit, help, n)                     \
	static int64_t run_##name(const struct summary *s) \
	{                                                  \
		return n;                                  \
	}
#include "export_metrics.def"
#undef DEVICE
#undef RUN

static const struct of_devices {
	const char *name, *type, *unit, *help;
	int64_t (*value)(const struct summary_device *d);
} of_devices[] = {
#define DEVICE(name, type, unit, help, ns) { #name, #type, #unit, help, device_##name },
#define RUN(name, type, unit, help, n)
#include "export_metrics.def"
#undef DEVICE
#undef RUN
};

static const struct of_run {
	const char *name, *type, *unit, *help;
	int64_t (*value)(const struct summary *s);
} of_run[] = {
#define DEVICE(name, type, unit, help, ns)
#define RUN(name, type, unit, help, n) { #name, #type, #unit, help, run_##name },
#include "export_metrics.def"
#undef DEVICE
#undef RUN
};

static void listed(const struct metrics *m)
{
	for (size_t i = 0; i < sizeof(of_run) / sizeof(of_run[0]); i++) {
		family(m, of_run[i].name, of_run[i].type, of_run[i].unit, of_run[i].help);
		fprintf(m->out, PREFIX "%s%s ", of_run[i].name, suffix_of(of_run[i].type));
		value(m, of_run[i].unit, of_run[i].value(m->s));
	}
	for (size_t i = 0; i < sizeof(of_devices) / sizeof(of_devices[0]); i++) {
		family(m, of_devices[i].name, of_devices[i].type, of_devices[i].unit, of_devices[i].help);
		for (size_t k = 0; k < m->s->n_devices; k++) {
			of_device(m, of_devices[i].name, suffix_of(of_devices[i].type), &m->s->devices[k]);
			fputs("} ", m->out);
			value(m, of_devices[i].unit, of_devices[i].value(&m->s->devices[k]));
		}
	}
}

/* ---- time by kind and cause ------------------------------------------------------------------------------------------------- */

static void infos(const struct metrics *m)
{
	const struct summary *s = m->s;
	char index[TEXT_SHORT];

	snprintf(index, sizeof(index), "%d", s->run->index);
	family(m, "run_info", "gauge", "", "What was recorded, and how; always 1.");
	fputs(PREFIX "run_info", m->out);
	label(m, '{', "host", s->run->n_traces ? s->run->traces[0]->header.host : "");
	label(m, ',', "device_timing", s->device_timing);
	label(m, ',', "host_probes", s->host_probes);
	label(m, ',', "index", index);
	label(m, ',', "version", GPUSHIM_VERSION);
	end_number(m, 1);
	family(m, "device_info", "gauge", "", "A device that the run worked on; always 1.");
	for (size_t i = 0; i < s->n_devices; i++) {
		of_device(m, "device_info", "", &s->devices[i]);
		label(m, ',', "name", s->devices[i].name);
		end_number(m, 1);
	}
}

static void part(const struct metrics *m, const char *name, const struct summary_device *d, const char *key,
		 const char *which, int64_t ns)
{
	of_device(m, name, "_total", d);
	label(m, ',', key, which);
	end_seconds(m, ns);
}

static void idle(const struct metrics *m)
{
	family(m, "idle_seconds", "counter", "seconds",
	       "In which the device surely had nothing to do, by the cause; all causes add up to its idle time.");
	for (size_t i = 0; i < m->s->n_devices; i++)
		for (int c = 0; c < CAUSE_COUNT; c++)
			part(m, "idle_seconds", &m->s->devices[i], "cause", cause_name(c),
			     m->s->devices[i].attribution.causes_ns[c]);
}

static void copies(const struct metrics *m)
{
	family(m, "copy_seconds", "counter", "seconds", "Copies and memsets while the device did not compute.");
	for (size_t i = 0; i < m->s->n_devices; i++) {
		const struct summary_device *d = &m->s->devices[i];

		part(m, "copy_seconds", d, "kind", "h2d-pageable", d->h2d_pageable_ns);
		part(m, "copy_seconds", d, "kind", "h2d-pinned", d->h2d_pinned_ns);
		part(m, "copy_seconds", d, "kind", "d2h", d->d2h_ns);
		part(m, "copy_seconds", d, "kind", "d2d", d->d2d_ns);
		part(m, "copy_seconds", d, "kind", "peer", d->peer_ns);
		part(m, "copy_seconds", d, "kind", "memset", d->memset_ns);
	}
	family(m, "comm_seconds", "counter", "seconds",
	       "Communication while the device did not compute: waiting for the last rank, transfer, and what cannot be told apart.");
	for (size_t i = 0; i < m->s->n_devices; i++) {
		const struct summary_device *d = &m->s->devices[i];

		part(m, "comm_seconds", d, "kind", "wait", d->comm_wait_ns);
		part(m, "comm_seconds", d, "kind", "transfer", d->comm_transfer_ns);
		part(m, "comm_seconds", d, "kind", "unsplit", d->comm_unsplit_ns);
	}
}

enum likely_of { UNRESOLVED_IDLE, LIKELY_IDLE };

static void likely(const struct metrics *m, enum likely_of which, const char *name, const char *help, size_t at)
{
	family(m, name, "gauge", "seconds", help);
	for (size_t i = 0; i < m->s->n_devices; i++) {
		const struct estimate *e = &m->s->devices[i].timeline->estimate;
		const struct likely *l = which == LIKELY_IDLE ? &e->whole : &e->unresolved;
		const int64_t of[] = { l->ns, l->low_ns, l->high_ns };

		if (!e->made)
			continue;
		of_device(m, name, "", &m->s->devices[i]);
		end_seconds(m, of[at]);
	}
}

/* Of devices on which bursts ran. */
static void estimates(const struct metrics *m)
{
	likely(m, LIKELY_IDLE, "likely_idle_seconds", "All idle time, by an estimate from bursts.", 0);
	likely(m, LIKELY_IDLE, "likely_idle_low_seconds", "95 % interval of it, the lower end.", 1);
	likely(m, LIKELY_IDLE, "likely_idle_high_seconds", "95 % interval of it, the upper end.", 2);
	likely(m, UNRESOLVED_IDLE, "unresolved_idle_seconds", "The idle part of the unresolved time, by the same.", 0);
	likely(m, UNRESOLVED_IDLE, "unresolved_idle_low_seconds", "95 % interval of it, the lower end.", 1);
	likely(m, UNRESOLVED_IDLE, "unresolved_idle_high_seconds", "95 % interval of it, the upper end.", 2);
}

/* ---- histograms ------------------------------------------------------------------------------------------------------------- */

/* As the specification would have these numbers written. */
static const struct bound {
	int64_t ns;
	const char *le;
} bounds[] = {
	{ 10000, "1e-05" },      { 25000, "2.5e-05" },      { 50000, "5e-05" },      { 100000, "0.0001" },
	{ 250000, "0.00025" },   { 500000, "0.0005" },      { 1000000, "0.001" },    { 2500000, "0.0025" },
	{ 5000000, "0.005" },    { 10000000, "0.01" },      { 25000000, "0.025" },   { 50000000, "0.05" },
	{ 100000000, "0.1" },    { 250000000, "0.25" },     { 500000000, "0.5" },    { 1000000000, "1.0" },
	{ 2500000000, "2.5" },   { 5000000000, "5.0" },     { 10000000000, "10.0" }, { 25000000000, "25.0" },
	{ 50000000000, "50.0" }, { 100000000000, "100.0" },
};

#define N_BOUNDS (sizeof(bounds) / sizeof(bounds[0]))

struct histogram {
	uint64_t n, in[N_BOUNDS]; /* in: at most the bound */
	int64_t sum_ns;
};

static void observe(struct histogram *h, int64_t ns)
{
	h->n++;
	h->sum_ns = sum64(h->sum_ns, ns);
	for (size_t i = N_BOUNDS; i-- > 0 && ns <= bounds[i].ns;)
		h->in[i]++;
}

static void put_histogram(const struct metrics *m, const char *name, const struct summary_device *d,
			  const struct histogram *h)
{
	for (size_t i = 0; i <= N_BOUNDS; i++) {
		of_device(m, name, "_bucket", d);
		label(m, ',', "le", i < N_BOUNDS ? bounds[i].le : "+Inf");
		end_number(m, i < N_BOUNDS ? h->in[i] : h->n);
	}
	of_device(m, name, "_sum", d);
	end_seconds(m, h->sum_ns);
	of_device(m, name, "_count", d);
	end_number(m, h->n);
}

/* What lies between two steps is none. */
static void steps(const struct metrics *m, const char *name, bool idle_time, const char *help)
{
	family(m, name, "histogram", "seconds", help);
	for (size_t i = 0; i < m->s->n_devices; i++) {
		const struct device_phases *p = &m->s->devices[i].phases;
		struct histogram h = { 0 };

		for (size_t k = 0; k < p->n_steps; k++)
			if (p->steps[k].step->kind == STEP)
				observe(&h, idle_time ? p->steps[k].idle_ns
						      : p->steps[k].step->end_ns - p->steps[k].step->begin_ns);
		put_histogram(m, name, &m->s->devices[i], &h);
	}
}

static void gaps(const struct metrics *m)
{
	family(m, "gap_seconds", "histogram", "seconds", "Length of the stretches in which the device was idle.");
	for (size_t i = 0; i < m->s->n_devices; i++) {
		const struct attribution *a = &m->s->devices[i].attribution;
		struct histogram h = { 0 };

		for (size_t k = 0; k < a->n_gaps; k++)
			observe(&h, a->gaps[k].gap->end_ns - a->gaps[k].gap->begin_ns);
		put_histogram(m, "gap_seconds", &m->s->devices[i], &h);
	}
}

/* ---- memory, and what recording cost ------------------------------------------------------------------------------------------ */

/* Those with work, whatever is known of their memory, then those of which nothing else is: as report --json lists them. */
static void of_memory(const struct metrics *m, const char *name, const char *type, const char *unit, const char *help,
		      bool (*is_known)(const struct memory_device *d),
		      void (*put)(const struct metrics *m, const struct memory_device *d))
{
	static const struct memory_device nothing;
	const struct summary *s = m->s;

	family(m, name, type, unit, help);
	for (size_t i = 0; i < s->n_devices; i++) {
		if (s->devices[i].memory && !is_known(s->devices[i].memory))
			continue;
		of_device(m, name, suffix_of(type), &s->devices[i]);
		fputs("} ", m->out);
		put(m, s->devices[i].memory ? s->devices[i].memory : &nothing);
	}
	for (size_t i = 0; i < s->memory.n_devices; i++) {
		const struct memory_device *d = &s->memory.devices[i];
		bool is_listed = false;

		for (size_t k = 0; k < s->n_devices; k++)
			is_listed |= s->devices[k].memory == d;
		if (is_listed || !is_known(d))
			continue;
		fprintf(m->out, PREFIX "%s%s{device=\"%" PRIu32 "\"} ", name, suffix_of(type),
			report_memory_number(s, d));
		put(m, d);
	}
}

static bool always(const struct memory_device *d)
{
	(void)d;
	return true;
}

static bool is_scattered(const struct memory_device *d)
{
	return !d->framework.told;
}

static void put_allocated(const struct metrics *m, const struct memory_device *d)
{
	fprintf(m->out, "%" PRIu64 "\n", d->peak_allocated);
}

static void put_reserved(const struct metrics *m, const struct memory_device *d)
{
	fprintf(m->out, "%" PRIu64 "\n", d->peak_reserved);
}

static void put_fragmentation(const struct metrics *m, const struct memory_device *d)
{
	fprintf(m->out, "%.9g\n", memory_fragmentation(&d->worst.use));
}

static void put_out_of_memory(const struct metrics *m, const struct memory_device *d)
{
	fprintf(m->out, "%" PRIu64 "\n", d->out_of_memory);
}

static void memory(const struct metrics *m)
{
	of_memory(m, "memory_peak_allocated_bytes", "gauge", "bytes", "Device memory that was in use, at most.", always,
		  put_allocated);
	of_memory(m, "memory_peak_reserved_bytes", "gauge", "bytes",
		  "Device memory that was taken from the driver, at most.", always, put_reserved);
	of_memory(m, "memory_fragmentation_ratio", "gauge", "ratio",
		  "1 - the largest free piece / all that was reserved and free, when most was reserved.", is_scattered,
		  put_fragmentation);
	of_memory(m, "out_of_memory", "counter", "", "Times that the program was told that there is no memory.", always,
		  put_out_of_memory);
}

static void overhead(const struct metrics *m)
{
	const struct self_cost *c = &m->s->self;
	const struct {
		const char *part;
		double ns;
	} parts[] = {
		{ "calls", c->calls_ns },
		{ "injected", c->injected_ns },
		{ "attach", c->attach_ns },
		{ "own-threads", c->cpu_ns },
	};

	family(m, "overhead_seconds", "counter", "seconds",
	       "What recording cost: in the program's calls, in driver calls that were added, at its start, in the recorder's own threads.");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		fputs(PREFIX "overhead_seconds_total", m->out);
		label(m, '{', "part", parts[i].part);
		end_seconds(m, self_whole_ns(parts[i].ns));
	}
	family(m, "overhead_ratio", "gauge", "ratio",
	       "The same as a share of the time that the processes were recorded.");
	fprintf(m->out, PREFIX "overhead_ratio %.9g\n", self_share(c, true));
}

void export_metrics(FILE *out, const struct summary *s)
{
	const struct metrics m = { out, s };

	infos(&m);
	idle(&m);
	copies(&m);
	listed(&m);
	estimates(&m);
	gaps(&m);
	steps(&m, "step_duration_seconds", false, "Length of the steps.");
	steps(&m, "step_idle_seconds", true, "Idle time of the device in each step.");
	memory(&m);
	overhead(&m);
	fputs("# EOF\n", out);
}
